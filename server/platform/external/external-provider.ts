import { fetchService } from "./services.ts";

const waitMostS = 24 * 3600;
const messageMost = 200;

/** The external service did not process the request, and may do so later. */
export class ExternalBusyError extends Error {
  override readonly name = "Busy";
  /** The time before which the service asked not to be called; null if it gave none. */
  readonly until: Date | null;
  constructor(message: string, until: Date | null = null) {
    super(message);
    this.until = until;
  }
}

/** The external service rejected the request permanently: a person has to change something first. */
export class ExternalRefusedError extends Error {
  override readonly name = "Refused";
  readonly status: number;
  /** The service's own numeric error code; null if it has none. */
  readonly code: number | null;
  constructor(message: string, status: number, code: number | null = null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Until when whoever was asked too often wants not to be, by whom and what is asked. */
const closed = new Map<string, Date>();

/** Clean and shorten a text from outside, so that it can be displayed and stored. */
export const cleanText = (text: unknown, most = messageMost): string =>
  typeof text === "string"
    ? text
        .replace(/[\p{C}\s]+/gu, " ")
        .trim()
        .slice(0, most)
        .toWellFormed()
    : "";

/** The seconds after which the service allows another call, by its response; null if it does not say. */
function waitOf({ headers, json }: { headers: Headers; json: unknown }, now: Date): number | null {
  const number = (text: string | null): number | null =>
    text !== null && text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
  const inBody = (json as { retry_after?: unknown } | null | undefined)?.retry_after;
  const isSpent = headers.get("x-ratelimit-remaining") === "0";
  const reset = number(headers.get("x-ratelimit-reset"));
  const said =
    (typeof inBody === "number" ? inBody : number(headers.get("retry-after"))) ??
    (isSpent ? number(headers.get("x-ratelimit-reset-after")) : null) ??
    (isSpent && reset !== null ? reset - now.getTime() / 1000 : null);
  return said === null ? null : Math.min(Math.max(said, 0.1), waitMostS);
}

export type ExternalCall = {
  /** The display name of the service. */
  name: string;
  /** The key of the service's rate limit, which several calls share. */
  counted: string;
  url: string;
  method: "GET" | "PUT" | "POST" | "DELETE";
  headers: Record<string, string>;
  body?: object;
  /** The HTTP statuses that mean success. */
  done: readonly number[];
  /** By the server's clock. */
  now: Date;
};

/**
 * Call an external service; the call must be repeatable. Throws `ExternalBusyError` or `ExternalRefusedError` if it failed.
 * A service that is rate limited is not called before the time it asked for.
 */
export async function callExternal(call: ExternalCall): Promise<{ status: number; json: unknown }> {
  const { name, counted, url, method, headers, body, done, now } = call;
  const until = closed.get(counted);
  if (until !== undefined && until > now) throw new ExternalBusyError(`${name} is asked too often.`, until);
  closed.delete(counted);
  const answer = await fetchService(url, {
    method,
    headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  }).catch(() => {
    throw new ExternalBusyError(`${name} does not answer.`);
  });
  const { status, json } = answer;
  const wait = waitOf(answer, now);
  const again = wait === null ? null : new Date(now.getTime() + wait * 1000);
  // Both services also report with a success that the limit is reached.
  if (again && (status === 429 || answer.headers.get("x-ratelimit-remaining") === "0")) closed.set(counted, again);
  if (done.includes(status)) return { status, json };
  const { message, code } = (typeof json === "object" && json !== null ? json : {}) as Record<string, unknown>;
  const said = cleanText(message);
  // GitHub also reports its rate limit with 403.
  const isLimited =
    status === 429 || (status === 403 && (answer.headers.has("retry-after") || /rate limit/i.test(said)));
  if (isLimited)
    throw new ExternalBusyError(`${name} is asked too often.`, again ?? new Date(now.getTime() + unsaidWaitMs));
  if (status < 300 || status >= 500 || status === 408)
    throw new ExternalBusyError(`${name} answered with status ${status}.`, again);
  throw new ExternalRefusedError(
    said === "" ? `status ${status}` : said,
    status,
    typeof code === "number" ? code : null,
  );
}
/** The pause that GitHub asks for if a response names none. */
const unsaidWaitMs = 60_000;
