import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { customers } from "../../server/customers/customers/tables.ts";
import { benefitGrants } from "../../server/entitlements/grants/tables.ts";
import { replayLog } from "../../server/operations/privacy/log.ts";
import { customerErasures } from "../../server/operations/privacy/tables.ts";
import { events as usage } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { allowMany } from "../support/portal-rows.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** Somebody who was a customer in every way is erased, and looked for in every table. */

let floe: Floe;
let receiver: Receiver;
beforeAll(async () => {
  floe = await start();
  receiver = await startReceiver();
  receiver.echo();
});
afterAll(async () => {
  await floe?.close();
  await receiver?.close();
});

let people = 0;
/** What tells one person from all others. */
const newPerson = () => {
  people += 1;
  return {
    email: `Grace.Erasmus${people}@example.com`,
    name: `Grace Erasmus ${people}`,
    line1: `${people} Oblivion Street`,
    ip: `203.0.113.${people}`,
    account: `elsewhere-${people}-`,
  };
};
type Person = ReturnType<typeof newPerson>;
const wordsOf = ({ email, name, line1, account }: Person) =>
  [email, name, line1, account].map((word) => word.toLowerCase());

/** In which tables a text stands, whichever column it is in. */
async function findIn(at: Floe, words: readonly string[]): Promise<string[]> {
  const { db } = at.deps;
  const tables = await db.select({ name: sql<string>`t.relname` }).from(
    sql`(select relname from pg_class where relkind in ('r', 'p') and not relispartition
        and relnamespace = current_schema()::regnamespace) as t`,
  );
  const named = sql.join(
    words.map((word) => sql`position(${word} in lower(to_jsonb(t)::text)) > 0`),
    sql` or `,
  );
  const each = tables.map(
    ({ name }) =>
      sql`select ${name}::text as name where exists (select 1 from ${sql.identifier(name)} t where ${named})`,
  );
  const found = await db.select({ name: sql<string>`f.name` }).from(sql`(${sql.join(each, sql` union all `)}) as f`);
  return found.map(({ name }) => name).sort();
}

/** Where a person is still named after they were erased, and why. */
const kept: Record<string, string> = {
  orders: "an invoice names its buyer: tax law has it kept for years, for as long as the order is",
};

