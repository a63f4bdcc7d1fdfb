import type { Api } from "../shared/api/index.ts";
import type { Operation, Output } from "../shared/contract.ts";
import type { Fault } from "../shared/errors.ts";
import {
  type Answer,
  type Body,
  formatUrl,
  type Route,
  type RouteInput,
  splitRoute,
  type Wire,
} from "../shared/request.ts";
import { checkoutClient } from "../shared/routes.ts";
import { streamPaths } from "../shared/stream-paths.ts";
import { testProcessorPaths } from "../shared/test-processor-paths.ts";

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
export type Result<T> = { ok: true; value: T } | { ok: false; failure: Failure };

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
    if (response.ok) return { ok: true, value: json as T };
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

type CallOptions = { token?: string; headers?: Record<string, string> };

/** Call `routes.RESOURCE.OPERATION`, and return its answer or what went wrong. */
export function callApi<O extends Operation>(
  route: Route<O>,
  input: RouteInput<O>,
  { token, headers }: CallOptions = {},
): Promise<Result<Answer<O>>> {
  const { method, path } = splitRoute(route);
  return requestApi(method, formatUrl(path, input), (input as { body?: unknown }).body, token, headers);
}

export type Card = { number: string; exp_month: number; exp_year: number; cvc: string };

type CheckoutUpdate = Body<Api["checkoutClient"]["update"]>;
type CheckoutConfirm = Body<Api["checkoutClient"]["confirm"]>;

/** Everything the checkout page asks the server. */
export const checkouts = {
  get: (client_secret: string) => callApi(checkoutClient.get, { params: { client_secret } }),
  update: (client_secret: string, body: CheckoutUpdate) =>
    callApi(checkoutClient.update, { params: { client_secret }, body }),
  confirm: (client_secret: string, body: CheckoutConfirm) =>
    callApi(checkoutClient.confirm, { params: { client_secret }, body }),
  order: (client_secret: string) => callApi(checkoutClient.order, { params: { client_secret } }),
  /** Where a document of the order is; null while it is being printed. */
  document: (client_secret: string, kind: "invoice" | "receipt") =>
    kind === "invoice"
      ? callApi(checkoutClient.invoice, { params: { client_secret } })
      : callApi(checkoutClient.receipt, { params: { client_secret } }),
  streamUrl: (client_secret: string): string => formatUrl(streamPaths.checkout, { params: { client_secret } }),
  /** Hands the card to the processor, so that it never passes through the checkout. */
  tokenizeTestCard: (card: Card, billing_name: string) =>
    requestApi<{ id: string }>("POST", testProcessorPaths.tokens, { card, billing_name }),
  authenticateTest: (client_secret: string, approved: boolean) =>
    requestApi<unknown>("POST", formatUrl(testProcessorPaths.authenticate, { params: { client_secret } }), {
      approved,
    }),
};
