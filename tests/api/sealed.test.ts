/** What a reader of the database, or of a copy of it, finds of the secrets that went through it. */
import { createCipheriv, hkdfSync, randomBytes } from "node:crypto";
import { and, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resealStoredValues } from "../../server/app/reseal.ts";
import { checkouts } from "../../server/checkout/checkouts/tables.ts";
import { licenseKeys } from "../../server/entitlements/license-keys/tables.ts";
import { resealEndpoints } from "../../server/messaging/webhooks/secrets.ts";
import { webhookEndpoints, webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import { openTokens, sealTokens } from "../../server/platform/crypto/secrets.ts";
import { events, mails, upgrades } from "../../server/platform/db/tables.ts";
import { createToken, drawText } from "../../server/platform/ids.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { linkTo } from "../support/mails.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { rowOf } from "../support/rows.ts";
import { openStream } from "../support/sse.ts";

const secret = "a secret of this server, long enough";

/** A seal as servers made it before seals had a purpose. */
function sealLegacy(server_secret: string, text: string): string {
  const key = Buffer.from(hkdfSync("sha256", server_secret, "", "floe seal v1", 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}
const older = "an older secret of this server, as long";

describe("a text with tokens", () => {
  const tokens = () => [
    createToken("polar_c_"),
    createToken("polar_oat_"),
    createToken("floe_pat_"),
    `pi_${drawText(24)}_secret_${drawText(25)}`,
  ];

  test("is kept without them, and opened as it was, to the letter", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.nat(3)), { maxLength: 8 }), (parts) => {
        const all = tokens();
        // Side by side with letters a token is none: it would be longer.
        const text = JSON.stringify(parts.map((part) => (typeof part === "number" ? all[part] : `${part} `)));
        const kept = sealTokens(secret, "event-tokens", "org", text);
        for (const token of all) expect(kept).not.toContain(token);
        expect(openTokens([older, secret], "event-tokens", "org", kept)).toBe(text);
        expect(JSON.parse(kept)).toHaveLength(parts.length);
      }),
    );
  });

  test("keeps the rest readable: links, ids, and whatever looks like what was sealed", () => {
    const link = createToken("polar_cl_");
    const forged = `{sealed:${"A".repeat(64)}} {sealed:} {sealed:x}`;
    const text = `{"url":"https://a.example/buy/${link}","note":"my_secret_sauce ${forged}","id":"0199"}`;
    const stored = sealTokens(secret, "event-tokens", "org", text);
    expect(stored).toBe(text.replaceAll("{sealed:", "{sealed::"));
    expect(openTokens([secret], "event-tokens", "org", stored)).toBe(text);
    const kept = sealTokens(secret, "event-tokens", "org", createToken("polar_c_"));
    for (const [why, opened] of Object.entries({
      "sealed with a secret that is gone": openTokens([older], "event-tokens", "org", kept),
      "sealed for another purpose": openTokens([secret], "webhook-response", "org", kept),
      "sealed for another row": openTokens([secret], "event-tokens", "other", kept),
    }))
      expect(opened, why).toBe(kept);
    const written = sealTokens(secret, "event-tokens", "org", kept);
    expect(openTokens([secret], "event-tokens", "org", written), "a sealed token that a user writes").toBe(kept);
  });

  test("costs time in proportion to its length, whatever is in it", () => {
    const long = 1_000_000;
    for (const piece of ["a", "_secret_", "polar_", "polar_c_a", "{sealed:", "{sealed:a", "a_secret_a "]) {
      const text = piece.repeat(long / piece.length);
      const before = process.cpuUsage();
      openTokens([secret], "event-tokens", "org", sealTokens(secret, "event-tokens", "org", text));
      expect(process.cpuUsage(before).user / 1000, piece).toBeLessThan(1000);
    }
  });
});

