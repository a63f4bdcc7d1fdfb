import type { models } from "@polar-sh/sdk/2027-01";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { Conditions, ListQuery } from "../../server/platform/db/page.ts";
import { adapt, readProfile } from "../../server/platform/http/profiles.ts";
import { readFaults } from "../../server/platform/http/validation-errors.ts";
import { Address } from "../../shared/addresses.ts";
import { BenefitGrant } from "../../shared/api/benefit-grants.ts";
import { Benefit, BenefitPublic } from "../../shared/api/benefits.ts";
import { CheckoutPublic, CheckoutPublicConfirmed } from "../../shared/api/checkout-client.ts";
import { CheckoutLink } from "../../shared/api/checkout-links.ts";
import { Checkout } from "../../shared/api/checkouts.ts";
import { AttachedCustomField, CustomField } from "../../shared/api/custom-fields.ts";
import { CustomerSession } from "../../shared/api/customer-sessions.ts";
import { Customer, CustomerState } from "../../shared/api/customers.ts";
import { CheckoutDiscount, Discount } from "../../shared/api/discounts.ts";
import type { Dispute } from "../../shared/api/disputes.ts";
import { File, FileUpload, files, ProductMedia } from "../../shared/api/files.ts";
import { api } from "../../shared/api/index.ts";
import { Meter } from "../../shared/api/meters.ts";
import { Order, OrderItem } from "../../shared/api/orders.ts";
import { CheckoutOrganization, Organization } from "../../shared/api/organizations.ts";
import { Payment } from "../../shared/api/payments.ts";
import { CustomerPortalCustomer } from "../../shared/api/portal.ts";
import { ProductPrice } from "../../shared/api/prices.ts";
import { CheckoutProduct, OrderProduct, Product } from "../../shared/api/products.ts";
import { Refund } from "../../shared/api/refunds.ts";
import { OrderSubscription, SubscriptionUpdate } from "../../shared/api/subscriptions.ts";
import { WebhookDelivery, WebhookEndpoint, WebhookEvent } from "../../shared/api/webhooks.ts";
import type { Operation } from "../../shared/contract.ts";
import type { Fault } from "../../shared/errors.ts";
import { eventTypes, eventTypesOf, payloads } from "../../shared/events.ts";
import { customerScopes, isScope, type Scope } from "../../shared/scopes.ts";
import wireFields from "../fixtures/wire-fields.json" with { type: "json" };
import { type Json, wireSchema, wireValue } from "../support/samples.ts";
import { closedEventTypes, readers38, readers49 } from "../support/strict-clients.ts";

const operations: [string, Operation][] = Object.entries(api).flatMap(([resource, all]) =>
  Object.entries(all).map(([name, operation]): [string, Operation] => [`${resource}.${name}`, operation]),
);

describe("every operation", () => {
  test.each(operations.filter(([, operation]) => operation.method === "PATCH" && operation.body))(
    "%s reads an empty body as no change at all",
    (_, { body }) => expect(Object.keys(body?.parse({}) as object)).toEqual([]),
  );
  test.each(operations)("%s names its path parameters, its scopes and a summary", (_, operation) => {
    const named = [...operation.path.matchAll(/:(\w+)/g)].map(([, key]) => key);
    expect(Object.keys(operation.params?.shape ?? {})).toEqual(named);
    const known = (scope: Scope) => isScope(scope) || customerScopes.some((one) => one === scope);
    expect(operation.access.scopes.every(known)).toBe(true);
    expect(operation.summary).not.toBe("");
    // A plan changes nothing, a document says what is there already, an address of metrics shows what it is made by, and an export
    // takes its passphrase in a body.
    const reads =
      /^\/v1\/(catalog\/(plan|rehearse)|metrics\/links|archives\/export)$|\/(invoice|credit-note|preview|invoice-exports\/)$/.test(
        operation.path,
      );
    // Where to go to show an account is asked for as a page is, and noted.
    const begins = /oauth-accounts\/authorize$/.test(operation.path);
    const writes = begins || (operation.method !== "GET" && operation.access.by !== "anyone" && !reads);
    expect(operation.access.scopes.every((scope) => scope.endsWith(writes ? ":write" : ":read"))).toBe(true);
  });
  test("has a path and method of its own", () => {
    const routes = operations.map(([, { method, path }]) => `${method} ${path}`);
    expect(new Set(routes).size).toBe(routes.length);
  });
  test.each(operations)("%s can be described as JSON Schema", (_, { params, query, body, response }) => {
    for (const schema of [params, query, body, response]) if (schema) expect(wireSchema(schema)).toBeTypeOf("object");
  });
  test.each(operations)("%s explains each field of its body and query", (_, { body, query }) => {
    for (const schema of [body, query]) {
      const fields = Object.entries(schema ? (wireSchema(schema).properties ?? {}) : {});
      expect(fields.filter(([, field]) => !field.description).map(([name]) => name)).toEqual([]);
    }
  });
});

