/** Calls to the server: who asks, for which organization, and when to try again. */

import { asRoleHeader } from "../shared/as-role.ts";
import { findNextStep } from "../shared/next-steps.ts";
import { formatUrl } from "../shared/request.ts";
import { type CommandCall, type Context, otherKey, requireSignIn } from "./context.ts";
import { Fault, getFaultKind } from "./fault.ts";
import { type HttpAnswer, send, UnreachableError } from "./http.ts";
import { pause } from "./pause.ts";

const attemptsMax = 3;
/** A limit that counts by the minute is waited out; a block of half an hour is not. */
const waitMsMax = 90_000;
/** Longer than this nobody waits without being told why. */
const waitMsSilent = 1000;

const parse = (text: string): unknown => {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** A role, or several by commas. An empty one would be sent as none, and the request made with all rights. */
function checkRole(role: string): string {
  if (/^[a-z][a-z0-9_,-]*$/.test(role)) return role;
  throw new Fault("usage", `"${role}" is no role`, { hint: "See: `floe roles list`   (or --as viewer)" });
}

/** The headers that say who asks. */
export async function getAuthHeaders(
  context: Context,
  organization = true,
  given?: string,
): Promise<Record<string, string>> {
  const { apiKey, credential, job } = context.settings();
  const kept =
    given ?? apiKey ?? credential?.token ?? (job && (await (await import("./ci/key.ts")).loadJobKey(context, job)));
  if (!kept) throw requireSignIn(context);
  const token = kept.startsWith("keychain:")
    ? await (await import("./accounts/keychain.ts")).loadToken(context, kept)
    : kept;
  // A header of a token with a line break in it would be two headers.
  if (/[^\x21-\x7e]/.test(token)) throw new Fault("usage", "the API key contains characters that a key never has");
  const chosen = organization ? await context.organization() : undefined;
  return {
    authorization: `Bearer ${token}`,
    ...(chosen && { "polar-organization": chosen }),
    ...(context.globals.as !== undefined && { [asRoleHeader]: checkRole(context.globals.as) }),
  };
}

type Body = { error?: unknown; detail?: unknown; message?: unknown; error_description?: unknown; code?: unknown };
type Place = { loc?: (string | number)[]; msg?: string; type?: string };

const flagOf = (loc: (string | number)[]): string => {
  const [where, ...path] = loc;
  const [first, ...rest] = path;
  if (first === undefined) return String(where);
  if (where === "path") return `<${first}>`;
  const flag = `--${String(first).replaceAll("_", "-")}`;
  return rest.length > 0 ? `${flag} (${rest.join(".")})` : flag;
};

/** Whether a refusal is about how things stand, such as an order that was refunded, so that nobody else could do it either. */
const isBeyondAsking = (error: unknown): boolean => typeof error === "string" && /^[A-Z]/.test(error);

/** In how many seconds the server wants to be asked again, where it says so: as a number, or as a date. */
function readRetryAfter({ headers }: HttpAnswer): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (!text) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

/** A fault from an answer that is not a success, with the next step where there is one. */
export function readFault(answer: HttpAnswer, server: string): Fault {
  const body = (parse(answer.text) ?? {}) as Body;
  const { status } = answer;
  const kind = getFaultKind(status);
  const name = typeof body.error === "string" ? body.error : typeof body.code === "string" ? body.code : undefined;
  const said = [body.detail, body.error_description, body.message].find((text) => typeof text === "string");
  const hints: Record<string, string> = {
    signed_out: "Run: `floe login`   (or check FLOE_API_KEY)",
    ...(isBeyondAsking(body.error)
      ? {}
      : { not_permitted: "Ask an owner of the organization, or use a key that has the scope." }),
    rate_limited: `Try again${answer.headers["retry-after"] ? ` in ${answer.headers["retry-after"]} s` : " later"}.`,
    unreachable: "Try again later. `floe status` shows whether the server answers.",
  };
  const retry_after = readRetryAfter(answer);
  const parts = {
    status,
    ...(name && { name }),
    ...(hints[kind] && { hint: hints[kind] }),
    ...(retry_after !== undefined && { retry_after }),
  };
  if (Array.isArray(body.detail)) {
    const other = (body.detail as Place[]).find(({ loc = [] }) => loc.join(".") === "header.polar-organization");
    if (other) return new Fault("usage", `--org (FLOE_ORG) is refused: ${other.msg}`, { ...parts, hint: otherKey });
    const role = (body.detail as Place[]).find(({ loc = [] }) => loc.join(".") === `header.${asRoleHeader}`);
    if (role)
      return new Fault("not_found", `--as is refused: ${role.msg}`, { ...parts, hint: "See: `floe roles list`" });
    const step = (body.detail as Place[])
      .map(({ type = "" }) => findNextStep(type))
      .find((found) => found !== undefined);
    const faults = (body.detail as Place[]).map((one) => ({
      flag: flagOf(one.loc ?? []),
      message: one.msg ?? "",
      path: (one.loc ?? []).join("."),
    }));
    return new Fault(kind, faults.length === 1 ? "one value was rejected" : "some values were rejected", {
      ...parts,
      ...(step && { hint: `Run: \`${step}\`` }),
      faults,
      places: (body.detail as Place[]).map(({ loc = [], msg = "" }) => ({ loc, msg })),
    });
  }
  if (status >= 300 && status < 400) {
    return new Fault("error", `${server} answers with a redirect to ${answer.headers.location ?? "somewhere else"}`, {
      status,
      hint: "Give that address with --server.",
    });
  }
  const plain: Record<string, string> = {
    signed_out: "the sign-in is not accepted: it has expired or was revoked",
    unreachable: `the server failed (${status})`,
  };
  return new Fault(kind, said !== undefined ? String(said) : (plain[kind] ?? `the server answered ${status}`), parts);
}

/** How long to wait before the next attempt, or undefined when there should be none. */
function waitFor(attempt: number, safe: boolean, result: HttpAnswer | UnreachableError): number | undefined {
  if (attempt >= attemptsMax) return undefined;
  // Half of the wait is chance, so that many clients do not come back together.
  const backoff = 250 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  if (result instanceof UnreachableError) {
    // A refused connection or an unknown host will not be different in a moment; a dropped one may be.
    return safe && /ECONNRESET|EPIPE|socket hang up/.test(result.code) ? backoff : undefined;
  }
  const { status } = result;
  const asked = readRetryAfter(result);
  const wait = asked === undefined ? backoff : asked * 1000;
  if (wait > waitMsMax) return undefined;
  // A 429 says, whatever the method, that nothing was done; so does a key in use.
  if (status === 429) return wait;
  const inUse = status === 409 && attempt > 1 && result.text.includes("IdempotencyKeyInUse");
  return (safe && status >= 500) || inUse ? wait : undefined;
}

/** Make a call and answer the parsed body and the headers. Throws a Fault for anything that is not a success. */
export async function callOperation(
  context: Context,
  made: CommandCall,
): Promise<{ status: number; body: unknown; now?: number }> {
  const { server, timeoutMs } = context.settings();
  const auth = made.auth === false ? {} : await getAuthHeaders(context, made.organization, made.token);
  const key =
    made.method === "POST" && !made.isRepeatSafe
      ? (made.idempotencyKey ?? process.getBuiltinModule("node:crypto").randomUUID())
      : undefined;
  const body = made.body === undefined ? undefined : JSON.stringify(made.body);
  const headers = {
    accept: "application/json",
    "user-agent": `floe-cli/${context.version} (${process.platform})`,
    ...auth,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(key && { "idempotency-key": key }),
    ...(made.ifMatch !== undefined && { "if-match": made.ifMatch }),
  };
  const url = new URL(server + formatUrl(made.path, { params: made.params ?? {}, query: made.query ?? {} }));
  const safe = made.method === "GET" || key !== undefined || made.isRepeatSafe === true;
  for (let attempt = 1; ; attempt++) {
    const started = Date.now();
    const result = await send({
      method: made.method,
      url,
      headers,
      body,
      timeoutMs,
      env: context.io.env,
      signal: context.io.signal,
    }).catch((error: unknown) => {
      if (error instanceof UnreachableError) return error;
      throw error;
    });
    context.debug(
      `${made.method} ${url.href} → ${result instanceof UnreachableError ? result.code : result.status} in ${Date.now() - started} ms`,
    );
    if (!(result instanceof UnreachableError) && result.status >= 200 && result.status < 300) {
      const parsed = parse(result.text);
      if (parsed === undefined && result.text.trim() !== "") {
        throw new Fault("error", `${server} did not answer with JSON`, {
          hint: "Is this the address of a floe server?",
        });
      }
      if (result.headers.etag !== undefined) made.onTag?.(result.headers.etag);
      const now = Date.parse(String(result.headers["floe-now"]));
      return { status: result.status, body: parsed, ...(Number.isNaN(now) ? {} : { now }) };
    }
    const wait = made.isTriedOnce ? undefined : waitFor(attempt, safe, result);
    if (wait !== undefined) {
      if (wait > waitMsSilent) {
        const why =
          !(result instanceof UnreachableError) && result.status === 429 ? "Too many requests" : "No answer yet";
        context.say(`${why}; trying again in ${Math.ceil(wait / 1000)} s …\n`);
      }
      await pause(wait, context.io.signal);
      if (!context.io.signal.aborted) continue;
    }
    const fault = result instanceof UnreachableError ? result : readFault(result, server);
    const { as } = context.globals;
    if (fault.kind === "not_permitted" && as !== undefined)
      fault.parts.hint = `You asked as ${as}: without --as you may do what you may.`;
    // Whether a write that got no answer was done is not known; the key makes asking again safe.
    const mayBeDone = result instanceof UnreachableError ? result.mayHaveArrived : fault.kind === "unreachable";
    if (key && made.repeatable && mayBeDone)
      throw new Fault(fault.kind, fault.message, { ...fault.parts, idempotency_key: key });
    throw fault;
  }
}