describe("a sale, a mail and their webhooks", () => {
  let floe: Floe;
  let seller: Seller;
  let receiver: Receiver;
  let endpoint: { id: string; secret: string };
  /** What may not be found, by name. */
  const secrets: Record<string, string> = { "idempotency key": "sale to grace@example.com" };
  let checkout: { id: string; client_secret: string };
  let duringChallenge: string[];

  beforeAll(async () => {
    floe = await start({ listen: true });
    [seller, receiver] = [await floe.seller("ada"), await startReceiver()];
    receiver.echo();
    endpoint = await floe.client(seller.key, { "polar-version": "2026-10" }).webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["checkout.created", "checkout.updated", "order.paid"] },
    });
    const { id } = await seller.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const send = async (path: string, body: object, token?: string) => {
      const headers = { "idempotency-key": `${secrets["idempotency key"]} ${drawText(12)}` };
      const answer = await floe.request("POST", path, { body, headers, ...(token ? { token } : {}) });
      expect([path, answer.status]).toEqual([path, answer.status < 300 ? answer.status : 200]);
      return answer.json as Record<string, unknown>;
    };
    checkout = (await send("/v1/checkouts/", { products: [id] }, seller.key)) as typeof checkout;
    const confirmed = await send(`/v1/checkouts/client/${checkout.client_secret}/confirm`, {
      customer_email: "buyer@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_threeDSecure2Required",
    });
    const { intent_client_secret } = confirmed.payment_processor_metadata as { intent_client_secret: string };
    await floe.runJobs();
    // While the buyer is asked, too: the checkout hands it to the page.
    duringChallenge = await tablesWith(intent_client_secret);
    expect(await floe.request("GET", `/v1/checkouts/client/${checkout.client_secret}`)).toMatchObject({
      json: { client_secret: checkout.client_secret, payment_processor_metadata: { intent_client_secret } },
    });
    await send(`/v1/payment-processor/test/intents/${intent_client_secret}/authenticate`, { approved: true });
    await send("/api/auth/request-password-reset", { email: seller.email });
    const reset = await linkTo(floe, seller.email, /password/);
    await floe.runJobs();
    Object.assign(secrets, {
      "client secret": checkout.client_secret,
      "intent's secret": intent_client_secret,
      "signing secret": endpoint.secret,
      "card's token": "pm_card_threeDSecure2Required",
      "reset token": /reset-password\/([^?]+)/.exec(reset)?.[1] ?? "",
      "API key": seller.key,
      session: seller.session,
      password: seller.password,
    });
  });
  afterAll(async () => {
    await receiver?.close();
    await floe?.close();
  });

  async function tablesWith(text: string): Promise<string[]> {
    const listed = await floe.deps.db
      .select({ name: sql<string>`table_schema || '.' || table_name` })
      .from(
        sql`information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE'`,
      );
    const found: string[] = [];
    for (const { name } of listed) {
      const rows = sql.raw(
        name
          .split(".")
          .map((part) => `"${part}"`)
          .join("."),
      );
      if ((await floe.deps.db.$count(sql`${rows} as kept`, sql`position(${text} in kept::text) > 0`)) > 0)
        found.push(name);
    }
    return found.sort();
  }

  test("leave no secret readable in the database", async () => {
    for (const [name, text] of Object.entries(secrets)) expect([name, text.length > 8]).toEqual([name, true]);
    const found = Object.fromEntries(
      await Promise.all(Object.entries(secrets).map(async ([name, text]) => [name, await tablesWith(text)])),
    );
    const nowhere: string[] = [];
    expect(duringChallenge).toEqual(["public.test_intents"]);
    expect(found).toEqual({
      "idempotency key": nowhere,
      "client secret": nowhere,
      // The test processor's own books stand in for a processor far away.
      "intent's secret": ["public.test_intents"],
      "signing secret": nowhere,
      "card's token": nowhere,
      "reset token": nowhere,
      "API key": nowhere,
      session: nowhere,
      password: nowhere,
    });
    expect(await tablesWith(checkout.id), "the search finds what is there").toContain("public.events");
    expect(await tablesWith("public:"), "requests of nobody are kept by a digest of their address").toContain(
      "public.idempotency_keys",
    );
  });

  test("are told to receivers with every token as it is, signed over that", () => {
    const hook = new Webhook(Buffer.from(endpoint.secret).toString("base64"));
    const told = receiver.received.filter(({ json }) => json.type.startsWith("checkout."));
    expect(told.length).toBeGreaterThan(2);
    for (const { headers, body, json } of told) {
      expect(body).not.toContain("{sealed:");
      expect(json.data).toMatchObject({ client_secret: checkout.client_secret });
      expect(json.data.url).toBe(`${floe.url}/checkout/${checkout.client_secret}`);
      hook.verify(body, headers as Record<string, string>);
    }
    expect(told.map(({ body }) => body).join()).toContain(secrets["intent's secret"]);
  });

  test("and to the seller: deliveries as they were sent and answered, found by the rest of their words", async () => {
    const { items } = await seller.client.webhooks.listDeliveries({ query: { query: checkout.id, limit: 100 } });
    const sent = items.map(({ webhook_event }) => webhook_event.payload).sort();
    expect(sent).toEqual(receiver.received.map(({ body }) => body).sort());
    for (const { response } of items) expect(response).not.toContain("{sealed:");
    const headers = { authorization: `Bearer ${seller.key}` };
    const since = encodeURIComponent(new Date(floe.clock.now().getTime() - 60_000).toISOString());
    const stream = await openStream(`${floe.url}/v1/webhooks/listen?replay_since=${since}`, headers);
    const [, ...messages] = await stream.to(({ data }) => (data as { type: string }).type === "order.paid");
    stream.close();
    const bodies = messages.map(({ data }) => (data as { body: string }).body);
    expect(bodies.filter((body) => body.includes(checkout.client_secret)).length).toBeGreaterThan(2);
    expect(bodies.join()).not.toContain("{sealed:");
  });
});

