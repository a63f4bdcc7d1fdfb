import { and, eq, isNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { customers } from "../../server/customers/customers/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { counterCompactionWorker } from "../../server/platform/db/counters.ts";
import { events, listTallies } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let other: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
  other = await floe.seller("bob");
});
afterAll(() => floe?.close());

let made = 0;
const address = () => {
  made += 1;
  return `buyer-${made}@example.com`;
};
const create = (body: object = {}) => seller.client.customers.create({ body: { email: address(), ...body } });
const send = async (method: string, path: string, body?: object, token = seller.key) => {
  const { status, json } = await floe.request(method, path, { token, ...(body ? { body } : {}) });
  return {
    status,
    json: json as { id: string; error?: string; detail: { loc: unknown[]; msg: string; type: string }[] },
  };
};
const placesOf = (json: { detail: { loc: unknown[]; type: string }[] }) =>
  json.detail.map(({ loc, type }) => `${loc.join(".")} ${type}`);
const list = async (query: object) => (await seller.client.customers.list({ query })).items;
const told = async () =>
  (
    await floe.deps.db
      .select()
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq)
  ).map(({ type }) => type);

describe("making customers", () => {
  test("CUS-05: a customer has a picture, is not verified, and is answered with 201", async () => {
    const email = address();
    const { status, json } = await send("POST", "/v1/customers/", {
      email,
      name: "Ada",
      email_verified: true,
      metadata: { tier: "pro", n: 1, yes: true },
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      email,
      name: "Ada",
      email_verified: false,
      type: "individual",
      modified_at: null,
      deleted_at: null,
      metadata: { tier: "pro", n: 1, yes: true },
    });
    expect((json as unknown as { avatar_url: string }).avatar_url).toMatch(/^https:/);
    expect(json).not.toHaveProperty("deleted_external_id");
  });

  test("CUS-01, CUS-04: an address in any language is one customer's, in any case and form", async () => {
    const made = await create({ email: "josé@bücher.example" });
    expect(made.email).toBe("josé@xn--bcher-kva.example");
    for (const email of ["JOSÉ@BÜCHER.EXAMPLE", "jose\u0301@bücher.example", " josé@XN--bcher-kva.example "]) {
      const { status, json } = await send("POST", "/v1/customers/", { email });
      expect([status, placesOf(json)]).toEqual([422, ["body.email value_error"]]);
      expect(await list({ email: email.normalize("NFC") })).toMatchObject([{ id: made.id }]);
      expect(await list({ query: email.normalize("NFC") })).toMatchObject([{ id: made.id }]);
    }
  });

  test("CUS-01: a customer of before, with an address in another spelling, is found by each and changed by none", async () => {
    const made = await create();
    const stored = "Old@münchen.de";
    await floe.deps.db.update(customers).set({ email: stored }).where(eq(customers.id, made.id));
    const prices = [{ amount_type: "free" as const }];
    const { id: product_id } = await seller.client.products.create({ body: { name: "Gift", prices } });
    for (const email of [stored, "old@xn--mnchen-3ya.de", " old@München.de "]) {
      expect(await list({ email })).toMatchObject([{ id: made.id, email: stored }]);
      expect(placesOf((await send("POST", "/v1/customers/", { email })).json)).toEqual(["body.email value_error"]);
      const { client_secret } = await seller.client.checkouts.create({ body: { products: [product_id] } });
      const body = { customer_email: email, customer_name: "Ada" };
      const bought = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
      expect(bought.json).toMatchObject({ customer_id: made.id });
    }
    const same = { params: { id: made.id }, body: { email: stored } };
    expect(await seller.client.customers.update(same)).toMatchObject({ email: "Old@xn--mnchen-3ya.de" });
  });

  test("CUS-15: a team may have no address, and several such teams get on with each other", async () => {
    const wire = { type: "team", name: "Acme" };
    const teams = [await send("POST", "/v1/customers/", wire), await send("POST", "/v1/customers/", wire)];
    expect(teams.map(({ status }) => status)).toEqual([201, 201]);
    const [{ json } = { json: { id: "" } }] = teams;
    expect(json).toMatchObject({ type: "team", email: "", avatar_url: expect.stringMatching(/^https:/) });
    const newer = { token: seller.key, headers: { "polar-version": "2026-10" } };
    const read = async () => (await floe.request("GET", `/v1/customers/${json.id}`, newer)).json;
    expect(await read()).toMatchObject({ type: "team", email: null });
    const change = { body: { email: "team@example.com", name: "Acme" }, params: { id: json.id } };
    expect(await seller.client.customers.update(change)).toMatchObject({ email: "team@example.com" });
    const gone = await send("DELETE", `/v1/customers/${teams[1]?.json.id}?anonymize=true`);
    expect(gone.status).toBe(204);
    const text = (await floe.request("GET", "/v1/customers/export", { token: seller.key })).text;
    expect(text).toContain("team@example.com");
  });

  test("CUS-03: clashes of e-mail (in any case) and external id come together", async () => {
    const first = await create({ external_id: "clash" });
    const { status, json } = await send("POST", "/v1/customers/", {
      email: String(first.email).toUpperCase(),
      external_id: "clash",
    });
    expect(status).toBe(422);
    expect(json.error).toBe("PolarRequestValidationError");
    expect(json.detail.map(({ loc, msg }) => [loc.join("."), msg])).toEqual([
      ["body.email", "A customer with this email address already exists."],
      ["body.external_id", "A customer with this external ID already exists."],
    ]);
  });

  test("CUS-01, CUS-02: another organization may have the same; the address keeps its letters; no external id clashes with none", async () => {
    const email = `Mixed.${address()}`;
    const mine = await create({ email, external_id: "" });
    expect([mine.email, mine.external_id]).toEqual([email, null]);
    await create({ external_id: "" });
    const theirs = await other.client.customers.create({ body: { email } });
    expect(theirs.organization_id).toBe(other.organization_id);
  });

  test("CUS-03: of many at once one is made, the others are told of the clash", async () => {
    const email = address();
    const answers = await Promise.all(Array.from({ length: 8 }, () => send("POST", "/v1/customers/", { email })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422, 422, 422]);
    expect(await list({ email })).toHaveLength(1);
  });

  test("CUS-12: a tax number is kept with its format, and needs a country", async () => {
    const good = await create({ billing_address: { country: "fr" }, tax_id: "FR 61 954 506 077" });
    expect(good.tax_id).toEqual(["FR61954506077", "eu_vat"]);
    expect(good.billing_address).toMatchObject({ country: "FR", line1: null });
    expect(placesOf((await send("POST", "/v1/customers/", { email: address(), tax_id: "1" })).json)).toEqual([
      "body.billing_address missing",
    ]);
    const bad = await send("POST", "/v1/customers/", {
      email: address(),
      tax_id: "1",
      billing_address: { country: "US", state: "NY" },
    });
    expect(placesOf(bad.json)).toEqual(["body.tax_id invalid"]);
  });

  test("API-10: in the US and Canada a state is needed; it is kept as US-CA, however it was written", async () => {
    for (const state of ["ca", "US-CA"])
      expect((await create({ billing_address: { country: "us", state } })).billing_address?.state).toBe("US-CA");
    const { id } = await create();
    for (const [method, path] of [
      ["POST", ""],
      ["PATCH", id],
    ] as const) {
      const body = { ...(method === "POST" && { email: address() }), billing_address: { country: "CA" } };
      const { status, json } = await send(method, `/v1/customers/${path}`, body);
      expect([status, placesOf(json)]).toEqual([422, ["body.billing_address.state missing"]]);
    }
  });
});

