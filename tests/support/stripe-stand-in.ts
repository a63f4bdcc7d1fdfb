/**
 * A server that speaks the documented part of Stripe's API that floe uses: payment and set-up intents, customers, refunds and
 * signed events.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Stripe from "stripe";
import { outcomes, savedOutcome, setupOutcome, testMethods } from "../../server/processors/test-cards.ts";
import { handling } from "./handling.ts";

type Fields = Record<string, unknown>;
type Intent = {
  id: string;
  object: "payment_intent";
  status: string;
  amount: number;
  currency: string;
  metadata: Record<string, string>;
  client_secret: string;
  created: number;
  [field: string]: unknown;
};

type Refund = Fields & { id: string; payment_intent: string; amount: number; status: string };
type Setup = Fields & { id: string; status: string; client_secret: string };

export type StripeStandIn = {
  api: { host: string; port: number; protocol: "http" };
  intents: Map<string, Intent>;
  refunds: Map<string, Refund>;
  /** Every request so far: method, path and idempotency key. */
  requests: { method: string; path: string; key: string | undefined; form: URLSearchParams }[];
  /** Close the connection instead of answering the next creations, having done the work. */
  loseAnswers(count: number): void;
  /** Forget idempotency keys, as Stripe does after some days. */
  forgetKeys(): void;
  /** The buyer's bank has decided on a challenge. */
  authenticate(client_secret: string, approved: boolean): void;
  /** A signed notice about an intent, as Stripe posts it. */
  notice(type: string, intent: object, secret: string, id?: string): { body: string; signature: string };
  close(): Promise<void>;
};

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
};
const statuses = {
  succeeded: "succeeded",
  processing: "processing",
  requires_action: "requires_action",
  failed: "requires_payment_method",
};
/** The metadata of a request, as Stripe's encoding writes a map. */
const metadataOf = (form: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value]];
    }),
  );
const stripe = new Stripe("sk_test_stand_in");