const priceOf = (kind: string) => {
  const option = ProductPrice.options.find((one) => one.shape.amount_type.value === kind);
  if (!option) throw new Error(`No price kind ${kind}`);
  return option;
};
const [CardPayment, GenericPayment] = Payment.options;
const [FixedDiscount, PercentageDiscount] = CheckoutDiscount.options;
const SeatTiers = priceOf("seat_based").shape as unknown as { seat_tiers: z.ZodObject<{ tiers: z.ZodArray }> };
const state = CustomerState.shape;

const shapes: Record<keyof typeof wireFields, z.ZodType> = {
  Address,
  Customer,
  OrderCustomer: Order.shape.customer,
  CustomerSession,
  CustomerPortalCustomer,
  CustomerState,
  CustomerStateSubscription: state.active_subscriptions.element,
  CustomerStateSubscriptionMeter: state.active_subscriptions.element.shape.meters.element,
  CustomerStateBenefitGrant: state.granted_benefits.element,
  CustomerStateMeter: state.active_meters.element,
  Product,
  CheckoutProduct,
  OrderProduct,
  ProductPriceFixed: priceOf("fixed"),
  ProductPriceCustom: priceOf("custom"),
  ProductPriceFree: priceOf("free"),
  ProductPriceMeteredUnit: priceOf("metered_unit"),
  ProductPriceSeatBased: priceOf("seat_based"),
  ProductPriceMeter: (priceOf("metered_unit").shape as unknown as { meter: z.ZodObject }).meter,
  ProductPriceSeatTiers: SeatTiers.seat_tiers,
  ProductPriceSeatTier: SeatTiers.seat_tiers.shape.tiers.element as z.ZodType,
  BenefitPublic: BenefitPublic.options[0],
  Benefit: Benefit.options[4],
  ProductMediaFileRead: ProductMedia,
  DownloadableFileRead: File.options[0],
  OrganizationAvatarFileRead: File.options[2],
  FileUpload,
  AttachedCustomField,
  CheckoutDiscountFixedRepeatDuration: FixedDiscount,
  CheckoutDiscountPercentageOnceForeverDuration: PercentageDiscount,
  Checkout,
  CheckoutPublic,
  CheckoutPublicConfirmed,
  CheckoutOrganization,
  CheckoutBillingAddressFields: Checkout.shape.billing_address_fields,
  Order,
  OrderItem,
  OrderSubscription,
  Organization,
  OrganizationFeatureSettings: Organization.shape.feature_settings,
  OrganizationSubscriptionSettings: Organization.shape.subscription_settings,
  OrganizationNotificationSettings: Organization.shape.notification_settings,
  OrganizationCustomerEmailSettings: Organization.shape.customer_email_settings,
  OrganizationSocialLink: Organization.shape.socials.element,
  CardPayment,
  GenericPayment,
  Refund,
  WebhookEndpoint,
  WebhookEvent,
  WebhookDelivery,
};
const canBeNull = (schema: Json): boolean =>
  [schema.type].flat().includes("null") || [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].some(canBeNull);
/** Fields that stand only where they mean something, in a shape that joins several of the published ones. */
const conditional = new Set(["CheckoutDiscountFixedRepeatDuration.duration_in_months"]);

describe("answers", () => {
  test.each(Object.keys(shapes) as (keyof typeof shapes)[])(
    "%s has every published field, always, and null only where every client takes it",
    (name) => {
      const ours = wireSchema(shapes[name]);
      for (const written of wireFields[name].split(" ")) {
        const [field = ""] = written.split(/[~?]/);
        const schema = ours.properties?.[field];
        expect(schema, field).toBeDefined();
        if (!schema || conditional.has(`${name}.${field}`)) continue;
        expect(ours.required, field).toContain(field);
        if (!written.includes("~")) expect(canBeNull(schema), field).toBe(false);
      }
    },
  );
});

