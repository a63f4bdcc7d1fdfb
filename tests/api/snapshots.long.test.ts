import { existsSync } from "node:fs";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanupWorkers } from "../../server/app/worker.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { saveRequest } from "../../server/customers/linked-accounts/store.ts";
import { openSession } from "../../server/customers/sessions/service.ts";
import { customerSessions } from "../../server/customers/sessions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { findTables, leftOut } from "../../server/operations/sandbox/snapshots.ts";
import { snapshotFiles } from "../../server/operations/sandbox/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import type { Snapshot, SnapshotDiff } from "../../shared/api/sandbox.ts";
import { upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { rowOf, sellOrder } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
let other: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
  other = await floe.seller("bob");
  for (const [name, make] of Object.entries(rowOf)) if (name !== "sandbox") await make(floe, seller);
  await rowOf.orders(floe, other);
  await floe.runJobs();
});
afterAll(() => floe?.close());

/** Every row of an organization in every table that has any, in one text. */
async function dump({ organization_id }: Seller): Promise<string> {
  const lines: string[] = [];
  for (const { name } of await findTables(floe.deps.db)) {
    const rows = await floe.deps.db
      .select({ text: sql<string>`t::text` })
      .from(sql`${sql.identifier(name)} as t`)
      .where(sql`t.organization_id = ${organization_id}`)
      .orderBy(sql`t::text`);
    lines.push(...rows.map(({ text }) => `${name} ${text}`));
  }
  const [row] = await floe.deps.db
    .select({ text: sql<string>`(to_jsonb(${organization}) - 'clock_offset_ms')::text` })
    .from(organization)
    .where(eq(organization.id, organization_id));
  return [...lines, row?.text].join("\n");
}
const ask = async (method: string, path: string, body?: object, token = seller.key) => {
  const { status, json } = await floe.request(method, `/v1/sandbox/${path}`, { token, ...(body ? { body } : {}) });
  return { status, json: json as Snapshot & SnapshotDiff & { error?: string; now: string; items: Snapshot[] } };
};
const save = (name: string) => ask("POST", "snapshots", { name });
const restore = (name: string, token?: string) => ask("POST", `snapshots/${name}/restore`, undefined, token);
const timeOf = async () => (await ask("GET", "clock")).json.now;

/** A shop that goes on: a sale, a month, a change of everything that changes, and something that goes. */
async function liveOn() {
  await sellOrder(floe, seller);
  await ask("POST", "clock", { by: "2months" });
  const { client, organization_id } = seller;
  const [product] = (await client.products.list({ query: {} })).items;
  await client.products.update({ params: { id: product?.id ?? "" }, body: { name: "Renamed" } });
  const [discount] = (await client.discounts.list({ query: {} })).items;
  if (discount) await client.discounts.delete({ params: { id: discount.id } });
  await client.customers.create({ body: { email: `new-${Math.random()}@example.com` } });
  await client.organizations.update({ params: { id: organization_id }, body: { name: "Another name" } });
  await floe.runJobs();
}

