import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { api } from "../../../shared/api/index.ts";
import type { Operation } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Deps, Identity } from "../context.ts";
import { getBucket } from "../limits/addresses.ts";
import { countInMemory, type Limit } from "../limits/limits.ts";
import { openSharedCounts, type Try } from "../limits/shared.ts";
import type { Identify } from "./actor.ts";
import { type Caller, findCaller } from "./refused-calls.ts";

const minuteSeconds = 60;
const hourSeconds = 3600;

/** Six a minute and so many an hour; who asks more often waits for so many minutes. */
const buildZoneLimits = (hourly: number, minutes: number): Limit[] => {
  const block_seconds = minutes * minuteSeconds;
  return [
    { max: 6, window_seconds: minuteSeconds, block_seconds },
    { max: hourly, window_seconds: hourSeconds, block_seconds },
  ];
};

/**
 * Every limit outside the account side, in one place (API-01, API-02). Each is counted in this process, so that to refuse
 * costs the database nothing. What fails of unknown tokens and of `zones` is also counted by all servers together (API-42).
 */
export const limits = {
  /** An organization's keys together, a person's tokens together, or an address that shows none. */
  ordinary: (requests_per_minute: number): Limit => ({ max: requests_per_minute, window_seconds: minuteSeconds }),
  /** A person in a browser. */
  web: { max: 100, window_seconds: 1 },
  /** Tokens of an address that are not known to be good, so that guessing is slow. */
  unknown: { max: 60, window_seconds: minuteSeconds },
  /** Checkouts opened without a key: enough for an office behind one address on the day of a campaign. */
  opening: { max: 60, window_seconds: minuteSeconds },
  /** Cards typed into the test processor's form, each of which is a row. */
  cards: { max: 60, window_seconds: minuteSeconds },
  /** Operations that say so may be called less often from an address. Each counts by itself, whatever token is shown (API-04). */
  zones: {
    payment: buildZoneLimits(20, 30),
    // Codes that are guessed, and mail that others get (CUP-12).
    code: buildZoneLimits(12, 15),
    // Who has a key and nothing else, so that guessing keys is slow (BEN-40).
    license_key: [{ max: 3, window_seconds: 1, block_seconds: 60 }],
  } satisfies Record<NonNullable<Operation["limit"]>, Limit[]>,
};

const knownMax = 50_000;

/**
 * Counts who asks for what is open to everybody beside the API, by address: each such route for itself, at the pace of the
 * API or so many times that.
 */
export function limitOpen(
  { clock, config }: Pick<Deps, "clock" | "config">,
  times = 1,
): (request: FastifyRequest) => Promise<void> {
  const count = countInMemory(clock);
  const limit = limits.ordinary(config.requests_per_minute * times);
  return async (request) => {
    if (limit.max > 0) rejectRateLimited(count(getBucket(request.ip), limit));
  };
}

/** Seen from here, the account side reads a credential and says whose it is. */
type Accounts<C extends { from: "header" | "cookie"; text: string; isRecheck?: boolean }> = {
  credentialOf(request: FastifyRequest): C | undefined;
  whoIs(credential: C | undefined): Promise<Identity>;
};
type Subject = { key: string; isWeb: boolean; caller: Caller | undefined };

/** Whom requests are counted for; nobody that we know of for those of a stranger. */
function findSubject(identity: Identity, from: "header" | "cookie"): Subject | undefined {
  const counted = findCounted(identity, from);
  return counted && { ...counted, caller: findCaller(identity) };
}

function findCounted(identity: Identity, from: "header" | "cookie"): Omit<Subject, "caller"> | undefined {
  if (identity.kind === "key") return { key: `organization:${identity.organization_id}`, isWeb: false };
  if (identity.kind === "customer") return { key: `customer:${identity.customer_id}`, isWeb: true };
  if (identity.kind === "personal_key") return { key: `user:${identity.user_id}`, isWeb: false };
  if (identity.kind === "user") return { key: `user:${identity.user_id}`, isWeb: from === "cookie" };
  return undefined;
}

const getDigest = (text: string): string => createHash("sha256").update(text).digest("base64");

/** Refuse who has to wait, in seconds; 0 lets the caller go on. */
export function rejectRateLimited(wait: number, why = "Too many requests."): void {
  if (wait === 0) return;
  const detail = `${why} Try again in ${wait} s.`;
  throw new ApiError("TooManyRequests", detail, { "Retry-After": String(wait) });
}

/** Whether a try of what is limited has failed by what its caller sent. */
const isRefused = (status: number): boolean => status >= 400 && status < 500 && status !== 429;

type Zone = { key: string; limits: Limit[]; counts: { limit: Limit; count: ReturnType<typeof countInMemory> }[] };

/** The operations with limits of their own, by method and path. */
function openZones(clock: Deps["clock"]) {
  const limited = Object.values<Record<string, Operation>>(api)
    .flatMap((resource) => Object.values(resource))
    .flatMap(({ method, path, limit }) => (limit ? [[`${method} ${path}`, limits.zones[limit]] as const] : []));
  return new Map<string, Zone>(
    limited.map(([key, own]) => {
      const counts = own.map((limit: Limit) => ({ limit, count: countInMemory(clock) }));
      return [key, { key, limits: own, counts }];
    }),
  );
}

