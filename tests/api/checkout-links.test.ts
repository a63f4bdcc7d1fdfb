import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkoutLinkSecrets, checkoutLinks } from "../../server/checkout/links/tables.ts";
import { isEmbedAllowed } from "../../server/identity/organizations/rules.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import type { CheckoutLink } from "../../shared/api/checkout-links.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Accounts;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await startAccounts();
  seller = await floe.seller("ada");
  call = callsOf(floe, seller);
});
afterAll(() => floe?.close());

const path = "/v1/checkout-links/";
const book = (who = seller, over: object = {}) =>
  who.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }], ...over },
  });
const archive = (id: string) => seller.client.products.update({ params: { id }, body: { is_archived: true } });
const link = (body: object): Promise<CheckoutLink> => seller.client.checkoutLinks.create({ body: body as never });
const get = (id: string) => seller.client.checkoutLinks.get({ params: { id } });
const idsOf = ({ products }: CheckoutLink) => products.map(({ id }) => id);

describe("links", () => {
  test("are made from products, one product or one price, with their defaults", async () => {
    const [one, two] = [await book(), await book()];
    const made = await link({ products: [two.id, one.id.toUpperCase()] });
    expect(made).toMatchObject({
      payment_processor: "stripe",
      label: null,
      allow_discount_codes: true,
      require_billing_address: false,
      discount: null,
      seats: null,
      trial_interval: null,
      metadata: {},
      url: `${floe.deps.config.url}/buy/${made.client_secret}`,
    });
    expect(idsOf(made)).toEqual([two.id, one.id]);
    expect(idsOf(await link({ product_id: one.id }))).toEqual([one.id]);
    expect(idsOf(await link({ product_price_id: one.prices[0]?.id }))).toEqual([one.id]);
    expect(await get(made.id)).toEqual(made);
  });

  test("refuse unknown, foreign and archived products and deleted discounts, each at its place", async () => {
    const [one, gone, foreign] = [await book(), await book(), await book(await floe.seller("bob"))];
    await archive(gone.id);
    const discount = await seller.client.discounts.create({ body: { name: "D", duration: "once", basis_points: 100 } });
    const { id } = await link({ products: [one.id] });
    await seller.client.discounts.delete({ params: { id: discount.id } });
    const body = { products: [one.id, gone.id, foreign.id, newId()], discount_id: discount.id };
    const places = ["products.1", "products.2", "products.3", "discount_id"].map((place) => `${place} value_error`);
    expect(await call.refused("POST", path, body)).toEqual(places);
    expect((await call.refused("PATCH", `${path}${id}`, body)).sort()).toEqual([...places].sort());
    expect(await call.refused("POST", path, {})).toEqual(["products missing"]);
    expect(await call.refused("POST", path, { products: [] })).toHaveLength(1);
    expect(await call.refused("POST", path, { product_price_id: newId() })).toEqual(["product_price_id value_error"]);
    expect(await call.refused("POST", path, { products: [one.id], success_url: "ftp://x" })).toHaveLength(1);
  });

  test("keep their address when all else changes; lists are replaced, nulls clear", async () => {
    const [one, two] = [await book(), await book()];
    const made = await link({ products: [one.id], label: "A", metadata: { a: 1 }, success_url: "https://a.example/" });
    const changed = { products: [two.id, one.id], label: " ", metadata: { b: 2 }, success_url: null };
    const { status, json } = await call.send("PATCH", `${path}${made.id}`, changed);
    expect(status).toBe(200);
    expect(json).toMatchObject({ label: null, metadata: { b: 2 }, success_url: null, url: made.url });
    expect(idsOf(await get(made.id))).toEqual([two.id, one.id]);
    expect((await call.send("PATCH", `${path}${made.id}`, { products: null })).status).toBe(200);
    expect(idsOf(await get(made.id))).toEqual([two.id, one.id]);
  });

  test("CHK-64: a discount must be for one of the products, whichever of both changes", async () => {
    const [one, two] = [await book(), await book()];
    const terms = { name: "D", duration: "once", basis_points: 100, products: [one.id] };
    const { id: discount_id } = await seller.client.discounts.create({ body: terms as never });
    const refused = ["discount_id value_error"];
    expect(await call.refused("POST", path, { products: [two.id], discount_id })).toEqual(refused);
    const { id } = await link({ products: [two.id, one.id] });
    await floe.deps.db.update(checkoutLinks).set({ discount_id }).where(eq(checkoutLinks.id, id));
    expect(await call.refused("PATCH", `${path}${id}`, { products: [two.id] })).toEqual(refused);
    const freed = await call.send("PATCH", `${path}${id}`, { products: [two.id], discount_id: null });
    expect([freed.status, freed.json]).toEqual([200, expect.objectContaining({ discount_id: null })]);
    expect(await call.refused("PATCH", `${path}${id}`, { discount_id })).toEqual(refused);
  });

  test("CHK-65: a link that comes to offer nothing but what is bought once has no trial", async () => {
    const { id } = await link({ products: [(await book()).id] });
    const trial = { trial_interval: "day", trial_interval_count: 7 } as const;
    await floe.deps.db.update(checkoutLinks).set(trial).where(eq(checkoutLinks.id, id));
    const { json } = await call.send("PATCH", `${path}${id}`, { products: [(await book()).id] });
    expect(json).toMatchObject({ trial_interval: null, trial_interval_count: null });
  });

  test("leave no secret behind that opens nothing", async () => {
    const secrets = () =>
      floe.deps.db.$count(checkoutLinkSecrets, eq(checkoutLinkSecrets.organization_id, seller.organization_id));
    const before = await secrets();
    const product = await book();
    const [one] = [await link({ products: [product.id] }), await link({ products: [product.id] })];
    expect(await secrets()).toBe(before + 2);
    await seller.client.checkoutLinks.delete({ params: { id: one.id } });
    expect(await secrets()).toBe(before + 1);
    await archive(product.id);
    expect(await secrets()).toBe(before);
  });

  test("PRD-28: an archived product leaves every link; a link with none left is gone", async () => {
    const [one, two] = [await book(), await book()];
    const [both, alone] = [await link({ products: [one.id, two.id] }), await link({ products: [one.id] })];
    await archive(one.id);
    expect(idsOf(await get(both.id))).toEqual([two.id]);
    expect((await call.send("GET", `${path}${alone.id}`)).status).toBe(404);
    await seller.client.products.update({ params: { id: one.id }, body: { is_archived: false } });
    expect(idsOf(await get(both.id))).toEqual([two.id]);
  });

  test("a list has each filter and sort, in as many statements for one link as for many", async () => {
    const own = await floe.seller("lists");
    const { send, ids } = callsOf(floe, own);
    const products = [(await book(own)).id, (await book(own)).id];
    const add = async (body: object) => (await send("POST", path, body)).json.id;
    const a = await add({ products, label: "C", allow_discount_codes: false, success_url: "https://b.example/" });
    const b = await add({ products: [products[0]], label: "B", success_url: "https://c.example/" });
    const c = await add({ products: [products[0]], label: "A", success_url: "https://a.example/" });
    expect(await ids(path)).toEqual([a, b, c]);
    const sorted: [string, string[]][] = [
      ["-created_at", [c, b, a]],
      ["label", [c, b, a]],
      ["success_url", [c, a, b]],
      ["allow_discount_codes&sorting=label", [a, c, b]],
    ];
    for (const [sorting, wanted] of sorted)
      expect([sorting, await ids(`${path}?sorting=${sorting}`)]).toEqual([sorting, wanted]);
    expect(await ids(`${path}?product_id=${products[1]}`)).toEqual([a]);
    expect(await ids(`${path}?product_id=${products[1]}&product_id=${products[0]}&limit=2&page=2`)).toEqual([c]);
    expect(await ids(`${path}?organization_id=${seller.organization_id}`)).toEqual([]);
    for (const [method, body] of [["GET"], ["PATCH", { label: "x" }], ["DELETE"]] as const)
      expect((await call.send(method, `${path}${a}`, body)).status).toBe(404);
    const statements = async (limit: number) => {
      floe.queries.length = 0;
      await ids(`${path}?limit=${limit}`);
      return floe.queries.length;
    };
    expect(await statements(100)).toBe(await statements(1));
    expect(floe.queries.filter((query) => query.includes('from "checkout_links"'))).toHaveLength(2);
  });
});