describe("a snapshot", () => {
  test("restores every row, the settings and the time, exactly, and touches nobody else's", async () => {
    const before = await dump(seller);
    const time = await timeOf();
    const made = await save("start");
    expect([made.status, made.json.name, made.json.created_at]).toEqual([201, "start", time]);
    expect(made.json.rows).toBe(before.split("\n").length - 1);
    const others = await dump(other);
    await liveOn();
    expect(await dump(seller)).not.toBe(before);
    expect(await timeOf()).not.toBe(time);
    floe.clock.advance(5000);
    expect((await restore("start")).status).toBe(200);
    expect(await dump(seller)).toBe(before);
    expect(await timeOf()).toBe(time);
    expect(await dump(other)).toBe(others);
    // It works as before, and as often as one likes.
    await sellOrder(floe, seller);
    await restore("start");
    expect(await dump(seller)).toBe(before);
    await sellOrder(floe, seller);
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("leads to the same future when the same is done again, and shows where two differ", async () => {
    await save("fork");
    const { id: once } = await seller.client.customers.create({ body: { email: "only-once@example.com" } });
    await sellOrder(floe, seller, once);
    await ask("POST", "clock", { by: "1day" });
    await save("one");
    await restore("fork");
    await sellOrder(floe, seller);
    await sellOrder(floe, seller);
    await ask("POST", "clock", { by: "1day" });
    const kindOf = ({ json }: { json: SnapshotDiff }, kind: string) => json.kinds.find((one) => one.kind === kind);
    const sold = await ask("GET", "snapshots/fork/diff");
    const orders = kindOf(sold, "orders");
    expect(kindOf(sold, "order_items")?.items[0]?.text).not.toBe("");
    expect(orders?.items[0]?.text).toMatch(/^\S+, \S+@\S+$/);
    expect(["receipt_counters", "usage_names"].map((kind) => kindOf(sold, kind))).toEqual([undefined, undefined]);
    expect(orders).toMatchObject({ added: 2, removed: 0, changed: 0 });
    const [total] = orders?.totals ?? [];
    expect((total?.after ?? 0) - (total?.before ?? 0)).toBe(2 * 1900);
    const both = await ask("GET", "snapshots/one/diff?to=fork");
    expect([both.json.from, both.json.to, kindOf(both, "orders")?.removed]).toEqual(["one", "fork", 1]);
    expect(kindOf(both, "orders")?.items[0]).toMatchObject({
      change: "removed",
      text: expect.stringMatching(/^\S+, only-once@example\.com$/) as string,
    });
    expect((await ask("GET", "snapshots/fork/diff?to=fork")).json.kinds).toEqual([]);
    await restore("fork");
    const { id } = await seller.client.products.create({ body: { name: "New", prices: [{ amount_type: "free" }] } });
    await seller.client.products.update({ params: { id }, body: { name: "Newer" } });
    await save("two");
    await seller.client.products.update({ params: { id }, body: { name: "Newest" } });
    const changed = kindOf(await ask("GET", "snapshots/two/diff"), "products");
    expect(changed?.items).toEqual([
      { id, change: "changed", text: "Newest", fields: expect.arrayContaining(["name"]) as string[] },
    ]);
  });

  test("of events, who listens hears each once: none that is restored again, and every one that comes after", async () => {
    const { organization_id, client } = seller;
    const create = (name: string) => client.products.create({ body: { name, prices: [{ amount_type: "free" }] } });
    const tail = openTail(floe.deps);
    const stop = new AbortController();
    const heard: string[] = [];
    await save("told");
    const from = await tail.now();
    const listening = (async () => {
      for await (const { type, data } of tail.follow(organization_id, from, stop.signal)) {
        heard.push(`${type} ${(data as { name?: string }).name}`);
        if (heard.length === 3) stop.abort();
      }
    })();
    await create("First");
    while (heard.length < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    await restore("told");
    await create("Second");
    await create("Third");
    await listening;
    tail.close();
    expect(heard).toEqual(["product.created First", "product.created Second", "product.created Third"]);
  });

  test("keeps the bytes of its files, and lets them go with itself", async () => {
    const { client } = seller;
    const pathOf = async (id: string) =>
      (await floe.deps.db.select().from(files).where(eq(files.id, id)))[0]?.path ?? "";
    const isThere = (path: string) => existsSync(join(floe.deps.config.FLOE_FILES_DIR ?? "", "objects", path));
    const tidy = () => runWorkers(floe.deps, cleanupWorkers);
    const kept = (await upload(floe, client, Buffer.from("Kept."))).id;
    const keptPath = await pathOf(kept);
    await save("files");
    const later = (await upload(floe, client, Buffer.from("Later."))).id;
    const laterPath = await pathOf(later);
    await client.files.delete({ params: { id: kept } });
    await tidy();
    expect([keptPath, laterPath].map(isThere)).toEqual([true, true]);
    await restore("files");
    await tidy();
    expect([keptPath, laterPath].map(isThere)).toEqual([true, false]);
    expect((await client.files.list({ query: { ids: [kept] } })).items).toHaveLength(1);
    await client.files.delete({ params: { id: kept } });
    await tidy();
    expect(isThere(keptPath)).toBe(true);
    for (const { name } of (await ask("GET", "snapshots?limit=100")).json.items)
      await ask("DELETE", `snapshots/${name}`);
    await tidy();
    await tidy();
    expect(isThere(keptPath)).toBe(false);
    expect(await floe.deps.db.$count(snapshotFiles)).toBe(0);
  });

  test("puts back values that have changed hands, rows that were made anew, and ends who was signed in", async () => {
    const { client } = seller;
    const [a, b] = await Promise.all(
      ["swap-a", "swap-b"].map((name) => client.customers.create({ body: { email: `${name}@example.com` } })),
    );
    const move = (id: string | undefined, name: string) =>
      client.customers.update({ params: { id: id ?? "" }, body: { email: `${name}@example.com` } });
    const sessions = () =>
      floe.deps.db.$count(customerSessions, eq(customerSessions.organization_id, seller.organization_id));
    const { row: session } = await openSession(floe.deps, floe.deps.db, {
      id: a?.id ?? "",
      organization_id: seller.organization_id,
    });
    // On their way with an account elsewhere: they come back to a session that has ended.
    await transact(floe.deps, (tx) =>
      saveRequest(tx, {
        ...{ id: newId(), organization_id: seller.organization_id, created_at: session.created_at },
        ...{ customer_id: session.customer_id, session_id: session.id, platform: "discord" as const },
        ...{ state_hash: "x", return_to: "/", expires_at: session.expires_at },
      }),
    );
    await save("hands");
    const before = await dump(seller);
    await client.customerSessions.create({ body: { customer_id: a?.id ?? "" } });
    await move(a?.id, "elsewhere");
    await move(b?.id, "swap-a");
    await move(a?.id, "swap-b");
    expect(await sessions()).toBeGreaterThan(0);
    expect((await restore("hands")).status).toBe(200);
    expect(await dump(seller)).toBe(before);
    expect(await sessions()).toBe(0);
  });

  test("has a name of its own, so many at most, and is its owner's", async () => {
    for (const { name } of (await ask("GET", "snapshots?limit=100")).json.items)
      await ask("DELETE", `snapshots/${name}`);
    expect((await save("named")).status).toBe(201);
    expect(await save("named")).toMatchObject({ status: 409, json: { error: "ResourceAlreadyExists" } });
    for (const name of ["__proto__", "", "a b", "../x", "x".repeat(65), "now", 7, null])
      expect((await ask("POST", "snapshots", { name: name as string })).status).toBe(422);
    expect((await restore("named", other.key)).status).toBe(404);
    expect((await ask("GET", "snapshots/named/diff", undefined, other.key)).status).toBe(404);
    expect((await ask("DELETE", "snapshots/named", undefined, other.key)).status).toBe(404);
    expect((await ask("GET", "snapshots", undefined, other.key)).json.items).toEqual([]);
    for (let index = 1; index < 20; index += 1) expect((await save(`many-${index}`)).status).toBe(201);
    expect(await save("many-20")).toMatchObject({ status: 403, json: { error: "NotPermitted" } });
    expect((await ask("DELETE", "snapshots/many-1")).status).toBe(204);
    expect((await save("many-20")).status).toBe(201);
    expect((await restore("many-1")).status).toBe(404);
  });

  test("has every table of sellers' rows, but those of which it is said why not", async () => {
    const rows = await floe.deps.db
      .select({ name: sql<string>`found.relname`, isSellers: sql<boolean>`found.is` })
      .from(
        sql`(select c.relname, exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id') as is
          from pg_class c where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace) as found`,
      );
    const saved = new Set((await findTables(floe.deps.db)).map(({ name }) => name));
    const accounts = "of people and keys, which stay whatever is restored";
    const nobodys: Record<string, string> = {
      ...Object.fromEntries(
        ["account", "apikey", "attempts", "device_code", "invitation", "member", "organization_role"].map((name) => [
          name,
          accounts,
        ]),
      ),
      ...Object.fromEntries(["session", "team", "team_member", "user", "verification"].map((name) => [name, accounts])),
      organization: "one row for accounts and billing, whose settings are saved apart",
      idempotency_keys: "of requests, for a day",
      upgrades: "what the server has changed of its stored data once",
      schema_support: "of the whole database: how old a floe may be that uses it",
      server_processes: "of the server's processes, for all sellers",
      audit_seals: "who did what is never undone",
      audit_sealed: "who did what is never undone",
      mail_bounces: "which addresses took no mail, of all sellers",
      secret_checks: "of the whole database: which secret it works with",
      restores: "of the whole database, when it was restored from a backup",
      test_tokens: "cards as somebody typed them, of no seller",
    };
    const unsaid = rows.filter(({ name }) => !saved.has(name) && !(name in leftOut) && !(name in nobodys));
    expect(unsaid).toEqual([]);
    expect(rows.filter(({ name, isSellers }) => isSellers && name in nobodys)).toEqual([]);
    expect(saved.size).toBeGreaterThan(35);
    const known = new Set(rows.map(({ name }) => name));
    expect([...Object.keys(leftOut), ...Object.keys(nobodys)].filter((name) => !known.has(name))).toEqual([]);
  });
});