/** A person who has bought, subscribed, activated a key, taken a seat, used, complained, and left traces wherever there are some. */
async function liveAsCustomer(seller: Seller, person: Person) {
  const { client, organization_id, key } = seller;
  await allowMany(seller);
  await client.meters.create({
    body: {
      name: "Words",
      filter: { conjunction: "and", clauses: [{ property: "kind", operator: "eq", value: "text" }] },
      aggregation: { func: "sum", property: "words" },
    },
  });
  const activations = { limit: 5, enable_customer_admin: true };
  const { id: benefit_id } = await client.benefits.create({
    body: { type: "license_keys", description: "A key", properties: { activations } },
  });
  const field = await client.customFields.create({
    body: { type: "text", slug: "nickname", name: "Nickname", properties: {} },
  });
  const attached_custom_fields = [{ custom_field_id: field.id, required: false }];
  const book = await client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }], attached_custom_fields },
  });
  const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
  const team = await client.products.create({
    body: {
      name: "Team",
      recurring_interval: "month",
      prices: [{ amount_type: "seat_based", seat_tiers: { tiers } }],
      ...{ trial_interval: "day", trial_interval_count: 3 },
    },
  });
  for (const { id } of [book, team])
    await client.products.setBenefits({ params: { id }, body: { benefits: [benefit_id] } });
  const discount = await client.discounts.create({
    body: {
      name: "Tenth",
      type: "percentage",
      basis_points: 1000,
      duration: "once",
      code: "TENTH",
      max_redemptions_per_customer: 3,
    },
  });
  const customer_billing_address = { country: "FR", line1: person.line1, postal_code: "75001", city: "Paris" };
  const buy = async (product: string, more: object = {}) => {
    const opened = await client.checkouts.create({
      body: {
        products: [product],
        customer_email: person.email,
        customer_metadata: { note: `is ${person.name}` },
        metadata: { for: person.email },
        ...more,
      },
    });
    await floe.client().checkoutClient.confirm({
      params: { client_secret: opened.client_secret },
      body: {
        confirmation_token_id: "pm_card_visa",
        customer_name: person.name,
        customer_billing_name: person.name,
        customer_billing_address,
      },
    });
    await floe.runJobs();
    const [order] = (await client.orders.list({ query: { checkout_id: [opened.id] } })).items;
    if (!order) throw new Error("Nothing was bought.");
    return order;
  };
  const order = await buy(book.id, { discount_id: discount.id, custom_field_data: { nickname: person.name } });
  const subscribed = await buy(team.id, { seats: 2 });
  const { customer_id } = order;
  await client.customers.update({ params: { id: customer_id }, body: { external_id: `user-${customer_id}` } });
  // Typed, and left.
  const left = await client.checkouts.create({ body: { products: [book.id] } });
  await floe.client().checkoutClient.update({
    params: { client_secret: left.client_secret },
    body: { customer_email: person.email.toLowerCase(), customer_name: person.name },
  });
  const subscription_id = subscribed.subscription_id ?? "";
  const seat = { customer_id, metadata: { desk: person.name } };
  await client.customerSeats.assign({ body: { subscription_id, ...seat, immediate_claim: true } });
  await client.subscriptions.update({
    params: { id: subscription_id },
    body: { cancel_at_period_end: true, customer_cancellation_comment: `I am ${person.name}` },
  });
  const [held] = (await client.licenseKeys.list({ query: { benefit_id: [benefit_id] } })).items;
  await client.licenseKeys.activate({
    body: { key: held?.key ?? "", organization_id, label: `${person.name}'s laptop`, meta: { owner: person.email } },
  });
  const events = [
    { name: "wrote", customer_id, metadata: { kind: "text", words: 12, author: person.name, from: person.email } },
  ];
  await floe.request("POST", "/v1/events/ingest", { token: key, body: { events } });
  await client.refunds.create({
    body: {
      order_id: order.id,
      amount: 100,
      reason: "customer_request",
      comment: `${person.name} asked`,
      metadata: { to: person.email },
    },
  });
  const { token } = await client.customerSessions.create({ body: { customer_id } });
  await floe.client(token).portalCards.create({ body: { confirmation_token_id: "pm_card_visa" } });
  await floe.client().customerPortal.requestCode({ body: { email: person.email, organization_id } });
  await floe.runJobs();
  await floe.client().customerPortal.requestCode({ body: { email: person.email, organization_id } });
  await client.invoices.generate({ params: { id: order.id } });
  await floe.runJobs();
  // As if it were given to an account elsewhere.
  const accounts = JSON.stringify({ account_id: person.account, granted_account_id: person.account });
  await floe.deps.db
    .update(benefitGrants)
    .set({ properties: sql`${benefitGrants.properties} || ${accounts}::jsonb` })
    .where(eq(benefitGrants.customer_id, customer_id));
  return { customer_id, order, subscription_id, token, held };
}

const hear = (seller: Seller) =>
  seller.client.webhooks.createEndpoint({
    body: {
      url: receiver.url,
      format: "raw",
      events: ["customer.created", "customer.updated", "order.paid", "checkout.updated", "customer_seat.assigned"],
    },
  });

