/** The drills of docs/operating.md: each breaks something in real processes, and says whether each promise held. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { replaceDatabaseSecret } from "../../server/app/operator-restore.ts";
import { readEndpoints, readServerStatus } from "../../server/app/operator-status.ts";
import {
  ask,
  type Closing,
  checkBooks,
  countOrders,
  type Drill,
  openShop,
  prepareSeller,
  promise,
  readMetric,
  type Say,
  sell,
  serve,
  stop,
} from "./drill-shop.ts";
import { eventually } from "./eventually.ts";
import { fullDisk, restore } from "./more-drills.ts";
import { pointInTime } from "./point-in-time-drill.ts";
import { startPostgres } from "./postgres.ts";
import { openStallingProxy } from "./stalling-proxy.ts";

/** Run work for each tick until it is stopped. */
function repeat(everyMs: number, work: () => Promise<unknown>) {
  const open = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    const one: Promise<unknown> = work().finally(() => open.delete(one));
    open.add(one);
  }, everyMs);
  return async () => {
    clearInterval(timer);
    await Promise.all(open);
  };
}

const failOver: Drill = {
  about: "all connections to the database fall silent, as after a fail-over that nobody tells; new ones work",
  async run(say, closing, database) {
    const databaseUrl = await database();
    const shop = await openShop({ databaseUrl });
    closing.push(() => shop.close());
    const seller = await prepareSeller(databaseUrl);
    const proxy = await openStallingProxy(databaseUrl);
    closing.push(() => proxy.close());
    const server = await serve({ ...shop.env, DATABASE_URL: proxy.url });
    closing.push(() => server.child.kill("SIGKILL"));
    for (let at = 0; at < 3; at += 1) await sell(server, seller);
    let [longestMs, failed, unanswered, lastFailure] = [0, 0, 0, 0];
    const began = performance.now();
    const halt = repeat(200, async () => {
      const answer = await ask(server.url, "GET", "/v1/products/", { token: seller.seller.key }).catch(() => undefined);
      if (!answer) unanswered += 1;
      longestMs = Math.max(longestMs, answer?.ms ?? 30_000);
      if (answer?.status === 200) return;
      failed += 1;
      lastFailure = performance.now() - began;
    });
    proxy.silence();
    say("The connections are silent.");
    await sleep(20_000);
    await halt();
    const outages = await readMetric(server, "floe_database_outages_total");
    for (const line of server.lines.filter((one) => one.includes('"outage":"database"')).slice(0, 2))
      say(`  log     ${line}`);
    say(`  metric  floe_database_outages_total ${outages}`);
    say(`  ${failed} requests were answered with 503, the longest after ${(longestMs / 1000).toFixed(1)} s`);
    promise("each request is answered within 10 s", unanswered === 0 && longestMs < 10_000, say);
    promise(
      "all is well within 30 s",
      lastFailure < 30_000 && (await ask(server.url, "GET", "/readyz")).status === 200,
      say,
    );
    promise("the outage is in the metrics", outages > 0, say);
    promise("the server sells again", (await sell(server, seller)).status === 200, say);
    promise("the server stops with exit code 0", (await stop(server)) === 0, say);
    await checkBooks({ DATABASE_URL: databaseUrl }, say);
  },
};

const lostSecret: Drill = {
  about: "a server starts with another secret than that of its database",
  async run(say, closing, database) {
    const databaseUrl = await database();
    const shop = await openShop({ databaseUrl });
    closing.push(() => shop.close());
    const seller = await prepareSeller(databaseUrl);
    const first = await serve(shop.env);
    await sell(first, seller);
    const orders = await countOrders(first, seller);
    await stop(first);
    const other = { ...shop.env, FLOE_SECRET: "another secret for drills, as long as one" };
    const refused = await serve(other, { isExpected: false });
    for (const line of refused.lines.slice(-2)) say(`  log     ${line}`);
    promise("a server with another secret does not start", (await refused.ended) === 1, say);
    promise("it says so in words", refused.lines.join("\n").includes("not the secret of this database"), say);
    const again = await serve(shop.env);
    promise("with the right secret, keys go on", (await countOrders(again, seller)) === orders, say);
    await stop(again);
    say("$ floe admin replace-secret");
    await replaceDatabaseSecret({ DATABASE_URL: databaseUrl, FLOE_SECRET: other.FLOE_SECRET });
    const replaced = await serve(other);
    closing.push(() => replaced.child.kill("SIGKILL"));
    const answer = await ask(replaced.url, "GET", "/v1/orders/", { token: seller.seller.key });
    promise("with a replaced secret the server starts, and old keys are refused", answer.status === 401, say);
    await stop(replaced);
    await checkBooks({ DATABASE_URL: databaseUrl }, say);
  },
};

