/**
 * A deploy of a new version as a team does it: three servers behind a load balancer are replaced one after the other while buyers buy
 * and programs ask. Then one is killed. What was answered, what was sold and what the card processor took is compared in the end.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { and, count, countDistinct, eq, sql } from "drizzle-orm";
import { verifyBooks } from "../../server/app/operator.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { serverProcesses } from "../../server/platform/db/tables.ts";
import { usageEvents } from "../../server/usage/events/tables.ts";
import { type Balancer, openBalancer } from "./balancer.ts";
import { eventually } from "./eventually.ts";
import { type Floe, type Seller, start } from "./floe.ts";
import { freePort } from "./free-port.ts";
import { type StripeStandIn, startStripe } from "./stripe-stand-in.ts";

const secret = "a secret for tests, long enough to be one";
/** How long the card processor takes for each call: sales are in progress whenever a server stops. */
const processorMs = 700;
const serverCount = 3;
/** When the load balancer has seen for certain that a server is gone. */
const noticedMs = 5000;

export type DeployOptions = {
  databaseUrl: string;
  requestsPerMinute: number;
  /** The time between two replacements. */
  pauseMs: number;
  noticeSeconds: number;
  say?: (line: string) => void;
};
export type DeployReport = {
  requests: number;
  sales: number;
  /** Requests without an answer, or with another one than they should have. */
  failures: string[];
  /** What is wrong in the books, in the end. */
  faults: string[];
  exits: (number | null)[];
  /** Requests that the killed server had not answered. */
  cutByKill: number;
  failuresOfKill: string[];
  /** How long after the kill the others knew that it was gone. */
  goneMs: number;
  /** How long after the kill its last payment was settled; null if it left none. */
  settledMs: number | null;
};

type Opened = { id: string; client_secret: string };
type ServerProcess = { url: string; child: ChildProcess; ended: Promise<number | null> };

/** Start a server of the present sources on a free port, and wait until it is ready. */
export async function startServer(env: Record<string, string>): Promise<ServerProcess> {
  const port = await freePort();
  const program = join(import.meta.dirname, "server-process.ts");
  const child = spawn(process.execPath, [program], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: String(process.env.PATH), HOME: tmpdir(), ...env, PORT: String(port), HOST: "127.0.0.1" },
  });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
    const ready = await fetch(`${url}/readyz`).catch(() => undefined);
    await ready?.arrayBuffer();
    return ready?.ok ? true : undefined;
  }, "a server that is ready");
  return { url, child, ended };
}

