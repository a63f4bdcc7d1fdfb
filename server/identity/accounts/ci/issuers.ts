/** The keys by which services sign the tokens of their jobs, as they publish them. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Clock } from "../../../platform/clock.ts";
import type { OutboundPolicy } from "../../../platform/external/outbound.ts";
import { readJson, UnreadableDocumentError } from "../../../platform/external/read-json.ts";

/** Keys are read again after this time, so that one that was withdrawn is soon no good. */
const keptMs = 10 * 60_000;
/** How soon they are read again for a token that names an unknown one, and after a failure. */
const againMs = 30_000;
const issuersMax = 500;
const keysMax = 100;

type Known = {
  keys?: { get: JWTVerifyGetKey; until: number };
  /** When they were asked for last. */
  asked_at: number;
  failure?: Error;
  pending?: Promise<void> | undefined;
};

const getText = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isKeySet = (value: unknown): value is JSONWebKeySet =>
  isObject(value) && Array.isArray(value.keys) && value.keys.length <= keysMax && value.keys.every(isObject);

/** The keys of an issuer, from the address that its discovery document names. */
async function readKeys(issuer: string, reach: OutboundPolicy): Promise<JWTVerifyGetKey> {
  const found = await readJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, reach);
  // Who serves another's document must not speak in its name.
  if (!isObject(found) || found.issuer !== issuer)
    throw new UnreadableDocumentError("Its discovery document is of another issuer.");
  const address = getText(found.jwks_uri);
  if (!address || !URL.canParse(address))
    throw new UnreadableDocumentError("Its discovery document names no address of keys.");
  const set = await readJson(address, reach);
  if (!isKeySet(set)) throw new UnreadableDocumentError("Its keys are no JSON Web Key Set.");
  return createLocalJWKSet(set);
}

/** The keys of all issuers, each read once for many tokens and by one request at a time. */
export function openIssuers(clock: Clock, reach: OutboundPolicy): (issuer: string) => JWTVerifyGetKey {
  const issuers = new Map<string, Known>();

  const getNow = (): number => clock.now().getTime();
  async function read(issuer: string, known: Known): Promise<void> {
    known.asked_at = getNow();
    try {
      known.keys = { get: await readKeys(issuer, reach), until: getNow() + keptMs };
    } catch (error) {
      known.failure = error as Error;
    }
  }
  /** Read the keys of an issuer, unless they were asked for a moment ago. */
  async function refresh(issuer: string, known: Known): Promise<void> {
    if (known.pending === undefined && getNow() - known.asked_at >= againMs)
      known.pending = read(issuer, known).finally(() => {
        known.pending = undefined;
      });
    await known.pending;
  }
  const getKeys = ({ keys }: Known): JWTVerifyGetKey | undefined =>
    keys && keys.until > getNow() ? keys.get : undefined;
  const requireKeys = (known: Known): JWTVerifyGetKey => {
    const keys = getKeys(known);
    if (keys) return keys;
    throw known.failure ?? new UnreadableDocumentError("Its keys cannot be read.");
  };
  function getKnown(issuer: string): Known {
    const known: Known = issuers.get(issuer) ?? { asked_at: Number.NEGATIVE_INFINITY };
    issuers.delete(issuer);
    issuers.set(issuer, known);
    const [oldest] = issuers.keys();
    if (issuers.size > issuersMax && oldest !== undefined) issuers.delete(oldest);
    return known;
  }
  return (issuer) => async (header, token) => {
    const known = getKnown(issuer);
    if (!getKeys(known)) await refresh(issuer, known);
    try {
      return await requireKeys(known)(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh(issuer, known);
      return requireKeys(known)(header, token);
    }
  };
}
