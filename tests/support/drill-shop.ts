/** A shop in real processes for the drills of docs/operating.md: a server that sells by the Stripe stand-in, and what its operator sees. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockDataFolder } from "../../server/app/data-folder.ts";
import { openDeps } from "../../server/app/deps.ts";
import { verifyBooks } from "../../server/app/operator.ts";
import { hasFinancialRecords } from "../../server/billing/financial-records.ts";
import { identifyCustomer } from "../../server/customers/sessions/service.ts";
import { createAuth } from "../../server/identity/accounts/auth.ts";
import { addSealedAuditRoutes } from "../../server/operations/audit/routes.ts";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { openEmbedded } from "../../server/platform/db/database-embedded.ts";
import { scopes as allScopes } from "../../shared/scopes.ts";
import { eventually } from "./eventually.ts";
import { type Seller, start } from "./floe.ts";
import { freePort } from "./free-port.ts";
import { migrations } from "./memory-database.ts";
import { startStripe } from "./stripe-stand-in.ts";

export type Say = (line: string) => void;
export type Closing = (() => unknown)[];
export type Drill = { about: string; run(say: Say, closing: Closing, database: () => Promise<string>): Promise<void> };
type Answer = { status: number; json: Record<string, unknown>; ms: number };
export type Server = {
  url: string;
  ops: string;
  child: ChildProcess;
  /** The lines of its log, and what it said at the start. */
  lines: string[];
  ended: Promise<number | null>;
};

/** A promise of docs/operating.md that did not hold. */
class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}
export function promise(what: string, isKept: boolean, say: Say): void {
  say(`${isKept ? "  kept  " : "  BROKEN"} ${what}`);
  if (!isKept) throw new BrokenPromise(what);
}

/** This machine cannot do a drill. */
export class ImpossibleHere extends Error {
  override readonly name = "ImpossibleHere";
}

/** Compare the books of a database with themselves. */
export async function checkBooks(given: Record<string, string>, say: Say): Promise<void> {
  let breaches = 0;
  await verifyBooks({
    given,
    ...{ organization_id: undefined, after: "", load: 1, isProcessorAsked: false, since: null },
    report: (_, found) => {
      breaches += found.length;
    },
  });
  promise("floe verify finds no breach", breaches === 0, say);
}

export const drillSecret = "a secret for drills, long enough to be one";
const readyMs = 60_000;
const program = join(import.meta.dirname, "server-process.ts");

/** Start `floe serve` in a process of its own. It is not expected to start, or to become ready, where the options say so. */
export async function serve(env: Record<string, string>, { isExpected = true, isReady = true } = {}): Promise<Server> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [program], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...{ PATH: String(process.env.PATH), HOME: tmpdir(), FLOE_SECRET: drillSecret },
      ...{ PORT: String(port), HOST: "127.0.0.1", FLOE_OPS_ADDRESS: String(opsPort), FLOE_REQUESTS_PER_MINUTE: "0" },
      ...env,
    },
  });
  const lines: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => lines.push(...text.split("\n").filter(Boolean)));
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const server = { url: `http://127.0.0.1:${port}`, ops: `http://127.0.0.1:${opsPort}`, child, lines, ended };
  if (!isExpected) {
    await ended;
    return server;
  }
  const until = Date.now() + readyMs;
  await eventually(async () => {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`The server did not start: ${lines.join("\n")}`);
    const ready = await ask(server.url, "GET", "/readyz").catch(() => undefined);
    return ready && (ready.status === 200 || !isReady) ? true : undefined;
  }, "a server that is ready");
  return server;
}

/** Stop a server as a supervisor does. Answers its exit code. */
export async function stop({ child, ended }: Server): Promise<number | null> {
  child.kill("SIGTERM");
  return ended;
}

