/** API-43: `ETag` of what was read, and `If-Match` of what is changed: nobody's change is written over unseen. */
import { AsyncLocalStorage } from "node:async_hooks";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { customers } from "../../server/customers/customers/tables.ts";
import { changeAsRead, computeTag, findPair } from "../../server/platform/http/if-match.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { payment } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  // Several connections: on one, no change comes between reading and changing.
  floe = await start({ listen: true, databaseUrl: await createPostgresDatabase() });
  seller = await floe.seller();
});
afterAll(() => floe.close());

const ask = async (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  token = seller.key,
) => {
  const answer = await fetch(`${floe.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = (await answer.json()) as Record<string, unknown>;
  return { status: answer.status, tag: answer.headers.get("etag") ?? "", json };
};
/** Ask as another client does, which has no part in the transaction that is open. */
const askOutside = AsyncLocalStorage.bind(ask);
let emails = 0;
const makeCustomer = async () => {
  emails += 1;
  const { json } = await ask("POST", "/v1/customers/", { email: `ada${emails}@example.com`, name: "Ada" });
  return `/v1/customers/${String(json.id)}`;
};

test("a change with the tag of the present state is made, and one with an earlier tag is refused", async () => {
  const path = await makeCustomer();
  const { tag } = await ask("GET", path);
  expect(tag).toMatch(/^"[\w-]{43}"$/);
  expect((await ask("GET", path)).tag).toBe(tag);
  const changed = await ask("PATCH", path, { name: "Ada L." }, { "if-match": tag });
  expect([changed.status, changed.json.name]).toEqual([200, "Ada L."]);
  expect(changed.tag).not.toBe(tag);
  expect((await ask("GET", path)).tag).toBe(changed.tag);
  const refused = await ask("PATCH", path, { name: "Mine" }, { "if-match": tag });
  expect([refused.status, refused.json.error]).toEqual([412, "PreconditionFailed"]);
  expect((await ask("GET", path)).json.name).toBe("Ada L.");
  // One of several tags suffices, and any thing that there is.
  expect((await ask("PATCH", path, { name: "B" }, { "if-match": `${tag}, ${changed.tag}` })).status).toBe(200);
  expect((await ask("PATCH", path, { name: "C" }, { "if-match": "*" })).status).toBe(200);
  for (const wrong of ['"x"', "", `W/${changed.tag}`])
    expect([wrong, (await ask("PATCH", path, { name: "D" }, { "if-match": wrong })).status]).toEqual([wrong, 412]);
});

test("of a hundred changes from the same state one is made, and all others are refused", async () => {
  const path = await makeCustomer();
  const { tag } = await ask("GET", path);
  const names = Array.from({ length: 100 }, (_, at) => `Name ${at}`);
  const answers = await Promise.all(names.map((name) => ask("PATCH", path, { name }, { "if-match": tag })));
  const made = answers.filter(({ status }) => status === 200);
  expect([made.length, answers.filter(({ status }) => status === 412).length]).toEqual([1, 99]);
  expect((await ask("GET", path)).json.name).toBe(made[0]?.json.name);
});

test("a change that is committed between reading and changing is seen, and read again", async () => {
  const path = await makeCustomer();
  const isThis = eq(customers.id, path.replace(/.*\//, ""));
  const pair = { read: { response: z.object({ name: z.string() }) }, update: { body: z.object({ name: z.string() }) } };
  let reads = 0;
  const changed = changeAsRead(
    { ...floe.deps, extraWrites: [] } as never,
    computeTag(pair as never, { name: "Ada" }),
    pair as never,
    async ({ db }) => {
      const [row] = await db.select({ name: customers.name }).from(customers).where(isThis);
      reads += 1;
      if (reads === 1) expect((await askOutside("PATCH", path, { name: "Theirs" })).status).toBe(200);
      return row;
    },
    ({ db }) => db.update(customers).set({ name: "Mine" }).where(isThis).execute(),
  );
  await expect(changed).rejects.toMatchObject({ error: "PreconditionFailed" });
  expect([reads, (await ask("GET", path)).json.name]).toEqual([2, "Theirs"]);
});

test("a change without a tag between reading and changing is seen too, however often", async () => {
  const path = await makeCustomer();
  for (let round = 0; round < 10; round++) {
    const { tag } = await ask("GET", path);
    const [guarded, plain] = await Promise.all([
      ask("PATCH", path, { name: `guarded ${round}` }, { "if-match": tag }),
      ask("PATCH", path, { metadata: { round } }),
    ]);
    expect(plain.status).toBe(200);
    // Whichever came first: the guarded change is there with the other one, or was refused.
    expect([200, 412]).toContain(guarded.status);
    const { json } = await ask("GET", path);
    expect(json.metadata).toEqual({ round });
    expect(json.name === `guarded ${round}`).toBe(guarded.status === 200);
  }
});

test("customers, orders, license keys and the organization have tags, and so has all that is read and changed by one path", async () => {
  const pairs = Object.entries<Record<string, Operation>>(api).filter(([, operations]) => findPair(operations));
  const names = pairs.map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining(["customers", "orders", "licenseKeys", "organizations", "products"]));
  const path = `/v1/organizations/${seller.organization_id}`;
  const { tag, json } = await ask("GET", path);
  expect((await ask("PATCH", path, { name: "Renamed" }, { "if-match": tag })).status).toBe(200);
  expect((await ask("PATCH", path, { name: json.name }, { "if-match": tag })).status).toBe(412);
});

test("a thing of which less is answered when it is changed has the same tag then as when it is read", async () => {
  const getNames = (schema: unknown) => (schema instanceof z.ZodObject ? Object.keys(schema.shape) : []);
  for (const [name, operations] of Object.entries<Record<string, Operation>>(api)) {
    const pair = findPair(operations);
    if (!pair) continue;
    const [read, changed] = [getNames(pair.read.response), getNames(pair.update.response)];
    const hashed = [...getNames(pair.update.body), "modified_at"].filter((one) => read.includes(one));
    expect([name, hashed.filter((one) => !changed.includes(one))]).toEqual([name, []]);
  }
  // A license key is read with the places where it is in use, and changed without them.
  const { client } = seller;
  const benefit = await client.benefits.create({
    body: { type: "license_keys", description: "A key", properties: {} },
  });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await client.products.create({ body: { name: "App", prices } });
  await client.products.setBenefits({ params: { id }, body: { benefits: [benefit.id] } });
  const checkout = { products: [id], customer_email: "key@example.com" };
  const { client_secret } = await client.checkouts.create({ body: checkout });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [key] = (await client.licenseKeys.list({ query: { benefit_id: [benefit.id] } })).items;
  const path = `/v1/license-keys/${key?.id}`;
  const { tag } = await ask("GET", path);
  const made = await ask("PATCH", path, { limit_usage: 5 }, { "if-match": tag });
  expect([made.status, made.json.limit_usage]).toEqual([200, 5]);
  expect((await ask("GET", path)).tag).toBe(made.tag);
  expect((await ask("PATCH", path, { limit_usage: 6 }, { "if-match": tag })).status).toBe(412);
  expect((await ask("PATCH", path, { limit_usage: 6 })).status).toBe(200);
});

test("a change that may ask the card processor or a tax service takes no If-Match, so that none is asked in a transaction", async () => {
  const { client } = seller;
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const product = await client.products.create({ body: { name: "Pro", recurring_interval: "month", prices } });
  const checkout = { products: [product.id], customer_email: "subscriber@example.com" };
  const { id, client_secret } = await client.checkouts.create({ body: checkout });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [subscription] = (await client.subscriptions.list({ query: { product_id: [product.id] } })).items;
  const path = `/v1/subscriptions/${subscription?.id}`;
  expect((await ask("GET", path)).tag).toBe("");
  for (const [place, body] of [
    [path, { cancel_at_period_end: true }],
    [`/v1/checkouts/${id}`, { metadata: { a: "b" } }],
  ] as const) {
    const { status, json } = await ask("PATCH", place, body, { "if-match": "*" });
    expect([status, json.detail]).toMatchObject([422, [{ loc: ["header", "if-match"] }]]);
  }
  expect((await ask("GET", path)).json.cancel_at_period_end).toBe(false);
  const external = Object.entries<Record<string, Operation>>(api).filter(([, { update }]) => update?.external);
  const names = ["subscriptions", "portalSubscriptions", "checkouts", "checkoutClient", "benefits"];
  expect(external.map(([name]) => name)).toEqual(expect.arrayContaining(names));
  expect(external.filter(([, operations]) => findPair(operations))).toEqual([]);
});

test("another seller's thing stays unknown, whatever the tag, and an audit entry is written once", async () => {
  const path = await makeCustomer();
  const other = await floe.seller("other");
  expect((await ask("PATCH", path, { name: "X" }, { "if-match": "*" }, other.key)).status).toBe(404);
  expect((await ask("PATCH", path, { name: "X" }, { "if-match": '"x"' }, other.key)).status).toBe(404);
  const reader = await floe.keyOf(seller, ["customers:read"]);
  expect((await ask("PATCH", path, { name: "X" }, { "if-match": "*" }, reader)).status).toBe(403);
  const bad = await ask("PATCH", path, { email: "no address" }, { "if-match": "*" });
  expect(bad.status).toBe(422);
});
