import { and, eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { findNextPage } from "../../server/hosted/connection/rules.ts";
import { checkMirror, continueSync, runSync } from "../../server/hosted/connection/run-sync.ts";
import { beginSync, findSync } from "../../server/hosted/connection/store.ts";
import { runStep } from "../../server/hosted/connection/sync.ts";
import { polarSyncs } from "../../server/hosted/connection/tables.ts";
import { polarObjects } from "../../server/hosted/mirror/tables.ts";
import { floe as runCommand } from "../cli/support.ts";
import { answerWith, type HostedPair, startHosted } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** The mirror is brought up to Polar's lists, page by page, and goes on wherever it was ended. */

const customers = 230;
let pair: HostedPair;
let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  pair = await startHosted({ databaseUrl });
  const { client } = pair.polarSeller;
  for (let index = 0; index < customers; index++)
    await client.customers.create({ body: { email: `buyer-${index}@example.com`, name: `Buyer ${index}` } });
  const product = await client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  const { client_secret } = await client.checkouts.create({ body: { products: [product.id] } });
  await client.checkoutClient.confirm({
    params: { client_secret },
    body: {
      customer_email: "buyer-0@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    },
  });
  await pair.polar.runJobs();
}, 60_000);
afterAll(() => pair.close());
beforeEach(async () => {
  pair.proxy.setFault(undefined);
  const settings = {
    ...{ DATABASE_URL: databaseUrl, FLOE_BILLING: "polar", POLAR_URL: pair.proxy.url, FLOE_URL: pair.floe.url },
    ...{ POLAR_ACCESS_TOKEN: pair.polarSeller.key, FLOE_SECRET: "a secret for tests, long enough to be one" },
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  await pair.floe.deps.db.delete(polarObjects);
  await pair.floe.deps.db.delete(polarSyncs);
  pair.proxy.recorded.length = 0;
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const hosted = () => {
  if (!pair.floe.hosted) throw new Error("It is not in hosted mode.");
  return pair.floe.hosted;
};
const findObject = async (kind: "customer" | "order", id: string) => {
  const match = and(eq(polarObjects.kind, kind), eq(polarObjects.id, id));
  return (await pair.floe.deps.db.select().from(polarObjects).where(match))[0];
};
const sync = (...more: string[]) => runCommand(["polar", "sync", "--json", ...more]);
type Counted = { kind: string; equal: number; changed: number; added: number; gone: number };
const readCounts = (out: string) =>
  Object.fromEntries((JSON.parse(out) as Counted[]).map(({ kind, ...count }) => [kind, count]));
const none = { equal: 0, changed: 0, added: 0, gone: 0 };

test("fills an empty mirror, and says of each kind what is equal, changed, added and gone", async () => {
  const first = await sync();
  expect([first.code, first.err]).toEqual([0, expect.stringContaining("order: 100 % of 1 objects")]);
  expect(readCounts(first.out)).toMatchObject({
    organization: { ...none, added: 1 },
    customer: { ...none, added: customers },
    product: { ...none, added: 1 },
    checkout: { ...none, added: 1 },
    order: { ...none, added: 1 },
    subscription: none,
  });
  const again = await sync("--check");
  expect([again.code, readCounts(again.out).customer]).toEqual([0, { ...none, equal: customers }]);

  const { items } = await pair.polarSeller.client.customers.list({ query: { limit: 3 } });
  const [changed, deleted, foreign] = [items[0]?.id ?? "", items[1]?.id ?? "", items[2]?.id ?? ""];
  pair.floe.clock.advance(1000);
  pair.polar.clock.advance(1000);
  await pair.polarSeller.client.customers.update({ params: { id: changed }, body: { name: "Another name" } });
  await pair.polarSeller.client.customers.delete({ params: { id: deleted }, query: {} });
  await pair.floe.deps.db.delete(polarObjects).where(eq(polarObjects.id, foreign));
  const checked = await sync("--check", "--kinds", "customer");
  expect([checked.code, checked.err]).toEqual([1, expect.stringContaining("differs from Polar in 3 objects")]);
  expect(readCounts(checked.out)).toEqual({ customer: { equal: customers - 3, changed: 1, added: 1, gone: 1 } });
  expect((await findObject("customer", changed))?.data).not.toMatchObject({ name: "Another name" });
  const written = await sync("--kinds", "customer");
  expect([written.code, readCounts(written.out)]).toEqual([0, readCounts(checked.out)]);
  expect((await findObject("customer", changed))?.data).toMatchObject({ name: "Another name" });
  expect((await findObject("customer", deleted))?.deleted_at).not.toBeNull();
  expect((await sync("--check")).code).toBe(0);
  expect((await sync("--kinds", "planet")).err).toContain("The kinds are organization, customer");
}, 90_000);

test("WHK-46: ended at any step, it goes on: no page is read more than twice, and the end is the same", async () => {
  const { deps } = pair.floe;
  const run = { kinds: ["customer", "product", "checkout", "order"] as const };
  for (let kills = 0; ; kills++) {
    const gone = new AbortController();
    // The process ends after the first step that it takes.
    const ended = runSync(deps, hosted(), { ...run, signal: gone.signal, report: () => gone.abort() });
    const finished = await ended.then(
      ({ isFinished }) => isFinished,
      () => false,
    );
    expect(kills).toBeLessThan(20);
    if (finished) break;
  }
  const pages = pair.proxy.recorded.filter(({ url }) => url.startsWith("/v1/customers/?")).map(({ url }) => url);
  expect(new Set(pages).size).toBe(3);
  for (const page of new Set(pages)) expect(pages.filter((url) => url === page).length).toBeLessThanOrEqual(2);
  const { counts } = await checkMirror(deps, hosted(), run);
  expect(counts).toMatchObject({ order: { ...none, equal: 1 }, customer: { changed: 0, added: 0, gone: 0 } });
}, 60_000);

test("WHK-46: of a step that two take, one counts; and none of a sync that was begun again", async () => {
  const { deps } = pair.floe;
  const values = { organization_id: pair.seller.organization_id, started_at: deps.clock.now(), is_automatic: false };
  const first = await beginSync(deps.db, { ...values, kinds: ["customer"] });
  const advanced = await runStep(deps, hosted(), first);
  expect(advanced).toMatchObject({ page: 2, step: first.step + 1 });
  expect(await runStep(deps, hosted(), first)).toBeUndefined();
  expect(await findSync(deps.db, values.organization_id)).toEqual(advanced);
  const second = await beginSync(deps.db, { ...values, kinds: ["product"] });
  if (advanced) expect(await runStep(deps, hosted(), advanced)).toBeUndefined();
  expect(await findSync(deps.db, values.organization_id)).toEqual(second);
});

test("two at once count each object once, and neither is held up", async () => {
  const { deps } = pair.floe;
  const [one, two] = await Promise.all([
    runSync(deps, hosted(), { kinds: ["customer"] }),
    runSync(deps, hosted(), { kinds: ["customer"] }),
  ]);
  expect([one.isFinished, two.isFinished]).toEqual([true, true]);
  const { items, pagination } = await pair.polarSeller.client.customers.list({ query: { limit: 1 } });
  expect([one.counts.customer, items.length]).toEqual([{ ...none, added: pagination.total_count }, 1]);
  expect(two.counts).toEqual(one.counts);
}, 30_000);

test("while Polar fails nothing is lost, and an answer that is no list is refused", async () => {
  for (const [status, text, said] of [
    [503, "{}", "could not be asked"],
    [200, '{"items":[]}', "(502)"],
    [200, '{"items":[{"id":1}],"pagination":{"total_count":1,"max_page":1}}', "(502)"],
  ] as const) {
    pair.proxy.setFault((request, response) =>
      request.url.startsWith("/v1/customers/") ? answerWith(status, text)(request, response) : false,
    );
    const { code, err } = await sync("--kinds", "customer");
    expect([code, err]).toEqual([1, expect.stringContaining(said)]);
  }
  pair.proxy.setFault(undefined);
  const { code, err } = await sync("--kinds", "customer");
  expect([code, err]).toEqual([0, expect.stringContaining("was continued")]);
}, 60_000);

test("an event that came after the page was read is not overwritten, and objects of others are left out", async () => {
  const { deps } = pair.floe;
  const { items } = await pair.polarSeller.client.customers.list({ query: { limit: 1 } });
  const [customer] = items;
  const id = customer?.id ?? "";
  const { organization_id } = pair.seller;
  const later = new Date(deps.clock.now().getTime() + 60_000);
  const values = { kind: "customer", id, organization_id, source: "event", via: "event", customer_id: id } as const;
  await deps.db
    .insert(polarObjects)
    .values({ ...values, data: { id, name: "Newer" }, modified_at: later, event_at: later });
  await runSync(deps, hosted(), { kinds: ["customer"] });
  expect((await findObject("customer", id))?.data).toMatchObject({ name: "Newer" });

  const stranger = newId();
  pair.proxy.setFault((request, response) => {
    if (!request.url.startsWith("/v1/customers/?")) return false;
    const item = { ...customer, id: stranger, organization_id: newId() };
    const pagination = { total_count: 1, max_page: 1 };
    return answerWith(200, JSON.stringify({ items: [item], pagination }))(request, response);
  });
  const sync = await beginSync(deps.db, {
    ...{ organization_id, started_at: deps.clock.now(), kinds: ["customer"], is_automatic: false },
  });
  await continueSync(deps, hosted(), sync, { untilMs: 1 });
  expect((await findSync(deps.db, organization_id))?.stage).toBe("gone");
  expect(await findObject("customer", stranger)).toBeUndefined();
}, 30_000);

test("a list that shrinks while it is read goes back as far as objects moved, and not for ever", () => {
  const at = { page: 3, total: 400, returns: 0 };
  expect(findNextPage(at, { size: 100, total: 400, max_page: 4 })).toEqual({ page: 4, returns: 0 });
  expect(findNextPage(at, { size: 100, total: 399, max_page: 4 })).toEqual({ page: 2, returns: 1 });
  expect(findNextPage(at, { size: 90, total: 290, max_page: 3 })).toEqual({ page: 1, returns: 1 });
  expect(findNextPage({ ...at, returns: 20 }, { size: 90, total: 290, max_page: 3 })).toBeUndefined();
  expect(findNextPage(at, { size: 0, total: 400, max_page: 99 })).toBeUndefined();
});
