import { z } from "zod";
import { CompleteAddressInput } from "../addresses.ts";
import {
  buildSellerAccess,
  byId,
  instant,
  instantText,
  many,
  metadata,
  page,
  paging,
  type Resource,
} from "../contract.ts";
import { scopes } from "../scopes.ts";
import { currency, email, id, interval, markMinorUnits, organizationOf, stored, TaxIdInput } from "./fields.ts";

/** An import writes products, customers and subscriptions of a whole shop, so it needs what a restoration needs (MOV-08). */
const everyWrite = scopes.filter((scope) => scope.endsWith(":write"));
const reading = buildSellerAccess("organizations:read", ["products:read", "customers:read", "subscriptions:read"]);
const writing = buildSellerAccess("organizations:write", everyWrite);

export const importSources = ["csv", "stripe"] as const;
export const importKinds = ["product", "customer", "subscription"] as const;
export type ImportKind = (typeof importKinds)[number];
export const importStatuses = [
  "reading",
  "checking",
  "planned",
  "applying",
  "applied",
  "finished",
  "rolling_back",
  "rolled_back",
] as const;
export const recordStatuses = ["read", "ready", "blocked", "applied", "held", "switched", "undone"] as const;
/** Why a record is blocked, is not switched, or is not undone. */
export const importReasons = [
  "amount_differs",
  "changed_since",
  "charged",
  "currency_differs",
  "customer_blocked",
  "customer_missing",
  "ended",
  "external_id_conflict",
  "no_card",
  "not_billable",
  "not_held",
  "period",
  "price_kind",
  "product_blocked",
  "product_missing",
  "refused",
  "renewal_past",
  "renewal_soon",
  "status",
  "tax_id",
  "used",
] as const;
export type ImportReason = (typeof importReasons)[number];

const sourceId = z.string().trim().min(1).max(200).describe("The id that it has at the source.");
const amount = markMinorUnits(z.int().min(0).max(99_999_999));

export const ImportedProduct = z.object({
  kind: z.literal("product"),
  source_id: sourceId,
  name: z.string().min(3).max(64).trim().min(1).describe("Name of the product, 3 to 64 characters."),
  description: z.string().max(100_000).nullish(),
  prices: z
    .array(z.object({ amount, currency }))
    .min(1)
    .max(50)
    .refine((all) => new Set(all.map((one) => one.currency)).size === all.length, "Each currency stands once.")
    .describe("What a period costs in each currency, in minor units."),
  recurring_interval: interval,
  recurring_interval_count: z.int().min(1).max(999).default(1),
  product_id: id.nullish().describe("A product of floe that is used in its place."),
});
export const ImportedCustomer = z.object({
  kind: z.literal("customer"),
  source_id: sourceId,
  email,
  name: z.string().max(256).nullish(),
  external_id: z.string().min(1).max(512).nullish(),
  billing_address: CompleteAddressInput.nullish(),
  tax_id: TaxIdInput,
  locale: z.string().max(64).nullish(),
  metadata: metadata.default(() => ({})),
});
export const ImportedSubscription = z.object({
  kind: z.literal("subscription"),
  source_id: sourceId,
  customer: sourceId.describe("The id of the customer at the source."),
  product: sourceId.describe("The id of the product at the source."),
  status: z.enum(["active", "trialing", "past_due", "unpaid", "paused", "canceled"]),
  amount: amount.describe("What the source charges for a period, in minor units: it must be the product's."),
  currency,
  started_at: instantText,
  current_period_start: instantText,
  current_period_end: instantText.describe("The next renewal at the source: the first one in floe."),
  anchor_day: z
    .int()
    .min(1)
    .max(31)
    .nullish()
    .describe("The day of the month of renewals, if not that of the next one."),
  cancel_at_period_end: z.boolean().default(false),
  not_billable: z
    .string()
    .max(500)
    .nullish()
    .describe("Why it cannot be billed here as at the source: it stays there."),
  metadata: metadata.default(() => ({})),
});