describe("changing customers", () => {
  test("CUS-08, CUS-09: another address must be verified again; an external id is set once", async () => {
    const one = await create();
    await floe.deps.db.update(customers).set({ email_verified: true }).where(eq(customers.id, one.id));
    const upper = await seller.client.customers.update({
      params: { id: one.id },
      body: { email: String(one.email).replace("buyer", "BUYER") },
    });
    expect([upper.email, upper.email_verified]).toEqual([String(one.email).replace("buyer", "BUYER"), true]);
    const moved = await seller.client.customers.update({
      params: { id: one.id },
      body: { email: address(), external_id: `once-${one.id}` },
    });
    expect([moved.email_verified, moved.external_id]).toEqual([false, `once-${one.id}`]);
    expect(placesOf((await send("PATCH", `/v1/customers/${one.id}`, { external_id: "again" })).json)).toEqual([
      "body.external_id value_error",
    ]);
  });

  test("CUS-03, CUS-08: taking another's address is refused, also in a race", async () => {
    const [a, b, c] = [await create(), await create(), await create()];
    expect(placesOf((await send("PATCH", `/v1/customers/${a.id}`, { email: b.email })).json)).toEqual([
      "body.email value_error",
    ]);
    const email = address();
    const answers = await Promise.all([a, b, c].map(({ id }) => send("PATCH", `/v1/customers/${id}`, { email })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422, 422]);
  });

  test("CUS-10: found by external id, with a body that cannot change it", async () => {
    const one = await create({ external_id: "o/1 é" });
    const path = `/v1/customers/external/${encodeURIComponent("o/1 é")}`;
    expect((await send("GET", path)).json.id).toBe(one.id);
    expect((await send("PATCH", path, { external_id: "other", name: "Bo" })).json).toMatchObject({
      external_id: "o/1 é",
      name: "Bo",
    });
    expect((await send("GET", `${path}/state`)).json).toMatchObject({
      id: one.id,
      active_subscriptions: [],
      granted_benefits: [],
      active_meters: [],
    });
    expect((await send("GET", "/v1/customers/external/nobody")).status).toBe(404);
    expect((await send("GET", path, undefined, other.key)).status).toBe(404);
  });

  test("CUS-11, CUS-13, CUS-15: address stays, metadata is replaced, a team stays a team", async () => {
    const one = await create({ billing_address: { country: "DE" }, metadata: { a: 1 } });
    expect((await send("PATCH", `/v1/customers/${one.id}`, { billing_address: null })).status).toBe(422);
    const changed = await seller.client.customers.update({
      params: { id: one.id },
      body: { metadata: { b: "2" }, type: "team" },
    });
    expect([changed.metadata, changed.type, changed.modified_at]).toEqual([{ b: "2" }, "team", floe.clock.now()]);
    expect(placesOf((await send("PATCH", `/v1/customers/${one.id}`, { type: "individual" })).json)).toEqual([
      "body.type value_error",
    ]);
  });

  test("API-28: all faults of an update come together", async () => {
    const taken = await create();
    const one = await create({ external_id: `all-${made}`, type: "team" });
    const { json } = await send("PATCH", `/v1/customers/${one.id}`, {
      email: taken.email,
      external_id: "x",
      type: "individual",
      tax_id: "1",
    });
    expect(placesOf(json).sort()).toEqual([
      "body.billing_address missing",
      "body.email value_error",
      "body.external_id value_error",
      "body.type value_error",
    ]);
  });
});