/** CUS-28: all that is held comes as one file, from every table, without what opens something. */
async function readsWhatIsHeld(
  seller: Seller,
  person: Person,
  { customer_id, token, held }: { customer_id: string; token: string; held: { key: string } | undefined },
) {
  const path = `/v1/customers/${customer_id}/personal-data`;
  const answer = await floe.request("GET", path, { token: seller.key });
  expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  expect(answer.headers["content-disposition"]).toBe('attachment; filename="personal-data.json"');
  const { exported_at, customer, ...tables } = answer.json as Record<string, object[]>;
  expect(exported_at).toBe(floe.clock.now().toISOString());
  expect(customer).toMatchObject({ id: customer_id, email: person.email, name: person.name });
  expect(Object.keys(tables)).toEqual([
    ...["benefit_grants", "checkouts", "customer_meters", "customer_seats", "customer_sessions"],
    ...["discount_redemptions", "invoices", "license_key_activations", "license_keys", "order_items", "orders"],
    ...["payment_customers", "payment_methods", "payment_setups", "payments", "portal_codes", "refunds"],
    ...["subscription_prices", "subscriptions", "usage_events", "mails"],
  ]);
  for (const secret of [token, held?.key ?? "", "token_hash", "key_sealed", "client_secret"])
    expect(answer.text).not.toContain(secret);
  const other = await floe.seller();
  const statuses = [other.key, "none", token].map(
    async (as) => (await floe.request("GET", path, { token: as })).status,
  );
  expect(await Promise.all(statuses)).toEqual([404, 401, 403]);
}

const erase = (seller: Seller, id: string) => seller.client.customers.erase({ params: { id } });
const getErasure = (seller: Seller, id: string) => seller.client.customers.getErasure({ params: { id } });