/** Start one on a free port of this machine. */
export async function startStripe(): Promise<StripeStandIn> {
  const intents = new Map<string, Intent>();
  const setups = new Map<string, Setup>();
  const refunds = new Map<string, Refund>();
  const methods = new Map<string, { customer: string | null; method: (typeof testMethods)[string] }>();
  const byKey = new Map<string, { status: number; json: Fields }>();
  const requests: StripeStandIn["requests"] = [];
  let lost = 0;
  let made = 0;

  const refuse = (message: string, code = "resource_missing") => ({
    status: 400,
    json: { error: { type: "invalid_request_error", code, message } },
  });
  /** A card that is charged or kept: one that was kept before, or one of the test cards by its token. */
  function cardOf(form: URLSearchParams) {
    const token = form.get("confirmation_token") ?? form.get("payment_method") ?? "";
    const saved = methods.get(token);
    if (saved && saved.customer !== form.get("customer")) return undefined;
    return saved?.method ?? testMethods[token.replace(/^ctoken_/, "pm_card_")];
  }
  const errorOf = (decline: { reason: string; message: string } | null) =>
    decline && { type: "card_error", code: "card_declined", decline_code: decline.reason, message: decline.message };

  function charge(form: URLSearchParams): { status: number; json: Fields } {
    const method = cardOf(form);
    const outcome =
      method && (form.get("off_session") ? savedOutcome : (name: string) => outcomes[name])(method.scenario);
    if (!method || !outcome) return refuse("No such payment method.");
    made += 1;
    const id = `pi_${made}`;
    const error = errorOf(outcome.decline);
    const intent: Intent = {
      id,
      object: "payment_intent",
      status: statuses[outcome.status],
      amount: Number(form.get("amount")),
      currency: form.get("currency") ?? "",
      metadata: metadataOf(form),
      client_secret: `${id}_secret_1`,
      created: Math.floor(Date.now() / 1000),
      latest_charge:
        outcome.status === "succeeded"
          ? { id: `ch_${id}`, object: "charge", payment_method_details: { type: "card", card: { ...method.card } } }
          : null,
      last_payment_error: error,
    };
    intents.set(id, intent);
    // The error of a refused charge carries the intent as it is.
    return error
      ? { status: 402, json: { error: { ...error, payment_intent: intent } } }
      : { status: 200, json: intent };
  }

  function setUp(form: URLSearchParams): { status: number; json: Fields } {
    const method = cardOf(form);
    const outcome = method && setupOutcome(method.scenario);
    if (!method || !outcome) return refuse("No such payment method.");
    made += 1;
    const id = `seti_${made}`;
    const error = errorOf(outcome.decline);
    const customer = form.get("customer");
    methods.set(`pm_${made}`, { customer, method });
    const setup: Setup = {
      id,
      object: "setup_intent",
      status: statuses[outcome.status],
      client_secret: `${id}_secret_1`,
      customer,
      metadata: metadataOf(form),
      payment_method: { id: `pm_${made}`, object: "payment_method", type: "card", card: { ...method.card } },
      last_setup_error: error,
    };
    setups.set(id, setup);
    return error ? { status: 402, json: { error: { ...error, setup_intent: setup } } } : { status: 200, json: setup };
  }

  function giveBack(form: URLSearchParams): { status: number; json: Fields } {
    const payment_intent = form.get("payment_intent") ?? "";
    const intent = intents.get(payment_intent);
    if (intent?.status !== "succeeded") return refuse("This PaymentIntent has no successful charge to refund.");
    const given = [...refunds.values()].filter((one) => one.payment_intent === payment_intent);
    const amount = Number(form.get("amount"));
    if (given.reduce((sum, one) => sum + one.amount, amount) > intent.amount)
      return refuse("Refund amount is greater than the unrefunded amount of the charge.", "charge_already_refunded");
    made += 1;
    const refund = { id: `re_${made}`, object: "refund", payment_intent, amount, status: "succeeded" };
    refunds.set(refund.id, { ...refund, metadata: metadataOf(form) });
    return { status: 200, json: refunds.get(refund.id) ?? {} };
  }

  function route(
    method: string,
    path: string,
    form: URLSearchParams,
    query: URLSearchParams,
  ): { status: number; json: Fields } {
    const [, resource, one = ""] = /^\/v1\/(customers|setup_intents|refunds)(?:\/([^/]+))?$/.exec(path) ?? [];
    if (resource === "customers") {
      made += 1;
      return { status: 200, json: { id: `cus_${made}`, object: "customer", metadata: metadataOf(form) } };
    }
    if (resource === "setup_intents")
      return method === "POST" ? setUp(form) : { status: 200, json: setups.get(one) ?? {} };
    if (resource === "refunds" && method === "POST") return giveBack(form);
    if (resource === "refunds") {
      const data = [...refunds.values()].filter((each) => each.payment_intent === query.get("payment_intent"));
      return { status: 200, json: { object: "list", data, has_more: false, url: path } };
    }
    const [, id = "", action] = /^\/v1\/payment_intents(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ?? [];
    if (method === "POST" && !id) return charge(form);
    if (method === "GET" && !id) {
      const since = Number(query.get("created[gte]") ?? 0);
      const found = [...intents.values()].filter((one) => one.created >= since).reverse();
      const start = found.findIndex((one) => one.id === query.get("starting_after")) + 1;
      // Small pages, so that a search that stops at the first one is found out.
      const data = found.slice(start, start + 2);
      return { status: 200, json: { object: "list", data, has_more: start + 2 < found.length, url: path } };
    }
    const intent = intents.get(id);
    if (!intent)
      return {
        status: 404,
        json: {
          error: {
            type: "invalid_request_error",
            code: "resource_missing",
            message: `No such payment_intent: '${id}'`,
          },
        },
      };
    if (action === "cancel") {
      if (intent.status === "succeeded" || intent.status === "canceled") {
        return {
          status: 400,
          json: {
            error: {
              type: "invalid_request_error",
              code: "payment_intent_unexpected_state",
              message: "It cannot be canceled.",
            },
          },
        };
      }
      intent.status = "canceled";
    }
    return { status: 200, json: intent };
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const form = await bodyOf(request);
    const url = new URL(request.url ?? "/", "http://stand-in");
    const key = request.headers["idempotency-key"] as string | undefined;
    const method = request.method ?? "GET";
    requests.push({ method, path: url.pathname, key, form });
    const known = key === undefined ? undefined : byKey.get(key);
    const answered = known ?? route(method, url.pathname, form, url.searchParams);
    if (key !== undefined) byKey.set(key, answered);
    if (method === "POST" && lost > 0) {
      lost -= 1;
      request.socket.destroy();
      return;
    }
    response
      .writeHead(answered.status, { "content-type": "application/json", "request-id": "req_1" })
      .end(JSON.stringify(answered.json));
  };
  const server = createServer(handling(answer));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    api: { host: "127.0.0.1", port: (server.address() as AddressInfo).port, protocol: "http" },
    intents,
    refunds,
    requests,
    forgetKeys: () => byKey.clear(),
    loseAnswers(count) {
      lost = count;
    },
    authenticate(client_secret, approved) {
      const setup = [...setups.values()].find((one) => one.client_secret === client_secret);
      if (setup?.status === "requires_action") setup.status = approved ? "succeeded" : "requires_payment_method";
      const intent = [...intents.values()].find(
        (one) => one.client_secret === client_secret && one.status === "requires_action",
      );
      if (!intent) return;
      if (approved)
        Object.assign(intent, {
          status: "succeeded",
          latest_charge: {
            payment_method_details: { card: { brand: "visa", last4: "3220", exp_month: 12, exp_year: 2040 } },
          },
        });
      else
        Object.assign(intent, {
          status: "requires_payment_method",
          last_payment_error: {
            code: "payment_intent_authentication_failure",
            message: "Your bank did not approve the payment.",
          },
        });
    },
    notice(type, intent, secret, id = "evt_1") {
      const body = JSON.stringify({ id, object: "event", type, data: { object: intent } });
      return { body, signature: stripe.webhooks.generateTestHeaderString({ payload: body, secret }) };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
