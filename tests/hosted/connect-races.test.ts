import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PolarConnectionError } from "../../server/hosted/connection/ask.ts";
import { connectEndpoint } from "../../server/hosted/connection/endpoint.ts";
import { getLeaseMs, withLease } from "../../server/hosted/connection/lease.ts";
import { polarConnections, polarLeases } from "../../server/hosted/connection/tables.ts";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { type Fault, type HostedPair, type Recorded, startHosted } from "../support/hosted.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** `floe polar connect` by several processes of one database at once, and by one that is killed in the middle. */

const url = "http://127.0.0.1:4990/v1/integrations/polar/webhook";
let pair: HostedPair;
let databaseUrl: string;
/** A second server on the same database. */
let other: Floe;
const getSettings = () => ({
  ...{ FLOE_BILLING: "polar", POLAR_URL: pair.proxy.url, POLAR_ACCESS_TOKEN: pair.polarSeller.key },
  POLAR_TIMEOUT_MS: "2000",
});
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  pair = await startHosted({ databaseUrl, settings: { POLAR_TIMEOUT_MS: "2000" } });
  other = await start({ databaseUrl, settings: getSettings() });
});
afterAll(async () => {
  await other.close();
  await pair.close();
});
beforeEach(async () => {
  pair.proxy.setFault(undefined);
  pair.proxy.recorded.length = 0;
  for (const table of [polarConnections, polarLeases]) await pair.floe.deps.db.delete(table);
  await pair.polar.deps.db.delete(webhookEndpoints);
});

/** What `floe polar connect --url http://127.0.0.1:4990` runs. */
const program = `import { runPolarWork } from "./server/app/operator-polar.ts";
await runPolarWork("connect", { given: process.env, input: { origin: "http://127.0.0.1:4990" } });`;
const connect = ({ deps, hosted }: Floe) => {
  if (!hosted) throw new Error("The server is not in hosted mode.");
  return connectEndpoint(deps, hosted, url);
};
const listEndpoints = async () =>
  (await pair.polarSeller.client.webhooks.listEndpoints({ query: {} })).items.filter((one) => one.url === url);
const isCreation = ({ method, url: path }: Recorded) => method === "POST" && path.startsWith("/v1/webhooks/endpoints");
const handOn = ({ url: path, method, headers, body }: Recorded) => {
  const { host: _, connection: __, ...sent } = headers as Record<string, string>;
  return fetch(`${pair.polar.url}${path}`, { method, headers: sent, body: new Uint8Array(body) });
};
/** Polar takes its time to make an endpoint. */
const delayCreation: Fault = (request, response) => {
  if (!isCreation(request)) return false;
  setTimeout(async () => {
    const answer = await handOn(request);
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  }, 500);
  return true;
};

test("WHK-45: ten connects of two servers at once make one endpoint, and each ends with it", async () => {
  pair.proxy.setFault(delayCreation);
  const servers = [pair.floe, other];
  const made = await Promise.all(Array.from({ length: 10 }, (_, at) => connect(servers[at % 2] ?? other)));
  expect(pair.proxy.recorded.filter(isCreation)).toHaveLength(1);
  const [endpoint, ...more] = await listEndpoints();
  expect(more).toEqual([]);
  expect(made.map(({ outcome }) => outcome).sort()).toEqual(["created", ...Array<string>(9).fill("unchanged")]);
  expect(new Set(made.map(({ endpoint_id }) => endpoint_id))).toEqual(new Set([endpoint?.id]));
  expect(await pair.floe.deps.db.select().from(polarLeases)).toEqual([]);
}, 60_000);

test("a process that is killed while Polar makes the endpoint holds up the next one for a lease, and it is found", async () => {
  const killed = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      ...getSettings(),
      ...{ DATABASE_URL: databaseUrl, FLOE_SECRET: "a secret for tests, long enough to be one" },
    },
  });
  const ended = once(killed, "exit");
  pair.proxy.setFault((request) => {
    if (!isCreation(request)) return false;
    void handOn(request).then(() => killed.kill("SIGKILL"));
    return true;
  });
  const [, signal] = await ended;
  expect(signal).toBe("SIGKILL");
  pair.proxy.setFault(undefined);
  const { organization_id } = pair.seller;
  await expect(withLease(other.deps, organization_id, 0, async () => {})).rejects.toThrow("Another process");
  expect(await listEndpoints()).toHaveLength(1);
  const waiting = connect(other);
  // The killed process went by the time of this machine, and the servers of tests have clocks of their own.
  const [lease] = await other.deps.db.select().from(polarLeases);
  const leftMs = Number(lease?.leased_until.getTime()) - other.clock.now().getTime();
  expect(Number(lease?.leased_until.getTime()) - Date.now()).toBeLessThanOrEqual(getLeaseMs(other.deps));
  for (const { clock } of [pair.floe, other]) clock.advance(leftMs + 1000);
  expect((await waiting).outcome).toBe("repaired");
  expect(await listEndpoints()).toHaveLength(1);
  expect(pair.proxy.recorded.filter(isCreation)).toHaveLength(1);
}, 60_000);

test("a process whose lease was taken over writes nothing, and says so", async () => {
  const { organization_id } = pair.seller;
  const written: string[] = [];
  const { promise: isHeld, resolve: noteHeld } = Promise.withResolvers<void>();
  const { promise: isTaken, resolve: take } = Promise.withResolvers<void>();
  const slow = withLease(pair.floe.deps, organization_id, 0, async (lease) => {
    noteHeld();
    await isTaken;
    await expect(lease.extend()).rejects.toThrow(PolarConnectionError);
    await lease.finish(async () => void written.push("slow"));
  });
  await isHeld;
  await expect(withLease(other.deps, organization_id, 0, async () => {})).rejects.toThrow("Another process");
  other.clock.advance(getLeaseMs(other.deps) + 1000);
  await withLease(other.deps, organization_id, 0, async (lease) => {
    take();
    await expect(slow).rejects.toThrow("another process took over");
    await lease.finish(async () => void written.push("fast"));
  });
  expect(written).toEqual(["fast"]);
  expect(await pair.floe.deps.db.select().from(polarLeases)).toEqual([]);
});
