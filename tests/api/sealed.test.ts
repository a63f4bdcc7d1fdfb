/** What a reader of the database, or of a copy of it, finds of the secrets that went through it. */
import { eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createToken, drawText } from "../../server/lib/ids.ts";
import { openTokens, sealTokens } from "../../server/lib/secrets.ts";
import { resealEndpoints } from "../../server/webhooks/jobs.ts";
import { webhookEndpoints } from "../../server/webhooks/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { linkTo } from "../support/mails.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { openStream } from "../support/sse.ts";

const secret = "a secret of this server, long enough";
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
        const kept = sealTokens(secret, text);
        for (const token of all) expect(kept).not.toContain(token);
        expect(openTokens([older, secret], kept)).toBe(text);
        expect(JSON.parse(kept)).toHaveLength(parts.length);
      }),
    );
  });

  test("keeps the rest readable: links, ids, and whatever looks like what was sealed", () => {
    const link = createToken("polar_cl_");
    const forged = `{sealed:${"A".repeat(64)}} {sealed:} {sealed:x}`;
    const text = `{"url":"https://a.example/buy/${link}","note":"my_secret_sauce ${forged}","id":"0199"}`;
    expect(sealTokens(secret, text)).toBe(text);
    expect(openTokens([secret], text)).toBe(text);
    expect(openTokens([older], sealTokens(secret, "polar_c_x"))).toBe("polar_c_x");
    const kept = sealTokens(secret, createToken("polar_c_"));
    expect(openTokens([older], kept), "sealed with a secret that is gone").toBe(kept);
  });

  test("costs time in proportion to its length, whatever is in it", () => {
    const long = 1_000_000;
    for (const piece of ["a", "_secret_", "polar_", "polar_c_a", "{sealed:", "{sealed:a", "a_secret_a "]) {
      const text = piece.repeat(long / piece.length);
      const before = process.cpuUsage();
      openTokens([secret], sealTokens(secret, text));
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
  const secrets: Record<string, string> = {};
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
      const headers = { "idempotency-key": drawText(12) };
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
    const { secret: another } = await seller.client.webhooks.resetSecret({ params });
    expect(another).toMatch(/^polar_whs_\w{43}$/);
    expect(await kept(made.id)).not.toContain(another);
    const changed = await seller.client.webhooks.updateEndpoint({ params, body: { secret: given } });
    expect([changed.secret, await kept(made.id)]).toEqual([given, expect.not.stringContaining(given)]);
  });
});
