import type { Operation } from "../../../shared/contract.ts";
import { invalid, notFound } from "../../../shared/errors.ts";
import type { Relayed, SentRequest } from "../../platform/http/relayed.ts";
import { published, unlisted } from "../published.ts";

/** An organization that hosted Polar knows: its id here and its id there, which is the same for one that was made for Polar. */
export type HostedLink = { organization_id: string; polar_id: string };

/** What is sent to Polar in the end. */
export type RelayedCall = {
  operation: string;
  op: Operation;
  path: string;
  body: Buffer | string | undefined;
  sent: SentRequest | undefined;
  token: string | null;
};

export type RelayCall = (call: RelayedCall) => Promise<Relayed>;

const normalizePath = (path: string): string => path.replace(/\{\w+\}/g, "{}").replace(/\/$/, "");
const queriesByOperation = new Map(
  Object.entries({ ...published, ...unlisted }).map(([name, query]) => [normalizePath(name), query]),
);

/** The names that hosted Polar reads in the query of an operation; undefined where it has no such operation. */
export function findPublishedQuery({ method, path }: Pick<Operation, "method" | "path">): Set<string> | undefined {
  const query = queriesByOperation.get(normalizePath(`${method} ${path.replace(/:(\w+)/g, "{$1}")}`));
  return query === undefined ? undefined : new Set(query.split(" "));
}

/** The names of a query that floe alone reads. Hosted Polar would ignore them, and answer something else than was asked for. */
export function listOwnQuery(op: Operation): string[] {
  const known = findPublishedQuery(op);
  return Object.keys(op.query?.shape ?? {}).filter((name) => known?.has(name) === false);
}

const decodeSafely = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/**
 * The path of a request at Polar: the published one, with the parameters as they were received. A parameter that is a step to
 * another folder would make it another path.
 */
export function buildPath(op: Operation, received: string, link: HostedLink | undefined): string {
  const sent = received.replace(/^\/+|\/+$/g, "").split("/");
  const segments = op.path.replace(/^\/+|\/+$/g, "").split("/");
  if (sent.length !== segments.length) throw notFound();
  const filled = segments.map((segment, index) => {
    if (!segment.startsWith(":")) return segment;
    const value = sent[index] ?? "";
    const decoded = decodeSafely(value);
    if (decoded === undefined || decoded === "" || decoded === "." || decoded === "..") throw notFound();
    return link && decoded === link.organization_id ? link.polar_id : value;
  });
  return `/${filled.join("/")}${op.path.endsWith("/") ? "/" : ""}`;
}

/** The query as it was received, but for the organization's id, which is that at Polar. */
export function buildQuery(op: Operation, received: string, link: HostedLink | undefined): string {
  if (received === "") return "";
  const own = listOwnQuery(op);
  const parts = received.split("&").flatMap((part) => {
    const at = part.indexOf("=");
    const [name, value] = at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    const decoded = decodeSafely(name.replaceAll("+", " ")) ?? name;
    const [key = ""] = decoded.split("[", 1);
    if (key === "organization_id" && own.includes(key)) return [];
    if (own.includes(key)) {
      const msg = "Hosted Polar does not know this parameter: leave it out.";
      throw invalid({ loc: ["query", key], msg, type: "value_error" });
    }
    if (!link || decodeSafely(value) !== link.organization_id) return [part];
    return [`${name}=${link.polar_id}`];
  });
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

type Body = Record<string, unknown>;
const isMap = (value: unknown): value is Body => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a body names the organization by its id here. */
const isNamedHere = (body: unknown, { organization_id }: HostedLink): boolean =>
  isMap(body) && body.organization_id === organization_id;

/** The bytes of a body as they were received; written anew only where an organization's id is replaced. */
export function buildBody(
  received: Buffer | undefined,
  body: unknown,
  link: HostedLink | undefined,
): Buffer | string | undefined {
  if (!link || link.organization_id === link.polar_id || !isMap(body)) return received;
  const rename = (value: unknown) =>
    isNamedHere(value, link) ? { ...(value as Body), organization_id: link.polar_id } : value;
  const { events } = body;
  const isOld = isNamedHere(body, link) || (Array.isArray(events) && events.some((event) => isNamedHere(event, link)));
  if (!isOld) return received;
  return JSON.stringify({
    ...(rename(body) as Body),
    ...(Array.isArray(events) ? { events: events.map(rename) } : {}),
  });
}
