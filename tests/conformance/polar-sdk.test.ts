import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { operations, type Sdk, type SdkOperation, sdks, type Wire } from "../support/sdks.ts";

let floe: Floe;
const receivers: Receiver[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe.close());
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

const receiver = async (): Promise<Receiver> => {
  const made = await startReceiver();
  receivers.push(made);
  return made;
};
const ids = (page: Wire): string[] => page.items.map(({ id }: { id: string }) => id);
const price = { amount_type: "fixed", price_amount: 1900, price_currency: "usd" };
const free = { amount_type: "free" };
const buyer = { customer_name: "Ada", customer_email: "ada@example.com", customer_billing_address: { country: "FR" } };
/** A product that can be made in any SDK: 1.x names every field it sends, 0.x fills in the rest. */
const product = (over: object = {}) => ({ name: "Ebook", recurring_interval: null, prices: [price], ...over });

describe.each(sdks.map((sdk) => [sdk.name, sdk] as const))("official SDK %s", (_name, sdk: Sdk) => {
  let seller: Seller;
  let call: Record<SdkOperation, (input?: Wire) => Promise<Wire>>;
  let other: typeof call;
  const called = new Set<SdkOperation>();
  const opened = (key: string): typeof call => {
    const methods = sdk.open(floe.url, key);
    const watched = operations.map((name) => {
      const method = (input: Wire) => {
        called.add(name);
        return methods[name](input ?? {});
      };
      return [name, method] as const;
    });
    return Object.fromEntries(watched) as typeof call;
  };
  beforeAll(async () => {
    seller = await floe.seller();
    call = opened(seller.key);
    other = opened((await floe.seller("other")).key);
  });

  test("reads and changes its organization", async () => {
    const list = await call["organizations.list"]();
    expect(ids(list)).toEqual([seller.organization_id]);
    expect(list.pagination).toEqual({ total_count: 1, max_page: 1 });
    const got = await call["organizations.get"]({ id: seller.organization_id });
    expect(got.slug).toBe(list.items[0].slug);
    const changed = await call["organizations.update"]({ id: seller.organization_id, name: "New name" });
    expect(changed.name).toBe("New name");
    const slug = `further-${newId().slice(-12)}`;
    const made = await opened(seller.session)["organizations.create"]({ name: "Further", slug });
    expect(made).toMatchObject({ name: "Further", slug });
    const refused = call["organizations.create"]({ name: "Further", slug: `${slug}-2` });
    await expect(refused).rejects.toMatchObject({ statusCode: 403 });
  });

  test("creates, lists, gets, changes and archives products, the free one too", async () => {
    const made = await call["products.create"](
      product({ name: "Book of tests", description: "Text", metadata: { tier: "pro" } }),
    );
    expect(made).toMatchObject({
      name: "Book of tests",
      is_archived: false,
      is_recurring: false,
      metadata: { tier: "pro" },
      organization_id: seller.organization_id,
    });
    expect(made.prices).toEqual([
      expect.objectContaining({ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }),
    ]);
    const gift = await call["products.create"](
      product({ name: "Free thing", prices: [sdk.freePrice ? free : { ...price, price_amount: 0 }] }),
    );
    // The same product made by a client of another age is as readable.
    const foreign = await floe.request("POST", "/v1/products/", {
      token: seller.key,
      body: product({ name: "Freebie", prices: [free] }),
    });
    expect(foreign.status).toBe(201);
    const seen = await call["products.get"]({ id: (foreign.json as { id: string }).id });
    expect(seen.prices[0]).toMatchObject(
      sdk.freePrice ? { amount_type: "free" } : { amount_type: "fixed", price_amount: 0 },
    );
    expect(ids(await call["products.list"]({ is_archived: false, sorting: ["name"] }))).toEqual(
      [made.id, gift.id, seen.id].sort((a, b) => (a === made.id ? -1 : b === made.id ? 1 : a === gift.id ? -1 : 1)),
    );
    expect(ids(await call["products.list"]({ metadata: { tier: "pro" } }))).toEqual([made.id]);
    expect(ids(await call["products.list"]({ id: [made.id, gift.id], limit: 1, page: 2 }))).toHaveLength(1);
    const renamed = await call["products.update"]({ id: made.id, name: "Renamed" });
    expect(renamed).toMatchObject({ name: "Renamed", description: "Text", metadata: { tier: "pro" } });
    expect(renamed.modified_at).not.toBeNull();
    expect((await call["products.update"]({ id: gift.id, is_archived: true })).is_archived).toBe(true);
    expect(ids(await call["products.list"]({ is_archived: true }))).toEqual([gift.id]);
  });

  test("keeps customers, by its own and by the seller's id, with their state", async () => {
    const external_id = `user/ä ${newId()}`;
    const email = `ada-${newId()}@example.com`;
    const made = await call["customers.create"]({ email, name: "Ada", external_id, metadata: { plan: 1 } });
    expect(made).toMatchObject({ email, name: "Ada", external_id, metadata: { plan: 1 } });
    expect(made.avatar_url).toEqual(expect.any(String));
    expect((await call["customers.get"]({ id: made.id })).email).toBe(email);
    expect(ids(await call["customers.list"]({ email }))).toEqual([made.id]);
    expect((await call["customers.getExternal"]({ external_id })).id).toBe(made.id);
    const exported = await call["customers.export"]({ organization_id: seller.organization_id });
    expect(exported).toMatch(new RegExp(`^ID,External ID,Created At,.*,Metadata\r\n${made.id},`));
    expect((await call["customers.update"]({ id: made.id, name: "Ada L." })).name).toBe("Ada L.");
    expect((await call["customers.updateExternal"]({ external_id, name: "Ada Lovelace" })).name).toBe("Ada Lovelace");
    const states = [
      await call["customers.getState"]({ id: made.id }),
      await call["customers.getStateExternal"]({ external_id }),
    ];
    for (const state of states)
      expect(state).toMatchObject({
        id: made.id,
        email,
        active_subscriptions: [],
        granted_benefits: [],
        active_meters: [],
      });
    expect(await call["customers.deleteExternal"]({ external_id })).toBeUndefined();
    const team = await floe.request("POST", "/v1/customers/", { token: seller.key, body: { type: "team", name: "T" } });
    const read = await call["customers.get"]({ id: (team.json as { id: string }).id });
    expect(read.email).toBe(sdk.name === "0.38.1" ? "" : null);
    await call["customers.delete"]({ id: read.id });
    const second = await call["customers.create"]({ email: `grace-${newId()}@example.com` });
    expect(await call["customers.delete"]({ id: second.id })).toBeUndefined();
    await expect(call["customers.get"]({ id: second.id })).rejects.toMatchObject({ name: "ResourceNotFound" });
  });

  test("opens the portal for a customer, who reads themselves there", async () => {
    const { id } = await call["customers.create"]({ email: "portal@example.com", name: "Ada" });
    const made = await call["customerSessions.create"]({ customer_id: id });
    expect(made).toMatchObject({ customer_id: id, customer: { email: "portal@example.com" } });
    const me = await opened(made.token)["customerPortal.getMe"]({ token: made.token });
    expect(me).toMatchObject({ id, email: "portal@example.com", name: "Ada", oauth_accounts: {} });
    await expect(other["customerSessions.create"]({ customer_id: id })).rejects.toMatchObject({
      name: "HTTPValidationError",
    });
  });

  test("sells: checkout, confirmation by the buyer, order, payment, webhooks that it validates itself", async () => {
    const hook = await receiver();
    const events = [
      "product.created",
      "checkout.created",
      "checkout.updated",
      "customer.created",
      "customer.state_changed",
      "order.created",
      "order.updated",
      "order.paid",
    ];
    const endpoint = await call["webhooks.createEndpoint"]({ url: hook.url, format: "raw", events });
    const sold = await call["products.create"](product({ name: "Sold" }));
    const made = await call["checkouts.create"]({
      products: [sold.id],
      success_url: "https://example.com/thanks",
      metadata: { cart: "7" },
    });
    expect(made).toMatchObject({
      status: "open",
      product_id: sold.id,
      amount: 1900,
      total_amount: 1900,
      currency: "usd",
      metadata: { cart: "7" },
      payment_processor: "stripe",
    });
    expect(made.url).toContain(made.client_secret);
    expect((await call["checkouts.get"]({ id: made.id })).client_secret).toBe(made.client_secret);
    expect(ids(await call["checkouts.list"]({ product_id: sold.id }))).toEqual([made.id]);
    expect((await call["checkouts.update"]({ id: made.id, customer_name: "Grace" })).customer_name).toBe("Grace");

    const { client_secret } = made;
    const anyone = sdk.open(floe.url);
    const seen = await anyone["checkouts.clientGet"]({ client_secret });
    expect(seen).toMatchObject({ id: made.id, customer_name: "Grace", organization: { id: seller.organization_id } });
    const filled = await anyone["checkouts.clientUpdate"]({ client_secret, ...buyer });
    expect(filled).toMatchObject({ customer_email: "ada@example.com", customer_billing_address: { country: "FR" } });
    const confirmed = await anyone["checkouts.clientConfirm"]({ client_secret, confirmation_token_id: "pm_card_visa" });
    expect(confirmed).toMatchObject({
      id: made.id,
      status: "confirmed",
      customer_session_token: expect.stringMatching(/^polar_cst_/),
    });
    await floe.runJobs();
    expect((await anyone["checkouts.clientGet"]({ client_secret })).status).toBe("succeeded");

    const orders = await call["orders.list"]({ product_id: sold.id });
    expect(orders.items).toHaveLength(1);
    const order = await call["orders.get"]({ id: orders.items[0].id });
    expect(order).toMatchObject({
      status: "paid",
      paid: true,
      total_amount: 1900,
      billing_reason: "purchase",
      checkout_id: made.id,
      metadata: { cart: "7" },
      customer: { email: "ada@example.com" },
      product: { id: sold.id },
    });
    const billing_address = { country: "FR", city: "Orléans", postal_code: "45000", line1: "1 rue Jeanne d’Arc" };
    expect(await call["orders.update"]({ id: order.id, billing_name: "Ada GmbH", billing_address })).toMatchObject({
      billing_name: "Ada GmbH",
      billing_address: { country: "FR", city: "Orléans" },
    });
    const payments = await call["payments.list"]({ order_id: order.id });
    expect(payments.items).toHaveLength(1);
    const payment = await call["payments.get"]({ id: payments.items[0].id });
    expect(payment).toMatchObject({
      status: "succeeded",
      amount: 1900,
      currency: "usd",
      method: "card",
      processor: "stripe",
      order_id: order.id,
    });
    await floe.runJobs();

    for (const { body, headers, json } of hook.received) {
      const event = await sdk.validateEvent(body, headers as Record<string, string>, endpoint.secret);
      expect(event.type).toBe(json.type);
      expect(event.data.id).toBe(json.data.id);
      await expect(
        sdk.validateEvent(body.replace("{", "{ "), headers as Record<string, string>, endpoint.secret),
      ).rejects.toThrow();
    }
    const types = hook.types();
    for (const type of events) expect(types).toContain(type);
    const order_of = ["order.created", "order.paid", "checkout.updated"].map((type) => types.lastIndexOf(type));
    expect(order_of).toEqual([...order_of].sort((a, b) => a - b));
    const deliveries = await call["webhooks.listDeliveries"]({ endpoint_id: endpoint.id, limit: 100 });
    expect(deliveries.items).toHaveLength(hook.received.length);
    expect(deliveries.items.every(({ succeeded }: { succeeded: boolean }) => succeeded)).toBe(true);
    const [latest] = deliveries.items;
    await call["webhooks.redeliver"]({ id: latest.webhook_event.id });
    await floe.runJobs();
    expect(hook.received.at(-1)?.headers["webhook-id"]).toBe(latest.webhook_event.id);
  });

  test("refunds an order, and is told so by webhooks that it validates itself", async () => {
    const hook = await receiver();
    const events = ["refund.created", "order.updated", "order.refunded"];
    const endpoint = await call["webhooks.createEndpoint"]({ url: hook.url, format: "raw", events });
    const sold = await call["products.create"](product({ name: "Returned" }));
    const { client_secret } = await call["checkouts.create"]({ products: [sold.id], ...buyer });
    await sdk.open(floe.url)["checkouts.clientConfirm"]({ client_secret, confirmation_token_id: "pm_card_visa" });
    await floe.runJobs();
    const [order] = (await call["orders.list"]({ product_id: sold.id })).items;
    const asked = { order_id: order.id, amount: 900, reason: "customer_request", metadata: { ticket: 7 } };
    const answer = await call["refunds.create"]({ ...asked, revoke_benefits: false });
    const [made] = (await call["refunds.list"]({ order_id: order.id })).items;
    // 0.38 reads no body of a 201 here.
    expect(answer).toEqual(sdk.name === "0.38.1" ? undefined : made);
    expect(made).toMatchObject({ ...asked, status: "succeeded", tax_amount: 0, subscription_id: null });
    expect(ids(await call["refunds.list"]({ order_id: order.id, succeeded: true }))).toEqual([made.id]);
    expect(ids(await call["refunds.list"]({ order_id: order.id, succeeded: false }))).toEqual([]);
    await call["refunds.create"]({ ...asked, amount: 1000 });
    expect(await call["orders.get"]({ id: order.id })).toMatchObject({ status: "refunded", refunded_amount: 1900 });
    await expect(call["refunds.create"](asked)).rejects.toMatchObject({ name: "RefundedAlready" });
    await floe.runJobs();
    for (const { body, headers, json } of hook.received) {
      const event = await sdk.validateEvent(body, headers as Record<string, string>, endpoint.secret);
      expect([event.type, event.data.id]).toEqual([json.type, json.data.id]);
    }
    expect(hook.types().slice(-6)).toEqual([...events, ...events]);
  });

  test("is told of a declined card by its own error, and may try again", async () => {
    const sold = await call["products.create"](product({ name: "Declined" }));
    const { client_secret } = await call["checkouts.create"]({ products: [sold.id], ...buyer });
    const anyone = sdk.open(floe.url);
    const declined = anyone["checkouts.clientConfirm"]({
      client_secret,
      confirmation_token_id: "pm_card_chargeDeclined",
    });
    await expect(declined).rejects.toMatchObject({ name: "PaymentError" });
    expect((await anyone["checkouts.clientGet"]({ client_secret })).status).toBe("open");
    const paid = await anyone["checkouts.clientConfirm"]({ client_secret, confirmation_token_id: "pm_card_visa" });
    expect(paid.status).toBe("confirmed");
  });

  test("gets a free product without paying", async () => {
    const gift = await call["products.create"](
      product({ name: "Gift", prices: [sdk.freePrice ? free : { ...price, price_amount: 0 }] }),
    );
    const made = await call["checkouts.create"]({ products: [gift.id] });
    expect(made).toMatchObject({ amount: 0, total_amount: 0, is_payment_required: false, is_free_product_price: true });
    const anyone = sdk.open(floe.url);
    await anyone["checkouts.clientConfirm"]({ client_secret: made.client_secret, ...buyer });
    await floe.runJobs();
    expect((await call["orders.list"]({ product_id: gift.id })).items).toEqual([
      expect.objectContaining({ status: "paid", total_amount: 0 }),
    ]);
  });

  test("manages webhook endpoints", async () => {
    const { url } = await receiver();
    const made = await call["webhooks.createEndpoint"]({ url, format: "slack", events: ["order.paid"] });
    expect(made).toMatchObject({
      url,
      format: "slack",
      events: ["order.paid"],
      organization_id: seller.organization_id,
    });
    expect((await call["webhooks.getEndpoint"]({ id: made.id })).secret).toBe(made.secret);
    expect(
      (await call["webhooks.updateEndpoint"]({ id: made.id, format: "raw", events: ["order.paid", "order.created"] }))
        .events,
    ).toEqual(["order.paid", "order.created"]);
    expect((await call["webhooks.resetSecret"]({ id: made.id })).secret).not.toBe(made.secret);
    expect(ids(await call["webhooks.listEndpoints"]())).toContain(made.id);
    expect(await call["webhooks.deleteEndpoint"]({ id: made.id })).toBeUndefined();
    expect(ids(await call["webhooks.listEndpoints"]())).not.toContain(made.id);
  });

  test("can read every list after others have written what only newer clients know", async () => {
    const { url } = await receiver();
    const body = { url, format: "raw", events: ["checkout.expired", "subscription.cycled", "order.paid"] };
    await floe.request("POST", "/v1/webhooks/endpoints", {
      token: seller.key,
      headers: { "polar-version": "2027-01" },
      body,
    });
    const seen = await call["webhooks.listEndpoints"]();
    expect(seen.items[0].events).toContain("order.paid");
  });

  const someone = newId();
  test.each<[SdkOperation, object]>([
    ["products.get", { id: someone }],
    ["products.update", { id: someone, name: "Nothing" }],
    ["customers.get", { id: someone }],
    ["customers.getExternal", { external_id: someone }],
    ["customers.getState", { id: someone }],
    ["customers.delete", { id: someone }],
    ["checkouts.get", { id: someone }],
    ["checkouts.clientGet", { client_secret: someone }],
    ["orders.get", { id: someone }],
    ["payments.get", { id: someone }],
    ["webhooks.getEndpoint", { id: someone }],
    ["webhooks.redeliver", { id: someone }],
  ])("%s of what is not there throws its ResourceNotFound", async (operation, input) => {
    await expect(call[operation](input)).rejects.toMatchObject({ name: "ResourceNotFound" });
  });

  test("another seller's rows are not there", async () => {
    const mine = await call["products.create"](product({ name: "Mine" }));
    await expect(other["products.get"]({ id: mine.id })).rejects.toMatchObject({ name: "ResourceNotFound" });
    await expect(other["checkouts.create"]({ products: [mine.id] })).rejects.toMatchObject({
      name: "HTTPValidationError",
    });
  });

  test.each<[SdkOperation, object]>([
    ["products.create", { name: "x", recurring_interval: null, prices: [price] }],
    ["customers.create", { email: "no address" }],
    ["checkouts.create", { products: [someone] }],
    ["refunds.create", { order_id: someone, amount: 1, reason: "other" }],
    ["webhooks.createEndpoint", { url: "no address", format: "raw", events: [] }],
  ])("%s of something wrong throws its HTTPValidationError", async (operation, input) => {
    await expect(call[operation](input)).rejects.toMatchObject({ name: "HTTPValidationError" });
  });

  test("was driven through every operation", () => {
    const anonymous: SdkOperation[] = ["checkouts.clientUpdate", "checkouts.clientConfirm"];
    // What counts use is driven by tests of its own.
    const isOfUse = (name: string) => /^(events|meters|customerMeters)\./.test(name);
    const missed = operations.filter((name) => !called.has(name) && !anonymous.includes(name) && !isOfUse(name));
    expect(missed).toEqual([]);
  });
});

