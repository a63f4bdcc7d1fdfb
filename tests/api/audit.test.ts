import { desc, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { products } from "../../server/catalog/products/tables.ts";
import { session as sessions } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { getAction } from "../../server/platform/http/audit.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { begin, put } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { isOfCustomers } from "../support/operations.ts";
import { callsOf, join, organizationOf, type Person, person } from "../support/people.ts";
import { countQueries } from "../support/queries.ts";
import { bodyOf, freshOf, rowOf } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(() => floe.close());
// Everything is asked from one address, which may ask so often a minute.
beforeEach(() => floe.clock.advance(60_000));

type Entry = {
  id: string;
  action: string;
  actor: { kind: string; userId: string | null; name: string | null; email: string | null; keyId: string | null };
  subject: { type: string; id: string } | null;
  organizationId: string | null;
  details: Record<string, unknown>;
  ipAddress: string | null;
  userAgent: string | null;
  createdAt: string;
};
type Page = { entries: Entry[]; next: string | null };
const read = async (token: string, query: Record<string, string> = {}) => {
  const answer = await floe.request("GET", `/api/auth/audit/list?${new URLSearchParams(query)}`, { token });
  return { status: answer.status, json: answer.json as Page & { code: string; message: string } };
};
const ofOrganization = async (query: Record<string, string> = {}, one = seller) =>
  (await read(one.session, { organizationId: one.organization_id, limit: "100", ...query })).json.entries;
const book = { name: "Book", prices: [{ amount_type: "free" }] };
const writes = Object.entries(api as Record<string, Record<string, Operation>>).flatMap(([resource, operations]) =>
  Object.entries(operations)
    .filter(([, op]) => !op.bulk && !isOfCustomers(op) && op.access.scopes.some((scope) => scope.endsWith(":write")))
    .map(([key, op]) => ({ resource, key, op })),
);

/** An upload whose parts are all there, so that it can be completed. */
async function sent({ client }: Seller) {
  const bytes = Buffer.from("A file.");
  const { id, upload } = await begin(client, bytes);
  const parts = await Promise.all(
    upload.parts.map(async (part) => ({
      number: part.number,
      checksum_etag: (await put(floe, part, bytes)).etag,
      checksum_sha256_base64: null,
    })),
  );
  return { params: { id }, body: { id: upload.id, path: upload.path, parts } };
}

/** As if everybody had given their password just now: the clock is past the hour after which it is asked for. */
const proveSessions = () => floe.deps.db.update(sessions).set({ provenAt: floe.clock.now() });

describe("changes over /v1", () => {
  test("every operation that changes something has a name of its own kind in the log", () => {
    expect(writes.length).toBeGreaterThan(10);
    const named = Object.fromEntries(writes.map((one) => [`${one.resource}.${one.key}`, getAction(one)]));
    expect(named).toMatchObject({
      "products.create": "product.created",
      "products.update": "product.updated",
      "customers.deleteExternal": "customer.deleted",
      "organizations.update": "organization.updated",
      "webhooks.resetSecret": "webhook_endpoint.secret_reset",
    });
    for (const action of Object.values(named)) expect(action).toMatch(/^[a-z_]+\.([a-z_]+(ed|reset|set|sent)|undone)$/);
  });

  test("the log is in the order of time, whichever way the clock was moved meanwhile", async () => {
    const one = await floe.seller("moved");
    const create = async () => {
      await one.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
      return floe.clock.now().toISOString();
    };
    const hour_ms = 60 * 60 * 1000;
    floe.clock.advance(-hour_ms);
    const early = await create();
    floe.clock.advance(3 * hour_ms);
    const late = await create();
    floe.clock.advance(-hour_ms);
    const between = await create();
    floe.clock.advance(-hour_ms);
    const times = (await ofOrganization({ action: "product." }, one)).map(({ createdAt }) => createdAt);
    expect(times).toEqual([late, between, early]);
  });

  test("a key's change is one entry: who, what, to what, which fields, from where", async () => {
    const made = await floe.request("POST", "/v1/products/", {
      token: seller.key,
      body: book,
      headers: { "x-forwarded-for": "203.0.113.7", "user-agent": "ci/1.0" },
    });
    const { id } = made.json as { id: string };
    const entries = (await ofOrganization()).filter((one) => one.subject?.id === id);
    expect(entries).toHaveLength(1);
    expect(entries[0]).toMatchObject({
      action: "product.created",
      actor: { kind: "key", userId: null, keyName: "test", keyId: expect.any(String) },
      subject: { type: "product", id },
      organizationId: seller.organization_id,
      details: { fields: expect.arrayContaining(["name", "prices"]) },
      ipAddress: "203.0.113.7",
      userAgent: "ci/1.0",
    });
    expect(JSON.stringify(entries[0])).not.toContain("Book");
  });

  test("a signed-in person's change is under their name", async () => {
    const body = { ...book, organization_id: seller.organization_id };
    const made = await floe.request("POST", "/v1/products/", { token: seller.session, body });
    const { id } = made.json as { id: string };
    const [entry] = (await ofOrganization()).filter((one) => one.subject?.id === id);
    expect(entry?.actor).toMatchObject({ kind: "user", userId: seller.user_id, name: "seller", email: seller.email });
  });

  test.each(writes.map((one) => [getAction(one), one] as const))(
    "%s is written down once, and not when it is refused or asked for again",
    async (action, { resource, key, op }) => {
      const seller = await floe.seller();
      const row = await rowOf[resource as keyof typeof rowOf](floe, seller);
      const ready = resource === "files" && key === "uploaded" ? await sent(seller) : undefined;
      const params: Record<string, string> = ready?.params ?? row.of?.[key] ?? row.params;
      const path = op.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
      const bodies: Record<string, unknown> = {
        "products.create": book,
        "customers.create": { email: `audit-${key}@example.com` },
        "checkouts.create": { products: [(await rowOf.products(floe, seller)).params.id] },
        ...(["refunds", "subscriptions", "subscriptionMigrations"].includes(resource)
          ? { [`${resource}.create`]: (await freshOf[`${resource}.create`]?.(floe, seller))?.body }
          : {}),
        ...(resource === "customerSeats"
          ? { "customerSeats.assign": (await freshOf["customerSeats.assign"]?.(floe, seller))?.body }
          : {}),
        ...(resource === "licenseKeys" && op.body && op.method === "POST"
          ? { [`${resource}.${key}`]: (await freshOf[`${resource}.${key}`]?.(floe, seller))?.body }
          : {}),
        "webhooks.createEndpoint": { url: "http://127.0.0.1:9/hook", format: "raw", events: ["order.paid"] },
      };
      const sample =
        op.method === "POST"
          ? bodyOf[`${resource}.${key}`]?.((await rowOf.products(floe, seller)).params.id ?? "", 1)
          : undefined;
      // What only a person may stands in the log of what it makes, and in their own.
      const own = async () => (await read(seller.session, { action })).json.entries;
      const count = async () => (await (op.access.by === "person" ? own() : ofOrganization({ action }, seller))).length;
      const may = op.access.by === "person" ? seller.session : seller.key;
      const headers = { "idempotency-key": `audit ${resource} ${key}` };
      const ask = (token: string) =>
        floe.request(op.method, path, {
          token,
          headers: op.method === "POST" ? headers : {},
          ...(op.method === "DELETE" ? {} : { body: ready?.body ?? bodies[`${resource}.${key}`] ?? sample ?? {} }),
        });
      // Making a key is an entry, too.
      const reader = await floe.keyOf(seller, ["metrics:read"]);
      const before = await count();
      expect((await ask(reader)).status).toBe(403);
      expect(await count()).toBe(before);
      const done = await ask(may);
      expect([done.status < 300, done.text]).toEqual([true, expect.any(String)]);
      expect(await count()).toBe(before + 1);
      if (op.method !== "POST" || op.answersOnce) return;
      expect((await ask(may)).headers["idempotency-replayed"]).toBe("true");
      expect(await count()).toBe(before + 1);
    },
  );

  const resend = { name: "Sample", metadata: {} };
  test.each<[resource: keyof typeof rowOf, key: string, path: string, changes: [body: object, action: string][]]>([
    [
      "subscriptions",
      "update",
      "/v1/subscriptions/",
      [
        [{ metadata: { tier: "pro" } }, "subscription.updated"],
        [{ pause_at_period_end: true }, "subscription.paused"],
        [{ pause_at_period_end: false }, "subscription.unpaused"],
        [{ cancel_at_period_end: true, customer_cancellation_reason: "unused" }, "subscription.canceled"],
        [{ cancel_at_period_end: false }, "subscription.uncanceled"],
        [{ revoke: true }, "subscription.revoked"],
      ],
    ],
    [
      "products",
      "update",
      "/v1/products/",
      [
        [{ ...resend, is_archived: true }, "product.archived"],
        [{ is_archived: false }, "product.unarchived"],
        [{ ...resend, is_archived: false }, "product.updated"],
      ],
    ],
    [
      "meters",
      "update",
      "/v1/meters/",
      [
        [{ is_archived: true }, "meter.archived"],
        [{ is_archived: false }, "meter.unarchived"],
        [resend, "meter.updated"],
      ],
    ],
    [
      "licenseKeys",
      "update",
      "/v1/license-keys/",
      [
        [{ limit_usage: 5, status: "granted" }, "license_key.updated"],
        [{ status: "revoked" }, "license_key.revoked"],
        [{ status: "granted" }, "license_key.granted"],
        [{ limit_usage: 6, status: "disabled" }, "license_key.disabled"],
      ],
    ],
    [
      "webhooks",
      "updateEndpoint",
      "/v1/webhooks/endpoints/",
      [
        [{ enabled: false }, "webhook_endpoint.disabled"],
        [{ enabled: true }, "webhook_endpoint.enabled"],
        [{ name: "Sample", enabled: true }, "webhook_endpoint.updated"],
      ],
    ],
  ])("%s.%s is named by what it does", async (resource, key, path, changes) => {
    const one = await floe.seller();
    const row = await rowOf[resource](floe, one);
    const { id = "" } = row.of?.[key] ?? row.params;
    const actions = async () => (await ofOrganization({}, one)).map(({ action }) => action);
    const before = await actions();
    for (const [body] of changes) {
      floe.clock.advance(1);
      const { status, text } = await floe.request("PATCH", path + id, { token: one.key, body });
      expect([status, text]).toEqual([200, expect.any(String)]);
    }
    const named = (await actions()).slice(0, -before.length || undefined).reverse();
    expect(named).toEqual(changes.map(([, action]) => action));
  });

  test.each([
    [{ resume: true }, "subscription.resumed"],
    [{ seats: 3, proration_behavior: "invoice" }, "subscription.seats_changed"],
    [{ product_id: "x", metadata: {} }, "subscription.product_changed"],
    [{ pending_update: null }, "subscription.pending_update_removed"],
    [{ payment_method_id: "x" }, "subscription.payment_method_changed"],
    [{ current_billing_period_end: new Date() }, "subscription.period_changed"],
    [{ discount_id: null }, "subscription.updated"],
  ])("a change of a subscription by %j is %s", (body, action) => {
    expect(getAction({ resource: "subscriptions", key: "update", op: api.subscriptions.update }, body)).toBe(action);
  });

  test("a change whose entry cannot be written is not made", async () => {
    const { db } = floe.deps;
    await proveSessions();
    await db.execute(sql`create function refuse_entry() returns trigger language plpgsql as $$
      begin raise exception 'no entry'; end $$`);
    await db.execute(
      sql`create trigger refuse_entry before insert on audit_log for each row execute function refuse_entry()`,
    );
    try {
      const count = async () => (await db.select({ id: products.id }).from(products)).length;
      const before = await count();
      expect((await floe.request("POST", "/v1/products/", { token: seller.key, body: book })).status).toBe(500);
      expect(await count()).toBe(before);
      const stranger = { name: "A", email: "unwritten@example.com", password: "correct horse battery" };
      const call = callsOf(floe);
      expect((await call(null, "POST", "/sign-up/email", stranger)).status).toBe(500);
      expect((await call(seller, "POST", "/update-user", { name: "Renamed" })).status).toBe(500);
      expect((await call(seller, "POST", "/api-key/create", { name: "unwritten" })).status).toBe(500);
    } finally {
      await db.execute(sql`drop trigger refuse_entry on audit_log`);
    }
    const kept = await floe.request("GET", "/api/auth/get-session", { token: seller.session });
    expect((kept.json as { user: { name: string } }).user.name).toBe("seller");
    const call = callsOf(floe);
    const again = await call(null, "POST", "/sign-up/email", {
      name: "A",
      email: "unwritten@example.com",
      password: "correct horse battery",
    });
    expect(again.status).toBe(200);
    expect((await call(seller, "GET", "/api-key/list")).text).not.toContain("unwritten");
  });

  test("a sale is in the seller's log, with its amount, brought about by no key of theirs", async () => {
    const { params } = await rowOf.orders(floe, seller);
    const [entry] = (await ofOrganization({ action: "order.paid" })).filter((one) => one.subject?.id === params.id);
    expect(entry).toMatchObject({
      subject: { type: "order", id: params.id },
      details: { amount: expect.any(Number), currency: "usd" },
    });
    expect(["system", "anonymous"]).toContain(entry?.actor.kind);
  });
});

describe("who reads it", () => {
  const asked = () => ({ organizationId: seller.organization_id });

  test("owners; others are told why not, strangers that there is nothing, keys and visitors to sign in", async () => {
    const admin = await person(floe, "admin");
    await join(floe, { owner: seller, organizationId: seller.organization_id, guest: admin, role: "admin" });
    expect((await read(seller.session, asked())).status).toBe(200);
    expect(await read(admin.session, asked())).toMatchObject({
      status: 403,
      json: {
        message: expect.stringMatching(/access (to )?resource:? "?audit"?|unauthorized to access resource "audit"/),
      },
    });
    const stranger = await person(floe);
    expect(await read(stranger.session, asked())).toMatchObject({
      status: 404,
      json: { code: "ORGANIZATION_NOT_FOUND" },
    });
    expect((await read(seller.key, asked())).status).toBe(401);
    expect((await floe.request("GET", "/api/auth/audit/list")).status).toBe(401);
  });

  test("pages by cursor hold every entry once, the newest first", async () => {
    for (let count = 0; count < 7; count += 1)
      await floe.request("POST", "/v1/products/", { token: seller.key, body: book });
    const whole = await ofOrganization();
    const paged: Entry[] = [];
    for (let before: string | null = ""; before !== null; ) {
      const { json } = await read(seller.session, { ...asked(), limit: "3", ...(before ? { before } : {}) });
      expect(json.entries.length).toBeLessThanOrEqual(3);
      paged.push(...json.entries);
      before = paged.some(({ id }) => id === whole.at(-1)?.id) ? null : json.next;
    }
    // Refused calls are written down a little later, so there may be newer entries by now.
    const shown = new Set(whole.map(({ id }) => id));
    expect(paged.map(({ id }) => id).filter((id) => shown.has(id))).toEqual(whole.map(({ id }) => id));
    const times = whole.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  test("the last page says that there is no more", async () => {
    const alone = await person(floe);
    const { json } = await read(alone.session, { limit: "1" });
    const rest = await read(alone.session, { limit: "100", before: json.next ?? "" });
    expect([json.entries.length, rest.json.next]).toEqual([1, null]);
  });

  test("by action, by what an action begins with, and by who did it", async () => {
    const only = await ofOrganization({ action: "product.created" });
    expect(only.length).toBeGreaterThan(0);
    expect(only.every(({ action }) => action === "product.created")).toBe(true);
    const begun = new Set((await ofOrganization({ action: "api_key." })).map(({ action }) => action.split(".")[0]));
    expect([...begun]).toEqual(["api_key"]);
    const mine = await ofOrganization({ actor: seller.user_id });
    expect(mine.length).toBeGreaterThan(0);
    expect(mine.every(({ actor }) => actor.userId === seller.user_id)).toBe(true);
    const keyId = only.find(({ actor }) => actor.kind === "key")?.actor.keyId ?? "";
    expect((await ofOrganization({ actor: keyId })).every(({ actor }) => actor.keyId === keyId)).toBe(true);
  });

  test.each(["limit=0", "limit=x", "before=x", "organizationId=", "action=", "organizationId=a&organizationId=b"])(
    "%s is refused with its place",
    async (query) => {
      const answer = await floe.request("GET", `/api/auth/audit/list?${query}`, { token: seller.session });
      expect([answer.status, answer.json]).toMatchObject([
        400,
        { code: "VALIDATION_ERROR", detail: expect.stringContaining(query.split("=")[0] ?? "") },
      ]);
    },
  );

  test("a page is read in one query of each log beside that of who asks, names included", async () => {
    const [found, queries] = await countQueries(floe, () => ofOrganization());
    expect([found.length > 10, queries]).toEqual([true, 3]);
  });

  test("another organization's entries are not among them", async () => {
    const other = await floe.seller("other");
    await other.client.products.create({ body: { name: "Theirs", prices: [{ amount_type: "free" }] } });
    expect((await ofOrganization()).every(({ organizationId }) => organizationId === seller.organization_id)).toBe(
      true,
    );
  });
});

describe("it can only be added to", () => {
  test.each([
    ["changed", sql`update audit_log set action = 'nothing.done'`],
    ["let go of its organization", sql`update audit_log set organization_id = null`],
    ["deleted", sql`delete from audit_log`],
    ["emptied", sql`truncate audit_log`],
  ])("it cannot be %s, whoever asks the database", async (_, statement) => {
    const before = await floe.deps.db.$count(auditLog);
    await expect(floe.deps.db.execute(statement)).rejects.toMatchObject({
      cause: { message: "The audit log can only be added to." },
    });
    expect(await floe.deps.db.$count(auditLog)).toBe(before);
  });

  test("entries outlive their organization and its owner", async () => {
    const owner: Person = await person(floe, "leaving");
    const organizationId = await organizationOf(floe, owner, "short");
    await proveSessions();
    const call = callsOf(floe);
    const key = await call(owner, "POST", "/api-key/create", { name: "k", organizationId });
    expect(key.status).toBe(200);
    expect((await call(owner, "POST", "/organization/delete", { organizationId })).status).toBe(200);
    const { password } = owner;
    expect((await call(owner, "POST", "/delete-user", { password })).status).toBe(200);
    const left = await floe.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.user_id, owner.user_id))
      .orderBy(desc(auditLog.id));
    const actions = left.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(["api_key.created", "organization.deleted", "user.deleted"]));
    expect(left.every((one) => one.organization_id === null)).toBe(true);
    expect(left.find(({ action }) => action === "organization.deleted")?.subject_id).toBe(organizationId);
  });
});