/** One thing of the source in the form that floe imports. */
export const ImportRow = z.discriminatedUnion("kind", [ImportedProduct, ImportedCustomer, ImportedSubscription]);
export type ImportRow = z.output<typeof ImportRow>;
export type ImportedProduct = z.output<typeof ImportedProduct>;
export type ImportedCustomer = z.output<typeof ImportedCustomer>;
export type ImportedSubscription = z.output<typeof ImportedSubscription>;
/** So many rows are sent, checked or applied at once. */
export const importRowsMax = 200;

const ImportCounts = z.object({
  kind: z.enum(importKinds),
  status: z.enum(recordStatuses),
  count: z.int(),
  /** So many of them differ in the last reading from what was applied. */
  changed: z.int(),
});

/** A shop that moves here from another product. Beyond Polar. */
export const ImportRun = z.object({
  ...stored,
  organization_id: z.uuid(),
  source: z.enum(importSources),
  status: z.enum(importStatuses),
  /** How often the source was read. */
  reading: z.int(),
  counts: z.array(ImportCounts),
  /** Whether the step under way needs another request. */
  has_more: z.boolean(),
  applied_at: instant.nullable(),
  finished_at: instant.nullable(),
});
export type ImportRun = z.output<typeof ImportRun>;

export const ImportRecord = z.object({
  ...stored,
  kind: z.enum(importKinds),
  source_id: z.string(),
  /** Its line in the file. */
  line: z.int().nullable(),
  status: z.enum(recordStatuses),
  reason: z.enum(importReasons).nullable(),
  /** What about it was refused, or is to be known. */
  detail: z.string().nullable(),
  /** The product, customer or subscription in floe. */
  target_id: z.uuid().nullable(),
  /** False where it was in floe before. */
  is_created: z.boolean(),
  /** Whether the last reading differs from what was applied. */
  is_changed: z.boolean(),
  data: z.object({
    email: z.string().nullable(),
    name: z.string().nullable(),
    amount: z.int().nullable(),
    currency: z.string().nullable(),
    current_period_end: z.string().nullable(),
  }),
});
export type ImportRecord = z.output<typeof ImportRecord>;

const sums = { count: z.int(), monthly_amount: z.int() };
/** What the source has against what floe has of it. */
export const ImportComparison = z.object({
  kinds: z.array(
    z.object({
      kind: z.enum(importKinds),
      /** What the source has, without what is blocked. */
      source: z.int(),
      floe: z.int(),
      blocked: z.int(),
    }),
  ),
  currencies: z.array(z.object({ currency: z.string(), source: z.object(sums), floe: z.object(sums) })),
  /** Renewals of the next 30 days, by day. */
  days: z.array(z.object({ day: z.string(), currency: z.string(), source: z.int(), floe: z.int() })),
  /** Countries of importable subscribers where floe has no tax registration. */
  unregistered: z.array(z.object({ country: z.string(), subscriptions: z.int() })),
  without_card: z.int(),
  differences: z.array(
    z.object({
      kind: z.enum(importKinds),
      source_id: z.string(),
      target_id: z.uuid().nullable(),
      field: z.string(),
      source: z.string().nullable(),
      floe: z.string().nullable(),
    }),
  ),
  differences_total: z.int(),
});
export type ImportComparison = z.output<typeof ImportComparison>;

export const ImportSwitch = z.object({
  switched: z.array(z.string()),
  refused: z.array(z.object({ source_id: z.string(), reason: z.enum(importReasons) })),
  has_more: z.boolean(),
});

const path = "/v1/imports";
const organization_id = organizationOf;
const errors = ["ImportRefused", "ResourceNotFound"] as const;
const step = { method: "POST", access: writing, params: byId, response: ImportRun, errors } as const;

