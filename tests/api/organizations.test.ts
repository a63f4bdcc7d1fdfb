import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { member, session } from "../../server/identity/accounts/tables.ts";
import { serializeOrganization } from "../../server/identity/organizations/rules.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog, events } from "../../server/platform/db/tables.ts";
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

const get = () => seller.client.organizations.get({ params: { id: seller.organization_id } });
const patch = (body: object) =>
  floe.request("PATCH", `/v1/organizations/${seller.organization_id}`, { token: seller.key, body }) as Promise<{
    status: number;
    json: never;
  }>;
const placesOf = (json: { detail: { loc: unknown[] }[] }) => json.detail.map(({ loc }) => loc.join("."));
const eventsOf = (organization_id: string) =>
  floe.deps.db.select().from(events).where(eq(events.organization_id, organization_id));

describe("reading organizations", () => {
  test("ORG: a new organization has every setting at its default", async () => {
    const made = await get();
    expect(made.slug).toMatch(/^ada-/);
    expect(made.modified_at).toBeNull();
    expect(made.status).toBe("created");
    expect(made.default_presentment_currency).toBe("usd");
    expect(made.default_tax_behavior).toBe("location");
    expect(made.subscription_settings).toEqual({
      allow_multiple_subscriptions: false,
      allow_customer_updates: true,
      proration_behavior: "invoice",
      benefit_revocation_grace_period: 0,
      prevent_trial_abuse: false,
    });
    expect(Object.values(made.customer_email_settings).every(Boolean)).toBe(true);
    expect(made.customer_portal_settings.subscription).toEqual({
      ...{ update_seats: true, update_plan: true, pause: false },
      plan_groups: [],
    });
    expect(made.feature_settings.seat_based_pricing_enabled).toBe(false);
    expect(made.capabilities.checkout_payments).toBe(true);
  });

  test("TOK-07: a key lists its own organization; a user lists all memberships, whatever is active", async () => {
    const ofKey = await seller.client.organizations.list({ query: {} });
    expect(ofKey.items.map(({ id }) => id)).toEqual([seller.organization_id]);
    const ofUser = await floe.client(seller.session).organizations.list({ query: {} });
    expect(ofUser.items.map(({ id }) => id)).toEqual([seller.organization_id]);
    expect(ofUser.pagination).toEqual({ total_count: 1, max_page: 1 });
  });

  test("API-15: every sort key works in both directions, and the slug filter finds one", async () => {
    for (const key of ["created_at", "slug", "name", "next_review_threshold", "days_in_status"] as const) {
      for (const sorting of [key, `-${key}`] as const) {
        expect((await seller.client.organizations.list({ query: { sorting } })).items).toHaveLength(1);
      }
    }
    const { slug } = await get();
    expect((await seller.client.organizations.list({ query: { slug: slug.toUpperCase() } })).items).toHaveLength(1);
    expect((await seller.client.organizations.list({ query: { slug: "nobody" } })).pagination).toEqual({
      total_count: 0,
      max_page: 0,
    });
  });

  test("API-22: another organization is not found, by key and by session", async () => {
    for (const token of [seller.key, seller.session]) {
      const { status, json } = await floe.request("GET", `/v1/organizations/${other.organization_id}`, { token });
      expect([status, (json as { error: string }).error]).toEqual([404, "ResourceNotFound"]);
    }
  });
});

