import type { Operation } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Ctx, Deps, Identity } from "../../platform/context.ts";
import type { Relay, Relayed } from "../../platform/http/relayed.ts";
import { readVersion } from "../../platform/version.ts";
import { openRefusalCounter, type RefusalCounter } from "../connection/refusal-counter.ts";
import { openWebhookSecrets, type WebhookSecrets } from "../connection/secrets.ts";
import { mapReply } from "./answer.ts";
import type { BreakerTerms } from "./breaker.ts";
import { findLink } from "./link.ts";
import { openPolar, type Polar } from "./polar.ts";
import type { HostedLink, RelayCall, RelayedCall } from "./request.ts";
import { openCustomerTokens } from "./tokens.ts";

/** Hosted Polar, as one server uses it. */
export type Hosted = Relay & {
  polar: Polar;
  /** The organization whose data Polar has; undefined until it is known. */
  getLink(): HostedLink | undefined;
  requireLink(): HostedLink;
  /** Look for the organization again. With an id, link the organization here that has it. */
  refreshLink(named?: string): Promise<HostedLink | undefined>;
  /** What Polar signs its events with. */
  secrets: WebhookSecrets;
  /** Counts deliveries that were refused. */
  refusals: RefusalCounter;
  relay: RelayCall;
  /** With whose token an operation is asked. */
  findToken(op: Operation, ctx: Ctx): Promise<string | null>;
  identifyCustomer(deps: Deps, token: string): Promise<Identity | undefined>;
  close(): void;
};

/** Polar's own version of the contract, which is the newest: answers are adapted to the client afterwards. */
const polarVersion = "2026-10";
/** In place of the id of a customer who is known at Polar alone: nobody here has it. */
const nobody = "00000000-0000-0000-0000-000000000000";

export async function openHosted(deps: Deps, terms?: BreakerTerms): Promise<Hosted> {
  const { config, log, clock } = deps;
  const polar = openPolar(config, log, terms);
  const agent = `floe/${readVersion()}`;
  const ownToken = config.POLAR_ACCESS_TOKEN ?? "";
  let link: HostedLink | undefined;
  const relay = async ({ operation, op, path, body, sent, token }: RelayedCall): Promise<Relayed> => {
    const { accept, "accept-language": language, "idempotency-key": key } = sent?.headers ?? {};
    const isRead = op.method === "GET";
    const headers: Record<string, string> = {
      accept: op.file ? (accept ?? "*/*") : "application/json",
      "polar-version": polarVersion,
      "user-agent": agent,
      ...(language ? { "accept-language": language } : {}),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(sent ? { "x-request-id": sent.id } : {}),
      ...(typeof key === "string" && !isRead ? { "idempotency-key": `${link?.organization_id ?? ""}:${key}` } : {}),
    };
    const call = { operation, method: op.method, path, headers, body, isFile: op.file !== undefined };
    const reply = await polar.call({ ...call, ...(isRead && sent ? { signal: sent.gone } : {}) });
    return mapReply({ polar, config, log, clock, polar_id: link?.polar_id }, operation, op, reply, token === ownToken);
  };
  const tokens = openCustomerTokens(deps, relay, ownToken);
  const refreshLink = async (named?: string) => {
    link = await findLink(deps, polar, ownToken, link, named);
    return link;
  };
  await refreshLink();
  const getLink = () => link;
  return {
    polar,
    getLink,
    secrets: openWebhookSecrets(deps, getLink),
    refusals: openRefusalCounter(deps, getLink),
    requireLink() {
      if (link) return link;
      throw new ApiError("ServiceUnavailable", "Which organization Polar has is not known yet. Try again.", {
        "Retry-After": "5",
      });
    },
    refreshLink,
    relay,
    close: polar.close,
    isServed: (organization_id) => organization_id === link?.organization_id,
    renameOrganization: (asked) => (link && link.organization_id !== link.polar_id ? renameIn(asked, link) : asked),
    async findToken({ access }, { actor }) {
      if (access.by === "anyone") return null;
      if (access.by !== "customer") return ownToken;
      return actor.customer?.token ?? tokens.find(actor);
    },
    async identifyCustomer(_deps, token) {
      if (!/^polar_[cm]st_/.test(token)) return undefined;
      return {
        kind: "customer",
        organization_id: link?.organization_id ?? nobody,
        customer_id: nobody,
        session_id: nobody,
        member: null,
        token,
        clock_offset_ms: 0,
        sandbox: false,
      };
    },
  };
}

type Asked = Parameters<Relay["renameOrganization"]>[0];
const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same request with the organization's id here in each place where its id at Polar stands. */
function renameIn({ headers, query, body, params }: Asked, link: HostedLink): Asked {
  const rename = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(rename) : value === link.polar_id ? link.organization_id : value;
  const renameFields = (value: unknown, names: readonly string[]): unknown => {
    if (!isMap(value)) return value;
    const found = names.filter((name) => name in value).map((name) => [name, rename(value[name])]);
    return { ...value, ...Object.fromEntries(found) };
  };
  const first =
    isMap(body) && Array.isArray(body.events) ? { events: [renameFields(body.events[0], ["organization_id"])] } : {};
  const renamedBody = renameFields(body, ["organization_id"]);
  return {
    headers: renameFields(headers, ["polar-organization"]) as Asked["headers"],
    query: renameFields(query, ["organization_id"]),
    body: isMap(renamedBody) ? { ...renamedBody, ...first } : renamedBody,
    params: renameFields(params, ["id"]),
  };
}