describe("sealed texts that a seller writes into fields of their own, or that an earlier version sealed", () => {
  let floe: Floe;
  let victim: Seller;
  let thief: Seller;
  let receiver: Receiver;
  let endpoint: { id: string; secret: string };
  let checkout: { id: string; client_secret: string };
  beforeAll(async () => {
    floe = await start();
    [victim, thief, receiver] = [await floe.seller("ada"), await floe.seller("mallory"), await startReceiver()];
    receiver.echo();
    const body = { url: receiver.url, format: "raw" as const, events: ["product.created" as const] };
    endpoint = await victim.client.webhooks.createEndpoint({ body });
    await thief.client.webhooks.createEndpoint({ body });
    const { id } = await victim.client.products.create({ body: { name: "Map", prices: [{ amount_type: "free" }] } });
    const made = await floe.request("POST", "/v1/checkouts/", {
      ...{ body: { products: [id] }, token: victim.key },
      headers: { "idempotency-key": "checkout" },
    });
    checkout = made.json as typeof checkout;
    await floe.request("POST", "/api/auth/request-password-reset", { body: { email: victim.email } });
    await rowOf.licenseKeys?.(floe, victim);
    await floe.runJobs();
  });
  afterAll(async () => {
    await receiver?.close();
    await floe?.close();
  });

  /** Each table with single seals, and where the seal is. */
  const places: [table: string, column: string][] = [
    ["mails", "letter"],
    ["webhook_endpoints", "secret"],
    ["license_keys", "key_sealed"],
    ["checkouts", "client_secret"],
    ["idempotency_keys", "body"],
  ];
  const read = async (table: string, column: string) =>
    floe.deps.db
      .select({ value: sql<string>`${sql.identifier(column)}::text` })
      .from(sql`${sql.identifier(table)}`)
      .where(sql`${sql.identifier(column)}::text <> ''`)
      .then((rows) => rows.map(({ value }) => value));
  const deliveriesOf = async (who: Seller) => {
    await floe.runJobs();
    const { items } = await who.client.webhooks.listDeliveries({ query: { limit: 100 } });
    return items.map(({ webhook_event, response }) => `${webhook_event.payload} ${response}`).join("\n");
  };

  test("are shown as they were written, from every column, in deliveries, bodies and answers of receivers", async () => {
    const seals = (await Promise.all(places.map(([table, column]) => read(table, column)))).flat();
    for (const [text] of (await read("events", "data")).join().matchAll(/(?<=\{sealed:)[\w-]{40,}/g)) seals.push(text);
    expect(seals.length).toBeGreaterThan(places.length);
    const description = seals.map((text) => `{sealed:${text}}`).join(" ");
    await thief.client.products.create({ body: { name: "Opened", description, prices: [{ amount_type: "free" }] } });
    const shown = await deliveriesOf(thief);
    expect(shown).toContain(description);
    expect(shown.split(description.slice(0, 1000)), "said back by the receiver, too").toHaveLength(3);
    expect(receiver.received.at(-1)?.body).toContain(description);
    expect(shown).not.toContain("polar_whs_");
  });

  test("are sealed for their purpose by the next start, and open for nobody else", async () => {
    const { db, config } = floe.deps;
    const before = {
      endpoint: await victim.client.webhooks.getEndpoint({ params: { id: endpoint.id } }),
      keys: await victim.client.licenseKeys.list({ query: {} }),
      deliveries: await deliveriesOf(victim),
    };
    expect(before.endpoint.secret).toBe(endpoint.secret);
    const [key] = before.keys.items;
    const legacy = (text: string) => sealLegacy(config.secret, text);
    await db
      .update(webhookEndpoints)
      .set({ secret: legacy(endpoint.secret) })
      .where(eq(webhookEndpoints.id, endpoint.id));
    await db
      .update(licenseKeys)
      .set({ key_sealed: legacy(key?.key ?? "") })
      .where(eq(licenseKeys.id, key?.id ?? ""));
    await db
      .update(checkouts)
      .set({ client_secret: legacy(checkout.client_secret) })
      .where(eq(checkouts.id, checkout.id));
    const [mail] = await db.select().from(mails).where(eq(mails.to, victim.email));
    const letter = legacy(JSON.stringify({ subject: "Reset", paragraphs: ["Words of a reset mail"] }));
    await db
      .update(mails)
      .set({ letter })
      .where(eq(mails.id, mail?.id ?? ""));
    const ofCheckout = and(eq(events.organization_id, victim.organization_id), eq(events.type, "checkout.created"));
    await db
      .update(events)
      .set({ data: { client_secret: `{sealed:${legacy(checkout.client_secret)}}`, note: "{sealed:no" } })
      .where(ofCheckout);
    // What was written into a field by a reader of the database before this version.
    const stolen = [letter, legacy(endpoint.secret), legacy(checkout.client_secret)].map((text) => `{sealed:${text}}`);
    const ofThief = and(eq(events.organization_id, thief.organization_id), eq(events.type, "product.created"));
    await db
      .update(events)
      .set({ data: { description: stolen.join() } })
      .where(ofThief);
    await db
      .update(webhookEvents)
      .set({ payload: stolen.join() })
      .where(eq(webhookEvents.organization_id, thief.organization_id));

    const ask = (method: string, path: string, body?: object) =>
      floe.request(method, `/v1/sandbox/snapshots${path}`, { token: victim.key, ...(body && { body }) });
    expect((await ask("POST", "", { name: "old" })).status).toBe(201);

    const upgrade = async () => {
      await db.delete(upgrades);
      await resealStoredValues(floe.deps);
      return JSON.stringify(
        await Promise.all([...places, ["events", "data"]].map(([table = "", column = ""]) => read(table, column))),
      );
    };
    const first = await upgrade();
    expect(await upgrade(), "a second time changes nothing").toBe(first);
    expect(await victim.client.webhooks.getEndpoint({ params: { id: endpoint.id } })).toEqual(before.endpoint);
    expect((await victim.client.licenseKeys.list({ query: {} })).items[0]?.key).toBe(key?.key);
    expect((await victim.client.checkouts.get({ params: { id: checkout.id } })).client_secret).toBe(
      checkout.client_secret,
    );
    expect(JSON.stringify(await listMails(floe.deps))).toContain("Words of a reset mail");
    const [told] = await db.select().from(events).where(ofCheckout);
    expect(openTokens([config.secret], "event-tokens", victim.organization_id, JSON.stringify(told?.data))).toBe(
      JSON.stringify({ note: "{sealed:no", client_secret: checkout.client_secret }),
    );
    expect(await deliveriesOf(thief)).toContain(stolen.join());
    expect((await ask("POST", "/old/restore")).status).toBe(200);
    expect(await victim.client.webhooks.getEndpoint({ params: { id: endpoint.id } })).toEqual(before.endpoint);
    expect((await victim.client.checkouts.get({ params: { id: checkout.id } })).client_secret).toBe(
      checkout.client_secret,
    );
  });
});

describe("a key that may read and not write", () => {
  let floe: Floe;
  let seller: Seller;
  beforeAll(async () => {
    floe = await start();
    seller = await floe.seller("ada");
  });
  afterAll(() => floe?.close());

  test("sees checkouts, license keys and what was told of them without what opens them", async () => {
    const receiver = await startReceiver();
    try {
      const body = { url: receiver.url, format: "raw" as const, events: ["checkout.created" as const] };
      await seller.client.webhooks.createEndpoint({ body });
      const { id } = await seller.client.products.create({ body: { name: "Map", prices: [{ amount_type: "free" }] } });
      const checkout = await seller.client.checkouts.create({ body: { products: [id] } });
      await rowOf.licenseKeys?.(floe, seller);
      await floe.runJobs();
      const reader = floe.client(await floe.keyOf(seller, ["checkouts:read", "license_keys:read", "webhooks:read"]));
      const [key] = (await seller.client.licenseKeys.list({ query: {} })).items;
      const shown = JSON.stringify([
        await reader.checkouts.list({ query: {} }),
        await reader.checkouts.get({ params: { id: checkout.id } }),
        await reader.licenseKeys.list({ query: {} }),
        await reader.licenseKeys.get({ params: { id: key?.id ?? "" } }),
        await reader.webhooks.listDeliveries({ query: {} }),
      ]);
      expect(shown).toContain(checkout.id);
      expect(shown).toContain(key?.display_key);
      for (const secret of [checkout.client_secret, key?.key ?? "", "{sealed:"]) expect(shown).not.toContain(secret);
      const url = `${floe.deps.config.url}/checkout/********`;
      expect(await reader.checkouts.get({ params: { id: checkout.id } })).toMatchObject({
        url,
        client_secret: "********",
      });
      const writer = floe.client(await floe.keyOf(seller, ["checkouts:write", "license_keys:write", "webhooks:write"]));
      expect((await writer.checkouts.get({ params: { id: checkout.id } })).client_secret).toBe(checkout.client_secret);
      expect((await writer.licenseKeys.get({ params: { id: key?.id ?? "" } })).key).toBe(key?.key);
      expect(JSON.stringify(await writer.webhooks.listDeliveries({ query: {} }))).toContain(checkout.client_secret);
    } finally {
      await receiver.close();
    }
  });

  test("sees no customer in the timeline, mails and snapshots of a sandbox, and restores nothing that it may not write", async () => {
    const { email } = await seller.client.customers.create({ body: { email: "grace@example.com" } });
    const ask = async (method: string, path: string, token: string, body?: object) =>
      floe.request(method, `/v1/sandbox/${path}`, { token, ...(body && { body }) });
    expect((await ask("POST", "snapshots", seller.key, { name: "one" })).status).toBe(201);
    const [reads, writes] = await Promise.all([
      floe.keyOf(seller, ["organizations:read"]),
      floe.keyOf(seller, ["organizations:write"]),
    ]);
    expect((await ask("GET", "clock", seller.key)).text).toContain(email);
    const clock = await ask("GET", "clock", reads);
    expect([clock.status, clock.text]).toEqual([200, expect.not.stringContaining(String(email))]);
    const moved = await ask("POST", "clock", writes, { by: "1day" });
    expect([moved.status, (moved.json as { timeline: object[] }).timeline]).toEqual([200, []]);
    for (const [method, path, token] of [
      ["GET", "mails", reads],
      ["GET", "snapshots/one/diff", reads],
      ["POST", "snapshots/one/restore", writes],
    ] as const) {
      const { status, json } = await ask(method, path, token);
      expect([path, status, (json as { error: string }).error]).toEqual([path, 403, "insufficient_scope"]);
      expect((await ask(method, path, seller.key)).status).toBe(200);
    }
  });
});

describe("an endpoint's secret", () => {
  let floe: Floe;
  let seller: Seller;
  let receiver: Receiver;
  beforeAll(async () => {
    floe = await start({ settings: { FLOE_SECRET: secret } });
    [seller, receiver] = [await floe.seller("eve"), await startReceiver()];
  });
  afterAll(async () => {
    await receiver?.close();
    await floe?.close();
  });
  const under = (current: string, ...before: string[]) => ({
    ...floe.deps,
    config: { ...floe.deps.config, secret: current, secrets: [current, ...before] },
  });
  const kept = async (id: string) =>
    (await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)))[0]?.secret;

  test("is sealed anew when the server's secret changes; one that nothing opens is none, and nothing is sent unsigned", async () => {
    const body = { url: receiver.url, format: "raw" as const, events: ["product.created" as const] };
    const given = "a signing secret of the seller's own choice";
    const made = await seller.client.webhooks.createEndpoint({ body: { ...body, secret: given } });
    const other = await seller.client.webhooks.createEndpoint({ body });
    expect([made.secret, other.secret]).toEqual([given, expect.stringMatching(/^polar_whs_\w{43}$/)]);
    const params = { id: made.id };
    const before = await kept(made.id);
    await resealEndpoints(under(secret));
    expect(await kept(made.id)).toBe(before);
    await resealEndpoints(under(older, secret));
    expect(await kept(made.id)).not.toBe(before);
    expect((await seller.client.webhooks.getEndpoint({ params })).secret, "only the other secret opens it").toBe("");
    await seller.client.products.create({ body: { name: "Map", prices: [{ amount_type: "free" }] } });
    await floe.runJobs();
    expect(receiver.received).toEqual([]);
    expect(floe.logged.join()).toContain("was sealed with a FLOE_SECRET that is gone. Reset it.");
    await resealEndpoints(under(secret, older));
    expect((await seller.client.webhooks.getEndpoint({ params })).secret).toBe(given);
    floe.clock.advance(10_000);
    await floe.runJobs();
    const hooks = [given, other.secret].map((text) => new Webhook(Buffer.from(text).toString("base64")));
    expect(receiver.received).toHaveLength(2);
    for (const { body, headers } of receiver.received)
      expect(
        hooks.filter((hook) => {
          try {
            return hook.verify(body, headers as Record<string, string>);
          } catch {
            return false;
          }
        }),
      ).toHaveLength(1);
    const { secret: another } = await seller.client.webhooks.resetSecret({ params, query: {} });
    expect(another).toMatch(/^polar_whs_\w{43}$/);
    expect(await kept(made.id)).not.toContain(another);
    const changed = await seller.client.webhooks.updateEndpoint({ params, body: { secret: given } });
    expect([changed.secret, await kept(made.id)]).toEqual([given, expect.not.stringContaining(given)]);
  });
});
