import type { models } from "@polar-sh/sdk/2027-01";
import { CheckoutConfirmStripe$outboundSchema } from "polar-sdk-0.38/models/components/checkoutconfirmstripe.js";
import { CheckoutCreate$outboundSchema as CheckoutCreate38 } from "polar-sdk-0.38/models/components/checkoutcreate.js";
import { CustomerCreate$outboundSchema as CustomerCreate38 } from "polar-sdk-0.38/models/components/customercreate.js";
import { OrderUpdate$outboundSchema } from "polar-sdk-0.38/models/components/orderupdate.js";
import { OrganizationUpdate$outboundSchema } from "polar-sdk-0.38/models/components/organizationupdate.js";
import { ProductCreate$outboundSchema as ProductCreate38 } from "polar-sdk-0.38/models/components/productcreate.js";
import { WebhookEndpointCreate$outboundSchema } from "polar-sdk-0.38/models/components/webhookendpointcreate.js";
import { CheckoutCreate$outboundSchema as CheckoutCreate49 } from "polar-sdk-0.49/models/components/checkoutcreate.js";
import { CustomerCreate$outboundSchema as CustomerCreate49 } from "polar-sdk-0.49/models/components/customercreate.js";
import { ProductCreate$outboundSchema as ProductCreate49 } from "polar-sdk-0.49/models/components/productcreate.js";
import { describe, expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import { AddressInput, CompleteAddressInput } from "../../shared/addresses.ts";
import { api } from "../../shared/api/index.ts";

const id = "0197a1f0-4b1c-7c3e-8a11-5d1f6b0c9e21";
const pathsOf = (result: z.ZodSafeParseResult<unknown>) =>
  result.error?.issues.map((issue) => issue.path.join(".")) ?? [];

describe("product bodies", () => {
  const create = api.products.create.body;
  const update = api.products.update.body;
  const fixed = { amount_type: "fixed", price_amount: 1900 } as const;
  test("a name is measured first and trimmed then, and is never blank", () => {
    expect(create.parse({ name: " ab", prices: [fixed] }).name).toBe("ab");
    expect(pathsOf(create.safeParse({ name: "   ", prices: [fixed] }))).toEqual(["name"]);
    expect(pathsOf(create.safeParse({ name: "ab", prices: [fixed] }))).toEqual(["name"]);
    expect(pathsOf(create.safeParse({ name: "x".repeat(65), prices: [fixed] }))).toEqual(["name"]);
  });
  test("a blank description is none", () => {
    expect(create.parse({ name: "Pro", description: "  ", prices: [fixed] }).description).toBeNull();
    expect(update.parse({ description: "" })).toEqual({ description: null });
  });
  test("an explicit null name is refused, a null for what cannot be none changes nothing", () => {
    expect(pathsOf(update.safeParse({ name: null }))).toEqual(["name"]);
    expect(update.parse({ is_archived: null, prices: null, metadata: null })).toEqual({});
  });
  test("half a trial is refused at the missing half", () => {
    const monthly = { name: "Pro", prices: [fixed], recurring_interval: "month" };
    expect(pathsOf(create.safeParse({ ...monthly, trial_interval: "day" }))).toEqual(["trial_interval_count"]);
    // A one-time purchase has no use for one, and is told nothing of it (PRD-03).
    expect(pathsOf(create.safeParse({ name: "Pro", prices: [fixed], trial_interval: "day" }))).toEqual([]);
    expect(pathsOf(update.safeParse({ trial_interval_count: 7 }))).toEqual(["trial_interval"]);
    expect(update.parse({ trial_interval: null, trial_interval_count: null })).toEqual({
      trial_interval: null,
      trial_interval_count: null,
    });
  });
  test("a kept price is reduced to its id, whatever else is sent with it", () => {
    expect(update.parse({ prices: [{ id, ...fixed }, fixed] }).prices).toEqual([{ id }, fixed]);
  });
  test.each([
    [0.3, "0.3"],
    ["0.30", "0.3"],
    [1e-7, "0.0000001"],
    ["12345.000000000001", "12345.000000000001"],
    [7, "7"],
  ])("a unit amount of %s is kept exactly", (sent, kept) => {
    const prices = [{ amount_type: "metered_unit" as const, meter_id: id, unit_amount: sent }];
    expect(create.parse({ name: "Use", prices }).prices[0]).toMatchObject({ unit_amount: kept });
  });
  test.each([0, -1, "0.0", "1e3", "123456", "0.1234567890123", "", "abc", ".", null])(
    "a unit amount of %s is refused",
    (sent) => {
      const prices = [{ amount_type: "metered_unit", meter_id: id, unit_amount: sent }];
      expect(pathsOf(create.safeParse({ name: "Use", prices }))).toEqual(["prices.0.unit_amount"]);
    },
  );
  test.each([1.5, "1900", -1, null])("a price amount of %s is refused", (price_amount) => {
    expect(pathsOf(create.safeParse({ name: "Pro", prices: [{ amount_type: "fixed", price_amount }] }))).toEqual([
      "prices.0.price_amount",
    ]);
  });
});

describe("addresses", () => {
  const parsed = (sent: object) => AddressInput.parse(sent);
  test.each([
    ["us", "ny"],
    ["US", "US-NY"],
    ["us", " us-ny "],
  ])("API-10: %s %s is US-NY", (country, state) => {
    expect(parsed({ country, state })).toMatchObject({ country: "US", state: "US-NY" });
    expect(CompleteAddressInput.parse({ country, state })).toEqual(parsed({ country, state }));
  });
  test("Canada keeps its own California", () => {
    expect(parsed({ country: "CA", state: "QC" }).state).toBe("CA-QC");
    expect(pathsOf(AddressInput.safeParse({ country: "CA", state: "CA" }))).toEqual(["state"]);
    expect(parsed({ country: "US", state: "CA" }).state).toBe("US-CA");
  });
  test("API-10: an unknown state is refused where states are known, and free text elsewhere", () => {
    expect(pathsOf(AddressInput.safeParse({ country: "US", state: "XX" }))).toEqual(["state"]);
    expect(pathsOf(AddressInput.safeParse({ country: "US", state: "constructor" }))).toEqual(["state"]);
    expect(parsed({ country: "DE", state: "Bayern" }).state).toBe("Bayern");
  });
  test.each([{}, { state: null }, { state: " " }, { state: "XX" }, { state: "CA-NY" }])(
    "API-10: a customer in the US or Canada has a state that is there, not %j; a buyer who is still at it may have none yet",
    (sent) => {
      for (const country of ["US", "ca"])
        expect(pathsOf(CompleteAddressInput.safeParse({ country, ...sent }))).toEqual(["state"]);
      expect(AddressInput.safeParse({ country: "US", ...sent }).success).toBe(!sent.state?.trim());
      expect(CompleteAddressInput.safeParse({ country: "DE", ...sent }).success).toBe(true);
    },
  );
  test.each(["CU", "IR", "KP", "SY", "RU", "XX", "D", "Germany"])("%s is refused as a country", (country) => {
    expect(pathsOf(AddressInput.safeParse({ country }))).toEqual(["country"]);
  });
  test("empty lines are none, and every field is there", () => {
    expect(parsed({ country: "fr", line1: "", city: " Paris " })).toEqual({
      country: "FR",
      line1: null,
      line2: null,
      city: "Paris",
      postal_code: null,
      state: null,
    });
  });
});

describe("checkout bodies", () => {
  const create = api.checkouts.create.body;
  test("something to buy must be named, once each", () => {
    expect(pathsOf(create.safeParse({}))).toEqual(["products"]);
    expect(pathsOf(create.safeParse({ products: [] }))).toEqual(["products"]);
    expect(pathsOf(create.safeParse({ products: [id, id] }))).toEqual(["products"]);
    for (const body of [{ products: [id] }, { product_id: id }, { product_price_id: id }])
      expect(create.safeParse(body).success).toBe(true);
  });
  test("the defaults are those that older clients always send", () => {
    expect(create.parse({ product_id: id })).toMatchObject({
      allow_discount_codes: true,
      require_billing_address: false,
      allow_trial: true,
    });
  });
  test("the placeholder of the success address is kept, also when a browser escaped it", () => {
    const url = (success_url: string) => create.parse({ product_id: id, success_url }).success_url;
    expect(url("https://x.test/?id={CHECKOUT_ID}")).toBe("https://x.test/?id={CHECKOUT_ID}");
    expect(url("https://x.test/?id=%7BCHECKOUT_ID%7D")).toBe("https://x.test/?id={CHECKOUT_ID}");
    expect(url("https://x.test/{CHECKOUT_ID.__class__}")).toBe("https://x.test/{CHECKOUT_ID.__class__}");
    expect(pathsOf(create.safeParse({ product_id: id, success_url: "javascript:alert(1)" }))).toEqual(["success_url"]);
  });
  test("customer metadata takes no fraction, which older clients could not read back", () => {
    expect(create.parse({ product_id: id, customer_metadata: { n: 3 }, metadata: { n: 0.5 } })).toMatchObject({
      customer_metadata: { n: 3 },
    });
    for (const n of [0.5, 1e300])
      expect(pathsOf(create.safeParse({ product_id: id, customer_metadata: { n } }))).toEqual(["customer_metadata.n"]);
  });
  test("a buyer can decline a trial, never grant one", () => {
    expect(api.checkoutClient.update.body.parse({ allow_trial: false })).toEqual({ allow_trial: false });
    expect(pathsOf(api.checkoutClient.update.body.safeParse({ allow_trial: true }))).toEqual(["allow_trial"]);
  });
});

describe("metadata (API-17)", () => {
  const read = (metadata: unknown) => api.customers.create.body.safeParse({ email: "a@b.example", metadata });
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  test.each<[string, unknown]>([
    ["text, numbers and booleans as they are", { a: "1", b: 1, c: 1.5, d: true }],
    ["50 keys", keys(50)],
    ["a key of 40 letters and a value of 500", { ["k".repeat(40)]: "v".repeat(500) }],
  ])("takes %s", (_, metadata) => {
    expect(read(metadata).data?.metadata).toEqual(metadata);
  });
  test.each<[string, unknown]>([
    ["51 keys", keys(51)],
    ["a key of 41 letters", { ["k".repeat(41)]: 1 }],
    ["a key of none", { "": 1 }],
    ["a value of 501", { a: "v".repeat(501) }],
    ["an empty value", { a: "" }],
    ["null", { a: null }],
    ["a list", { a: [1] }],
    ["a map", { a: { b: 1 } }],
  ])("refuses %s", (_, metadata) => {
    expect(pathsOf(read(metadata))[0]).toMatch(/^metadata/);
  });
});

describe("other bodies and queries", () => {
  test("a tax number is read alone or as the pair that answers carry", () => {
    const read = (tax_id: string | (string | null)[] | null) => api.customers.update.body.parse({ tax_id }).tax_id;
    expect(read(["FR61954506077", "eu_vat"])).toBe("FR61954506077");
    expect(read("FR61954506077")).toBe("FR61954506077");
    expect(read("")).toBeNull();
    expect(read(null)).toBeNull();
  });
  test("an order update by an older client, which sends every field, keeps what it sends as null", () => {
    expect(api.orders.update.body.parse({ billing_name: null, billing_address: null })).toEqual({});
  });
  test("a slug cannot be changed, and a settings group may lack what older clients do not know", () => {
    const settings = {
      allow_multiple_subscriptions: true,
      allow_customer_updates: true,
      proration_behavior: "invoice" as const,
    };
    expect(api.organizations.update.body.parse({ slug: "other", subscription_settings: settings } as object)).toEqual({
      subscription_settings: settings,
    });
    expect(
      pathsOf(api.organizations.update.body.safeParse({ subscription_settings: { allow_customer_updates: true } })),
    ).not.toEqual([]);
  });
  test("a webhook endpoint names each event once, and only events there are", () => {
    const events = ["order.paid", "order.paid"] as const;
    expect(api.webhooks.createEndpoint.body.parse({ url: "https://x.test/", events: [...events] })).toMatchObject({
      events: ["order.paid"],
      format: "raw",
      enabled: true,
    });
    expect(
      pathsOf(api.webhooks.createEndpoint.body.safeParse({ url: "https://x.test/", events: ["order.eaten"] })),
    ).toEqual(["events.0"]);
  });
  test("a list reads single and repeated filters alike, clamps its limit and refuses an unknown sorting", () => {
    const query = api.orders.list.query;
    expect(query.parse({ status: "paid", limit: "500", product_id: [id] })).toEqual({
      page: 1,
      limit: 100,
      status: ["paid"],
      product_id: [id],
      sorting: ["-created_at"],
    });
    expect(pathsOf(query.safeParse({ sorting: "color" }))).toEqual(["sorting"]);
    expect(pathsOf(query.safeParse({ page: "0" }))).toEqual(["page"]);
    expect(pathsOf(query.safeParse({ created_after: "yesterday" }))).toEqual(["created_after"]);
  });
});

describe("what the published clients send is read", () => {
  const products = api.products.create.body;
  test("a product with each kind of price, by 0.38.1", () => {
    const sent = ProductCreate38.parse({
      name: "Pro",
      recurringInterval: "month",
      prices: [
        { amountType: "fixed", priceAmount: 1900 },
        { amountType: "free" },
        { amountType: "custom", minimumAmount: null, presetAmount: 500 },
        { amountType: "metered_unit", meterId: id, unitAmount: 0.25 },
        { amountType: "seat_based", seatTiers: { tiers: [{ minSeats: 1, pricePerSeat: 700 }] } },
      ],
    });
    expect(products.parse(sent)).toMatchObject({
      name: "Pro",
      recurring_interval: "month",
      prices: [
        { amount_type: "fixed", price_currency: "usd", price_amount: 1900 },
        { amount_type: "free" },
        { amount_type: "custom", minimum_amount: null, preset_amount: 500, maximum_amount: null },
        { amount_type: "metered_unit", unit_amount: "0.25", cap_amount: null },
        { amount_type: "seat_based", seat_tiers: { seat_tier_type: "volume", tiers: [{ min_seats: 1 }] } },
      ],
    });
  });
  test("a one-time product, by 0.49.0", () => {
    const sent = ProductCreate49.parse({ name: "Pro", prices: [{ amountType: "fixed", priceAmount: 0 }] });
    expect(products.parse(sent).prices).toEqual([{ amount_type: "fixed", price_amount: 0 }]);
  });
  test("a customer with its tax number, by both", () => {
    const old = CustomerCreate38.parse({
      email: "a@b.co",
      taxId: ["FR61954506077", "eu_vat"],
      billingAddress: { country: "FR" },
    });
    const recent = CustomerCreate49.parse({
      email: "a@b.co",
      taxId: "FR61954506077",
      billingAddress: { country: "FR" },
    });
    for (const sent of [old, recent])
      expect(api.customers.create.body.parse(sent)).toMatchObject({ tax_id: "FR61954506077", type: "individual" });
  });
  test("a checkout, by 0.38.1 and 0.49.0", () => {
    const forms = [
      CheckoutCreate38.parse({ products: [id], customerMetadata: { n: 1 } }),
      CheckoutCreate38.parse({ products: [id], customFieldData: { size: "L", at: new Date(0), none: null } }),
      CheckoutCreate49.parse({ products: [id], currency: "eur" }),
    ];
    for (const sent of forms)
      expect(pathsOf(api.checkouts.create.body.safeParse(JSON.parse(JSON.stringify(sent))))).toEqual([]);
  });
  test("a confirmation, an order, an organization and an endpoint, by 0.38.1", () => {
    expect(
      api.checkoutClient.confirm.body.parse(
        CheckoutConfirmStripe$outboundSchema.parse({ confirmationTokenId: "pm_card_visa" }),
      ),
    ).toEqual({
      confirmation_token_id: "pm_card_visa",
    });
    expect(
      api.orders.update.body.parse(OrderUpdate$outboundSchema.parse({ billingName: "Ada", billingAddress: null })),
    ).toEqual({ billing_name: "Ada" });
    const settings = { newOrder: true, newSubscription: false };
    expect(
      api.organizations.update.body.parse(
        OrganizationUpdate$outboundSchema.parse({ notificationSettings: settings, name: "Acme" }),
      ),
    ).toEqual({ name: "Acme" });
    const endpoint = { url: "https://x.test/", format: "raw", secret: "s".repeat(32), events: ["order.paid"] };
    expect(api.webhooks.createEndpoint.body.parse(WebhookEndpointCreate$outboundSchema.parse(endpoint))).toMatchObject(
      endpoint,
    );
  });
  type Sent<S extends z.ZodType> = z.input<S>;
  type Known<T> = Omit<T, "prices" | "units" | "min_units" | "max_units">;
  expectTypeOf<Known<models.ProductCreateOneTime>>().toExtend<Known<Sent<typeof products>>>();
  expectTypeOf<Known<models.ProductCreateRecurring>>().toExtend<Known<Sent<typeof products>>>();
  expectTypeOf<Known<models.ProductUpdate>>().toExtend<
    Known<Omit<Sent<typeof api.products.update.body>, "name"> & { name?: string | null }>
  >();
  expectTypeOf<models.CustomerIndividualCreate>().toExtend<Sent<typeof api.customers.create.body>>();
  expectTypeOf<models.CustomerUpdate>().toExtend<Sent<typeof api.customers.update.body>>();
  expectTypeOf<models.CustomerUpdateExternalID>().toExtend<Sent<typeof api.customers.updateExternal.body>>();
  expectTypeOf<Known<models.CheckoutCreate>>().toExtend<Known<Sent<typeof api.checkouts.create.body>>>();
  expectTypeOf<models.CheckoutUpdate>().toExtend<Sent<typeof api.checkouts.update.body>>();
  expectTypeOf<models.CheckoutUpdatePublic>().toExtend<Sent<typeof api.checkoutClient.update.body>>();
  expectTypeOf<models.CheckoutConfirmStripe>().toExtend<Sent<typeof api.checkoutClient.confirm.body>>();
  expectTypeOf<models.OrderUpdate>().toExtend<Sent<typeof api.orders.update.body>>();
  expectTypeOf<models.OrganizationUpdate>().toExtend<Sent<typeof api.organizations.update.body>>();
  expectTypeOf<models.WebhookEndpointCreate>().toExtend<Sent<typeof api.webhooks.createEndpoint.body>>();
  expectTypeOf<models.WebhookEndpointUpdate>().toExtend<Sent<typeof api.webhooks.updateEndpoint.body>>();
});