/**
 * Refuse who asks too often, and answer who asks. Requests to /v1 are counted before their body is read: a token that was
 * good before counts for whom it was, and any other as a guess of its address, which is taken back once it turns out to be
 * good. With no limit set, nothing is counted.
 */
export function limitRequests<C extends { from: "header" | "cookie"; text: string; isRecheck?: boolean }>(
  app: FastifyInstance,
  deps: Pick<Deps, "clock" | "config" | "db" | "log">,
  { credentialOf, whoIs }: Accounts<C>,
): Identify {
  const { clock, config, log } = deps;
  const asked = new WeakSet<FastifyRequest>();
  /** A stream asks again and again who listens: that is no further use of a key with a limit. */
  const findIdentity = (request: FastifyRequest, credential: C | undefined): Promise<Identity> => {
    const isRecheck = asked.has(request);
    asked.add(request);
    return whoIs(credential && isRecheck ? { ...credential, isRecheck } : credential);
  };
  if (config.requests_per_minute === 0)
    return async (request) => {
      const identity = await findIdentity(request, credentialOf(request));
      const caller = findCaller(identity);
      if (caller) request.caller = caller;
      return identity;
    };
  const ordinary = limits.ordinary(config.requests_per_minute);
  const [requests, web, guesses] = [countInMemory(clock), countInMemory(clock), countInMemory(clock)];
  const zones = openZones(clock);
  const shared = openSharedCounts(deps);
  const countFor = ({ key, isWeb }: Subject) => (isWeb ? web(key, limits.web) : requests(key, ordinary));
  /** Whose the tokens are that were good when they were last asked after, by their digests; the longest unused go first. */
  const known = new Map<string, Subject>();
  type Entry = {
    credential: C | undefined;
    digest: string;
    address: string;
    counted: "zone" | "guess" | "yes" | "not";
    /** The try of a token, or of an operation with a limit of its own, that all servers count together. */
    tried: Try | undefined;
  };
  const entries = new WeakMap<FastifyRequest, Entry>();
  let isToldOfProxy = false;

  async function enterShared(entry: Entry, key: string, limited: readonly Limit[]): Promise<void> {
    const { wait, entered } = await shared.enter(key, limited);
    entry.tried = entered;
    rejectRateLimited(wait);
  }

  async function enter(request: FastifyRequest): Promise<Entry> {
    const entered = entries.get(request);
    if (entered) return entered;
    const { headers, method, routeOptions, ip } = request;
    if (!isToldOfProxy && config.TRUST_PROXY === undefined && headers["x-forwarded-for"] !== undefined) {
      isToldOfProxy = true;
      log.warn({ address: ip }, "A proxy that TRUST_PROXY does not name: everybody behind it is counted as one.");
    }
    const address = getBucket(ip);
    const credential = credentialOf(request);
    const digest = credential ? getDigest(credential.text) : "";
    const entry: Entry = { credential, digest, address, counted: "not", tried: undefined };
    entries.set(request, entry);
    const zone = zones.get(`${method} ${routeOptions.url}`);
    const subject = known.get(digest);
    if (subject?.caller) request.caller = subject.caller;
    if (zone) {
      entry.counted = "zone";
      for (const { limit, count } of zone.counts) rejectRateLimited(count(address, limit));
      await enterShared(entry, `${zone.key}:${address}`, zone.limits);
    } else if (subject) {
      entry.counted = "yes";
      rejectRateLimited(countFor(subject));
    } else if (credential?.from === "header") {
      entry.counted = "guess";
      rejectRateLimited(guesses(address, limits.unknown));
      await enterShared(entry, `token:${address}`, [limits.unknown]);
    } else {
      rejectRateLimited(requests(`address:${address}`, ordinary));
    }
    return entry;
  }

  app.addHook("onRequest", async (request, { raw }) => {
    // Also where its client has left meanwhile. A token that nobody looked at was no guess.
    const endTry = () => {
      const { counted, tried } = entries.get(request) ?? {};
      const hasFailed = !raw.writableFinished || isRefused(raw.statusCode);
      void tried?.end(counted === "zone" && hasFailed);
    };
    raw.once("finish", endTry).once("close", endTry);
    if (/^\/(v1\/|openapi\.json$)/.test(request.routeOptions.url ?? "")) await enter(request);
  });

  return async (request) => {
    const entry = await enter(request);
    const { credential, digest, address, counted, tried } = entry;
    // A stream asks again and again who listens.
    if (counted !== "zone") entry.counted = "yes";
    const revertCount = () => counted === "guess" && guesses(address, limits.unknown, -1);
    const identity = await findIdentity(request, credential).catch((error: unknown) => {
      // The database is away: that says nothing about the token.
      revertCount();
      throw error;
    });
    if (!credential) return identity;
    if (counted === "guess") rejectRateLimited((await tried?.end(identity.kind === "invalid")) ?? 0);
    if (identity.kind !== "invalid") revertCount();
    known.delete(digest);
    const subject = findSubject(identity, credential.from);
    if (!subject) return identity;
    if (subject.caller) request.caller = subject.caller;
    known.set(digest, subject);
    for (const [oldest] of known) {
      if (known.size <= knownMax) break;
      known.delete(oldest);
    }
    if (counted === "guess" || counted === "not") rejectRateLimited(countFor(subject));
    return identity;
  };
}