const answers = {
  Product,
  Organization,
  Customer,
  CustomerState,
  Checkout,
  CheckoutPublic,
  CheckoutPublicConfirmed,
  CustomerSession,
  CustomerPortalCustomer,
  Order,
  Payment,
  Refund,
  Benefit,
  BenefitGrant,
  CheckoutLink,
  FileList: files.list.response,
  FileUpload,
  Meter,
  CustomField,
  Discount,
  WebhookEndpoint,
  WebhookDelivery,
};
const names = Object.keys(answers) as (keyof typeof answers)[];
const profileNamed = (agent: string) => {
  const profile = readProfile({ "user-agent": agent });
  if (!profile) throw new Error(`No profile for ${agent}`);
  return profile;
};
const profile38 = profileNamed("speakeasy-sdk/typescript 0.38.1 2.727.9 0.1.0 @polar-sh/sdk");
const profile49 = profileNamed("speakeasy-sdk/typescript 0.49.0 2.918.3 2026-04 @polar-sh/sdk");
/** Rows with these words are kept from old clients as a whole, or are never stored. */
const newWords = new Set<unknown>([
  "draft",
  "void",
  "paused",
  "review",
  "snoozed",
  "blocked",
  "offboarding",
  "offboarded",
  ...eventTypes.filter((type) => !eventTypesOf.legacy.has(type)),
]);
const few = { numRuns: 60 };
/** Only a team has no e-mail address. */
const isPossible = (wire: unknown): boolean =>
  typeof wire !== "object" ||
  wire === null ||
  (!("type" in wire && "email" in wire && wire.type === "individual" && wire.email === null) &&
    Object.values(wire).every(isPossible));

describe("any answer", () => {
  test.each(names)("%s survives being read and written again", (name) => {
    fc.assert(
      fc.property(wireValue(answers[name]), (wire) => {
        expect(z.encode(answers[name] as z.ZodType, z.decode(answers[name] as z.ZodType, wire))).toEqual(wire);
      }),
      few,
    );
  });
  test.each(names)("%s is read by the closed client 0.38.1", (name) => {
    fc.assert(
      fc.property(wireValue(answers[name], newWords).filter(isPossible), (wire) => {
        expect(readers38[name].safeParse(adapt(profile38, wire)).error).toBeUndefined();
      }),
      few,
    );
  });
  test.each(names)("%s is read by the open client 0.49.0", (name) => {
    fc.assert(
      fc.property(wireValue(answers[name]).filter(isPossible), (wire) => {
        expect(readers49[name].safeParse(adapt(profile49, wire)).error).toBeUndefined();
      }),
      few,
    );
  });
});

test("recurring prices from before products had an interval are read by us and by every client (PRD-36)", () => {
  const id = "0197a1f0-4b1c-7c3e-8a11-5d1f6b0c9e21";
  const old = { legacy: true, type: "recurring", recurring_interval: "month", source: "catalog", is_archived: false };
  const common = { ...old, id, product_id: id, created_at: "2024-01-01T00:00:00.000Z", modified_at: null };
  const paid = { ...common, price_currency: "usd", tax_behavior: null };
  const prices = [
    { ...paid, amount_type: "fixed", price_amount: 900 },
    { ...paid, amount_type: "custom", minimum_amount: 50, maximum_amount: null, preset_amount: null },
    { ...paid, amount_type: "free" },
  ];
  const [product] = fc.sample(wireValue(Product), 1);
  const wire = { ...(product as object), prices };
  expect(z.encode(Product, z.decode(Product, wire as never)).prices).toEqual(prices);
  const read38 = readers38.Product.parse(adapt(profile38, wire)) as { prices: object[] };
  expect(read38.prices).toMatchObject(prices.map(() => ({ legacy: true, recurringInterval: "month" })));
  const read49 = readers49.Product.parse(adapt(profile49, wire)) as { prices: object[] };
  expect(read49.prices).toMatchObject(prices.map(() => ({ legacy: true, recurringInterval: "month" })));
});

/**
 * What the current client 1.0.1 is promised, once the values it does not know have been adapted: answers have the types that
 * it declares. `tsc` reads this, nothing runs.
 */
