import { api } from "../../../shared/api/index.ts";
import type { WebhookEndpoint } from "../../../shared/api/webhooks.ts";
import type { Operation } from "../../../shared/contract.ts";
import { type EventType, eventTypes } from "../../../shared/events.ts";

/** The kinds that Polar lists, in the order in which they are read: what others point to comes first. */
export const syncKinds = [
  "organization",
  "customer",
  "product",
  "benefit",
  "discount",
  "checkout",
  "order",
  "subscription",
  "refund",
  "benefit_grant",
] as const;
export type SyncKind = (typeof syncKinds)[number];
/** First a kind's pages are read; then each known object that no page had is looked up by its id. */
export type SyncStage = "list" | "gone";

const changes = ["equal", "changed", "added", "gone"] as const;
export type SyncCount = Record<(typeof changes)[number], number>;
export type SyncCounts = Partial<Record<SyncKind, SyncCount>>;
export const emptyCount: SyncCount = { equal: 0, changed: 0, added: 0, gone: 0 };

export const addCounts = (a: SyncCount, b: SyncCount): SyncCount => ({
  equal: a.equal + b.equal,
  changed: a.changed + b.changed,
  added: a.added + b.added,
  gone: a.gone + b.gone,
});

/** Where a kind is listed, the oldest first, and where one object of it is read. Of the others, none is ever deleted. */
export const listings: Readonly<Record<SyncKind, { list: Operation; sorting: string; get?: Operation }>> = {
  organization: { list: api.organizations.list, sorting: "created_at" },
  customer: { list: api.customers.list, sorting: "created_at", get: api.customers.get },
  product: { list: api.products.list, sorting: "created_at", get: api.products.get },
  benefit: { list: api.benefits.list, sorting: "created_at", get: api.benefits.get },
  discount: { list: api.discounts.list, sorting: "created_at", get: api.discounts.get },
  checkout: { list: api.checkouts.list, sorting: "created_at", get: api.checkouts.get },
  order: { list: api.orders.list, sorting: "created_at", get: api.orders.get },
  subscription: { list: api.subscriptions.list, sorting: "started_at", get: api.subscriptions.get },
  refund: { list: api.refunds.list, sorting: "created_at" },
  benefit_grant: { list: api.benefitGrants.list, sorting: "created_at" },
};

/** Polar publishes no event of this type, and refuses an endpoint that asks for it. */
const unpublished: readonly EventType[] = ["subscription.migrated"];
export const requestedEvents = eventTypes.filter((type) => !unpublished.includes(type));

/** What has to be changed of an endpoint at Polar so that every event arrives here; undefined where nothing has. */
export function planRepair(
  endpoint: Pick<WebhookEndpoint, "url" | "format" | "events" | "enabled">,
  url: string,
): Record<string, unknown> | undefined {
  const patch = {
    ...(endpoint.url === url ? {} : { url }),
    ...(endpoint.format === "raw" ? {} : { format: "raw" }),
    ...(requestedEvents.every((type) => endpoint.events.includes(type)) ? {} : { events: requestedEvents }),
    ...(endpoint.enabled ? {} : { enabled: true }),
  };
  return Object.keys(patch).length > 0 ? patch : undefined;
}

/** A secret that is shown in part, to a token that may not read it, signs nothing. */
export const isWholeSecret = (secret: string): boolean => secret.length >= 8 && !secret.includes("***");

/** The page to read next, or undefined after the last one. Objects that were deleted meanwhile moved the others to earlier pages. */
export function findNextPage(
  { page, total, returns }: { page: number; total: number; returns: number },
  answer: { size: number; total: number; max_page: number },
): { page: number; returns: number } | undefined {
  const moved = total - answer.total;
  if (moved > 0 && page > 1 && returns < returnsMax) {
    const back = Math.min(page - 1, divideUp(moved, pageSize));
    return { page: page - back, returns: returns + 1 };
  }
  if (answer.size === 0 || page >= answer.max_page || page >= pagesMax) return undefined;
  return { page: page + 1, returns };
}
const divideUp = (amount: number, size: number): number => (amount - (amount % size)) / size + (amount % size ? 1 : 0);
export const pageSize = 100;
const pagesMax = 100_000;
/** A list that shrinks again and again is read on, and the next sync finds what was missed. */
const returnsMax = 20;