describe("deleting customers", () => {
  test("CUS-16, CUS-17: it is gone once, and its address and external id are free again", async () => {
    const one = await create({ external_id: "reused" });
    expect((await send("DELETE", `/v1/customers/${one.id}`)).status).toBe(204);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/state"],
      ["DELETE", ""],
      ["PATCH", ""],
    ] as const) {
      expect((await send(method, `/v1/customers/${one.id}${path}`, method === "PATCH" ? {} : undefined)).status).toBe(
        404,
      );
    }
    expect(await list({ email: String(one.email) })).toEqual([]);
    const next = await create({ email: String(one.email), external_id: "reused" });
    expect(next.id).not.toBe(one.id);
    expect((await send("DELETE", "/v1/customers/external/reused")).status).toBe(204);
    expect((await send("DELETE", "/v1/customers/external/reused")).status).toBe(404);
  });

  test("CUS-18, CUS-21: who has bought can be deleted; the order goes on and shows who it was", async () => {
    const prices = [{ amount_type: "free" as const }];
    const { id } = await seller.client.products.create({ body: { name: "Gift", prices } });
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
    const body = { customer_email: address(), customer_name: "Ada Bought" };
    await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
    await floe.runJobs();
    const [order] = (await seller.client.orders.list({ query: { product_id: id } })).items;
    expect((await send("DELETE", `/v1/customers/${order?.customer_id}`)).status).toBe(204);
    const after = await seller.client.orders.get({ params: { id: order?.id ?? "" } });
    const { deleted_at, ...shown } = after.customer;
    expect(shown).toMatchObject({ id: order?.customer_id, email: body.customer_email, name: "Ada Bought" });
    expect(deleted_at).toEqual(floe.clock.now());
    // The address is free again, and what its next owner buys is theirs alone.
    expect((await create({ email: body.customer_email })).id).not.toBe(order?.customer_id);
  });

  test("CUS-20: anonymize makes the person unreadable everywhere in the row, again is fine, and also later", async () => {
    const one = await create({ name: "Ada Secret", billing_address: { country: "FR", line1: "1 Secret Way" } });
    expect((await send("DELETE", `/v1/customers/${one.id}?anonymize=true`)).status).toBe(204);
    expect((await send("DELETE", `/v1/customers/${one.id}?anonymize=true`)).status).toBe(204);
    const [row] = await floe.deps.db.select().from(customers).where(eq(customers.id, one.id));
    expect(JSON.stringify(row)).not.toMatch(/Secret|buyer-/);
    expect(row?.billing_address?.country).toBe("FR");
    const later = await create();
    await send("DELETE", `/v1/customers/${later.id}`);
    expect((await send("DELETE", `/v1/customers/${later.id}?anonymize=1`)).status).toBe(204);
    const [gone] = await floe.deps.db.select().from(customers).where(eq(customers.id, later.id));
    expect(gone?.email).toMatch(/@anonymized\.invalid$/);
  });

  test("CUS-20: what stands in place of an address cannot be guessed back without the server's secret", async () => {
    const email = "guessable@example.com";
    const masks = [floe, await start({ settings: { FLOE_SECRET: "another secret for tests, long enough too" } })].map(
      async (server) => {
        const { client } = server === floe ? seller : await server.seller();
        const { id } = await client.customers.create({ body: { email } });
        await client.customers.delete({ params: { id }, query: { anonymize: true } });
        const [row] = await server.deps.db.select().from(customers).where(eq(customers.id, id));
        if (server !== floe) await server.close();
        return row?.email?.split("@")[0];
      },
    );
    const [one, two] = await Promise.all(masks);
    expect([one, two]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(one).not.toBe(two);
  });
});

