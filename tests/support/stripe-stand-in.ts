/**
 * A server that speaks Stripe's API as far as floe uses it. Every request is judged by Stripe's own description: one that
 * Stripe would not know is refused as it would be, and fails the test when the stand-in is closed.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as later } from "node:timers/promises";
import Stripe from "stripe";
import { handling } from "./handling.ts";
import { type Fields, type Happened, openBooks, Refusal } from "./stripe-books.ts";
import { judgeAnswer, judgeObject, readRequest } from "./stripe-description.ts";

/**
 * How a call goes wrong: its answer is lost, it never arrives, it is one too many, or something breaks at Stripe after the
 * work was done.
 */
export type Trouble = "lost" | "unreached" | "rate_limit" | "broken";
type Answer = { status: number; json: Fields };
type Remembered = { asked: string; answer: Answer | undefined; at: number };
export type StripeStandIn = Awaited<ReturnType<typeof startStripe>>;

const dayS = 86_400;
const stripe = new Stripe("sk_test_stand_in");
// What Stripe's package repeats it repeats after half a second and more, for which no test needs to wait.
Object.assign(Stripe.prototype, { getInitialNetworkRetryDelay: () => 0.01 });
const refusals: Record<string, Answer> = {
  rate_limit: {
    status: 429,
    json: { error: { type: "invalid_request_error", code: "rate_limit", message: "Too many requests." } },
  },
  broken: { status: 500, json: { error: { type: "api_error", message: "An unknown error occurred." } } },
  in_use: {
    status: 409,
    json: {
      error: {
        type: "idempotency_error",
        code: "idempotency_key_in_use",
        message: "There is currently another in-progress request using this key.",
      },
    },
  },
  other: {
    status: 400,
    json: {
      error: {
        type: "idempotency_error",
        message: "Keys for idempotent requests can only be used with the same parameters they were first used with.",
      },
    },
  },
};

const signText = (body: string, secret: string, timestamp = Math.floor(Date.now() / 1000)) => ({
  body,
  signature: stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp }),
});
/** An event as Stripe posts it, signed. */
const sign = (event: object, secret: string, timestamp?: number) => signText(JSON.stringify(event), secret, timestamp);