describe("GET /buy/:secret", () => {
  const open = async (made: CheckoutLink, query = "", accept = "*/*") => {
    const target = `/buy/${made.client_secret}${query}`;
    const { status, headers, text } = await floe.request("GET", target, { headers: { accept } });
    return { status, text, headers, to: headers.has("location") ? new URL(headers.get("location") ?? "") : undefined };
  };
  const opened = async (made: CheckoutLink, query = "") => {
    const { status, to } = await open(made, query);
    expect(status).toBe(307);
    const client_secret = to?.pathname.split("/").at(-1) ?? "";
    const { items } = await seller.client.checkouts.list({ query: { limit: 100 } });
    const checkout = items.find((one) => one.client_secret === client_secret);
    if (!checkout || !to) throw new Error("No checkout was opened.");
    return { checkout, to };
  };

  test("hand on their seats, discount and trial to the checkouts that they open (CHK-62)", async () => {
    const own = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    const feature_settings = { ...own.feature_settings, seat_based_pricing_enabled: true };
    await seller.client.organizations.update({ params: { id: own.id }, body: { feature_settings } as never });
    const discount = await seller.client.discounts.create({
      body: { name: "D", duration: "once", basis_points: 5000 },
    });
    const code = await seller.client.discounts.create({
      body: { name: "C", code: "SPRING", duration: "once", basis_points: 2500 },
    });
    const team = await book(seller, {
      recurring_interval: "month",
      prices: [{ amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 2, price_per_seat: 1000 }] } }],
    });
    const made = await link({
      products: [team.id],
      seats: 3,
      discount_id: discount.id,
      trial_interval: "day",
      trial_interval_count: 7,
    });
    const found = async (query = "") => (await opened(made, query)).checkout;
    expect(await found()).toMatchObject({
      seats: 3,
      min_seats: 3,
      max_seats: 3,
      amount: 3000,
      discount_id: discount.id,
      total_amount: 1500,
      active_trial_interval: "day",
    });
    expect(await found("?discount_code=spring")).toMatchObject({ discount_id: code.id, total_amount: 2250 });
    // What is mistyped turns nobody away (CHK-63).
    expect(await found("?discount_code=nonsense")).toMatchObject({ discount_id: discount.id });
  });

  test("opens a checkout of its own for each visit, with what the link says", async () => {
    const [one, two] = [await book(), await book()];
    const made = await link({
      products: [one.id, two.id],
      allow_discount_codes: false,
      require_billing_address: true,
      success_url: "https://a.example/?id={CHECKOUT_ID}",
      metadata: { campaign: "x" },
    });
    const [first, second] = [await opened(made), await opened(made)];
    expect(first.checkout.id).not.toBe(second.checkout.id);
    expect(first.checkout).toMatchObject({
      status: "open",
      product_id: one.id,
      allow_discount_codes: false,
      require_billing_address: true,
      metadata: { campaign: "x" },
    });
    expect(first.checkout.products.map(({ id }) => id)).toEqual([one.id, two.id]);
    expect((await open(made)).headers.get("cache-control")).toBe("no-store");
  });

  test("opens nothing for who only looks whether the address is alive", async () => {
    const made = await link({ products: [(await book()).id] });
    const count = async () => (await seller.client.checkouts.list({ query: {} })).pagination.total_count;
    const before = await count();
    expect((await floe.request("HEAD", `/buy/${made.client_secret}`)).status).toBe(200);
    expect(await count()).toBe(before);
  });

  test("CHK-20: carries reference_id and utm_* into the metadata, over nothing that is there, and never too many", async () => {
    const made = await link({ product_id: (await book()).id, metadata: { utm_source: "own", reference_id: "r0" } });
    const long = "x".repeat(900);
    const query = `?utm_source=theirs&reference_id=r1&utm_medium=mail&utm_term=&utm_content=${long}&utm_campaign=%C3%A9t%C3%A9&utm_evil=1&other=2`;
    expect((await opened(made, query)).checkout.metadata).toEqual({
      utm_source: "own",
      reference_id: "r0",
      utm_medium: "mail",
      utm_content: long.slice(0, 500),
      utm_campaign: "été",
    });
    const full = Object.fromEntries(Array.from({ length: 49 }, (_, index) => [`key_${index}`, index]));
    const crowded = await link({ product_id: (await book()).id, metadata: full });
    const { metadata } = (await opened(crowded, "?utm_source=a&utm_medium=b")).checkout;
    expect(Object.keys(metadata)).toHaveLength(50);
    expect(metadata).toMatchObject({ ...full, utm_source: "a" });
  });

  test("CHK-62, CHK-63: fills in the form where what is sent makes sense, and passes on what it does not know", async () => {
    const paying = { prices: [{ amount_type: "custom", minimum_amount: 500, preset_amount: 700 }] };
    const made = await link({ product_id: (await book(seller, paying)).id });
    const { checkout, to } = await opened(
      made,
      "?customer_email=ada%40example.com&customer_name=Ada&amount=900&theme=dark&embed=true&locale=fr&ref=1&discount_code=X&utm_source=a",
    );
    expect(checkout).toMatchObject({ customer_email: "ada@example.com", customer_name: "Ada", amount: 900 });
    expect(Object.fromEntries(to.searchParams)).toEqual({ theme: "dark", embed: "true", locale: "fr", ref: "1" });
    const wrong = await opened(made, `?customer_email=nobody&amount=many&customer_name=${"x".repeat(999)}`);
    expect(wrong.checkout).toMatchObject({ customer_email: null, customer_name: null, amount: 700 });
    for (const strange of ["?utm_source=%00", "?customer_name=%00", "?utm_source=a&utm_source=b", "?%ff=%ff"])
      expect([strange, (await open(made, strange)).status]).toEqual([strange, strange.includes("%00") ? 422 : 307]);
    for (const amount of ["1e99", "-1", "499", "500.5", "99999999999", "NaN", ""])
      expect([amount, (await opened(made, `?amount=${amount}`)).checkout.amount]).toEqual([amount, 700]);
  });

  test("CHK-63: the address may choose among the products; drafts are left out as archived ones are", async () => {
    const [one, two, draft] = [await book(), await book(), await book(seller, { visibility: "draft" })];
    const made = await link({ products: [draft.id, one.id, two.id] });
    const chosen = async (id: string) => (await opened(made, `?product_id=${id}`)).checkout;
    expect(await chosen(two.id.toUpperCase())).toMatchObject({ product_id: two.id });
    expect((await chosen(two.id)).products.map(({ id }) => id)).toEqual([two.id, one.id]);
    for (const other of [draft.id, newId(), "x"]) expect((await chosen(other)).product_id).toBe(one.id);
    expect((await open(await link({ products: [draft.id] }))).status).toBe(422);
  });

  test("CHK-04: opens in the organization's currency, and takes an amount by that currency's price", async () => {
    const own = await floe.seller("euros");
    const paying = (price_currency: string, minimum_amount: number) => ({
      ...{ amount_type: "custom", minimum_amount },
      price_currency,
    });
    const { id } = await book(own, { prices: [paying("usd", 100), paying("eur", 5000)] });
    const body = { default_presentment_currency: "eur" } as const;
    await own.client.organizations.update({ params: { id: own.organization_id }, body });
    const made = await own.client.checkoutLinks.create({ body: { products: [id] } });
    for (const [asked, amount] of [
      [200, 5000],
      [6000, 6000],
    ]) {
      expect((await open(made, `?amount=${asked}`)).status).toBe(307);
      const [newest] = (await own.client.checkouts.list({ query: { limit: 1 } })).items;
      expect([newest?.currency, newest?.amount]).toEqual(["eur", amount]);
      floe.clock.advance(1000);
    }
  });

  test("CHK-25: the embedding page is kept as its origin, and refused where the seller lists others", async () => {
    const made = await link({ product_id: (await book()).id });
    const origin = async (given: string) =>
      (await opened(made, `?embed_origin=${encodeURIComponent(given)}`)).checkout.embed_origin;
    expect(await origin("https://ada:pw@shop.example:8443/a/b?c#d")).toBe("https://shop.example:8443");
    for (const none of ["null", "file:///etc", "*", "https://*.shop.example", "javascript:alert(1)", "shop", ""])
      expect([none, await origin(none)]).toEqual([none, null]);
    const embed_hosts = ["shop.example", "*.shop.example"];
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { embed_hosts } as never,
    });
    // The platform's switch, not the seller's.
    const settings = (frame_ancestors_enforced: boolean) =>
      floe.deps.db
        .update(organization)
        .set({ feature_settings: { frame_ancestors_enforced } })
        .where(eq(organization.id, seller.organization_id));
    await settings(true);
    expect(await origin("https://www.shop.example/x")).toBe("https://www.shop.example");
    const refused = await open(made, "?embed_origin=https://evil.example", "text/html");
    expect([refused.status, JSON.parse(refused.text).error]).toEqual([403, "EmbedHostNotAllowed"]);
    expect((await opened(made)).checkout.embed_origin).toBeNull();
    // Nor by the call that any page can make.
    const body = { products: (await book()).id, embedOrigin: "https://evil.example" };
    const called = await floe.request("POST", "/api/auth/checkout", { body, headers: { origin: floe.url } });
    expect([called.status, called.text]).toEqual([403, expect.stringContaining("may not embed")]);
    await settings(false);
    expect(await origin("https://evil.example")).toBe("https://evil.example");
  });

  test.each<[string, string[], boolean]>([
    ["https://shop.example", ["shop.example"], true],
    ["https://SHOP.example", ["Shop.Example"], true],
    ["http://shop.example", ["shop.example"], false],
    ["https://a.shop.example", ["shop.example"], false],
    ["https://a.b.shop.example", ["*.shop.example"], true],
    ["https://shop.example", ["*.shop.example"], false],
    ["https://evilshop.example", ["*.shop.example"], false],
    ["https://shop.example:444", ["shop.example:443"], false],
    ["https://shop.example", ["shop.example:443"], true],
    ["http://localhost:3000", ["localhost"], true],
    ["http://localhost:3000", ["localhost:4000"], false],
    ["https://shop.example", [], false],
  ])("CHK-25: %s on the list %j: %s", (origin, hosts, allowed) => {
    expect(isEmbedAllowed(origin, hosts)).toBe(allowed);
  });

  test("offers only what is on sale, and is nowhere once the link is deleted", async () => {
    const [one, two] = [await book(), await book()];
    const made = await link({ products: [one.id, two.id] });
    await archive(one.id);
    const { checkout } = await opened(made);
    expect(checkout.products.map(({ id }) => id)).toEqual([two.id]);
    expect((await call.send("DELETE", `${path}${made.id}`)).status).toBe(204);
    expect((await call.send("DELETE", `${path}${made.id}`)).status).toBe(404);
    for (const accept of ["text/html", "application/json"]) expect((await open(made, "", accept)).status).toBe(404);
    // What it had opened goes on.
    expect((await seller.client.checkouts.get({ params: { id: checkout.id } })).status).toBe("open");
  });
});