describe("reading customers", () => {
  test("CUS-22: filters, with % and _ taken literally", async () => {
    const one = await create({ name: "Grace_Hopper 100%", external_id: "pre_fix-1", metadata: { tier: "pro", n: 1 } });
    const two = await create({ name: "GraceXHopper 1000", external_id: "preXfix-2", metadata: { tier: "max", n: 1 } });
    const ids = async (query: object) => (await list(query)).map(({ id }) => id);
    expect(await ids({ email: String(one.email).toUpperCase() })).toEqual([one.id]);
    expect((await ids({ query: "hopper" })).sort()).toEqual([one.id, two.id].sort());
    expect(await ids({ query: "e_h" })).toEqual([one.id]);
    expect(await ids({ query: "100%" })).toEqual([one.id]);
    expect(await ids({ query: "pre_fix" })).toEqual([one.id]);
    expect(await ids({ query: "fix-1" })).toEqual([]);
    expect(await ids({ query: String(one.email).slice(2, -3) })).toContain(one.id);
    expect(await ids({ metadata: { tier: "pro" } })).toContain(one.id);
    expect((await ids({ metadata: { tier: ["pro", "max"], n: "1" }, query: "hopper" })).sort()).toEqual(
      [one.id, two.id].sort(),
    );
    expect(await ids({ metadata: { tier: "pro", n: "2" } })).toEqual([]);
    const odd = await create({ metadata: { 'a "key"': "1", big: 1e21, half: 0.5, yes: true } });
    for (const [key, value, found] of [
      ['a "key"', "1", true],
      ["big", "1000000000000000000000", true],
      ["big", "1e21", false],
      ["half", "0.5", true],
      ["half", "0.50", false],
      ["yes", "true", true],
      ["yes", "TRUE", false],
      ["missing", "1", false],
    ] as const) {
      expect([key, value, (await ids({ metadata: { [key]: value } })).includes(odd.id)]).toEqual([key, value, found]);
    }
    expect(await ids({ organization_id: other.organization_id })).toEqual([]);
    expect(await ids({ active: true })).toEqual([]);
    expect(await ids({ active: false, email: String(one.email) })).toEqual([one.id]);
  });

  test("API-13, API-14, API-15: pages, the clamp of limit, sorting and its default", async () => {
    floe.clock.advance(1000);
    const last = await create({ name: "zz last" });
    const all = await seller.client.customers.list({ query: { limit: 1000 } });
    expect(all.items[0]?.id).toBe(last.id);
    expect(all.pagination.max_page).toBe(1);
    const total = all.pagination.total_count;
    const seen: string[] = [];
    for (let page = 1; page <= Math.ceil(total / 3); page += 1) {
      seen.push(...(await list({ page, limit: 3, sorting: "email" })).map(({ id }) => id));
    }
    expect(new Set(seen).size).toBe(total);
    expect(await list({ page: 9_000_000, limit: 3 })).toEqual([]);
    expect((await list({ sorting: ["-name", "created_at"], query: "zz" }))[0]?.id).toBe(last.id);
    expect((await send("GET", "/v1/customers/?sorting=age")).json.detail[0]).toMatchObject({
      type: "enum",
      loc: ["query", "sorting"],
    });
    expect((await send("GET", "/v1/customers/?page=0")).status).toBe(422);
  });
});