/** Start one on a free port of this machine. */
export async function startStripe() {
  let ahead_s = 0;
  let time = (): number => Date.now();
  const now = (): number => Math.floor(time() / 1000) + ahead_s;
  let endpoint: { url: string; secret: string } | undefined;
  const posted = new Set<Promise<unknown>>();
  const books = openBooks(now, (event) => {
    if (!endpoint) return;
    const { body, signature } = sign(event, endpoint.secret);
    const headers = { "content-type": "application/json", "stripe-signature": signature };
    const post = fetch(endpoint.url, { method: "POST", headers, body });
    posted.add(post);
    post
      .catch((error: Error) => faults.push(`A notice was not taken: ${error.message}`))
      .finally(() => posted.delete(post));
  });
  const keys = new Map<string, Remembered>();
  const faults: string[] = [];
  const requests: { method: string; path: string; key: string | undefined; form: URLSearchParams }[] = [];
  const troubles: { trouble: Trouble; of: RegExp; times: number; meanwhile: (() => void) | undefined }[] = [];
  let latency_ms = 0;

  /** How this call goes wrong, if it does. */
  function takeTrouble(operation: string) {
    const found = troubles.find(({ of, times }) => times > 0 && of.test(operation));
    if (found) found.times -= 1;
    return found;
  }
  function perform(request: Exclude<ReturnType<typeof readRequest>, string>): Answer {
    try {
      return { status: 200, json: books.perform(request) };
    } catch (error) {
      if (error instanceof Refusal) return { status: error.status, json: { error: error.error } };
      throw error;
    }
  }
  const broken = refusals.broken as Answer;

  /** What Stripe answers; undefined where nobody hears it. */
  async function answer(request: IncomingMessage, body: string): Promise<Answer | undefined> {
    const url = new URL(request.url ?? "/", "http://stand-in");
    const method = request.method ?? "GET";
    const key = request.headers["idempotency-key"] as string | undefined;
    requests.push({ method, path: url.pathname, key, form: new URLSearchParams(body) });
    const { headers } = request;
    const read = readRequest({ method, path: url.pathname, query: url.search.slice(1), headers, body });
    if (typeof read === "string") {
      faults.push(read);
      return {
        status: 400,
        json: { error: { type: "invalid_request_error", code: "parameter_unknown", message: read } },
      };
    }
    const { trouble, meanwhile } = takeTrouble(read.operation) ?? {};
    if (trouble === "unreached") meanwhile?.();
    if (trouble === "unreached") return undefined;
    if (trouble === "rate_limit") return refusals.rate_limit;
    const asked = `${method} ${url.pathname} ${body}`;
    const before = key === undefined ? undefined : keys.get(key);
    const isKnown = before !== undefined && before.at > now() - dayS;
    if (isKnown && before.asked !== asked) {
      faults.push(`${read.operation}: the idempotency key ${key} was used for something else`);
      return refusals.other;
    }
    if (isKnown && !before.answer) return refusals.in_use;
    const remembered: Remembered = isKnown ? before : { asked, answer: undefined, at: now() };
    if (key !== undefined) keys.set(key, remembered);
    if (latency_ms > 0) await later(latency_ms);
    if (!remembered.answer) {
      const done = perform(read);
      remembered.answer = trouble === "broken" ? broken : done;
      const fault = judgeAnswer(read.operation, done.status, done.json);
      if (fault) faults.push(fault);
    }
    meanwhile?.();
    return trouble === "lost" ? undefined : structuredClone(remembered.answer);
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answered = await answer(request, await text(request)).catch((error: Error) => {
      faults.push(String(error.stack));
      return broken;
    });
    if (!answered) return void request.socket.destroy();
    const headers = { "content-type": "application/json", "request-id": `req_${requests.length}` };
    response.writeHead(answered.status, headers).end(JSON.stringify(answered.json));
  };
  const server = createServer(handling(serve));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  /** The next calls go wrong in this way; `meanwhile` is called when one does, before it is given up. */
  const trouble = (
    kind: Trouble,
    { of = /^POST /, times = 1, meanwhile }: { of?: RegExp; times?: number; meanwhile?: () => void } = {},
  ) => void troubles.push({ trouble: kind, of, times, meanwhile });

  return {
    ...books,
    url: `http://127.0.0.1:${port}`,
    /** Every request so far. */
    requests,
    trouble,
    /** Nothing goes wrong any more. */
    calm: (): void => void troubles.splice(0),
    /** Close the connection instead of answering the next creations, having done the work. */
    loseAnswers(times: number): void {
      troubles.splice(0);
      if (times > 0) trouble("lost", { times });
    },
    /** How long each answer takes. */
    wait(ms: number): void {
      latency_ms = ms;
    },
    /** From now on it is what time this clock says. */
    follow(clock: { now(): Date }): void {
      time = () => clock.now().getTime();
    },
    /** Move Stripe's clock: idempotency keys are kept for a day, searches find what is a minute old. */
    advance(seconds: number): void {
      ahead_s += seconds;
    },
    /** From now on post every event there, as it happens. */
    postTo(url: string, secret: string): void {
      endpoint = { url, secret };
    },
    forgetKeys: (): void => keys.clear(),
    sign,
    signText,
    /** A signed notice about an object, or about what is said of one. */
    notice(type: string, object: object, secret: string, id = "evt_1", more: Fields = {}) {
      const event = { id, object: "event", type, livemode: false, created: now(), data: { object }, ...more };
      return sign(event, secret);
    },
    /** The events so far of these kinds, each an object as Stripe describes it. */
    eventsOf(kind: RegExp): Happened[] {
      const found = books.events.filter(({ type }) => kind.test(type));
      for (const { data } of found) {
        const fault = judgeObject(data.object);
        if (fault) faults.push(fault);
      }
      return found;
    },
    /** What was wrong with the requests so far; a test that provokes it takes it away. */
    takeFaults: (): string[] => faults.splice(0),
    async close(): Promise<void> {
      await Promise.allSettled(posted);
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      if (faults.length > 0) throw new Error(`Stripe was spoken to wrongly:\n${faults.join("\n")}`);
    },
  };
}
