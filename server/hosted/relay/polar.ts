import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "../../../shared/errors.ts";
import { truncateToWhole } from "../../../shared/money.ts";
import type { Config } from "../../platform/config.ts";
import type { Log } from "../../platform/context.ts";
import { type BreakerTerms, createBreaker } from "./breaker.ts";
import { NoReplyError, openSender, type SentCall, type ServiceReply } from "./send.ts";
import { openTurns } from "./turns.ts";

export const standardUrl = "https://api.polar.sh";
/** Whether the address is that of Polar's own sandbox. */
export const isSandboxUrl = (url: string): boolean => new URL(url).hostname === "sandbox-api.polar.sh";

/** What Polar answered. `json` is undefined where the answer has no body. */
export type PolarReply = Omit<ServiceReply, "text"> & { json: unknown };
export type PolarCall = SentCall & {
  /** What the log and /readyz call it. */
  operation: string;
};
export type Polar = {
  url: string;
  /** Send a request within the limits. Throws 503 where no usable answer came. */
  call(call: PolarCall): Promise<PolarReply>;
  getState(): PolarState;
  noteToken(isRefused: boolean): void;
  close(): void;
};
export type PolarState = {
  breaker: "closed" | "open";
  token: "unknown" | "accepted" | "refused";
  last_failure: string | null;
};

const retryDelaysMs = [200, 800];
const retriedStatuses = new Set([502, 503, 504]);
const retryAfterMaxSeconds = 2;
const retryBudgetMs = 10_000;

type Attempt = { reply: PolarReply; isWell: boolean } | { fault: NoReplyError };

/** Everything that is sent to Polar goes through one of these: a limited number at once, retries of reads, and the breaker. */
export function openPolar(
  { POLAR_URL, POLAR_TIMEOUT_MS, POLAR_CONCURRENCY }: Config,
  log: Log,
  terms?: BreakerTerms,
): Polar {
  const url = POLAR_URL ?? standardUrl;
  const breaker = createBreaker(terms);
  const sender = openSender({ url, timeoutMs: POLAR_TIMEOUT_MS });
  const acquireTurn = openTurns(POLAR_CONCURRENCY, POLAR_TIMEOUT_MS);
  const state: PolarState = { breaker: "closed", token: "unknown", last_failure: null };

  function record(isWell: boolean | undefined, operation: string, reason = ""): void {
    breaker.record(isWell);
    const next = breaker.isOpen() ? "open" : "closed";
    if (isWell === false && (state.last_failure === null || next !== state.breaker))
      log.warn({ operation, reason, breaker: next }, "Polar does not answer as it should.");
    if (isWell === true && next !== state.breaker) log.warn({ operation, breaker: next }, "Polar answers again.");
    if (isWell !== undefined) state.last_failure = isWell ? null : `${operation}: ${reason}`;
    state.breaker = next;
  }

  async function attempt(call: PolarCall): Promise<Attempt> {
    rejectWhileOpen(breaker.peek());
    const release = await acquireTurn(call.signal).catch((error: NoReplyError) => {
      throw createOutageError(call, error);
    });
    let isStreaming = false;
    try {
      rejectWhileOpen(breaker.take());
      const { text, ...answer } = await sender.send(call);
      if (answer.stream) {
        isStreaming = true;
        answer.stream.once("close", release);
      }
      const json = parseReply(text);
      const isWell = answer.status < 500 && (answer.status < 300 || answer.status >= 400) && json !== notJson;
      record(
        isWell,
        call.operation,
        json === notJson ? `status ${answer.status}, not JSON` : `status ${answer.status}`,
      );
      return { reply: { ...answer, json: json === notJson ? undefined : json }, isWell };
    } catch (error) {
      if (!(error instanceof NoReplyError)) throw error;
      record(call.signal?.aborted ? undefined : false, call.operation, error.message);
      return { fault: error };
    } finally {
      if (!isStreaming) release();
    }
  }

  return {
    url,
    getState: () => ({ ...state, breaker: breaker.isOpen() ? "open" : "closed" }),
    noteToken(isRefused) {
      if (isRefused && state.token !== "refused")
        log.error({ url }, "Polar refuses POLAR_ACCESS_TOKEN. Is it a token of this address?");
      state.token = isRefused ? "refused" : "accepted";
    },
    close: sender.close,
    async call(call) {
      const started = performance.now();
      for (let number = 0; ; number++) {
        const made = await attempt(call);
        const delay = call.method === "GET" && !call.signal?.aborted ? findRetryDelay(made, number) : undefined;
        if (delay === undefined || performance.now() - started + delay > retryBudgetMs) {
          if ("fault" in made) throw createOutageError(call, made.fault);
          if (!made.isWell) throw createOutageError(call, new NoReplyError(`status ${made.reply.status}`, true));
          return made.reply;
        }
        await sleep(delay);
      }
    },
  };
}

function rejectWhileOpen(leftMs: number): void {
  if (leftMs <= 0) return;
  throw new ApiError("ServiceUnavailable", "Polar does not answer at the moment. Try again later.", {
    "Retry-After": String(truncateToWhole(leftMs / 1000) + 1),
  });
}

/** 503, which says of a write whether it may have been done. */
function createOutageError({ method }: PolarCall, { wasSent }: NoReplyError): ApiError {
  const headers = { "Retry-After": "1" };
  if (method === "GET" || !wasSent)
    return new ApiError("ServiceUnavailable", "Polar could not be asked. Try again.", headers);
  return new ApiError(
    "ServiceUnavailable",
    "Polar was sent the request and gave no answer. Look whether it was done before you send it again.",
    { ...headers, "Floe-Outcome": "unknown" },
  );
}

const notJson = Symbol("not JSON");

function parseReply(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return notJson;
  }
}

/** How long to wait before a read is repeated; undefined where its result stands. */
function findRetryDelay(made: Attempt, number: number): number | undefined {
  const base = retryDelaysMs[number];
  if (base === undefined) return undefined;
  const delay = base * (0.5 + Math.random());
  if ("fault" in made) return made.fault.tookAll ? undefined : delay;
  const { status, headers } = made.reply;
  if (retriedStatuses.has(status)) return delay;
  const after = Number(headers["retry-after"] ?? Number.NaN);
  return status === 429 && after <= retryAfterMaxSeconds ? Math.max(delay, after * 1000) : undefined;
}