describe("how many customers there are", () => {
  const total = async (of: Seller = seller) => (await of.client.customers.list({ query: {} })).pagination.total_count;
  const counted = (of: Seller = seller) =>
    floe.deps.db.$count(
      customers,
      and(eq(customers.organization_id, of.organization_id), isNull(customers.deleted_at)),
    );
  const tallies = (of: Seller = seller) =>
    floe.deps.db.$count(
      listTallies,
      and(eq(listTallies.organization_id, of.organization_id), eq(listTallies.list, "customers")),
    );

  test("is exact after all that was made, refused, raced for, deleted and made unreadable; also while it is added up", async () => {
    expect(await total()).toBe(await counted());
    const many = await Promise.all(Array.from({ length: 20 }, () => create()));
    const [one] = many;
    await Promise.all([
      ...many.slice(1, 9).map(({ id }) => seller.client.customers.delete({ params: { id }, query: {} })),
      runWorkers(floe.deps, [counterCompactionWorker]),
      runWorkers(floe.deps, [counterCompactionWorker]),
      create({ email: one?.email }).catch(() => undefined),
    ]);
    expect(await total()).toBe(await counted());
    await runWorkers(floe.deps, [counterCompactionWorker]);
    expect(await tallies()).toBe(1);
    expect(await total()).toBe(await counted());
    await runWorkers(floe.deps, [counterCompactionWorker]);
    expect(await tallies()).toBe(1);
  });

  test("changes with a customer that comes or goes and with nothing else, and goes with the organization", async () => {
    const brief = await floe.seller("brief");
    const one = await brief.client.customers.create({ body: { email: address() } });
    expect([await total(brief), await tallies(brief)]).toEqual([1, 1]);
    await brief.client.customers.update({ params: { id: one.id }, body: { name: "Renamed" } });
    await brief.client.customers.create({ body: { email: String(one.email) } }).catch(() => undefined);
    expect([await total(brief), await tallies(brief)]).toEqual([1, 1]);
    await brief.client.customers.delete({ params: { id: one.id }, query: {} });
    await brief.client.customers.delete({ params: { id: one.id }, query: { anonymize: true } });
    expect([await total(brief), await tallies(brief)]).toEqual([0, 2]);
    await floe.deps.db.delete(organization).where(eq(organization.id, brief.organization_id));
    expect(await tallies(brief)).toBe(0);
  });
});

