import { eq } from "drizzle-orm";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { organization } from "../../server/identity/organizations/tables.ts";
import { resealEndpoints } from "../../server/messaging/webhooks/secrets.ts";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Received, type Receiver, startReceiver } from "../support/receiver.ts";

/** A replaced signing secret stays valid for the time that the seller chooses (WHK-47). */

const hourMs = 60 * 60_000;
let floe: Floe;
let seller: Seller;
let receiver: Receiver;
let params: { id: string };
let first: string;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  receiver = await startReceiver();
  const body = { url: receiver.url, format: "raw" as const, events: ["product.created" as const] };
  const made = await seller.client.webhooks.createEndpoint({ body });
  expect(made.previous_secret_expires_at).toBeNull();
  params = { id: made.id };
  first = made.secret;
});
afterEach(() => receiver.close());

const reset = (overlap?: string) =>
  seller.client.webhooks.resetSecret({ params, query: overlap === undefined ? {} : { overlap } });
const get = () => seller.client.webhooks.getEndpoint({ params });
async function send(): Promise<Received> {
  await seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } });
  await floe.runJobs();
  return receiver.received.at(-1) as Received;
}
function isAccepted({ body, headers }: Received, secret: string): boolean {
  // The library's verification compares the time with the machine's clock, which is not the server's here.
  const timestamp = new Date(Number(headers["webhook-timestamp"]) * 1000);
  const signed = new Webhook(Buffer.from(secret).toString("base64")).sign(
    String(headers["webhook-id"]),
    timestamp,
    body,
  );
  return String(headers["webhook-signature"]).split(" ").includes(signed);
}

test("without an overlap the old secret ends at once", async () => {
  const { secret, previous_secret_expires_at } = await reset();
  expect(previous_secret_expires_at).toBeNull();
  const sent = await send();
  expect([isAccepted(sent, secret), isAccepted(sent, first)]).toEqual([true, false]);
  expect(sent.headers["webhook-signature"]).toMatch(/^v1,\S+$/);
});

test("with an overlap events have both signatures, the new one first, until the time by the server's clock", async () => {
  const { secret, previous_secret_expires_at } = await reset("24h");
  expect(previous_secret_expires_at?.getTime()).toBe(floe.clock.now().getTime() + 24 * hourMs);
  const sent = await send();
  expect([isAccepted(sent, secret), isAccepted(sent, first)]).toEqual([true, true]);
  expect(String(sent.headers["webhook-signature"])).toMatch(/^v1,\S+ v1,\S+$/);
  // The seller's own clock is no matter.
  const move = (clock_offset_ms: number) =>
    floe.deps.db.update(organization).set({ clock_offset_ms }).where(eq(organization.id, seller.organization_id));
  await move(100 * 24 * hourMs);
  expect(isAccepted(await send(), first)).toBe(true);
  await move(0);
  floe.clock.advance(24 * hourMs - 1000);
  expect(isAccepted(await send(), first)).toBe(true);
  floe.clock.advance(1000);
  const last = await send();
  expect([isAccepted(last, secret), isAccepted(last, first)]).toEqual([true, false]);
  expect((await get()).previous_secret_expires_at).toBeNull();
});

test("several rotations keep several secrets, at most four, and a reset without an overlap ends them all", async () => {
  const secrets = [first];
  for (const overlap of ["30m", "2h", "7d", "30d"]) secrets.unshift((await reset(overlap)).secret);
  const sent = await send();
  expect(secrets.map((secret) => isAccepted(sent, secret))).toEqual(secrets.map(() => true));
  await expect(reset("1h")).rejects.toMatchObject({ status: 422 });
  expect((await get()).secret).toBe(secrets[0]);
  floe.clock.advance(hourMs);
  const next = (await reset("1h")).secret;
  expect(isAccepted(await send(), first)).toBe(false);
  const alone = (await reset()).secret;
  const last = await send();
  expect([alone, next, ...secrets].map((secret) => isAccepted(last, secret)).filter(Boolean)).toEqual([true]);
});

test("a secret of the seller's own ends all others at once", async () => {
  await reset("1h");
  const own = "my own secret of at least thirty-two characters";
  const changed = await seller.client.webhooks.updateEndpoint({ params, body: { secret: own } });
  expect(changed.previous_secret_expires_at).toBeNull();
  const sent = await send();
  expect([isAccepted(sent, own), isAccepted(sent, first)]).toEqual([true, false]);
});

test.each(["0", "0h", "-1h", "1.5h", "31d", "721h", "99999d", "1w", "24", "soon", ""])(
  "an overlap of %j is refused and changes nothing",
  async (overlap) => {
    await expect(reset(overlap)).rejects.toMatchObject({ status: 422 });
    expect((await get()).secret).toBe(first);
  },
);

test("replaced secrets are sealed, are resealed with the server's next secret, and are never shown", async () => {
  await reset("1h");
  const read = async () =>
    (await floe.deps.db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, params.id)))[0];
  const before = await read();
  expect(JSON.stringify(before)).not.toContain(first);
  const path = `/v1/webhooks/endpoints/${params.id}`;
  expect((await floe.request("GET", path, { token: seller.key })).text).not.toContain(first);
  const next = "another secret of this server, long enough";
  const { config } = floe.deps;
  await resealEndpoints({ ...floe.deps, config: { ...config, secret: next, secrets: [next, config.secret] } });
  const after = await read();
  expect(after?.previous_secrets[0]?.secret).not.toBe(before?.previous_secrets[0]?.secret);
  await resealEndpoints({ ...floe.deps, config: { ...config, secrets: [config.secret, next] } });
  expect(isAccepted(await send(), first)).toBe(true);
});

test("another seller's endpoint is a 404", async () => {
  const other = await floe.seller("other");
  const query = { overlap: "1h" };
  await expect(other.client.webhooks.resetSecret({ params, query })).rejects.toMatchObject({ status: 404 });
  expect((await get()).secret).toBe(first);
});