describe("creating an organization", () => {
  const create = (token: string, body: object) =>
    floe.request("POST", "/v1/organizations/", { token, body }) as Promise<{ status: number; json: never }>;

  test("ORG-12: it has its creator as owner, what was sent, and its beginning in its own log; the slug in small letters", async () => {
    const founder = await floe.seller("founder");
    const sent = { name: "Second Store", website: "https://second.example/", country: "de" };
    const made = await floe.client(founder.session).organizations.create({
      body: { ...sent, slug: "Second-Store", feature_settings: { member_model_enabled: true } },
    });
    expect(made).toMatchObject({ ...sent, slug: "second-store", country: "DE", status: "created", modified_at: null });
    expect(made.feature_settings).toMatchObject({ member_model_enabled: true, seat_based_pricing_enabled: false });
    expect(await floe.client(founder.session).organizations.get({ params: { id: made.id } })).toEqual(made);
    const members = await floe.deps.db.select().from(member).where(eq(member.organizationId, made.id));
    expect(members).toMatchObject([{ userId: founder.user_id, role: "owner" }]);
    const log = await floe.deps.db.select().from(auditLog).where(eq(auditLog.organization_id, made.id));
    expect(log.map(({ action, user_id, subject_id }) => [action, user_id, subject_id])).toEqual([
      ["member.added", founder.user_id, members[0]?.id],
      ["organization.created", founder.user_id, made.id],
    ]);
    const listed = await floe.client(founder.session).organizations.list({ query: {} });
    expect(listed.items.map(({ id }) => id).sort()).toEqual([founder.organization_id, made.id].sort());
  });

  test("ORG-12: people make them, by session or personal key, also their first; an organization's key never does", async () => {
    const refused = await create(seller.key, { name: "By a key", slug: "by-a-key" });
    expect([refused.status, refused.json]).toMatchObject([403, { error: "CannotCreateOrganizationError" }]);
    const founder = await floe.seller("person");
    const key = await floe.request("POST", "/api/auth/api-key/create", {
      token: founder.session,
      body: { configId: "default", name: "mine", scopes: ["organizations:write"] },
    });
    const { key: personal } = key.json as { key: string };
    expect((await create(personal, { name: "By a person", slug: "by-a-person" })).status).toBe(201);
    await floe.deps.db.delete(member).where(eq(member.userId, founder.user_id));
    expect((await create(founder.session, { name: "The first", slug: "the-first" })).status).toBe(201);
    // A device that may only read products founds nothing in its person's name.
    await floe.deps.db.update(session).set({ scope: "products:read" }).where(eq(session.userId, founder.user_id));
    const limited = await create(founder.session, { name: "By a device", slug: "by-a-device" });
    expect([limited.status, limited.json]).toMatchObject([403, { error: "insufficient_scope" }]);
  });

  test("ORG-02: names of the server's own places are nobody's slug, on either side", async () => {
    const { session: token } = await floe.seller("places");
    const places = floe.app
      .printRoutes({ commonPrefix: false })
      .split("\n")
      .flatMap((line) => /^[├└]── ([a-z0-9-]{3,})/.exec(line.replace("── /", "── "))?.[1] ?? []);
    expect(places.length).toBeGreaterThan(2);
    for (const slug of [...places, "login", "www", "polar", "settings", "docs", "sign-in", "Checkout"]) {
      const { status, json } = await create(token, { name: "Taken", slug });
      expect([slug, status, json]).toMatchObject([slug, 422, { detail: [{ loc: ["body", "slug"] }] }]);
      const body = { name: "Taken", slug: slug.toLowerCase() };
      const other = await floe.request("POST", "/api/auth/organization/create", { token, body });
      expect([slug, other.status]).toEqual([slug, 400]);
    }
  });

  test("ORG-03: profiles elsewhere are addresses that begin with https", async () => {
    const change = (url: string) =>
      floe.request("PATCH", `/v1/organizations/${seller.organization_id}`, {
        token: seller.key,
        body: { socials: [{ platform: "x", url }] },
      }) as Promise<{ status: number; json: never }>;
    expect((await change("https://x.example/acme")).status).toBe(200);
    const refused = await change("http://x.example/acme");
    expect([refused.status, refused.json]).toMatchObject([422, { detail: [{ loc: ["body", "socials", 0, "url"] }] }]);
  });

  test("what is published and has no effect here is refused, not dropped", async () => {
    const sent = { name: "Legal", slug: "legal-entity", legal_entity: { type: "individual" } };
    const answer = await create((await floe.seller("legal")).session, sent);
    const detail = [{ loc: ["body", "legal_entity"], type: "not_available" }];
    expect([answer.status, answer.json]).toMatchObject([422, { detail }]);
  });

  test("ORG-02: a slug is one organization's, in any case; of many at once one is made, with one owner", async () => {
    const answers = await Promise.all(
      ["one-slug", "ONE-SLUG", "one-slug", "One-Slug"].map((slug) => create(other.session, { name: "Race", slug })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
    const taken = answers.find(({ status }) => status === 422);
    expect(taken?.json).toMatchObject({
      detail: [{ loc: ["body", "slug"], msg: "An organization with this slug already exists.", type: "value_error" }],
    });
    expect(await floe.deps.db.$count(member, eq(member.userId, other.user_id))).toBe(2);
  });

  test.each(["ab", "x".repeat(65), "a b", "-ab", "ab-", "a--b", "ä-store", "a/b"])(
    "ORG-02, ORG-03: %j is no slug, here and on the account side; a short name is refused with it",
    async (slug) => {
      const { status, json } = await create(other.session, { name: "ab", slug });
      expect([status, placesOf(json)]).toEqual([422, ["body.name", "body.slug"]]);
      const body = { name: "Account side", slug };
      const there = await floe.request("POST", "/api/auth/organization/create", { token: other.session, body });
      expect(there.status).toBe(400);
    },
  );
});

describe("updating an organization", () => {
  test("ORG-01: a settings group keeps what older clients do not know of", async () => {
    await patch({
      subscription_settings: {
        allow_multiple_subscriptions: true,
        allow_customer_updates: false,
        proration_behavior: "invoice",
        prevent_trial_abuse: true,
      },
    });
    await patch({
      subscription_settings: {
        allow_multiple_subscriptions: false,
        allow_customer_updates: true,
        proration_behavior: "prorate",
      },
    });
    const made = await get();
    expect(made.subscription_settings).toMatchObject({
      allow_multiple_subscriptions: false,
      prevent_trial_abuse: true,
    });
    expect(made.allow_customer_updates).toBe(true);
    await patch({
      customer_portal_settings: { usage: { show: false }, subscription: { update_seats: false, update_plan: true } },
    });
    expect((await get()).customer_portal_settings).toEqual({
      usage: { show: false },
      subscription: { update_seats: false, update_plan: true, pause: false, plan_groups: [] },
      customer: { allow_email_change: false },
    });
  });

  test("ORG-02: the slug does not change", async () => {
    const { slug } = await get();
    expect((await patch({ slug: "another" })).status).toBe(200);
    expect((await get()).slug).toBe(slug);
  });

  test("ORG-03: profile fields are set and cleared; a short name is refused", async () => {
    const { json } = await patch({
      name: " Ada Store ",
      email: "help@ada.example",
      website: "https://ada.example/",
      socials: [{ platform: "discord", url: "https://discord.gg/x" }],
      avatar_url: "https://ada.example/a.png",
    });
    expect(json).toMatchObject({
      name: "Ada Store",
      email: "help@ada.example",
      avatar_url: "https://ada.example/a.png",
    });
    expect((await patch({ email: null, website: null })).json).toMatchObject({ email: null, website: null });
    const short = await patch({ name: "ab" });
    expect(short.status).toBe(422);
    expect(placesOf(short.json)).toEqual(["body.name"]);
  });

  test("contract 1.2: clients with closed value lists are not told of discord", async () => {
    const legacy = await floe.request("GET", `/v1/organizations/${seller.organization_id}`, { token: seller.key });
    expect((legacy.json as { socials: { platform: string }[] }).socials[0]?.platform).toBe("other");
    const versioned = await floe.request("GET", `/v1/organizations/${seller.organization_id}`, {
      token: seller.key,
      headers: { "polar-version": "2026-10" },
    });
    expect((versioned.json as { socials: { platform: string }[] }).socials[0]?.platform).toBe("discord");
  });

  test("ORG-08: seat pricing, once on, stays on; other features keep their value", async () => {
    expect((await patch({ feature_settings: { seat_based_pricing_enabled: true } })).status).toBe(200);
    expect((await patch({ feature_settings: { member_model_enabled: true } })).json).toMatchObject({
      feature_settings: { seat_based_pricing_enabled: true, member_model_enabled: true },
    });
    const off = await patch({ feature_settings: { seat_based_pricing_enabled: false } });
    expect(off.status).toBe(422);
    expect(placesOf(off.json)).toEqual(["body.feature_settings.seat_based_pricing_enabled"]);
  });

  test("what is not set up is refused, not stored", async () => {
    expect((await patch({ sso_enforced: true })).status).toBe(422);
  });

  test("details are kept, dated once, and never shown", async () => {
    const { json } = await patch({ details: { about: "Ice." } });
    const first = (json as { details_submitted_at: string }).details_submitted_at;
    expect(first).not.toBeNull();
    expect(JSON.stringify(json)).not.toContain("Ice.");
    floe.clock.advance(60_000);
    expect((await patch({ details: { intended_use: "Books." } })).json).toMatchObject({ details_submitted_at: first });
    const [row] = await floe.deps.db.select().from(organization).where(eq(organization.id, seller.organization_id));
    expect(row?.details).toEqual({ about: "Ice.", intended_use: "Books." });
  });

  test("ORG-09: every update tells organization.updated, an empty one changes nothing; a refused one tells nothing", async () => {
    const before = await get();
    const told = (await eventsOf(seller.organization_id)).length;
    expect((await patch({})).status).toBe(200);
    expect(await get()).toEqual(before);
    const after = await eventsOf(seller.organization_id);
    expect(after.length).toBe(told + 1);
    expect(after.at(-1)).toMatchObject({ type: "organization.updated", data: { id: seller.organization_id } });
    await patch({ name: "x" });
    expect((await eventsOf(seller.organization_id)).length).toBe(told + 1);
  });
});

test("ORG-05 to ORG-07: blocked, an organization can do nothing any more, and sells nothing through its links", async () => {
  const blocked = await floe.seller("blocked");
  const product = await blocked.client.products.create({ body: { name: "Gift", prices: [{ amount_type: "free" }] } });
  const link = await blocked.client.checkoutLinks.create({ body: { products: [product.id] } as never });
  const [row] = await floe.deps.db
    .update(organization)
    .set({ blocked_at: floe.clock.now() })
    .where(eq(organization.id, blocked.organization_id))
    .returning();
  if (!row) throw new Error("There is no such organization.");
  expect(new Set(Object.values(serializeOrganization(row).capabilities))).toEqual(new Set([false]));
  expect(new Set(Object.values((await get()).capabilities))).toEqual(new Set([true]));
  const asked = await floe.request("GET", "/v1/products/", { token: blocked.key });
  expect([asked.status, asked.json]).toMatchObject([401, { error: "invalid_token" }]);
  const opened = await floe.request("GET", `/buy/${link.client_secret}`);
  expect([opened.status, opened.json]).toMatchObject([403, { error: "NotPermitted" }]);
});