/** A receiver of webhooks that counts what it takes. */
async function openReceiver(closing: Closing) {
  const received: { type: string; id: string; at: number }[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
    });
    request.on("end", () => {
      const { type, data } = JSON.parse(text) as { type: string; data: { id: string } };
      if (status === 200) received.push({ type, id: data.id, at: performance.now() });
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const answer = (next: number): void => {
    status = next;
  };
  return { host: `localhost:${port}`, received, answer };
}

const deadReceiver: Drill = {
  about: "a receiver of webhooks is away, while another one works",
  async run(say, closing, database) {
    const databaseUrl = await database();
    const [dead, good] = [await openReceiver(closing), await openReceiver(closing)];
    const shop = await openShop({ databaseUrl }, { FLOE_WEBHOOK_ALLOW: `${dead.host},${good.host}` });
    closing.push(() => shop.close());
    const seller = await prepareSeller(databaseUrl);
    const server = await serve(shop.env);
    closing.push(() => server.child.kill("SIGKILL"));
    const token = seller.seller.key;
    for (const { host } of [dead, good]) {
      const body = { url: `http://${host}/hook`, format: "raw", events: ["product.created", "product.updated"] };
      const made = await ask(server.url, "POST", "/v1/webhooks/endpoints", { body, token });
      promise(`an endpoint is made for ${host}`, made.status === 201, say);
    }
    dead.answer(503);
    const count = 20;
    const path = "/v1/products/";
    const sentAt: number[] = [];
    for (let at = 0; at < count; at += 2) {
      sentAt.push(performance.now());
      const made = await ask(server.url, "POST", path, {
        body: { name: `Book ${at}`, prices: [{ amount_type: "free" }] },
        token,
      });
      sentAt.push(performance.now());
      await ask(server.url, "PATCH", `${path}${String(made.json.id)}`, { body: { name: `Map ${at}` }, token });
      await sleep(100);
    }
    await eventually(async () => (good.received.length === count ? true : undefined), "what the good receiver is sent");
    const latest = Math.max(...good.received.map(({ at }, index) => at - (sentAt[index] ?? 0)));
    say(`  the good receiver had each event within ${latest.toFixed(0)} ms`);
    promise("other receivers do not wait for the dead one (2 s)", latest < 2_000, say);
    const [endpoint] = await readEndpoints({ DATABASE_URL: databaseUrl }, 10);
    say(`$ floe admin endpoints\n  ${endpoint?.url}  waiting ${endpoint?.waiting}  since ${endpoint?.oldest_at}`);
    promise("the operator sees the endpoint and what waits", endpoint?.waiting === count, say);
    dead.answer(200);
    say("The receiver is back.");
    await eventually(
      async () => (new Set(dead.received.map(({ id, type }) => id + type)).size === count ? true : undefined),
      "what the receiver missed",
    );
    const names = new Set(dead.received.map(({ id, type }) => `${id} ${type}`));
    promise(`it gets every event: ${names.size}`, names.size === count, say);
    const isOrdered = dead.received.every(
      ({ id, type }, index) =>
        type === "product.created" ||
        dead.received.slice(0, index).some((one) => one.id === id && one.type === "product.created"),
    );
    promise("the events of each object are in their order", isOrdered, say);
    await stop(server);
    await checkBooks({ DATABASE_URL: databaseUrl }, say);
  },
};

const deadProcessor: Drill = {
  about: "the card processor does not answer, and the server is killed meanwhile",
  async run(say, closing, database) {
    const databaseUrl = await database();
    const shop = await openShop({ databaseUrl });
    closing.push(() => shop.close());
    const seller = await prepareSeller(databaseUrl);
    const server = await serve(shop.env);
    closing.push(() => server.child.kill("SIGKILL"));
    promise("a sale works", (await sell(server, seller)).status === 200, say);
    shop.standIn.trouble("lost", { times: 1000 });
    say("The processor takes calls and does not answer.");
    const cut = await Promise.all([1, 2, 3].map(() => sell(server, seller).catch(() => undefined)));
    say(`  buyers were answered with ${cut.map((one) => one?.status ?? "nothing").join(", ")}`);
    const failures = await fetch(`${server.ops}/metrics`).then((answer) => answer.text());
    const shown = failures.split("\n").filter((line) => /processor_call_duration_seconds_count.*failed/.test(line));
    for (const line of shown.slice(0, 2)) say(`  metric  ${line}`);
    promise("reads are served", (await countOrders(server, seller)) >= 1, say);
    server.child.kill("SIGKILL");
    await server.ended;
    say("The server was killed. The processor answers again.");
    shop.standIn.calm();
    const next = await serve(shop.env);
    closing.push(() => next.child.kill("SIGKILL"));
    const settled = await eventually(async () => {
      const status = await ask(next.url, "GET", "/v1/payments/?status=pending&limit=1", { token: seller.seller.key });
      const pending = (status.json.pagination as { total_count: number } | undefined)?.total_count;
      return pending === 0 ? true : undefined;
    }, "the pending payments are settled");
    promise("every pending payment is settled within a minute", settled, say);
    promise("a sale works again", (await sell(next, seller)).status === 200, say);
    const orders = await eventually(async () => {
      const found = await countOrders(next, seller);
      return found === shop.countCharges() ? found : undefined;
    }, `as many orders as charges (${shop.countCharges()})`);
    promise(`nobody paid without an order, or twice: ${orders} orders, ${shop.countCharges()} charges`, true, say);
    await stop(next);
    await checkBooks({ DATABASE_URL: databaseUrl }, say);
    const { dead_letters } = await readServerStatus({ DATABASE_URL: databaseUrl });
    promise("no job was given up", dead_letters.count === 0, say);
  },
};

export const drills: Record<string, Drill> = {
  "fail-over": failOver,
  "lost-secret": lostSecret,
  "dead-receiver": deadReceiver,
  "dead-processor": deadProcessor,
  restore,
  "point-in-time": pointInTime,
  "full-disk": fullDisk,
};

/** Run a drill on a PostgreSQL of its own. It throws where a promise does not hold. */
export async function runDrill(drill: Drill, say: Say): Promise<void> {
  const closing: Closing = [];
  const database = async (): Promise<string> => {
    const postgres = await startPostgres();
    closing.push(() => postgres.stop());
    return postgres.url;
  };
  try {
    await drill.run(say, closing, database);
  } finally {
    for (const close of closing.splice(0).reverse()) await close();
  }
}