/** One request. It fails only where no answer comes within half a minute. */
export async function ask(
  url: string,
  method: string,
  path: string,
  { body, token, waitMs = 30_000 }: { body?: object; token?: string; waitMs?: number } = {},
): Promise<Answer> {
  const began = performance.now();
  const answer = await fetch(url + path, {
    method,
    headers: {
      ...(body && { "content-type": "application/json" }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(waitMs),
  });
  const text = await answer.text();
  const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : { text };
  return { status: answer.status, json, ms: performance.now() - began };
}

/** A value of the metrics that the operator's Prometheus reads; 0 where the series is not there. */
export async function readMetric({ ops }: Pick<Server, "ops">, series: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}

/** Set a shop up on a database, before its server starts. */
export async function openShop(
  database: { databaseUrl?: string; dataFolder?: string },
  more: Record<string, string> = {},
) {
  const standIn = await startStripe();
  const folder = mkdtempSync(join(tmpdir(), "floe-drill-"));
  const env: Record<string, string> = {
    ...(database.databaseUrl && { DATABASE_URL: database.databaseUrl, FLOE_FILES_DIR: join(folder, "files") }),
    ...(database.dataFolder && { FLOE_DATA_DIR: database.dataFolder }),
    ...{ STRIPE_SECRET_KEY: "sk_test_1", STRIPE_PUBLISHABLE_KEY: "pk_test_1" },
    ...{ STRIPE_WEBHOOK_SECRET: "whsec_of_drills", STRIPE_API_URL: standIn.url },
    ...more,
  };
  standIn.follow({ now: () => new Date() });
  return {
    env,
    standIn,
    /** The money that Stripe has taken. */
    countCharges: () => [...standIn.intents.values()].filter(({ status }) => status === "succeeded").length,
    async close() {
      await standIn.close().catch(() => undefined);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Shop = { seller: Pick<Seller, "key" | "organization_id">; product_id: string };
type SignedUp = { session: string; organization_id: string };

/** Sign a seller up in a data folder that no server holds yet. */
export async function signUp(folder: string): Promise<SignedUp> {
  const held = lockDataFolder(folder);
  const database = await openEmbedded(folder);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  try {
    await database.migrate(migrations);
    const settings = readSettings({ FLOE_DATA_DIR: folder, FLOE_SECRET: drillSecret });
    const deps = await openDeps(database.db, completeConfig(settings), log);
    const auth = createAuth(deps, { hasFinancialRecords, identifyCustomer, addSealedAuditRoutes });
    const account = { email: "drill@example.com", password: "correct horse battery", name: "Drill" };
    const { session, organization_id } = await auth.signUpSeller({
      ...account,
      organizationName: "Drill",
      slug: "drill",
    });
    await auth.close();
    return { session, organization_id };
  } finally {
    await database.close();
    held.release();
  }
}

/** Make a key and a product of a seller who has signed up. */
export async function openSeller({ url }: Pick<Server, "url">, { session, organization_id }: SignedUp): Promise<Shop> {
  const made = await ask(url, "POST", "/api/auth/api-key/create", {
    token: session,
    body: { name: "drill", organizationId: organization_id, scopes: allScopes },
  });
  if (made.status >= 300) throw new Error(`No key: ${made.status} ${JSON.stringify(made.json)}`);
  const key = String(made.json.key);
  return { seller: { key, organization_id }, product_id: await createGuide(url, key) };
}

async function createGuide(url: string, token: string): Promise<string> {
  const body = { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] };
  const made = await ask(url, "POST", "/v1/products/", { body, token });
  if (made.status !== 201) throw new Error(`No product: ${made.status} ${JSON.stringify(made.json)}`);
  return String(made.json.id);
}

/** Sign a seller up over the address of a database, and make a product. */
export async function prepareSeller(databaseUrl: string): Promise<Shop> {
  const settings = { FLOE_SECRET: drillSecret };
  const floe = await start({ databaseUrl, realTime: true, listen: true, settings });
  try {
    const { key, organization_id } = await floe.seller("drill");
    return { seller: { key, organization_id }, product_id: await createGuide(floe.url, key) };
  } finally {
    await floe.close();
  }
}

let buyers = 0;
/** Sell once: open a checkout and pay. */
export async function sell({ url }: Pick<Server, "url">, { seller, product_id }: Shop): Promise<Answer> {
  const opened = await ask(url, "POST", "/v1/checkouts/", { body: { products: [product_id] }, token: seller.key });
  if (opened.status !== 201) return opened;
  buyers += 1;
  const body = {
    customer_email: `buyer${buyers}@example.com`,
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "ctoken_visa",
  };
  return ask(url, "POST", `/v1/checkouts/client/${String(opened.json.client_secret)}/confirm`, { body });
}

/** How many orders a seller has. */
export async function countOrders({ url }: Pick<Server, "url">, { seller }: Shop): Promise<number> {
  const { json } = await ask(url, "GET", "/v1/orders/?limit=1", { token: seller.key });
  return (json.pagination as { total_count: number }).total_count;
}
