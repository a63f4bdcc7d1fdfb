/** The months of a demo shop: every step is a request that a seller or a customer could make. */
import * as routes from "../../shared/routes.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { request } from "../request.ts";
import { showOne } from "../resource/show.ts";
import { showProgress } from "../ui/progress.ts";
import { type BenefitKey, defineBenefits, defineProducts, discounts, meter, type ProductKey } from "./catalog.ts";
import { createChance } from "./chance.ts";
import { durationMaxMs, newCustomersMax, newCustomersMin, stopsPerMonth } from "./limits.ts";
import { changeSubscriptions, createPurchase, refundOrders, reportUsage, type Shop } from "./story.ts";

/** Check that the organization is a sandbox without customers. Real customers and real money are never mixed with a demo. */
async function checkSandbox(context: Context): Promise<string> {
  const id = await findCurrentOrganization(context);
  const organization = (await request(context, routes.organizations.get, { params: { id } })) as {
    slug: string;
    sandbox?: boolean;
  };
  const hint = "Create one: `floe orgs create Showcase --sandbox`";
  if (organization.sandbox !== true)
    throw new Fault("conflict", `${organization.slug} is not a sandbox, and demo data is for sandboxes only`, { hint });
  if (getCount(await request(context, routes.customers.list, only)) > 0)
    throw new Fault("conflict", `${organization.slug} has customers already; a demo needs a new sandbox`, { hint });
  return id;
}

const only = { query: { limit: 1 } };
const getCount = ({ pagination }: { pagination: { total_count: number } }): number => pagination.total_count;
const countSubscriptions = async (context: Context, active: boolean): Promise<number> =>
  getCount(await request(context, routes.subscriptions.list, { query: { active, limit: 1 } }));

/** Create what the shop sells. */
async function createCatalog(context: Context, organization_id: string): Promise<Record<ProductKey, string>> {
  await request(context, routes.organizations.update, {
    params: { id: organization_id },
    body: { feature_settings: { seat_based_pricing_enabled: true } },
  });
  const { id: meter_id } = await request(context, routes.meters.create, { body: meter });
  const benefitIds = {} as Record<BenefitKey, string>;
  for (const [key, body] of Object.entries(defineBenefits(meter_id)))
    benefitIds[key as BenefitKey] = (await request(context, routes.benefits.create, { body })).id;
  const productIds = {} as Record<ProductKey, string>;
  for (const [key, product] of Object.entries(defineProducts(meter_id))) {
    const { id } = await request(context, routes.products.create, { body: product.body });
    productIds[key as ProductKey] = id;
    if (product.benefits.length > 0)
      await request(context, routes.products.setBenefits, {
        params: { id },
        body: { benefits: product.benefits.map((benefit) => benefitIds[benefit]) },
      });
  }
  for (const body of discounts) await request(context, routes.discounts.create, { body });
  return productIds;
}

/** Move the sandbox's clock, and run what falls due on the way. Returns the new time. */
async function advance(shop: Shop, to: Date): Promise<Date> {
  for (;;) {
    checkLimits(shop);
    const { now, done } = (await request(shop.context, routes.sandbox.advance, { body: { to: to.toISOString() } })) as {
      now: string;
      done: boolean;
    };
    if (done) return new Date(now);
  }
}

function checkLimits({ deadline }: Shop): void {
  if (performance.now() <= deadline) return;
  throw new Fault("unreachable", `the server needed more than ${durationMaxMs / 60_000} minutes`);
}

/** The fault of a demo that is not complete: what was made so far stays, so the next attempt needs another sandbox. */
function describeFailure(context: Context, error: unknown): unknown {
  const hint = "Begin again in another sandbox: `floe orgs create Showcase2 --sandbox`";
  if (context.io.signal.aborted) return new Fault("interrupted", "stopped; the demo is not complete", { hint });
  if (!isFault(error)) return error;
  return new Fault(error.kind, `${error.message}; the demo is not complete`, { hint, ...error.parts });
}

/** The same day so many months later, or the last day of a shorter month. */
export function addMonths(start: Date, months: number): Date {
  const result = new Date(start);
  result.setUTCMonth(start.getUTCMonth() + months);
  // A day that the month does not have is one of the next month.
  if (result.getUTCDate() !== start.getUTCDate()) result.setUTCDate(0);
  return result;
}

/** Divide a number of new customers among the stops of a month. */
function splitArrivals({ chance }: Shop, month: number): number[] {
  const arrivals = Array.from({ length: stopsPerMonth }, () => 0);
  const total = Math.min(newCustomersMin + month, newCustomersMax);
  for (let number = 0; number < total; number += 1) {
    const stop = chance.pickNumber(stopsPerMonth);
    arrivals[stop] = (arrivals[stop] ?? 0) + 1;
  }
  return arrivals;
}

async function runMonth(shop: Shop, month: number, start: Date, onStop: () => void): Promise<void> {
  const [from, until] = [addMonths(start, month).getTime(), addMonths(start, month + 1).getTime()];
  for (const [stop, newCustomers] of splitArrivals(shop, month).entries()) {
    shop.previousStop = shop.now;
    shop.now = await advance(shop, new Date(from + ((until - from) * (stop + 1)) / stopsPerMonth));
    if (stop === 0 && month > 0) {
      await changeSubscriptions(shop);
      await refundOrders(shop, addMonths(shop.now, -1));
    }
    await reportUsage(shop);
    for (let number = 0; number < newCustomers; number += 1) {
      checkLimits(shop);
      await createPurchase(shop);
    }
    onStop();
  }
}

/** Fill the sandbox. The same seed makes the same shop, but for ids and the day on which it begins. */
export async function createDemo(context: Context, { months, seed }: { months: number; seed: number }): Promise<void> {
  const organization_id = await checkSandbox(context);
  const { now } = (await request(context, routes.sandbox.getClock, {})) as { now: string };
  const start = new Date(now);
  const progress = showProgress(context, "demo", months * stopsPerMonth, () => `${months} months`);
  progress.start("");
  try {
    const shop: Shop = {
      ...{ context, seed, now: start, previousStop: start, buyers: [], usageEvents: 0, cancellations: 0 },
      chance: createChance(seed),
      productIds: await createCatalog(context, organization_id),
      deadline: performance.now() + durationMaxMs,
    };
    for (let month = 0; month < months; month += 1) await runMonth(shop, month, start, () => progress.add(1));
    progress.end();
    showOne(context, {
      ...{ seed, months, now: shop.now.toISOString(), usage_events: shop.usageEvents },
      customers: getCount(await request(context, routes.customers.list, only)),
      orders: getCount(await request(context, routes.orders.list, only)),
      active_subscriptions: await countSubscriptions(context, true),
      ended_subscriptions: await countSubscriptions(context, false),
      refunds: getCount(await request(context, routes.refunds.list, only)),
      disputes: getCount(await request(context, routes.disputes.list, only)),
    });
    context.say("See it: `floe metrics --interval month`, `floe orders list`. Keep it: `floe sandbox save demo`\n");
  } catch (error) {
    progress.end();
    throw describeFailure(context, error);
  }
}
