import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { handling } from "../../support/handling.ts";
import { accountAnswer, user } from "./fake-account.ts";
import { type FakeCheckout, fieldsFor, id, makeCheckout, orderOf, readCheckout, readOrder } from "./sample.ts";

/** Stands in for the server where a test is about the page alone: same paths and shapes, a few lines of behaviour. */

export type Fake = {
  url: string;
  /** Puts a checkout on sale; fields given replace the usual ones. */
  checkout(fields?: Partial<FakeCheckout>): FakeCheckout;
  /** What browsers asked for, as "GET /path". */
  requests: string[];
  /** Bodies of what was posted, by path. */
  bodies: { path: string; body: Record<string, unknown> }[];
  /** How the next GET of a checkout is refused, if at all. */
  refuse: { status: number; error: string } | undefined;
  /** Whether anyone is signed in. */
  signedIn: boolean;
  /** Whether the event stream may be had. */
  streams: boolean;
  /** Whether payments wait until `settle` is called. */
  slow: boolean;
  /** Says on the stream of a checkout that it has changed. */
  tell(checkout: FakeCheckout): void;
  /** Ends the payments that wait, and has those that come wait no more: a page may say that it pays before its request is here. */
  settle(): void;
  close(): Promise<void>;
};

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
};
/** As strict as the real server's. */
const policy =
  "default-src 'self'; script-src 'self'; frame-src 'self'; style-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'";

type Answer = { status: number; json: unknown };
const refusal = (status: number, error: string, detail: unknown): Answer => ({ status, json: { error, detail } });
const faultAt = (loc: string[], msg: string, type = "value_error"): Answer =>
  refusal(422, "PolarRequestValidationError", [{ loc, msg, type }]);

