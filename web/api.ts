import type { Api } from "../shared/api/index.ts";
import type { Output } from "../shared/contract.ts";
import type { Fault } from "../shared/errors.ts";
import type { Wire } from "../shared/request.ts";

export type { Wire };

export type Checkout = Wire<Output<Api["checkoutClient"]["get"]>>;
export type CheckoutOrder = Wire<Output<Api["checkoutClient"]["order"]>>;

/**
 * What went wrong; `status` 0 is a server that could not be reached. `retry_after` are seconds, where it says them;
 * `checkout` are the terms that hold now, where others were agreed to.
 */
export type Failure = {
  status: number;
  error: string;
  detail: string;
  faults: Fault[];
  retry_after?: number;
  checkout?: Checkout;
};
/** `etag` names the state that was read, where it can be changed on that condition. */
export type Result<T> = { ok: true; value: T; etag?: string } | { ok: false; failure: Failure };

type Refusal = {
  error?: unknown;
  detail?: unknown;
  message?: unknown;
  code?: unknown;
  error_description?: unknown;
  checkout?: Checkout;
};

const pickSentence = (...candidates: unknown[]): string =>
  candidates.find((candidate): candidate is string => typeof candidate === "string" && candidate !== "") ??
  "Something went wrong. Please try again.";

/** What only asks and has no answer for so long is given up: it may be asked again, and who waits for it would wait for ever. */
const answerMsMax = 15_000;

/** One call to the server that serves this page. Never throws: a refusal is a value, an unreachable server too. */
export async function requestApi<T>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  token?: string,
  headers: Record<string, string> = {},
): Promise<Result<T>> {
  const given_up = new AbortController();
  // What changes something is waited for: nobody would know whether it came about.
  const timer = method === "GET" ? setTimeout(() => given_up.abort(), answerMsMax) : undefined;
  try {
    const response = await fetch(path, {
      method,
      signal: given_up.signal,
      credentials: "include",
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json: unknown = text === "" ? null : JSON.parse(text);
    const etag = response.headers.get("etag");
    if (response.ok) return { ok: true, value: json as T, ...(etag && { etag }) };
    const answer = (json ?? {}) as Refusal;
    const faults = Array.isArray(answer.detail) ? (answer.detail as Fault[]) : [];
    return {
      ok: false,
      failure: {
        status: response.status,
        // Billing names a fault `error`, accounts `code`.
        error: [answer.error, answer.code].find((name) => typeof name === "string") ?? "",
        detail: pickSentence(answer.detail, answer.message, answer.error_description, faults[0]?.msg),
        faults,
        ...(answer.checkout && { checkout: answer.checkout }),
        ...(Number(response.headers.get("retry-after")) > 0 && {
          retry_after: Number(response.headers.get("retry-after")),
        }),
      },
    };
  } catch {
    const detail = "The server cannot be reached. Check your connection and try again.";
    return { ok: false, failure: { status: 0, error: "", detail, faults: [] } };
  } finally {
    clearTimeout(timer);
  }
}

/** Anything but real money is paid with where the processor is the test one, or Stripe in its test mode. */
export const isTestKey = (publishable_key: string | null | undefined): boolean =>
  !publishable_key || publishable_key.startsWith("pk_test_");