type Sent<S extends z.ZodType> = z.input<S>;
type Price = Exclude<Sent<typeof ProductPrice>, { amount_type: "free" }>;
type Priced<T> = Omit<T, "prices" | "product" | "products" | "product_price" | "organization">;
type Known<T> = Omit<T, "status">;
type Of<T extends "individual" | "team"> = Omit<Sent<typeof Customer>, "type"> & { type: T };
expectTypeOf<Of<"team">>().toExtend<models.CustomerTeam>();
expectTypeOf<Of<"individual"> & { email: string }>().toExtend<models.CustomerIndividual>();
expectTypeOf<Price>().toExtend<models.ProductPrice>();
expectTypeOf<Priced<Sent<typeof Product>>>().toExtend<Priced<models.Product>>();
expectTypeOf<Priced<Sent<typeof CheckoutProduct>>>().toExtend<Priced<models.CheckoutProduct>>();
expectTypeOf<Known<Sent<typeof Organization>>>().toExtend<Known<models.Organization>>();
expectTypeOf<Known<Sent<typeof CheckoutOrganization>>>().toExtend<models.CheckoutOrganization>();
expectTypeOf<Priced<Sent<typeof Checkout>>>().toExtend<Priced<models.Checkout>>();
expectTypeOf<Priced<Sent<typeof CheckoutPublicConfirmed>>>().toExtend<Priced<models.CheckoutPublicConfirmed>>();
expectTypeOf<Sent<typeof Meter>>().toExtend<models.Meter>();
expectTypeOf<Sent<typeof File>>().toExtend<models.FileRead>();
expectTypeOf<Sent<typeof FileUpload>>().toExtend<models.FileUpload>();
expectTypeOf<Sent<typeof CustomField>>().toExtend<models.CustomField>();
expectTypeOf<Sent<typeof Order>>().toExtend<models.Order>();
expectTypeOf<Sent<typeof Payment>>().toExtend<models.CardPayment | models.GenericPayment>();
expectTypeOf<Sent<typeof Refund>>().toExtend<models.Refund>();
expectTypeOf<Omit<Sent<typeof Dispute>, "customer">>().toExtend<Omit<models.Dispute, "customer">>();
expectTypeOf<Sent<typeof WebhookEndpoint>>().toExtend<models.WebhookEndpoint>();
expectTypeOf<Sent<typeof WebhookDelivery>>().toExtend<models.WebhookDelivery>();

describe("event types", () => {
  test("every type with a payload is a type, and all 42 are known to the current client", () => {
    expect(Object.keys(payloads).filter((type) => !(eventTypes as readonly string[]).includes(type))).toEqual([]);
    expect(new Set(eventTypes).size).toBe(42);
    expectTypeOf<(typeof eventTypes)[number]>().toEqualTypeOf<models.WebhookEventType>();
  });
  test("the closed client is sent exactly the types it lists", () => {
    expect([...eventTypesOf.legacy].sort()).toEqual([...closedEventTypes].sort());
  });
});

test.each<[z.ZodType, unknown, string]>([
  [z.string().min(3), "ab", "Must have at least 3 characters."],
  [z.string().min(1), "", "Must not be empty."],
  [z.string().max(1), "ab", "Must have at most 1 character."],
  [z.array(z.int()).max(2), [1, 2, 3], "Must have at most 2 items."],
  [z.int().min(5), 4, "Must be at least 5."],
  [z.number().positive(), 0, "Must be more than 0."],
  [z.string(), 4, "Must be a text."],
  [z.number(), Number.NaN, "Must be a number."],
  [z.int(), 1.5, "Must be a whole number."],
  [z.enum(["a", "b"]), "c", "Must be one of a, b."],
  [z.literal("a"), "c", "Must be a."],
  [z.uuid(), "x", "Must be an id."],
  [z.strictObject({}), { constructor: 1 }, "There is no field constructor here."],
  [z.string().min(3, "Say more."), "a", "Say more."],
])("what is wrong with a value is said in our words (%#)", (shape, value, said) => {
  const issues = shape.safeParse(value).error?.issues ?? [];
  expect(readFaults(["body"], issues, value).map(({ msg }) => msg)).toEqual([said]);
});

test.each<[unknown, Partial<Fault>[]]>([
  [{ metadata: {}, seats: 3 }, [{ loc: ["body", "seats"], msg: "Not to be sent together with the other fields." }]],
  [{ seats: 3, revoke: true }, [{ loc: ["body", "revoke"], msg: "Not to be sent together with the other fields." }]],
  [{ seats: 3, strange: 1 }, [{ loc: ["body", "strange"], msg: "There is no field strange here." }]],
  [{ product_id: 5 }, [{ loc: ["body", "product_id"], msg: "Must be a text." }]],
  [
    { metadata: {}, a: 1, b: "x" },
    [
      { loc: ["body", "a"], input: 1 },
      { loc: ["body", "b"], input: "x" },
    ],
  ],
])("of a change of several kinds, each field that is too much is named (%#)", (value, expected) => {
  const issues = SubscriptionUpdate.safeParse(value).error?.issues ?? [];
  expect(readFaults(["body"], issues, value)).toMatchObject(expected);
});

test("a list has a condition for each filter that it declares, and for no other", () => {
  type Asked = ListQuery<typeof api.disputes.list>;
  expectTypeOf<keyof Conditions<Asked>>().toEqualTypeOf<"order_id" | "status">();
  expectTypeOf<{ order_id: () => undefined }>().not.toExtend<Conditions<Asked>>();
  expectTypeOf<Asked["sorting"][number]>().toEqualTypeOf<"created_at" | "-created_at" | "amount" | "-amount">();
  expect(Object.keys(api.disputes.list.query.shape)).toEqual(expect.arrayContaining(["order_id", "status"]));
});