describe("transport (contract 1.5)", () => {
  let seller: Seller;
  beforeAll(async () => {
    seller = await floe.seller();
  });
  /** Over a real socket: nothing of the test's own between. */
  const http = async (
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const answer = await fetch(`${floe.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${seller.key}`, ...headers },
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      json: text.startsWith("{") ? JSON.parse(text) : undefined,
      text,
    };
  };
  const json = { "content-type": "application/json" };
  const create = async (name: string, metadata: object = {}): Promise<string> => {
    const answer = await http("POST", "/v1/products/", {
      headers: json,
      body: JSON.stringify({ name, prices: [price], metadata }),
    });
    expect(answer.status).toBe(201);
    return answer.json.id;
  };

  test("JSON named on calls without a body is no body", async () => {
    const made = await http("POST", "/v1/customers/", {
      headers: json,
      body: JSON.stringify({ email: "empty@example.com" }),
    });
    const gone = await http("DELETE", `/v1/customers/${made.json.id}`, { headers: json });
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await http("POST", `/v1/webhooks/events/${newId()}/redeliver`, { headers: json })).status).toBe(404);
    expect((await http("POST", "/v1/products/", { headers: json })).status).toBe(422);
  });

  test("`Bearer undefined` is nobody; a seller's token on a public route is welcome, a bad one is not (API-25)", async () => {
    const id = await create("Public");
    const made = await http("POST", "/v1/checkouts/", { headers: json, body: JSON.stringify({ products: [id] }) });
    const path = `/v1/checkouts/client/${made.json.client_secret}`;
    expect((await http("GET", path, { headers: { authorization: "Bearer undefined" } })).status).toBe(200);
    expect((await http("GET", path)).status).toBe(200);
    expect((await http("GET", path, { headers: { authorization: "Bearer polar_oat_bad" } })).status).toBe(401);
    const nobody = await http("GET", "/v1/products/", { headers: { authorization: "Bearer undefined" } });
    expect(nobody).toMatchObject({ status: 401, json: { error: "Unauthorized" } });
    expect(nobody.headers.get("www-authenticate")).toContain("Bearer");
  });

  test("repeated keys are lists, `metadata[key]` filters, both with and without a slash at the end (API-11, API-18, API-31)", async () => {
    const [a, b] = [await create("Aaa", { tier: "pro", n: 1 }), await create("Bbb", { tier: "max" })];
    const list = async (query: string, path = "/v1/products/") =>
      ids((await http("GET", `${path}?sorting=name&${query}`)).json);
    expect(await list(`id=${a}&id=${b}`)).toEqual([a, b]);
    expect(await list(`id=${a}`)).toEqual([a]);
    expect(await list("metadata[tier]=pro")).toEqual([a]);
    expect(await list("metadata%5Btier%5D=pro&metadata%5Btier%5D=max")).toEqual([a, b]);
    expect(await list("metadata[tier]=pro&metadata[n]=1&metadata[n]=2")).toEqual([a]);
    expect(await list(`id=${a}`, "/v1/products")).toEqual([a]);
    const reversed = (await http("GET", `/v1/products/?id=${a}&id=${b}&sorting=-name&sorting=created_at`)).json;
    expect(ids(reversed)).toEqual([b, a]);
    expect((await http("GET", "/v1/webhooks/endpoints/")).status).toBe(200);
    const made = await http("POST", "/v1/products", {
      headers: json,
      body: JSON.stringify({ name: "No slash", prices: [price] }),
    });
    expect(made.status).toBe(201);
  });

  test("limits above 100 are clamped, zero and unknown orders refused (API-13, API-15)", async () => {
    const all = await http("GET", "/v1/products/?limit=1000");
    expect(all.json.pagination.max_page).toBe(1);
    for (const query of ["page=0", "limit=0", "limit=x", "sorting=made_up"]) {
      const answer = await http("GET", `/v1/products/?${query}`);
      expect(answer).toMatchObject({
        status: 422,
        json: { error: "RequestValidationError", detail: [{ loc: ["query", expect.any(String)] }] },
      });
    }
    expect(ids((await http("GET", "/v1/products/?page=99")).json)).toEqual([]);
  });

  test("versions are known by name, echoed, and unknown ones refused with 404 (API-33)", async () => {
    for (const version of ["2026-04", "2026-10", "2027-01"]) {
      const answer = await http("GET", "/v1/products/", { headers: { "polar-version": version } });
      expect([answer.status, answer.headers.get("polar-version")]).toEqual([200, version]);
    }
    expect(await http("GET", "/v1/products/", { headers: { "polar-version": "1999-01" } })).toMatchObject({
      status: 404,
      json: { detail: "Not Found" },
    });
    expect((await http("GET", "/v1/products/")).headers.get("polar-version")).toBeNull();
  });

  test("errors have their documented shapes (API-20..25)", async () => {
    expect(await http("GET", `/v1/products/${newId()}`)).toMatchObject({
      status: 404,
      json: { error: "ResourceNotFound", detail: "Not found" },
    });
    expect(await http("GET", "/v1/products/no-uuid")).toMatchObject({
      status: 422,
      json: {
        error: "RequestValidationError",
        detail: [{ loc: ["path", "id"], msg: expect.any(String), type: expect.any(String) }],
      },
    });
    expect(await http("GET", "/v1/products/", { headers: { authorization: "Bearer bad" } })).toMatchObject({
      status: 401,
      json: { error: "invalid_token", error_description: expect.any(String) },
    });
    expect(await http("POST", "/v1/products/", { headers: json, body: "{" })).toMatchObject({ status: 422 });
    const key = await floe.keyOf(seller, ["products:read"]);
    expect(
      await http("POST", "/v1/products/", { headers: { ...json, authorization: `Bearer ${key}` }, body: "{}" }),
    ).toMatchObject({ status: 403, json: { error: "insufficient_scope" } });
    const elsewhere = await http("POST", "/v1/customers/", {
      headers: json,
      body: JSON.stringify({ email: "org@example.com", organization_id: newId() }),
    });
    expect(elsewhere).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["body", "organization_id"], type: "organization_token" }] },
    });
  });

  test("times are ISO 8601 in UTC and never cached (API-29, API-30)", async () => {
    const answer = await http("GET", "/v1/products/");
    expect(answer.json.items[0].created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    expect(answer.headers.get("content-type")).toContain("application/json");
  });
});