export const imports = {
  list: {
    method: "GET",
    path: `${path}/`,
    summary: "List imports",
    access: reading,
    query: z.object({
      ...paging.shape,
      organization_id: many(z.uuid()).describe("Only of these organizations."),
      status: many(z.enum(importStatuses)).describe("Only in these states."),
    }),
    response: page(ImportRun),
  },
  create: {
    method: "POST",
    path: `${path}/`,
    summary: "Begin an import",
    status: 201,
    access: writing,
    body: z.object({
      source: z.enum(importSources).describe("Where the shop moves from."),
      is_live_data: z
        .boolean()
        .nullish()
        .describe("Whether it is of real sales: test data is imported into a sandbox alone."),
      organization_id,
    }),
    response: ImportRun,
    errors: ["ImportRefused"],
  },
  get: {
    method: "GET",
    path: `${path}/:id`,
    summary: "Get how far an import is",
    access: reading,
    params: byId,
    response: ImportRun,
    errors: ["ResourceNotFound"],
  },
  records: {
    method: "GET",
    path: `${path}/:id/records`,
    summary: "List what an import has read",
    access: reading,
    params: byId,
    query: z.object({
      ...paging.shape,
      kind: many(z.enum(importKinds)).describe("Only of these kinds."),
      status: many(z.enum(recordStatuses)).describe("Only in these states."),
      reason: many(z.enum(importReasons)).describe("Only for these reasons."),
    }),
    response: page(ImportRecord),
    errors: ["ResourceNotFound"],
  },
  read: {
    ...step,
    path: `${path}/:id/records`,
    bulk: true,
    heavy: "finish",
    summary: "Send rows of the source",
    body: z.object({
      reading: z.int().min(1).max(1_000_000).describe("Which reading of the source: one more than before begins anew."),
      rows: z
        .array(z.object({ line: z.int().min(1).nullish(), row: ImportRow }))
        .min(1)
        .max(importRowsMax)
        .describe("Rows of the source, each with its line in the file."),
      organization_id,
    }),
  },
  check: {
    ...step,
    path: `${path}/:id/check`,
    bulk: true,
    heavy: "finish",
    summary: "Check the next rows, and plan the import with the last of them",
    body: z.object({ organization_id }),
  },
  apply: {
    ...step,
    path: `${path}/:id/apply`,
    // The audit log has one entry for all requests of it.
    bulk: true,
    heavy: "finish",
    summary: "Create the next products, customers and held subscriptions of an import",
    body: z.object({
      update: z.boolean().default(false).describe("Also change held subscriptions that differ in the last reading."),
      organization_id,
    }),
    confirm: "Create what the plan shows? Subscriptions are held: floe charges none of them until you switch it.",
  },
  switch: {
    ...step,
    path: `${path}/:id/switch`,
    heavy: "finish",
    summary: "Have floe bill held subscriptions that the source no longer bills",
    body: z.object({
      source_ids: z.array(sourceId).min(1).max(importRowsMax).nullish().describe("Only these subscriptions."),
      first: z
        .int()
        .min(1)
        .max(importRowsMax)
        .default(importRowsMax)
        .describe("At most so many, the next renewals last."),
      source_has_stopped: z
        .literal(true)
        .describe("Your statement that the source bills none of them again: they are canceled there."),
      without_card: z
        .boolean()
        .default(false)
        .describe("Also those without a card: their customers are asked for one."),
      organization_id,
    }),
    response: ImportSwitch,
    audit: "import.switched",
    confirm: "Have floe charge these subscriptions from their next renewal on? The source must not bill them again.",
  },
  compare: {
    method: "GET",
    path: `${path}/:id/comparison`,
    summary: "Compare what the source has with what floe has of it",
    access: reading,
    heavy: "cancel",
    params: byId,
    response: ImportComparison,
    errors: ["ResourceNotFound"],
  },
  finish: {
    ...step,
    path: `${path}/:id/finish`,
    summary: "Finish an import: what was read of the source is deleted, its ids stay",
    body: z.object({ organization_id }),
    audit: "import.finished",
    confirm: "Finish this import? What was read of the source is deleted. It cannot be rolled back afterwards.",
  },
  rollback: {
    ...step,
    path: `${path}/:id/rollback`,
    bulk: true,
    heavy: "finish",
    summary: "Remove the next things that an import made, where nobody has used them",
    body: z.object({ organization_id }),
    confirm: "Remove what this import made? What floe has charged or what is in use stays.",
  },
} as const satisfies Resource;