/** Asks in turn what sellers and buyers ask, so many times a minute, whatever becomes of the answers. */
function openLoad(url: string, seller: Seller, product_id: string, requestsPerMinute: number) {
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  const checkouts: Opened[] = [];
  const bought: string[] = [];
  let [asked, ingested] = [0, 0];

  async function ask(method: string, path: string, status: number, body?: object, token?: string): Promise<unknown> {
    const headers = {
      ...(body && { "content-type": "application/json" }),
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return JSON.parse(text);
  }
  const { key } = seller;
  const openCheckout = async () => {
    const made = await ask("POST", "/v1/checkouts/", 201, { products: [product_id] }, key);
    checkouts.push(made as Opened);
  };
  const buy = async () => {
    const checkout = checkouts.shift();
    if (!checkout) return openCheckout();
    const body = {
      customer_email: `buyer${asked}@example.com`,
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "ctoken_visa",
    };
    await ask("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, 200, body);
    bought.push(checkout.id);
  };
  const ingest = async () => {
    const n = asked;
    const events = [{ name: "used", external_customer_id: `c${n % 7}`, external_id: `deploy-${n}` }];
    await ask("POST", "/v1/events/ingest", 200, { events }, key);
    ingested += 1;
  };
  const reads = ["/v1/products/", "/v1/orders/?limit=10", `/v1/products/${product_id}`, "/v1/customers/?limit=10"];
  const read = (index: number) => async () => {
    await ask("GET", reads[index % reads.length] ?? "", 200, undefined, key);
  };
  const kinds = [read(0), openCheckout, read(1), ingest, buy, read(2), ingest, read(3), openCheckout, buy];
  const timer = setInterval(() => {
    const work = (kinds[asked++ % kinds.length] ?? buy)();
    const done = work.catch((error: Error) => void failures.push(error.message)).finally(() => open.delete(done));
    open.add(done);
  }, 60_000 / requestsPerMinute);
  return {
    failures,
    bought,
    countAsked: () => asked,
    countIngested: () => ingested,
    async stop(): Promise<void> {
      clearInterval(timer);
      await Promise.all(open);
    },
  };
}

/** Replace the servers one after the other: a new one first, then the old one is asked to stop. */
async function replaceServers(
  servers: ServerProcess[],
  balancer: Balancer,
  begin: () => Promise<ServerProcess>,
  { pauseMs, say = () => undefined }: DeployOptions,
): Promise<(number | null)[]> {
  const exits: (number | null)[] = [];
  for (const old of servers.splice(0)) {
    const next = await begin();
    servers.push(next);
    await balancer.add(next.url);
    await sleep(pauseMs);
    old.child.kill("SIGTERM");
    exits.push(await old.ended);
    say(`${old.url} was replaced by ${next.url}, and ended with ${exits.at(-1)}; ${balancer.failures.length} failures`);
    balancer.remove(old.url);
  }
  return exits;
}

/** Kill a server that has sales in progress, and wait until another has asked what became of them. */
async function killOne(servers: ServerProcess[], balancer: Balancer, floe: Floe, stripe: StripeStandIn) {
  const { db } = floe.deps;
  const listPending = () => db.select().from(payments).where(eq(payments.status, "pending"));
  const listProcesses = async () => (await db.select().from(serverProcesses)).map(({ id }) => id);
  const isBuying = (one: ServerProcess) => balancer.listOpen(one.url).some((what) => what.endsWith("/confirm"));
  const victim = await eventually(async () => servers.find(isBuying), "a sale in progress");
  // Until the payment is written, and before the processor has answered.
  await sleep(processorMs / 2);
  const [before, known] = [balancer.failures.length, await listProcesses()];
  victim.child.kill("SIGKILL");
  const killedAt = performance.now();
  const begun = await listPending();
  await victim.ended;
  // Who looks for an answer that was lost reads many short pages of the stand-in.
  stripe.wait(0);
  const gone = await eventually(async () => {
    const there = new Set(await listProcesses());
    return known.find((id) => !there.has(id));
  }, "the killed server to be known as gone");
  const goneMs = performance.now() - killedAt;
  const left = new Set(begun.filter(({ process_id }) => process_id === gone).map(({ id }) => id));
  await eventually(async () => {
    return (await listPending()).some(({ id }) => left.has(id)) ? undefined : true;
  }, "the payments of the killed server to be settled");
  const settledMs = left.size > 0 ? performance.now() - killedAt : null;
  // Until the load balancer has seen it, too.
  await sleep(noticedMs);
  const cutByKill = balancer.remove(victim.url);
  servers.splice(servers.indexOf(victim), 1);
  return { cutByKill, failuresOfKill: balancer.failures.slice(before), goneMs, settledMs };
}

/** What the database and the card processor say is what the answers said. */
async function compareBooks(
  { databaseUrl }: DeployOptions,
  floe: Floe,
  load: ReturnType<typeof openLoad>,
  intents: readonly { status: string; amount: number }[],
  cutByKill: number,
): Promise<string[]> {
  const faults: string[] = [];
  const { db } = floe.deps;
  const sold = await db
    .select({
      checkout_id: orders.checkout_id,
      orders: countDistinct(orders.id),
      payments: count(payments.id),
    })
    .from(orders)
    .leftJoin(payments, and(eq(payments.order_id, orders.id), eq(payments.status, "succeeded")))
    .where(eq(orders.status, "paid"))
    .groupBy(orders.checkout_id);
  const charged = intents.filter(({ status }) => status === "succeeded").length;
  for (const one of sold)
    if (one.orders !== 1 || one.payments !== 1)
      faults.push(`the checkout ${one.checkout_id} has ${one.orders} orders and ${one.payments} payments`);
  if (sold.length !== charged) faults.push(`${sold.length} orders are paid, and the processor took ${charged}`);
  const paid = new Set(sold.map(({ checkout_id }) => checkout_id));
  for (const id of load.bought) if (!paid.has(id)) faults.push(`the sale ${id} was answered, and is not paid`);
  if (sold.length > load.bought.length + cutByKill)
    faults.push(`${load.bought.length} sales were answered, and ${sold.length} orders are paid`);
  const n = await db.$count(usageEvents, eq(usageEvents.name, "used"));
  if (n < load.countIngested() || n > load.countIngested() + cutByKill)
    faults.push(`${load.countIngested()} usage events were acknowledged, and ${n} are kept`);
  const given = { DATABASE_URL: databaseUrl, FLOE_SECRET: secret };
  await verifyBooks({
    ...{ given, organization_id: undefined, after: "", load: 1, isProcessorAsked: false, since: null },
    report: (_, breaches) => faults.push(...breaches.map((breach) => JSON.stringify(breach))),
  });
  return faults;
}

/** Do it. */
export async function deployWhileAsked(options: DeployOptions): Promise<DeployReport> {
  const { databaseUrl, say = () => undefined } = options;
  const stripe = await startStripe();
  const folder = mkdtempSync(join(tmpdir(), "floe-deploy-"));
  const settings = {
    STRIPE_SECRET_KEY: "sk_test_1",
    STRIPE_PUBLISHABLE_KEY: "pk_test_1",
    STRIPE_WEBHOOK_SECRET: "whsec_of_these_tests",
    STRIPE_API_URL: stripe.url,
    FLOE_EMAIL_VERIFICATION: "off",
  };
  const floe = await start({ databaseUrl, realTime: true, settings });
  const seller = await floe.seller("deploy");
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices } });
  stripe.wait(processorMs);
  const begin = () =>
    startServer({
      ...settings,
      ...{ DATABASE_URL: databaseUrl, FLOE_SECRET: secret, FLOE_FILES_DIR: folder, FLOE_REQUESTS_PER_MINUTE: "0" },
      FLOE_DRAIN_NOTICE_SECONDS: String(options.noticeSeconds),
    });
  const balancer = await openBalancer();
  const servers: ServerProcess[] = [];
  try {
    while (servers.length < serverCount) servers.push(await begin());
    for (const { url } of servers) await balancer.add(url);
    say(`${servers.length} servers are ready`);
    const load = openLoad(balancer.url, seller, id, options.requestsPerMinute);
    await sleep(options.pauseMs);
    // The schema of the next version: what it adds, the servers of this one do not know.
    await floe.deps.db.execute(sql`create table of_next_version (id integer primary key)`);
    await floe.deps.db.execute(sql`alter table products add column of_next_version integer`);
    const exits = await replaceServers(servers, balancer, begin, options);
    await sleep(options.pauseMs);
    const failures = [...load.failures];
    const deployed = load.countAsked();
    const killed = await killOne(servers, balancer, floe, stripe);
    await load.stop();
    await eventually(async () => {
      const pending = await floe.deps.db.$count(payments, eq(payments.status, "pending"));
      return pending === 0 ? true : undefined;
    }, "every payment to be settled");
    const faults = await compareBooks(options, floe, load, [...stripe.intents.values()], killed.cutByKill);
    const late = load.failures.length - failures.length - killed.cutByKill;
    if (late > 0) faults.push(`${late} more requests failed than the killed server was sent`, ...load.failures);
    return { requests: deployed, sales: load.bought.length, failures, faults, exits, ...killed };
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
    await Promise.all(servers.map(({ ended }) => ended));
    await balancer.close();
    await floe.close();
    await stripe.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
