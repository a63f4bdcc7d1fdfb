/**
 * One seller who floods the server with events, and another who sells: how long a sale of the other takes while nothing else is
 * asked, and while as many connections of the busy one as a server has send batches without a pause. Quiet and busy stretches
 * take turns; of each the best 99th percentile counts. Beyond what is promised the exit code is 1.
 *
 *   node bench/busy-meter.mjs [sales] [connections] [rounds]     needs Node 24, as it reads TypeScript
 */
import { Agent, request } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const ratioMax = 2;
const batchSize = 500;
const [sales = 60, connections = 8, rounds = 3] = process.argv.slice(2).map(Number);

/** In a thread of its own: batches by so many connections for as long as it is told to, and how many events were taken. */
function flood() {
  const { url, key } = workerData;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let [isOn, sent, taken] = [false, 0, 0];
  const send = () =>
    new Promise((resolve, reject) => {
      sent += 1;
      const events = Array.from({ length: batchSize }, (_, n) => ({
        name: "completion",
        external_customer_id: `user-${n % 50}`,
        external_id: `flood-${sent}-${n}`,
        metadata: { tokens: n },
      }));
      const body = JSON.stringify({ events });
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const out = request(`${url}/v1/events/ingest`, { method: "POST", agent, headers }, (answer) => {
        if (answer.statusCode === 200) taken += batchSize;
        answer.resume().on("end", resolve);
      });
      out.on("error", reject);
      out.end(body);
    });
  parentPort.on("message", async (wanted) => {
    isOn = wanted;
    if (!isOn) return;
    taken = 0;
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (isOn) await send();
      }),
    );
    parentPort.postMessage(taken);
  });
}

async function measure() {
  const { start } = await import("../tests/support/floe.ts");
  const { startPostgres } = await import("../tests/support/postgres.ts");
  const postgres = await startPostgres();
  let failed = false;
  try {
    const floe = await start({ databaseUrl: postgres.url, listen: true, realTime: true });
    const busy = await floe.seller("busy");
    for (let n = 0; n < 50; n += 1)
      await busy.client.customers.create({ body: { email: `user-${n}@example.com`, external_id: `user-${n}` } });
    for (const aggregation of [{ func: "sum", property: "tokens" }, { func: "count" }])
      await busy.client.meters.create({
        body: { name: "Tokens", filter: { conjunction: "and", clauses: [] }, aggregation },
      });
    const other = await floe.seller("other");
    const { id: product } = await other.client.products.create({
      body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
    });
    const flooding = new Worker(new URL(import.meta.url), {
      argv: process.argv.slice(2),
      workerData: { url: floe.url, key: busy.key },
    });
    const sell = async (email) => {
      const { client_secret } = await other.client.checkouts.create({ body: { products: [product] } });
      const began = performance.now();
      const paid = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
        body: {
          customer_email: email,
          customer_billing_address: { country: "FR" },
          confirmation_token_id: "pm_card_visa",
        },
      });
      if (paid.status !== 200) throw new Error(paid.text);
      return performance.now() - began;
    };
    const p99 = async () => {
      const times = [];
      for (let n = 0; n < sales; n += 1) times.push(await sell(`buyer-${n % 50}@example.com`));
      return times.sort((a, b) => a - b)[Math.ceil(0.99 * times.length) - 1];
    };
    await p99();
    const took = { quiet: [], busy: [] };
    let events = 0;
    for (let round = 0; round < rounds; round += 1) {
      took.quiet.push(await p99());
      const ended = new Promise((resolve) => flooding.once("message", resolve));
      const began = performance.now();
      flooding.postMessage(true);
      await new Promise((resolve) => setTimeout(resolve, 500));
      took.busy.push(await p99());
      flooding.postMessage(false);
      const taken = await ended;
      events += taken;
      console.log(
        `  a sale: p99 ${took.quiet.at(-1).toFixed(0)} ms alone, ${took.busy.at(-1).toFixed(0)} ms beside ${Math.round((taken * 1000) / (performance.now() - began))} events a second`,
      );
    }
    await flooding.terminate();
    if (events === 0) throw new Error(`Nothing was in the way.\n${floe.logged.slice(-3).join("\n")}`);
    const ratio = Math.min(...took.busy) / Math.min(...took.quiet);
    failed = ratio > ratioMax;
    console.log(
      `a sale beside a flood of events: ratio of p99 ${ratio.toFixed(2)}, ${failed ? "NOT " : ""}within ${ratioMax}`,
    );
    await floe.close();
  } finally {
    await postgres.stop();
  }
  process.exit(failed ? 1 : 0);
}

if (isMainThread) await measure();
else flood();
