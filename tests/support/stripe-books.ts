/** The books of the stand-in: Stripe's objects with the states and rules that floe meets, and the events that they cause. */
import type Stripe from "stripe";
import {
  findSavedOutcome,
  findSetupOutcome,
  outcomes,
  refundStatuses,
  testMethods,
} from "../../server/platform/processors/test-cards.ts";
import type { Known } from "./stripe-description.ts";
import { openEndpoints } from "./stripe-endpoints.ts";
import { openTaxBooks } from "./stripe-tax.ts";

export type Fields = Record<string, unknown>;
/** One of Stripe's objects, kept as it is answered: what it points to is named by id. */
export type Kept = Fields & {
  id: string;
  object: string;
  created: number;
  status: string;
  metadata: Record<string, string>;
};
type Intent = Kept & { amount: number; currency: string; client_secret: string; customer: string | null };
type Refund = Kept & { payment_intent: string; charge: string; amount: number };
export type Happened = Fields & { id: string; type: string; data: { object: Fields } };
type Method = (typeof testMethods)[string];
type Terms = { payment_method?: string; confirmation_token?: string; customer?: string };

/** What Stripe refuses, in its documented shape. */
export class Refusal extends Error {
  readonly status: number;
  readonly error: Fields & { type: string; message: string };
  constructor(status: number, error: Fields & { type: string; message: string }) {
    super(error.message);
    this.status = status;
    this.error = error;
  }
}
const invalid = (message: string, code = "resource_missing", param?: string) =>
  new Refusal(400, { type: "invalid_request_error", code, message, ...(param ? { param } : {}) });
const missing = (kind: string, id: string, param = "id") =>
  new Refusal(404, {
    type: "invalid_request_error",
    code: "resource_missing",
    message: `No such ${kind}: '${id}'`,
    param,
  });
/** How much later than it was made something is found by a search. */
const indexS = 60;
const leastAmount = 50;
const statuses = {
  succeeded: "succeeded",
  processing: "processing",
  requires_action: "requires_action",
  failed: "requires_payment_method",
};
const authenticationFailed = {
  type: "card_error",
  code: "payment_intent_authentication_failure",
  message: "Your bank did not approve the payment.",
};

