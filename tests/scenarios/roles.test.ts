/** deploy/roles.sql: one role migrates, one runs. The running role sells, and cannot change the audit log (AUD-04). */
import { readFileSync } from "node:fs";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterEach, expect, test } from "vitest";
import { removeOldEntries, sealNewEntries } from "../../server/operations/audit/store.ts";
import { beginRestore } from "../../server/operations/restore/detection.ts";
import { openPostgres } from "../../server/platform/db/database.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { partWorker } from "../../server/usage/events/parts.ts";
import { type Floe, start } from "../support/floe.ts";
import { migrations } from "../support/memory-database.ts";
import { createEmptyDatabase, createPostgresDatabase } from "../support/postgres-database.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function runRoles(url: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => undefined });
  await client.unsafe(readFileSync("deploy/roles.sql", "utf8"));
  for (const role of ["floe_owner", "floe_app"]) await client.unsafe(`alter role ${role} password 'for tests'`);
  await client.end();
}
function addressAs(url: string, role: string): string {
  const address = new URL(url);
  address.username = role;
  address.password = "for tests";
  return address.href;
}

/** Sell, renew, count usage, send webhooks, refund and restore, as a server does. */
async function runShop(floe: Floe): Promise<void> {
  const seller = await floe.seller();
  const { client } = seller;
  await client.webhooks.createEndpoint({
    body: { url: "https://receiver.example.com/hook", format: "raw", events: ["order.created"] },
  });
  const product = await client.products.create({
    body: {
      name: "Plan",
      recurring_interval: "month",
      prices: [{ amount_type: "fixed", price_amount: 900 }],
    },
  });
  const checkout = await client.checkouts.create({ body: { products: [product.id] } });
  const body = {
    customer_email: "buyer@example.com",
    customer_billing_address: { country: "US", state: "CA", line1: "1 Way", city: "Town", postal_code: "90001" },
    confirmation_token_id: "pm_card_visa",
  };
  const answer = await floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body });
  expect(answer.status).toBe(200);
  await floe.runJobs();
  const ingested = await client.events.ingest({
    query: {},
    body: { events: [{ name: "used", external_customer_id: "someone", metadata: { units: 3 } }] },
  });
  expect(ingested.inserted).toBe(1);
  // Months pass: renewals, and parts of the usage events that are made and dropped.
  for (let month = 0; month < 3; month += 1) {
    floe.clock.advance(31 * 86_400_000);
    await floe.runJobs();
    await runWorkers(floe.deps, [partWorker]);
  }
  const { items } = await client.orders.list({ query: {} });
  expect(items.length).toBeGreaterThanOrEqual(3);
  const [order] = items;
  if (!order) throw new Error("Nothing was sold.");
  await client.refunds.create({ body: { order_id: order.id, amount: 100, reason: "customer_request" } });
  await floe.runJobs();
  await beginRestore(floe.deps, "operator");
  await client.products.update({ params: { id: product.id }, body: { name: "Renamed" } });
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
}

const refused: [string, string][] = [
  ["an entry is changed", "update audit_log set action = 'nothing.done'"],
  ["an entry is deleted", "delete from audit_log"],
  ["the log is emptied", "truncate audit_log"],
  ["the log is dropped", "drop table audit_log"],
  ["its trigger is dropped", "drop trigger audit_log_append_only on audit_log"],
  ["its triggers are switched off", "alter table audit_log disable trigger all"],
  ["triggers are skipped", "set session_replication_role = replica"],
  [
    "its function is replaced",
    "create or replace function audit_log_append_only() returns trigger language plpgsql as 'begin return old; end'",
  ],
  [
    "a trigger is added",
    "create trigger other before insert on audit_log for each row execute function audit_log_append_only()",
  ],
  ["a seal is changed", "update audit_seals set hash = ''"],
  ["a seal says that its entries are removed", "update audit_seals set removed_at = now()"],
  ["a seal is deleted", "delete from audit_seals"],
  ["what it covers is deleted", "delete from audit_sealed"],
  ["the role of the owner is taken", "set role floe_owner"],
  ["a migration is faked", "delete from drizzle.__drizzle_migrations"],
];

test.each(["before the first migration", "on a database that was there"])(
  "AUD-04: with the roles set up %s, the running role sells, and the audit log only grows",
  async (when) => {
    const url = await (when.startsWith("before") ? createEmptyDatabase() : createPostgresDatabase());
    await runRoles(url);
    const owner = await openPostgres(addressAs(url, "floe_owner"));
    open.push(() => owner.close());
    await owner.migrate(migrations);
    await runRoles(url);
    const floe = await start({ databaseUrl: addressAs(url, "floe_app"), settings: { FLOE_EVENTS_KEPT_MONTHS: "1" } });
    open.push(() => floe.close());
    await runShop(floe);
    const count = async () => await floe.deps.db.execute(sql`select count(*)::int as entries from audit_log`);
    const before = await count();
    // PostgreSQL answers this with a warning: the statements below show that nothing was granted.
    await floe.deps.db.execute(sql`grant update, delete on audit_log, audit_seals, audit_sealed to floe_app`);
    const granted = await floe.deps.db.execute(sql`select name, privilege
      from unnest(array['audit_log', 'audit_seals', 'audit_sealed']) name, unnest(array['update', 'delete', 'truncate', 'trigger']) privilege
      where has_table_privilege('floe_app', name, privilege)`);
    expect([...(granted as Iterable<unknown>)]).toEqual([]);
    const accepted: string[] = [];
    for (const [what, statement] of refused)
      await floe.deps.db.execute(sql.raw(statement)).then(
        () => accepted.push(what),
        () => undefined,
      );
    expect(accepted).toEqual([]);
    expect(await count()).toEqual(before);
    // What has become old is removed by the owner alone.
    await sealNewEntries(floe.deps, floe.clock.now(), 10_000);
    const later = new Date(floe.clock.now().getTime() + 1000);
    await expect(removeOldEntries(floe.deps, later, later)).rejects.toThrow();
    expect(await removeOldEntries({ db: owner.db, log: floe.deps.log }, later, later)).toBeGreaterThan(0);
  },
  120_000,
);
