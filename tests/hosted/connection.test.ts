import { setTimeout as sleep } from "node:timers/promises";
import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { polarConnections, polarRefusals } from "../../server/hosted/connection/tables.ts";
import { incomingEvents } from "../../server/hosted/events/tables.ts";
import { polarObjects } from "../../server/hosted/mirror/tables.ts";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { eventTypes } from "../../shared/event-types.ts";
import { floe as runCommand } from "../cli/support.ts";
import { answerWith, type Fault, type HostedPair, startHosted } from "../support/hosted.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** `floe polar connect` and `status`, run beside a server on PostgreSQL: its events arrive, and it notices when they stop. */

const path = "/v1/integrations/polar/webhook";
let pair: HostedPair;
let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  pair = await startHosted({ databaseUrl, listen: true });
});
afterAll(() => pair.close());
beforeEach(async () => {
  pair.proxy.setFault(undefined);
  const settings = {
    ...{ DATABASE_URL: databaseUrl, FLOE_BILLING: "polar", POLAR_URL: pair.proxy.url, FLOE_URL: pair.floe.url },
    ...{ POLAR_ACCESS_TOKEN: pair.polarSeller.key, FLOE_SECRET: "a secret for tests, long enough to be one" },
  };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  await pair.floe.deps.db.delete(polarConnections);
  await pair.floe.deps.db.delete(incomingEvents);
  await pair.polar.deps.db.delete(webhookEndpoints);
  pair.proxy.recorded.length = 0;
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const connect = (...more: string[]) => runCommand(["polar", "connect", "--json", ...more]);
const readStatus = async () => JSON.parse((await runCommand(["polar", "status", "--json"])).out);
const listEndpoints = async () => {
  const client = pair.polar.client(pair.polarSeller.key, { "polar-version": "2026-10" });
  return (await client.webhooks.listEndpoints({ query: {} })).items;
};
/** An hour passes, and what is due is done. */
async function passHour(): Promise<void> {
  for (const { clock } of [pair.polar, pair.floe]) clock.advance(60 * 60_000 + 1000);
  await pair.floe.runJobs();
}
const findConnection = async () => {
  const rows = await pair.floe.deps.db.select().from(polarConnections);
  expect(rows).toHaveLength(1);
  return rows[0];
};
/** Something happens at Polar, and its events are sent and applied. */
async function sell(name: string): Promise<boolean> {
  // However many deliveries are refused, the server looks for a new secret once a second.
  await sleep(1100);
  const made = await pair.polarSeller.client.products.create({ body: { name, prices: [{ amount_type: "free" }] } });
  await pair.polar.runJobs();
  await pair.floe.runJobs();
  const rows = await pair.floe.deps.db.select().from(polarObjects).where(eq(polarObjects.id, made.id));
  return rows.some(({ via }) => via === "event");
}
/** Hand a request on, and lose its answer. */
const loseAnswer =
  (method: string, part: string): Fault =>
  (request, response) => {
    if (request.method !== method || !request.url.includes(part)) return false;
    const { host: _, connection: __, ...headers } = request.headers as Record<string, string>;
    void fetch(`${pair.polar.url}${request.url}`, { method, headers, body: new Uint8Array(request.body) }).then(() =>
      response.destroy(),
    );
    return true;
  };

describe("floe polar connect", () => {
  test("WHK-45: makes one endpoint with every event, keeps its secret sealed, and events arrive at once", async () => {
    expect((await pair.floe.request("POST", path, { body: "{}" })).status).toBe(404);
    const made = await connect();
    expect([made.code, made.err]).toEqual([0, ""]);
    const [endpoint, ...more] = await listEndpoints();
    expect([endpoint, more]).toMatchObject([
      { url: `${pair.floe.url}${path}`, format: "raw", enabled: true, name: "floe" },
      [],
    ]);
    expect(endpoint?.events.toSorted()).toEqual(eventTypes.filter((type) => type !== "subscription.migrated").sort());
    expect(JSON.parse(made.out)).toMatchObject({ outcome: "created", endpoint_id: endpoint?.id, duplicates: [] });
    const stored = await findConnection();
    expect(JSON.stringify(stored)).not.toContain(endpoint?.secret);
    // The server had looked for a secret before, and is told nothing: it reads the new one by itself.
    expect(await sell("Heard")).toBe(true);
    const [event] = await pair.floe.deps.db.select().from(incomingEvents);
    expect(event?.secret_index).toBe(-1);

    const again = await connect();
    expect([again.code, JSON.parse(again.out).outcome]).toEqual([0, "unchanged"]);
    expect(await listEndpoints()).toHaveLength(1);
    expect((await findConnection())?.connected_at).toEqual(stored?.connected_at);
    for (const shown of [made, again]) expect(shown.out + shown.err).not.toContain(endpoint?.secret);
    expect(pair.floe.logged.join("\n")).not.toContain(endpoint?.secret);
  });

  test("repairs what differs: switched off, types of events left out, another secret, another address", async () => {
    await connect();
    const [endpoint] = await listEndpoints();
    const params = { id: String(endpoint?.id) };
    const { updateEndpoint } = pair.polarSeller.client.webhooks;
    await updateEndpoint({ params, body: { enabled: false, events: ["order.paid"], format: "slack" } });
    await pair.polarSeller.client.webhooks.resetSecret({ params, query: {} });
    expect(JSON.parse((await connect()).out)).toMatchObject({ outcome: "repaired", endpoint_id: params.id });
    const [repaired, ...more] = await listEndpoints();
    expect([repaired?.enabled, repaired?.format, repaired?.events.length, more]).toEqual([true, "raw", 41, []]);
    expect(await sell("Heard after a repair")).toBe(true);
    // The server moved: the same endpoint gets the new address.
    const moved = await connect("--url", "http://127.0.0.1:4999");
    expect(JSON.parse(moved.out)).toMatchObject({ outcome: "repaired", endpoint_id: params.id });
    expect((await listEndpoints()).map(({ url }) => url)).toEqual([`http://127.0.0.1:4999${path}`]);
  });

  test("goes on where it ended: the answer to the creation or to the repair was lost", async () => {
    pair.proxy.setFault(loseAnswer("POST", "/v1/webhooks/endpoints"));
    const lost = await connect();
    expect([lost.code, lost.err]).toEqual([1, expect.stringContaining("could not be asked")]);
    expect(await pair.floe.deps.db.select().from(polarConnections)).toEqual([]);
    pair.proxy.setFault(undefined);
    expect(JSON.parse((await connect()).out)).toMatchObject({ outcome: "repaired" });
    const [endpoint, ...more] = await listEndpoints();
    expect(more).toEqual([]);
    const params = { id: String(endpoint?.id) };
    await pair.polarSeller.client.webhooks.updateEndpoint({ params, body: { enabled: false } });
    pair.proxy.setFault(loseAnswer("PATCH", "/v1/webhooks/endpoints"));
    expect((await connect()).code).toBe(1);
    pair.proxy.setFault(undefined);
    expect((await connect()).code).toBe(0);
    expect(await sell("Heard at last")).toBe(true);
  });

  test("says what is wrong: settings, token, organization, an address that Polar cannot reach, two endpoints", async () => {
    const expectFault = async (text: string, ...more: string[]) => {
      const { code, err } = await connect(...more);
      expect([code, err]).toEqual([code === 64 ? 64 : 1, expect.stringContaining(text)]);
    };
    await expectFault("There is no organization nobody", "--organization", "nobody");
    await expectFault("linked with", "--organization", pair.outside.organization_id);
    await expectFault("--url is an address", "--url", "shop.example.com");
    vi.stubEnv("POLAR_ACCESS_TOKEN", "polar_oat_wrong");
    await expectFault("Polar refuses POLAR_ACCESS_TOKEN");
    const { key, organization_id } = pair.polarSeller;
    vi.stubEnv("POLAR_ACCESS_TOKEN", await pair.polar.keyOf(pair.polarSeller, ["organizations:read", "webhooks:read"]));
    await expectFault("(403)");
    vi.stubEnv("POLAR_ACCESS_TOKEN", key);
    vi.stubEnv("FLOE_BILLING", "embedded");
    await expectFault("set FLOE_BILLING=polar");
    vi.stubEnv("FLOE_BILLING", "polar");
    vi.stubEnv("POLAR_URL", "");
    vi.stubEnv("POLAR_ORGANIZATION", organization_id);
    await expectFault("Polar cannot reach http");
    vi.stubEnv("POLAR_URL", pair.proxy.url);
    const body = { url: `${pair.floe.url}${path}`, events: ["order.paid" as const], format: "raw" as const };
    const [one, two] = [
      await pair.polarSeller.client.webhooks.createEndpoint({ body }),
      await pair.polarSeller.client.webhooks.createEndpoint({ body }),
    ];
    const { endpoint_id, duplicates } = JSON.parse((await connect()).out);
    expect([endpoint_id, ...duplicates].sort()).toEqual([one.id, two.id].sort());
  });
});

describe("the connection", () => {
  test("is looked at once an hour: switched off at Polar, it is switched on and the gap is read; deleted, it is not made", async () => {
    await connect();
    const [endpoint] = await listEndpoints();
    const params = { id: String(endpoint?.id) };
    await pair.floe.deps.db.update(polarConnections).set({ due_at: pair.floe.clock.now() });
    await pair.floe.runJobs();
    await pair.polarSeller.client.webhooks.updateEndpoint({ params, body: { enabled: false } });
    const missed = await pair.polarSeller.client.products.create({
      body: { name: "Missed", prices: [{ amount_type: "free" }] },
    });
    await pair.polar.runJobs();
    const find = async () =>
      (await pair.floe.deps.db.select().from(polarObjects).where(eq(polarObjects.id, missed.id)))[0];
    await pair.floe.runJobs();
    expect([(await listEndpoints())[0]?.enabled, await find()]).toEqual([false, undefined]);
    await passHour();
    expect((await listEndpoints())[0]?.enabled).toBe(true);
    expect(await find()).toMatchObject({ via: "sync", data: { name: "Missed" } });

    await pair.polarSeller.client.webhooks.deleteEndpoint({ params });
    await passHour();
    expect(await listEndpoints()).toEqual([]);
    expect((await findConnection())?.fault).toContain("deleted at Polar");
    const { endpoint: shown } = await readStatus();
    expect(shown).toMatchObject({ fault: expect.stringContaining("floe polar connect"), enabled: false });
    // Polar that cannot be asked is no failed job: the check is repeated by itself.
    pair.proxy.setFault(answerWith(503, "{}"));
    await passHour();
    expect(pair.floe.logged.join("\n")).toContain("it is tried again");
  }, 60_000);

  test("floe polar status shows the last event, what waits, and what was refused for which reason", async () => {
    await connect();
    expect(await sell("Shown")).toBe(true);
    await pair.floe.deps.db.delete(polarRefusals);
    const refuse = (headers: Record<string, string>) => pair.floe.request("POST", path, { body: "{}", headers });
    const now = String(Math.floor(pair.floe.clock.now().getTime() / 1000));
    const headers = { "webhook-id": "a", "webhook-timestamp": now, "webhook-signature": "v1,AAAA" };
    for (let count = 0; count < 3; count++) expect((await refuse(headers)).status).toBe(403);
    expect((await refuse({})).status).toBe(400);
    await pair.floe.hosted?.refusals.flush();
    const status = await readStatus();
    expect(status).toMatchObject({
      token: "accepted",
      breaker: "closed",
      endpoint: { enabled: true, missing_events: [], fault: null },
      last_event: { type: expect.any(String), lag_seconds: expect.any(Number), secret: "that of floe polar connect" },
      waiting: { count: 0, oldest_at: null },
    });
    expect(status.refused.map(({ reason, count }: { reason: string; count: number }) => [reason, count])).toEqual([
      ["headers", 1],
      ["signature", 3],
    ]);
    expect(status.mirror.product).toBeGreaterThan(0);
    const shown = await runCommand(["polar", "status"], { tty: true, columns: 120 });
    const text = shown.leafed[0]?.text ?? shown.out;
    for (const part of ["endpoint at Polar", "on: http", "ago", "signature"]) expect(text).toContain(part);
  });
});