export function openBooks(now: () => number, told: (event: Happened) => void) {
  const customers = new Map<string, Kept>();
  const methods = new Map<string, Fields & { id: string; customer: string | null }>();
  const intents = new Map<string, Intent>();
  const setups = new Map<string, Intent>();
  const charges = new Map<string, Kept>();
  const refunds = new Map<string, Refund>();
  const disputes = new Map<string, Kept>();
  const known = { cus: customers, pm: methods, pi: intents, seti: setups, ch: charges, re: refunds, du: disputes };
  /** The test card behind each payment method and each token. */
  const cards = new Map<string, Method>();
  const tokens = new Map<string, { used: boolean; setup_future_usage: string | null }>();
  const events: Happened[] = [];
  let made = 0;
  const next = (prefix: string): string => {
    made += 1;
    return `${prefix}_${made}`;
  };
  const tax = openTaxBooks(next, now, invalid);
  const common = (object: string) => ({ object, created: now(), livemode: false });
  const list = (url: string, data: unknown[], has_more = false) => ({ object: "list", data, has_more, url });
  const happen = (type: string, object: Fields): void => {
    const data = { object: structuredClone(object) };
    const pending = { pending_webhooks: 1, request: { id: null, idempotency_key: null }, api_version: null };
    const event = { ...common("event"), ...pending, id: next("evt"), type, data };
    events.push(event);
    told(event);
  };
  function get<T>(kind: Map<string, T>, name: string, id: string): T {
    const found = kind.get(id);
    if (!found) throw missing(name, id);
    return found;
  }

  /** A test card, or one that was typed, by its token. */
  const cardOf = (token: string): Method | undefined =>
    cards.get(token) ?? testMethods[token.replace(/^ctoken_/, "pm_card_")];
  const billing_details = { address: null, email: null, name: null, phone: null, tax_id: null };
  const shownOf = ({ card }: Method) => ({
    ...card,
    funding: "credit",
    country: "US",
    fingerprint: `fp_${card.brand}_${card.last4}`,
  });
  /** The card that a request names: one that is kept, a test card by its token, or one that was typed into the card form. */
  function methodOf(
    { payment_method, confirmation_token, customer }: Terms,
    setup_future_usage: string | null,
  ): { id: string; card: Method } {
    const saved = methods.get(payment_method ?? "");
    if (saved) {
      if (saved.customer !== (customer ?? null))
        throw invalid(
          "The provided PaymentMethod does not belong to this Customer.",
          "payment_method_customer_mismatch",
        );
      return { id: saved.id, card: cards.get(saved.id) as Method };
    }
    const token = confirmation_token ?? payment_method ?? "";
    const typed = tokens.get(token);
    if (typed?.used) throw invalid("This ConfirmationToken has already been used.", "confirmation_token_already_used");
    if (typed && typed.setup_future_usage !== setup_future_usage)
      throw invalid("The ConfirmationToken was made for another setup_future_usage than the intent.");
    if (typed) typed.used = true;
    const card = cardOf(token);
    if (!card) {
      const [kind, param] = confirmation_token
        ? ["confirmationtoken", "confirmation_token"]
        : ["PaymentMethod", "payment_method"];
      throw invalid(`No such ${kind}: '${token}'`, "resource_missing", param);
    }
    const id = next("pm");
    cards.set(id, card);
    methods.set(id, {
      ...common("payment_method"),
      id,
      type: "card",
      card: shownOf(card),
      billing_details,
      customer: null,
      metadata: {},
    });
    return { id, card };
  }
  const attach = (intent: Intent): void => {
    const method = methods.get(String(intent.payment_method));
    if (method && intent.customer) method.customer = intent.customer;
  };
  /** The money of an intent is taken. */
  function take(intent: Intent): void {
    const { amount, currency, customer, payment_method, metadata } = intent;
    const card = { ...methods.get(String(payment_method)) }.card;
    const id = next("ch");
    const money = { amount, amount_captured: amount, amount_refunded: 0, currency };
    const details = { payment_method, payment_method_details: { type: "card", card }, billing_details: {} };
    const state = { captured: true, disputed: false, paid: true, refunded: false, status: "succeeded" };
    const charge = {
      ...common("charge"),
      id,
      ...money,
      ...details,
      ...state,
      customer,
      metadata,
      payment_intent: intent.id,
    };
    charges.set(id, charge);
    Object.assign(intent, { status: "succeeded", latest_charge: id, amount_received: amount, next_action: null });
    if (intent.setup_future_usage) attach(intent);
    happen("payment_intent.succeeded", intent);
  }
  const refuse = (error: Fields, kind: "payment_intent" | "setup_intent", intent: Intent): Refusal => {
    // A refused request carries the intent as it is, with the method that was tried, whole.
    const carried = { ...intent, payment_method: null };
    return new Refusal(402, { type: "card_error", message: "", ...error, [kind]: carried });
  };
  const begin = (prefix: string, body: { metadata?: object; customer?: string }, method: string) => {
    const id = next(prefix);
    if (body.customer !== undefined && !customers.has(body.customer))
      throw invalid(`No such customer: '${body.customer}'`, "resource_missing", "customer");
    return {
      id,
      client_secret: `${id}_secret_${id}`,
      customer: body.customer ?? null,
      metadata: { ...body.metadata } as Record<string, string>,
      payment_method: method,
      payment_method_types: ["card"],
      next_action: null,
    };
  };
  const asked = { type: "use_stripe_sdk", use_stripe_sdk: {} };

  function charge(body: Stripe.PaymentIntentCreateParams): Intent {
    const { amount, currency, off_session, setup_future_usage = null, description = null, receipt_email = null } = body;
    if (amount < leastAmount) throw invalid("Amount must convert to at least 50 cents.", "amount_too_small", "amount");
    if (off_session && !body.customer) throw invalid("You must provide a customer when charging off session.");
    const { id, card } = methodOf(body as Terms, setup_future_usage);
    const outcome = (off_session ? findSavedOutcome(card.scenario) : outcomes[card.scenario]) ?? outcomes.success;
    if (!outcome) throw new Error("There is no such scenario.");
    const error = outcome.decline && {
      type: "card_error",
      code: outcome.decline.reason === "authentication_required" ? "authentication_required" : "card_declined",
      decline_code: outcome.decline.reason,
      message: outcome.decline.message,
      payment_method: methods.get(id),
    };
    const own = {
      amount,
      amount_received: 0,
      currency,
      setup_future_usage,
      description,
      receipt_email,
      latest_charge: null,
    };
    const intent: Intent = {
      ...common("payment_intent"),
      ...begin("pi", body as { metadata?: object; customer?: string }, id),
      ...own,
      capture_method: "automatic_async",
      confirmation_method: "automatic",
      status: statuses[outcome.status],
      last_payment_error: error,
    };
    intents.set(intent.id, intent);
    happen("payment_intent.created", intent);
    if (intent.status === "requires_action") {
      intent.next_action = asked;
      happen("payment_intent.requires_action", intent);
    }
    if (intent.status === "succeeded") take(intent);
    if (error) {
      happen("payment_intent.payment_failed", intent);
      throw refuse(error, "payment_intent", intent);
    }
    return intent;
  }

  function setUp(body: Stripe.SetupIntentCreateParams): Intent {
    const { id, card } = methodOf(body as Terms, body.usage ?? "off_session");
    const outcome = findSetupOutcome(card.scenario) ?? outcomes.success;
    if (!outcome) throw new Error("There is no such scenario.");
    const error = outcome.decline && {
      type: "card_error",
      code: "card_declined",
      decline_code: outcome.decline.reason,
      message: outcome.decline.message,
    };
    const setup = {
      ...common("setup_intent"),
      ...begin("seti", body as { metadata?: object; customer?: string }, id),
      status: statuses[outcome.status],
      usage: body.usage ?? "off_session",
      last_setup_error: error,
    } as Fields as Intent;
    setups.set(setup.id, setup);
    happen("setup_intent.created", setup);
    if (setup.status === "requires_action") setup.next_action = asked;
    if (setup.status === "succeeded") {
      attach(setup);
      happen("setup_intent.succeeded", setup);
    }
    if (error) {
      happen("setup_intent.setup_failed", setup);
      throw refuse(error, "setup_intent", setup);
    }
    return setup;
  }

  function giveBack(body: Stripe.RefundCreateParams): Refund {
    const payment_intent = body.payment_intent ?? "";
    const intent = get(intents, "payment_intent", payment_intent);
    const paid = charges.get(String(intent.latest_charge));
    if (intent.status !== "succeeded" || !paid)
      throw invalid("This PaymentIntent does not have a successful charge to refund.");
    if (paid.disputed) throw invalid("This charge has been charged back.", "charge_disputed");
    const left = intent.amount - Number(paid.amount_refunded);
    if (left === 0) throw invalid("The charge has already been refunded.", "charge_already_refunded");
    const amount = body.amount ?? left;
    if (amount > left) throw invalid("Refund amount is greater than unrefunded amount on charge.", undefined, "amount");
    const id = next("re");
    const { first } = refundStatuses(cards.get(String(intent.payment_method))?.scenario ?? "success");
    const refund: Refund = {
      ...common("refund"),
      id,
      amount,
      charge: paid.id,
      currency: intent.currency,
      payment_intent,
      metadata: { ...(body.metadata as Record<string, string>) },
      reason: body.reason ?? null,
      status: first,
    };
    refunds.set(id, refund);
    paid.amount_refunded = Number(paid.amount_refunded) + amount;
    paid.refunded = paid.amount_refunded === intent.amount;
    happen("refund.created", refund);
    return refund;
  }
  function moveRefund(
    id: string,
    status: "pending" | "succeeded" | "failed" | "canceled",
    failure_reason?: string,
  ): Refund {
    const refund = get(refunds, "refund", id);
    const paid = charges.get(refund.charge);
    const isBack = status === "failed" || status === "canceled";
    if (paid && isBack) {
      paid.amount_refunded = Number(paid.amount_refunded) - refund.amount;
      paid.refunded = false;
    }
    Object.assign(refund, { status, ...(failure_reason ? { failure_reason } : {}) });
    happen(status === "failed" ? "refund.failed" : "refund.updated", refund);
    return refund;
  }

  function dispute(payment_intent: string, reason = "fraudulent", amount?: number): Kept {
    const intent = get(intents, "payment_intent", payment_intent);
    const paid = get(charges, "charge", String(intent.latest_charge));
    paid.disputed = true;
    const one: Kept = {
      ...common("dispute"),
      id: next("du"),
      amount: amount ?? intent.amount,
      currency: intent.currency,
      balance_transactions: [],
      charge: paid.id,
      payment_intent,
      enhanced_eligibility_types: [],
      evidence: { enhanced_evidence: {} },
      evidence_details: {
        due_by: now() + 7 * 86_400,
        enhanced_eligibility: {},
        has_evidence: false,
        past_due: false,
        submission_count: 0,
      },
      is_charge_refundable: false,
      metadata: {},
      reason,
      status: "needs_response",
    };
    disputes.set(one.id, one);
    happen("charge.dispute.created", one);
    return one;
  }
  function moveDispute(id: string, status: string): Kept {
    const one = get(disputes, "dispute", id);
    one.status = status;
    happen(status === "won" || status === "lost" ? "charge.dispute.closed" : "charge.dispute.updated", one);
    return one;
  }

  /** A customer that a change was sent for; texts that are empty take a field away. */
  const changeCustomer = (customer: Kept, body: Fields): Kept =>
    Object.assign(customer, body, { metadata: { ...customer.metadata, ...(body.metadata as object) } });
  /** One page of a list, newest first: small ones, so that a search that stops at the first page is found out. */
  function page(url: string, all: Kept[], { created, starting_after, limit, ...filter }: Fields, most = 2) {
    const { gte = 0, lte = Number.POSITIVE_INFINITY } = { ...(created as { gte?: number; lte?: number }) };
    const found = all
      .filter((one) => one.created >= gte && one.created <= lte)
      .filter((one) => Object.entries(filter).every(([name, value]) => name === "expand" || one[name] === value))
      .reverse();
    const start = found.findIndex((one) => one.id === starting_after) + 1;
    const size = Math.min(Number(limit ?? 10), most);
    return list(url, found.slice(start, start + size), start + size < found.length);
  }
  function search(url: string, all: Kept[], query: string) {
    const [, name = "", value] = /^metadata\['(\w+)'\]:'([^']*)'$/.exec(query) ?? [];
    if (value === undefined) throw invalid("We were unable to parse your search query.", "parameter_invalid", "query");
    const found = all.filter((one) => one.metadata[name] === value && one.created <= now() - indexS);
    return { ...list(url, found), object: "search_result", next_page: null };
  }

  type Call = (asked: { id: string; query: Fields; body: never }) => object;
  const operations: Record<string, Call> = {
    "POST /v1/customers": ({ body }) => {
      const id = next("cus");
      const empty = { ...common("customer"), id, email: null, name: null, status: "", metadata: {} };
      const { status: _, ...customer } = changeCustomer(empty, body);
      customers.set(id, customer as Kept);
      return customer;
    },
    "GET /v1/customers/search": ({ query }) =>
      search("/v1/customers/search", [...customers.values()], String(query.query)),
    "GET /v1/customers/{customer}": ({ id }) => get(customers, "customer", id),
    "DELETE /v1/customers/{customer}": ({ id }) => {
      get(customers, "customer", id);
      customers.delete(id);
      return { id, object: "customer", deleted: true };
    },
    "POST /v1/customers/{customer}": ({ id, body }) => changeCustomer(get(customers, "customer", id), body),
    "GET /v1/payment_methods/{payment_method}": ({ id }) => {
      const test = testMethods[id];
      if (!test) return get(methods, "PaymentMethod", id);
      return {
        ...common("payment_method"),
        id,
        type: "card",
        card: shownOf(test),
        billing_details,
        customer: null,
        metadata: {},
      };
    },
    "GET /v1/confirmation_tokens/{confirmation_token}": ({ id }) => {
      const card = cardOf(id);
      if (!card || !id.startsWith("ctoken_")) throw missing("confirmationtoken", id, "confirmation_token");
      const payment_method_preview = { type: "card", card: shownOf(card), billing_details };
      return { ...common("confirmation_token"), id, payment_method_preview, use_stripe_sdk: true };
    },
    "POST /v1/payment_methods/{payment_method}/detach": ({ id }) => {
      const method = get(methods, "PaymentMethod", id);
      if (!method.customer) throw invalid("The payment method you provided is not attached to a customer.");
      cards.delete(id);
      methods.delete(id);
      return Object.assign(method, { customer: null });
    },
    "POST /v1/payment_intents": ({ body }) => charge(body),
    "GET /v1/payment_intents/search": ({ query }) =>
      search("/v1/payment_intents/search", [...intents.values()], String(query.query)),
    "GET /v1/payment_intents": ({ query }) => page("/v1/payment_intents", [...intents.values()], query),
    "GET /v1/payment_intents/{intent}": ({ id }) => get(intents, "payment_intent", id),
    "POST /v1/payment_intents/{intent}/cancel": ({ id }) => {
      const intent = get(intents, "payment_intent", id);
      if (intent.status === "succeeded" || intent.status === "canceled")
        throw invalid(
          `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`,
          "payment_intent_unexpected_state",
        );
      Object.assign(intent, { status: "canceled", canceled_at: now(), next_action: null });
      happen("payment_intent.canceled", intent);
      return intent;
    },
    "POST /v1/setup_intents": ({ body }) => setUp(body),
    "GET /v1/setup_intents": ({ query }) => page("/v1/setup_intents", [...setups.values()], query),
    "GET /v1/setup_intents/{intent}": ({ id }) => get(setups, "setup_intent", id),
    "POST /v1/setup_intents/{intent}/cancel": ({ id }) => {
      const setup = get(setups, "setup_intent", id);
      if (setup.status === "succeeded" || setup.status === "canceled")
        throw invalid("This SetupIntent cannot be canceled.", "setup_intent_unexpected_state");
      Object.assign(setup, { status: "canceled", next_action: null });
      happen("setup_intent.canceled", setup);
      return setup;
    },
    "POST /v1/refunds": ({ body }) => giveBack(body),
    "GET /v1/refunds": ({ query }) => page("/v1/refunds", [...refunds.values()], query),
    "GET /v1/refunds/{refund}": ({ id }) => get(refunds, "refund", id),
    "GET /v1/disputes": ({ query }) => page("/v1/disputes", [...disputes.values()], query),
    "GET /v1/disputes/{dispute}": ({ id }) => get(disputes, "dispute", id),
    "POST /v1/disputes/{dispute}/close": ({ id }) => {
      const { status } = get(disputes, "dispute", id);
      if (status === "won" || status === "lost")
        throw invalid("This dispute is already closed.", "dispute_already_closed");
      return moveDispute(id, "lost");
    },
    "GET /v1/charges/{charge}": ({ id }) => get(charges, "charge", id),
    ...tax.operations,
    ...openEndpoints(next, now, missing),
  };

  /** Put the objects in, where a request asks for them instead of their ids. */
  function expand(json: Fields, paths: string[]): Fields {
    const shown = { ...json };
    for (const path of paths) {
      const [name = "", ...rest] = path.split(".");
      const deeper = (one: Fields): Fields => expand(one, rest.length > 0 ? [rest.join(".")] : []);
      const value = shown[name];
      if (Array.isArray(value)) shown[name] = value.map(deeper);
      else if (typeof value === "string") {
        const kind = known[value.slice(0, value.indexOf("_")) as keyof typeof known];
        shown[name] = deeper(get<Fields>(kind, name, value));
      }
    }
    return shown;
  }

  return {
    intents,
    setups,
    customers,
    methods,
    refunds,
    disputes,
    /** What was reported to Stripe Tax. */
    tax_transactions: tax.transactions,
    events,
    operations,
    /** Answer a request that was found to be right. */
    perform({ operation, params, query, body }: Known): Fields {
      const call = operations[operation];
      if (!call) throw new Error(`The stand-in does not do ${operation}.`);
      const [id = ""] = Object.values(params);
      const { expand: more, ...sent } = body as { expand?: string[] };
      return expand(call({ id, query, body: sent as never }) as Fields, more ?? (query.expand as string[]) ?? []);
    },
    /** Turn a card typed into Stripe's form into a token that is good for one use. */
    tokenize(card: Method, setup_future_usage: string | null = null): string {
      const id = next("ctoken");
      cards.set(id, card);
      tokens.set(id, { used: false, setup_future_usage });
      return id;
    },
    /** The buyer's bank has decided on a challenge. */
    authenticate(client_secret: string, approved: boolean): void {
      const waits = (one: Intent) => one.client_secret === client_secret && one.status === "requires_action";
      const setup = [...setups.values()].find(waits);
      if (setup) {
        Object.assign(setup, { status: approved ? "succeeded" : "requires_payment_method", next_action: null });
        if (approved) attach(setup);
        else setup.last_setup_error = { ...authenticationFailed, code: "setup_intent_authentication_failure" };
        happen(`setup_intent.${approved ? "succeeded" : "setup_failed"}`, setup);
      }
      const intent = [...intents.values()].find(waits);
      if (intent && approved) take(intent);
      if (!intent || approved) return;
      const last_payment_error = authenticationFailed;
      Object.assign(intent, { status: "requires_payment_method", last_payment_error, next_action: null });
      happen("payment_intent.payment_failed", intent);
    },
    moveRefund,
    dispute,
    moveDispute,
  };
}
