import { fetchService } from "./services.ts";

const waitMostS = 24 * 3600;
const messageMost = 200;

/** Another service has not done what it was asked, and may later. */
export class ExternalBusyError extends Error {
  override readonly name = "Busy";
  /** Until when it wants not to be asked, where it has said so. */
  readonly until: Date | null;
  constructor(message: string, until: Date | null = null) {
    super(message);
    this.until = until;
  }
}

/** It will not do it, however often it is asked: somebody has to do something first. */
export class ExternalRefusedError extends Error {
  override readonly name = "Refused";
  readonly status: number;
  /** What the service itself calls the reason, where it has a name or a number for it. */
  readonly code: number | null;
  constructor(message: string, status: number, code: number | null = null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Until when whoever was asked too often wants not to be, by whom and what is asked. */
const closed = new Map<string, Date>();

/** What of a text from outside can be shown and kept. */
export const cleanText = (text: unknown, most = messageMost): string =>
  typeof text === "string"
    ? text
        .replace(/[\p{C}\s]+/gu, " ")
        .trim()
        .slice(0, most)
        .toWellFormed()
    : "";

/** In how many seconds a service wants to be asked again, by what its answer says; null where it says nothing. */
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
  /** Who is asked, as people know it. */
  name: string;
  /** What is counted together where the service counts calls. */
  counted: string;
  url: string;
  method: "GET" | "PUT" | "POST" | "DELETE";
  headers: Record<string, string>;
  body?: object;
  /** The statuses that say that it was done. */
  done: readonly number[];
  /** By the server's clock. */
  now: Date;
};

/**
 * Ask another service to do something that may be asked for again. Ends with `Busy` or `Refused` where it was not done. A service
 * that has had enough for now is not asked until it wants to be.
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
  // Both say with what was done, too, that it was the last for now.
  if (again && (status === 429 || answer.headers.get("x-ratelimit-remaining") === "0")) closed.set(counted, again);
  if (done.includes(status)) return { status, json };
  const { message, code } = (typeof json === "object" && json !== null ? json : {}) as Record<string, unknown>;
  const said = cleanText(message);
  // GitHub says with 403, too, that it is asked too often.
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
/** As GitHub asks for where it says no time. */
const unsaidWaitMs = 60_000;
