import { z } from "zod";
import { Catalog, catalogEntriesMax } from "../catalog/document.ts";
import { kinds } from "../catalog/kinds/kind.ts";
import { instant, type Resource, seller } from "../contract.ts";
import type { Scope } from "../scopes.ts";

const reads: Scope[] = kinds.map((kind): Scope => `${kind}:read`);
const writes: Scope[] = kinds.map((kind): Scope => `${kind}:write`);

const kind = z.enum(kinds);
const catalogName = z.string().min(1).max(63);

/** What is done, or would be, and why it cannot be where it cannot. */
export const CatalogPlan = z.object({
  schema_version: z.literal(1),
  catalog: z.string(),
  organization_id: z.uuid(),
  /** What the plan was made from: the file and the state of everything it touches. */
  fingerprint: z.string(),
  steps: z.array(
    z.object({
      action: z.enum(["create", "update", "rename", "archive", "delete"]),
      kind,
      key: z.string(),
      id: z.string().nullable(),
      name: z.string(),
      changes: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })),
      impact: z.array(z.object({ what: z.string(), count: z.int() })),
      note: z.string().optional(),
    }),
  ),
  issues: z.array(
    z.object({
      code: z.enum(["looks_like", "immutable", "unknown_file", "ambiguous_file", "refused"]),
      path: z.string(),
      message: z.string(),
      hint: z.string().optional(),
    }),
  ),
  unchanged: z.int(),
  missing: z.array(z.object({ kind, key: z.string() })),
});
export type CatalogPlan = z.output<typeof CatalogPlan>;

const amounts = {
  currency: z.string(),
  subscriptions: z.int(),
  /** What they pay a month as things are: before tax, after discounts, without use that is counted; minor units. */
  monthly_amount: z.int(),
};

/** What a plan makes of the money of subscriptions. */
export const Rehearsal = z.object({
  /** Those that go on, or are paused, of what the plan changes. */
  subscriptions: z.int(),
  /** What those that renew pay a month from their next period on, as things are, and once the plan is carried out. */
  renewals: z.array(z.object({ ...amounts, new_monthly_amount: z.int() })),
  pay_more: z.int().describe("How many pay more at their next renewal."),
  pay_less: z.int().describe("How many pay less at their next renewal."),
  /** Those whose next renewal differs most: 50 at most. */
  differing: z.array(
    z.object({
      subscription_id: z.uuid(),
      customer_id: z.uuid(),
      customer_email: z.string().nullable(),
      product_name: z.string(),
      renews_at: instant,
      currency: z.string(),
      /** What the next period costs, before tax. */
      amount: z.int(),
      new_amount: z.int(),
    }),
  ),
  products: z.array(
    z.object({
      key: z.string().nullable().describe("Its key in the catalogue; null where it is in none."),
      id: z.uuid(),
      name: z.string(),
      subscriptions: z.int(),
      /** Nobody can subscribe to it any more; who has it keeps it. */
      is_archived: z.boolean(),
      /**
       * Those who keep prices that nobody else gets any more: what they go on to pay a month, and what they would at the prices
       * that new ones pay; null where there is none to compare with.
       */
      keeps: z.array(z.object({ ...amounts, new_monthly_amount: z.int().nullable() })),
      /** The benefits that its subscribers get or lose. */
      gains: z.array(z.string()),
      loses: z.array(z.string()),
    }),
  ),
  discounts: z.array(
    z.object({
      key: z.string().nullable(),
      id: z.uuid(),
      name: z.string(),
      subscriptions: z.int(),
      /** Nobody gets it any more; who has it keeps it. */
      is_deleted: z.boolean(),
    }),
  ),
});
export type Rehearsal = z.output<typeof Rehearsal>;
export const RehearsedPlan = CatalogPlan.extend({ rehearsal: Rehearsal });
export type RehearsedPlan = z.output<typeof RehearsedPlan>;

const keyPattern = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** A thing that exists, and a key for it. */
const Entry = z.object({ kind, key: z.string().regex(keyPattern), id: z.uuid() });

const asked = {
  document: Catalog.describe("The catalogue, as floe.yaml holds it."),
  prune: z.boolean().default(false).describe("Whether what the file no longer has is archived or deleted."),
  keys: z
    .array(Entry)
    .min(1)
    .max(catalogEntriesMax)
    .optional()
    .describe(
      "The things that the document means by its keys, in place of those of the catalog. No key is stored, and nothing is created, renamed or removed.",
    ),
};

/** The whole catalogue at once: what a file wants, and doing it. */
export const catalog = {
  pull: {
    method: "GET",
    path: "/v1/catalog/",
    summary: "Get the catalogue as a file would have it",
    heavy: "cancel",
    access: seller(...reads),
    query: z.object({
      catalog: catalogName.describe("Name of the catalogue."),
      all: z
        .union([z.boolean(), z.stringbool()])
        .optional()
        .describe("Also what no catalogue has yet, under proposed keys."),
    }),
    response: z.object({
      document: z.record(z.string(), z.unknown()),
      /** What was proposed a key; `import` gives it. */
      proposed: z.array(z.object({ kind, key: z.string(), id: z.string(), name: z.string() })),
      /** Which things the keys of the document mean, the proposed ones too. */
      entries: z.array(z.object({ kind, key: z.string(), id: z.string() })),
      /** The other catalogues of the organization, with how many entries each has. */
      others: z.array(z.object({ catalog: z.string(), count: z.int() })),
    }),
  },
  plan: {
    method: "POST",
    path: "/v1/catalog/plan",
    summary: "Say what would be done to have this catalogue",
    heavy: "cancel",
    access: seller(...reads),
    body: z.object(asked),
    response: CatalogPlan,
    // The host names of webhooks are looked up, as apply does.
    external: true,
  },
  rehearse: {
    method: "POST",
    path: "/v1/catalog/rehearse",
    summary: "Say what having this catalogue would do to the money of subscriptions",
    heavy: "cancel",
    access: seller(...reads, "subscriptions:read"),
    body: z.object(asked),
    response: RehearsedPlan,
    external: true,
  },
  apply: {
    method: "POST",
    path: "/v1/catalog/apply",
    heavy: "cancel",
    audit: "catalog.applied",
    summary: "Make the catalogue as the file wants it, all of it or nothing",
    access: seller(...writes),
    body: z.object({
      ...asked,
      fingerprint: z.string().nullish().describe("Of a plan: refused when anything changed since it was made."),
    }),
    response: CatalogPlan,
    errors: ["CatalogPlanStale", "CatalogRefused"],
    // The host names of webhooks are looked up.
    external: true,
  },
  import: {
    method: "POST",
    path: "/v1/catalog/import",
    audit: "catalog.imported",
    summary: "Give a thing that exists its key in a catalogue",
    access: seller(...writes),
    body: z.object({
      catalog: catalogName.describe("Name of the catalogue."),
      kind: kind.describe("What it is: products, meters, benefits, …"),
      key: z.string().regex(keyPattern).describe("The key it gets."),
      id: z.uuid().describe("Its id."),
    }),
    response: z.object({ kind, key: z.string(), id: z.string() }),
    errors: ["ResourceAlreadyExists"],
  },
} as const satisfies Resource;
