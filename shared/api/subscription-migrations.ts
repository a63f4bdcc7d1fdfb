import { z } from "zod";
import { buildSellerAccess, byId, ids, instant, many, page, paging, type Resource } from "../contract.ts";
import { organizationOf, stored } from "./fields.ts";

export const migrationStatuses = ["running", "stopped", "done", "undoing", "undone"] as const;
export const migrationStates = ["found", "notified", "scheduled", "applied", "skipped", "undone"] as const;
/** Why a subscription is left as it is. */
export const migrationReasons = [
  "canceled",
  "changed",
  "paused",
  "currency",
  "seats",
  "no_email",
  "no_card",
  "other_migration",
] as const;

/** Existing subscribers of a product move to another product, or to the prices that it has now. Beyond Polar. */
export const SubscriptionMigration = z.object({
  ...stored,
  organization_id: z.uuid(),
  from_product_id: z.uuid(),
  to_product_id: z.uuid(),
  /** So many days before the first charge each customer is told. */
  notify_days: z.int(),
  status: z.enum(migrationStatuses),
  /** How many subscriptions are in each state. */
  found: z.int(),
  notified: z.int(),
  scheduled: z.int(),
  applied: z.int(),
  skipped: z.int(),
  undone: z.int(),
});
export type SubscriptionMigration = z.output<typeof SubscriptionMigration>;

const moved = {
  subscription_id: z.uuid(),
  customer_id: z.uuid(),
  customer_email: z.string().nullable(),
  reason: z.enum(migrationReasons).nullable(),
  currency: z.string(),
  /** What a period costs before tax, after the discount, without usage. */
  old_amount: z.int(),
  new_amount: z.int().nullable(),
  /** The renewal with which the change takes effect. */
  applies_at: instant.nullable(),
};
export const SubscriptionMigrationItem = z.object({
  ...stored,
  migration_id: z.uuid(),
  state: z.enum(migrationStates),
  ...moved,
  notified_at: instant.nullable(),
});
export type SubscriptionMigrationItem = z.output<typeof SubscriptionMigrationItem>;

export const SubscriptionMigrationPreview = z.object({
  /** How many subscriptions would be looked at. */
  total_count: z.int(),
  /** How many of `items` would move. */
  moving: z.int(),
  skipped: z.int(),
  items: z.array(z.object(moved)),
});
export type SubscriptionMigrationPreview = z.output<typeof SubscriptionMigrationPreview>;

export const SubscriptionMigrationCreate = z.object({
  organization_id: organizationOf,
  product_id: z.uuid().describe("The product whose subscribers move."),
  to_product_id: z.uuid().describe("The product that they move to; the same one: to the prices that it has now."),
  notify_days: z
    .int()
    .min(1)
    .max(365)
    .default(30)
    .describe("How many days before the first charge at the new price each customer is told by mail."),
});

const reading = buildSellerAccess("products:read", ["subscriptions:read", "customers:read"]);
// The role support changes single subscriptions, and not all of a product.
const writing = buildSellerAccess("products:write", ["subscriptions:write"]);
const path = "/v1/subscription-migrations";

export const subscriptionMigrations = {
  list: {
    method: "GET",
    path: `${path}/`,
    summary: "List the moves of subscribers to other prices",
    access: reading,
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      product_id: ids.describe("Only from these products."),
    }),
    response: page(SubscriptionMigration),
  },
  preview: {
    method: "POST",
    path: `${path}/preview`,
    summary: "Say who would move to other prices, and when",
    access: reading,
    heavy: "cancel",
    body: SubscriptionMigrationCreate,
    response: SubscriptionMigrationPreview,
  },
  create: {
    method: "POST",
    path: `${path}/`,
    summary: "Move the subscribers of a product to other prices",
    status: 201,
    access: writing,
    body: SubscriptionMigrationCreate,
    response: SubscriptionMigration,
    errors: ["BadRequest"],
    confirm:
      "Move all subscribers of this product? Each is told by mail first, and pays the new price from a later renewal on.",
  },
  get: {
    method: "GET",
    path: `${path}/:id`,
    summary: "Get how far a move of subscribers is",
    access: reading,
    params: byId,
    response: SubscriptionMigration,
    errors: ["ResourceNotFound"],
  },
  items: {
    method: "GET",
    path: `${path}/:id/items`,
    summary: "List the subscriptions of a move",
    access: reading,
    params: byId,
    query: z.object({ ...paging.shape, state: many(z.enum(migrationStates)).describe("Only in these states.") }),
    response: page(SubscriptionMigrationItem),
    errors: ["ResourceNotFound"],
  },
  stop: {
    method: "POST",
    path: `${path}/:id/stop`,
    summary: "Have a move of subscribers wait",
    access: writing,
    params: byId,
    response: SubscriptionMigration,
    audit: "subscription_migration.stopped",
    errors: ["ResourceNotFound"],
  },
  resume: {
    method: "POST",
    path: `${path}/:id/resume`,
    summary: "Have a move of subscribers go on",
    access: writing,
    params: byId,
    response: SubscriptionMigration,
    audit: "subscription_migration.resumed",
    errors: ["ResourceNotFound"],
  },
  undo: {
    method: "POST",
    path: `${path}/:id/undo`,
    summary: "Undo a move for all who do not pay the new price yet",
    access: writing,
    params: byId,
    response: SubscriptionMigration,
    audit: "subscription_migration.undone",
    errors: ["ResourceNotFound"],
    confirm: "Undo this move for all customers who do not pay the new price yet? Those who were told get a mail.",
  },
} as const satisfies Resource;