export async function startFake(dist: string): Promise<Fake> {
  const held = new Map<string, FakeCheckout>();
  const tokens = new Map<string, string>();
  const streams = new Map<string, Set<ServerResponse>>();

  const tell = (secret: string, key: string, payload: object): void => {
    for (const stream of streams.get(secret) ?? [])
      stream.write(`data: ${JSON.stringify({ id: id(), key, payload })}\n\n`);
  };
  const waiting: (() => void)[] = [];
  const pay = (checkout: FakeCheckout, ok: boolean): void => {
    waiting.push(() => {
      checkout.status = ok ? "succeeded" : "open";
      checkout.payment_processor_metadata = {};
      if (ok) tell(checkout.client_secret, "checkout.order_created", {});
      tell(checkout.client_secret, "checkout.updated", { status: checkout.status });
      if (ok) tell(checkout.client_secret, "checkout.webhook_event_delivered", { status: "succeeded" });
    });
    // Later than the answer to the call that began it.
    if (!fake.slow) setTimeout(fake.settle, 50);
  };
  const price = (checkout: FakeCheckout): void => {
    if (checkout.seats !== null && checkout.price_per_seat !== null)
      checkout.amount = checkout.seats * checkout.price_per_seat;
    checkout.net_amount = checkout.amount - checkout.discount_amount;
    checkout.total_amount = checkout.net_amount + (checkout.tax_amount ?? 0);
  };
  const quoted = (checkout: FakeCheckout): FakeCheckout =>
    Object.assign(checkout, { quote: `quote.${checkout.total_amount}.${checkout.seats}` });

  function update(checkout: FakeCheckout, body: Record<string, unknown>): Answer {
    const address = body.customer_billing_address as { country: "US" } | undefined;
    if (address) {
      checkout.customer_billing_address = {
        line1: null,
        line2: null,
        city: null,
        postal_code: null,
        state: null,
        ...address,
      };
      checkout.billing_address_fields = fieldsFor(address.country);
    }
    if (body.allow_trial === false) {
      Object.assign(checkout, { allow_trial: false, trial_end: null, is_payment_required: true });
      Object.assign(checkout, { active_trial_interval: null, active_trial_interval_count: null });
    }
    if (typeof body.amount === "number") {
      if (body.amount < 500)
        return faultAt(["body", "amount"], "Input should be greater than or equal to 500", "greater_than_equal");
      checkout.amount = body.amount;
    }
    if (body.discount_code === null) {
      checkout.discount = null;
      checkout.discount_amount = 0;
    } else if (body.discount_code !== undefined) {
      if (body.discount_code !== "THAW") return faultAt(["body", "discount_code"], "Discount does not exist.");
      const terms = {
        type: "fixed" as const,
        amount: 400,
        currency: "usd",
        amounts: { usd: 400 },
        duration: "once" as const,
      };
      checkout.discount = { id: id(), name: "Spring thaw", code: "THAW", ...terms };
      checkout.discount_amount = 400;
    }
    if (typeof body.seats === "number") {
      if (body.seats > 50) return faultAt(["body", "seats"], "At most 50 seats can be bought.", "less_than_equal");
      checkout.seats = body.seats;
    }
    if (typeof body.product_id === "string") {
      const chosen = checkout.products.find((product) => product.id === body.product_id);
      const [first] = checkout.prices[body.product_id] ?? [];
      if (!chosen || first?.amount_type !== "fixed")
        return faultAt(["body", "product_id"], "Product is not available.");
      Object.assign(checkout, { product_id: chosen.id, product: chosen });
      Object.assign(checkout, { product_price_id: first.id, product_price: first, amount: first.price_amount });
    }
    price(checkout);
    return { status: 200, json: readCheckout(quoted(checkout)) };
  }

  function confirm(checkout: FakeCheckout, body: Record<string, unknown>): Answer {
    if (checkout.status !== "open") return refusal(403, "NotOpenCheckout", "Checkout is not open.");
    const { quote, ...sent } = body;
    const updated = update(checkout, sent);
    if (updated.status !== 200) return updated;
    if (quote !== checkout.quote)
      return { status: 409, json: { error: "QuoteChanged", detail: "It has changed.", checkout: updated.json } };
    if (String(body.customer_email).endsWith("@blocked.example")) {
      return faultAt(["body", "customer_email"], "This address cannot receive mail.");
    }
    const number = tokens.get(String(body.confirmation_token_id));
    if (checkout.is_payment_form_required && number === undefined)
      return faultAt(["body", "confirmation_token_id"], "Field required", "missing");
    if (number === "4000000000000002") return refusal(400, "PaymentError", "Your card was declined.");
    checkout.customer_email = String(body.customer_email);
    checkout.status = "confirmed";
    if (number === "4000000000003220") {
      checkout.payment_processor_metadata = {
        intent_status: "requires_action",
        intent_client_secret: `pi_${checkout.client_secret}`,
      };
    } else pay(checkout, true);
    return { status: 200, json: { ...checkout, customer_session_token: "polar_cst_1" } };
  }

  /** A document is there when it is asked for a second time. */
  const printed = new Set<string>();
  function print(kind: string): Answer {
    if (printed.has(kind)) return { status: 200, json: { url: `${url}/paper.pdf` } };
    printed.add(kind);
    return { status: 202, json: null };
  }

  function api(method: string, path: string, body: Record<string, unknown>): Answer | undefined {
    const card = body.card as { number: string } | undefined;
    if (path === "/v1/payment-processor/test/confirmation-tokens" && card) {
      if (!card.number.startsWith("4")) return faultAt(["body", "card", "number"], "Only test cards are taken here.");
      const token = `ctoken_${tokens.size}`;
      tokens.set(token, card.number);
      return { status: 201, json: { id: token } };
    }
    const intent = /^\/v1\/payment-processor\/test\/intents\/pi_([^/]+)\/authenticate$/.exec(path);
    if (intent?.[1]) {
      const checkout = held.get(intent[1]);
      if (checkout) {
        checkout.payment_processor_metadata = { intent_status: "processing" };
        pay(checkout, body.approved === true);
      }
      return { status: 200, json: {} };
    }
    const bought = /^\/v1\/checkouts\/client\/([^/]+)\/order(\/(?:invoice|receipt))?$/.exec(path);
    if (bought?.[1]) {
      const checkout = held.get(bought[1]);
      if (checkout?.status !== "succeeded") return refusal(404, "ResourceNotFound", "Not found");
      return bought[2] ? print(bought[2]) : { status: 200, json: readOrder(orderOf(checkout)) };
    }
    const client = /^\/v1\/checkouts\/client\/([^/]+)(\/confirm)?$/.exec(path);
    if (client?.[1]) {
      if (fake.refuse) return refusal(fake.refuse.status, fake.refuse.error, fake.refuse.error);
      const checkout = held.get(client[1]);
      if (!checkout) return refusal(404, "ResourceNotFound", "Not found");
      if (client[2]) return confirm(checkout, body);
      return method === "PATCH" ? update(checkout, body) : { status: 200, json: readCheckout(quoted(checkout)) };
    }
    return site(path, body);
  }

  function site(path: string, body: Record<string, unknown>): Answer | undefined {
    if (path === "/api/auth/get-session")
      return { status: 200, json: fake.signedIn ? { user, session: { id: "s1" } } : null };
    if (path === "/api/auth/checkout")
      return {
        status: 200,
        json: { url: fake.checkout({ embed_origin: String(body.embedOrigin) }).url, redirect: false },
      };
    const account = accountAnswer(path);
    if (account) return account;
    if (path === "/api/auth/sign-in/email") {
      if (body.password !== "correct horse") {
        return { status: 401, json: { code: "INVALID_EMAIL_OR_PASSWORD", message: "Invalid email or password" } };
      }
      fake.signedIn = true;
      return { status: 200, json: { user } };
    }
    if (path === "/api/auth/sign-up/email")
      return { status: 400, json: { code: "PASSWORD_TOO_SHORT", message: "Password too short" } };
    if (path === "/api/auth/device") {
      return {
        status: 200,
        json: {
          user_code: "WXYZ2345",
          status: "pending",
          client_id: "floe-cli",
          client_name: "floe command line",
          scope: "products:write orders:read",
          ip_address: "203.0.113.9",
          place: "another_address",
          agent: "floe command line 0.1 on Linux",
          requested_at: new Date().toISOString(),
          expires_in: 540,
          confirmation_required: false,
        },
      };
    }
    if (path.startsWith("/api/auth/device/")) return { status: 200, json: { success: true } };
    if (path === "/demo/products.json") {
      return {
        status: 200,
        json: [
          {
            id: "1",
            name: "Field Guide to Ice",
            description: "A small book on reading drift ice.",
            price_label: "$19.00",
          },
        ],
      };
    }
    if (path === "/demo/checkout") {
      return { status: 201, json: { url: fake.checkout({ embed_origin: String(body.embed_origin) }).url } };
    }
    if (path === "/mail/messages.json") {
      const html = "<h1>Thank you</h1><p>Your receipt for <b>Field Guide to Ice</b>.</p>";
      const mail = {
        id: "1",
        to: "ada@example.com",
        subject: "Your receipt",
        text: "Thank you",
        html,
        created_at: "2026-11-21T07:00:00.000Z",
      };
      return { status: 200, json: [mail, { ...mail, id: "2", subject: "Verify your e-mail address", html: null }] };
    }
    return undefined;
  }

  async function file(path: string, response: ServerResponse): Promise<void> {
    const known = /\.\w+$/.test(path);
    const content = await readFile(join(dist, known ? path : "index.html")).catch(() => undefined);
    response.writeHead(content ? 200 : 404, {
      "content-type": types[extname(path)] ?? "text/html; charset=utf-8",
      "content-security-policy": policy,
    });
    response.end(content ?? "Not found");
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://fake").pathname;
    fake.requests.push(`${request.method} ${path}`);
    const stream = /^\/v1\/checkouts\/client\/([^/]+)\/stream$/.exec(path)?.[1];
    if (stream !== undefined) {
      if (!fake.streams) {
        response.writeHead(503).end();
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      const listening = streams.get(stream) ?? new Set();
      streams.set(stream, listening.add(response));
      request.on("close", () => listening.delete(response));
      return;
    }
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
    if (request.method !== "GET") fake.bodies.push({ path, body });
    const found = api(request.method ?? "GET", path, body);
    if (!found) return file(path, response);
    response.writeHead(found.status, { "content-type": "application/json" }).end(JSON.stringify(found.json));
  }

  const server = createServer(handling(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: Fake = {
    url,
    requests: [],
    bodies: [],
    refuse: undefined,
    signedIn: true,
    streams: true,
    slow: false,
    tell: ({ client_secret, status }) => tell(client_secret, "checkout.updated", { status }),
    settle() {
      fake.slow = false;
      for (const end of waiting.splice(0)) end();
    },
    checkout(fields = {}) {
      const made = makeCheckout(url, fields);
      held.set(made.client_secret, made);
      return made;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}