describe("erasing a customer", () => {
  test("CUS-16 to CUS-20: the person is in no table any more but where the law keeps them, and the money is what it was", async () => {
    const seller = await floe.seller();
    await hear(seller);
    const person = newPerson();
    const { customer_id, order, subscription_id, token, held } = await liveAsCustomer(seller, person);
    await readsWhatIsHeld(seller, person, { customer_id, token, held });
    const before = await findIn(floe, wordsOf(person));
    // What is not there before is not looked for.
    expect(before).toEqual(
      [
        ...[
          "benefit_grants",
          "checkouts",
          "customer_seats",
          "customers",
          "discount_redemptions",
          "events",
          "license_key_activations",
          "mails",
        ],
        ...["orders", "payment_setups", "payments", "portal_codes", "refunds", "subscriptions", "usage_events"],
        ...["webhook_deliveries", "webhook_events"],
      ].sort(),
    );
    const sums = async () => {
      const { items } = await seller.client.orders.list({ query: { customer_id: [customer_id] } });
      return items
        .map(({ id, invoice_number, total_amount, tax_amount, refunded_amount, billing_name, billing_address }) =>
          JSON.stringify([
            id,
            invoice_number,
            total_amount,
            tax_amount,
            refunded_amount,
            billing_name,
            billing_address,
          ]),
        )
        .sort();
    };
    const [booked, invoice] = [await sums(), await seller.client.invoices.get({ params: { id: order.id } })];

    expect(await erase(seller, customer_id)).toMatchObject({ customer_id, stage: "records", finished_at: null });
    await floe.runJobs();
    expect(await getErasure(seller, customer_id)).toMatchObject({ stage: null, finished_at: expect.any(Date) });
    expect(await findIn(floe, wordsOf(person))).toEqual(Object.keys(kept));
    expect(await sums()).toEqual(booked);
    expect((await seller.client.invoices.get({ params: { id: order.id } })).url.split("?")[0]).toBe(
      invoice.url.split("?")[0],
    );
    const gone = await seller.client.orders.get({ params: { id: order.id } });
    expect(gone.customer).toMatchObject({
      name: expect.stringMatching(/^[0-9a-f]{32}$/),
      deleted_at: expect.any(Date),
    });
    expect(gone.billing_name).toBe(person.name);
    // What was theirs opens nothing.
    expect((await floe.request("GET", "/v1/customer-portal/customers/me", { token })).status).toBe(401);
    const { organization_id } = seller;
    const body = { key: held?.key ?? "", organization_id };
    expect((await floe.request("POST", "/v1/customer-portal/license-keys/validate", { body })).status).toBe(404);
    expect(await seller.client.subscriptions.get({ params: { id: subscription_id } })).toMatchObject({
      status: "canceled",
    });
    // Numbers, and texts that meters read, stay of what was used.
    const { items } = await seller.client.events.list({ query: { name: ["wrote"] } });
    expect(items.map(({ metadata }) => metadata)).toEqual([{ kind: "text", words: 12 }]);
    // What is sent again is without them, and whole otherwise.
    const told = (await seller.client.webhooks.listDeliveries({ query: { event_type: ["order.paid"] } })).items;
    const again = told[0]?.webhook_event.id ?? "";
    const heard = receiver.received.length;
    await seller.client.webhooks.redeliver({ params: { id: again } });
    await floe.runJobs();
    const sent = receiver.received.slice(heard).find(({ json }) => json.type === "order.paid");
    expect(sent?.json.data).toMatchObject({
      customer_id,
      customer: { email: expect.stringMatching(/@anonymized\.invalid$/) },
    });
  });

  test("a business keeps its name, and others lose nothing", async () => {
    const seller = await floe.seller();
    await hear(seller);
    const [one, other] = [newPerson(), newPerson()];
    const billing_address = { country: "FR" as const, line1: one.line1 };
    const business = await seller.client.customers.create({
      body: { email: one.email, name: "Acme Books", tax_id: "FR61954506077", billing_address },
    });
    const neighbour = await seller.client.customers.create({ body: { email: other.email, name: other.name } });
    const elsewhere = await floe.seller();
    await elsewhere.client.customers.create({ body: { email: one.email, name: one.name } });
    await floe.runJobs();
    const names = async () => {
      const rows = await floe.deps.db.select().from(usage).where(eq(usage.organization_id, seller.organization_id));
      return rows.filter(({ data }) => JSON.stringify(data).includes(neighbour.id)).map(({ data }) => data);
    };
    const told = await names();
    expect(told.length).toBeGreaterThan(0);
    await erase(seller, business.id);
    await floe.runJobs();
    expect(await names()).toEqual(told);
    const [row] = await floe.deps.db.select().from(customers).where(eq(customers.id, business.id));
    expect(row).toMatchObject({ name: "Acme Books", billing_address: { line1: null, country: "FR" } });
    // The same person as another seller's customer is that seller's matter.
    const query = { email: one.email };
    expect((await elsewhere.client.customers.list({ query })).items).toHaveLength(1);
    expect(await findIn(floe, [one.email.toLowerCase()])).toEqual(["customers", "events", "usage_events"]);
  });

  test("what is broken off in the middle goes on where it was, and is done once", async () => {
    const seller = await floe.seller();
    await hear(seller);
    const person = newPerson();
    const { customer_id } = await liveAsCustomer(seller, person);
    const { db } = floe.deps;
    const fail = (when: string) =>
      db.execute(
        sql.raw(`create or replace function break_off() returns trigger language plpgsql as
        $$ begin if ${when} then raise exception 'broken off'; end if; return new; end $$`),
      );
    await fail("true");
    for (const table of ["payments", "webhook_events", "usage_events"])
      await db.execute(
        sql.raw(`create trigger break_off before update on ${table} for each row execute function break_off()`),
      );
    await erase(seller, customer_id);
    const stages: (string | null)[] = [];
    for (const still of ["^(webhook|usage)_events", "^usage_events", "^$"]) {
      await floe.runJobs();
      stages.push((await getErasure(seller, customer_id)).stage);
      await fail(`tg_table_name ~ '${still}'`);
      floe.clock.advance(2 * 60 * 60 * 1000);
    }
    // The processor, which is asked last, does not answer at first.
    const forget = vi.spyOn(floe.deps.processor, "forgetCustomer").mockRejectedValueOnce(new Error("It is away."));
    await floe.runJobs();
    expect((await getErasure(seller, customer_id)).finished_at).toBeNull();
    floe.clock.advance(2 * 60 * 60 * 1000);
    await floe.runJobs();
    const asked = { id: customer_id, processor_ids: [expect.any(String)] };
    expect(forget.mock.calls).toEqual([[asked], [asked]]);
    forget.mockRestore();
    expect(stages).toEqual(["records", "told", "used"]);
    expect(await getErasure(seller, customer_id)).toMatchObject({ stage: null, finished_at: expect.any(Date) });
    expect(await findIn(floe, wordsOf(person))).toEqual(Object.keys(kept));
    for (const table of ["payments", "webhook_events", "usage_events"])
      await db.execute(sql.raw(`drop trigger break_off on ${table}`));
  });

  test("asked for a hundred times at once, and again later, it is one erasure", async () => {
    const seller = await floe.seller();
    const { id } = await seller.client.customers.create({ body: { email: newPerson().email } });
    await Promise.all(Array.from({ length: 100 }, () => erase(seller, id)));
    await floe.runJobs();
    await erase(seller, id);
    await floe.runJobs();
    expect(await floe.deps.db.select().from(customerErasures).where(eq(customerErasures.id, id))).toHaveLength(1);
    const told = await floe.deps.db.select().from(usage).where(eq(usage.organization_id, seller.organization_id));
    expect(told.filter(({ type }) => type === "customer.deleted")).toHaveLength(1);
  });

  test("snapshots of a sandbox forget them, too, and a restore brings nobody back", async () => {
    const seller = await floe.seller();
    const person = newPerson();
    const save = (name: string) => floe.request("POST", "/v1/sandbox/snapshots", { token: seller.key, body: { name } });
    const { id } = await seller.client.customers.create({
      body: { email: person.email, name: person.name, billing_address: { country: "FR", line1: person.line1 } },
    });
    await floe.runJobs();
    expect((await save("before")).status).toBe(201);
    expect(await findIn(floe, wordsOf(person))).toContain("snapshot_rows");
    await erase(seller, id);
    await floe.runJobs();
    expect(await findIn(floe, wordsOf(person))).toEqual([]);
    const restored = await floe.request("POST", "/v1/sandbox/snapshots/before/restore", { token: seller.key });
    expect([restored.status, restored.status === 200 ? "" : floe.logged.slice(-3).join()]).toEqual([200, ""]);
    const [row] = await floe.deps.db.select().from(customers).where(eq(customers.id, id));
    expect(row?.anonymized_at, "in the transaction of the restore").not.toBeNull();
    expect(await findIn(floe, wordsOf(person))).toEqual([]);
  });

  test("who comes back from a backup that is older is erased again", async () => {
    const seller = await floe.seller();
    const person = newPerson();
    const { id: customer_id } = await seller.client.customers.create({
      body: { email: person.email, name: person.name },
    });
    const [old] = await floe.deps.db.select().from(customers).where(eq(customers.id, customer_id));
    await erase(seller, customer_id);
    await floe.runJobs();
    const log = await readFile(join(floe.deps.config.FLOE_FILES_DIR ?? "", "objects", "erasures", "log.txt"), "utf8");
    expect(log).toContain(`${seller.organization_id} ${customer_id}\n`);
    expect(await replayLog(floe.deps)).toBe(0);
    // The database is as it was before.
    await floe.deps.db.delete(customerErasures).where(eq(customerErasures.id, customer_id));
    await floe.deps.db
      .update(customers)
      .set(old ?? {})
      .where(eq(customers.id, customer_id));
    expect(await findIn(floe, wordsOf(person))).toContain("customers");
    expect(await replayLog(floe.deps)).toBe(1);
    await floe.runJobs();
    expect(await findIn(floe, wordsOf(person))).toEqual([]);
    expect(await getErasure(seller, customer_id)).toMatchObject({ finished_at: expect.any(Date) });
  });
});

describe("what is held about a customer", () => {
  test("many rows come page after page, each once", async () => {
    const seller = await floe.seller();
    const { id: customer_id } = await seller.client.customers.create({ body: { email: newPerson().email } });
    const events = Array.from({ length: 1100 }, (_, number) => ({ name: "used", customer_id, metadata: { number } }));
    for (const part of [events.slice(0, 600), events.slice(600)])
      await floe.request("POST", "/v1/events/ingest", { token: seller.key, body: { events: part } });
    const { json } = await floe.request("GET", `/v1/customers/${customer_id}/personal-data`, { token: seller.key });
    const numbers = (json as { usage_events: { metadata: { number?: number } }[] }).usage_events.flatMap(
      ({ metadata }) => metadata.number ?? [],
    );
    expect(numbers.toSorted((a, b) => a - b)).toEqual(events.map((_, number) => number));
    await erase(seller, customer_id);
    await floe.runJobs();
  });
});