describe("events of customers", () => {
  test("CUS-25, CUS-29, WHK-42: each change is told, then the state; nothing of what was refused", async () => {
    const before = (await told()).length;
    const one = await create();
    await seller.client.customers.update({ params: { id: one.id }, body: { name: "New" } });
    await send("PATCH", `/v1/customers/${one.id}`, { email: "no" });
    await seller.client.customers.delete({ params: { id: one.id }, query: {} });
    expect((await told()).slice(before)).toEqual([
      "customer.created",
      "customer.state_changed",
      "customer.updated",
      "customer.state_changed",
      "customer.deleted",
      "customer.state_changed",
    ]);
  });
});

describe("the export of customers (CUS-27)", () => {
  const header =
    "ID,External ID,Created At,Email,Name,Tax ID,Billing Address Line 1,Billing Address Line 2,Billing Address City," +
    "Billing Address State,Billing Address Zip,Billing Address Country,Metadata\r\n";
  const exported = (token: string, query = "") => floe.request("GET", `/v1/customers/export${query}`, { token });

  test("is a CSV file of one's own, the oldest first, without the deleted; nothing in it is run as a formula", async () => {
    const { key, client, organization_id, session } = await floe.seller("export");
    const make = (body: object) => client.customers.create({ body: { email: address(), ...body } });
    const plain = await make({});
    await client.customers.delete({ params: { id: (await make({ name: "Gone" })).id }, query: {} });
    const full = await make({
      external_id: "-1+1",
      name: '=HYPERLINK("http://x","Ada")',
      tax_id: "FR 61 954 506 077",
      billing_address: {
        country: "FR",
        line1: "1, rue",
        line2: "@home",
        city: "A\nB",
        postal_code: "075",
        state: "+x",
      },
      metadata: { note: 'a "b"', n: 1 },
    });
    const at = (one: { created_at: Date }) => one.created_at.toISOString();
    const { status, headers, text } = await exported(key);
    expect([status, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(headers["content-disposition"]).toBe('attachment; filename="polar-customers.csv"');
    expect(text).toBe(
      `${header}${plain.id},,${at(plain)},${plain.email},,,,,,,,,{}\r\n` +
        `${full.id},"'-1+1",${at(full)},${full.email},"'=HYPERLINK(""http://x"",""Ada"")",FR61954506077,` +
        `"1, rue","'@home","A\nB","'+x",075,FR,"{""n"":1,""note"":""a \\""b\\""""}"\r\n`,
    );
    expect((await exported(session, `?organization_id=${organization_id}`)).text).toBe(text);
    for (const token of [key, session])
      expect((await exported(token, `?organization_id=${seller.organization_id}`)).text).toBe(header);
  });

  test("has each customer once over many pages, also of those who were made in the same microsecond", async () => {
    const { key, organization_id } = await floe.seller("many");
    await floe.deps.db.execute(sql`
      insert into customers (id, organization_id, email, created_at)
      select gen_random_uuid(), ${organization_id}, n || '@many.example',
        '2026-01-01T00:00:00Z'::timestamptz + (n / 3) * interval '1 microsecond'
      from generate_series(1, 1001) n`);
    const lines = (await exported(key)).text.split("\r\n");
    const emails = lines.slice(1, -1).map((line) => line.split(",")[3]);
    expect([emails.length, new Set(emails).size]).toEqual([1001, 1001]);
    const made = emails.map((email) => Math.floor(Number.parseInt(email ?? "", 10) / 3));
    expect(made).toEqual([...made].sort((a, b) => a - b));
  });
});
