import "../../shared/walls.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq, isNotNull, sql } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { buildApp } from "../../server/app/app.ts";
import { openDeps } from "../../server/app/deps.ts";
import { embedded } from "../../server/app/providers/embedded.ts";
import { startWorker } from "../../server/app/worker.ts";
import { hasFinancialRecords } from "../../server/billing/financial-records.ts";
import { computeTotals } from "../../server/billing/orders/rules.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { identifyCustomer } from "../../server/customers/sessions/service.ts";
import { createHostedWorkers } from "../../server/hosted/events/jobs.ts";
import type { BreakerTerms } from "../../server/hosted/relay/breaker.ts";
import { type Hosted, openHosted } from "../../server/hosted/relay/hosted.ts";
import { createHostedProvider } from "../../server/hosted/relay/provider.ts";
import { type Auth, createAuth } from "../../server/identity/accounts/auth.ts";
import type { PasswordRecipe } from "../../server/identity/accounts/sign-in/passwords.ts";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { session as sessions } from "../../server/identity/accounts/tables.ts";
import { addSealedAuditRoutes } from "../../server/operations/audit/routes.ts";
import { findDifferences } from "../../server/operations/verify/recompute.ts";
import { completeConfig, getDatabaseOptions, readSettings } from "../../server/platform/config.ts";
import type { Deps } from "../../server/platform/context.ts";
import { openPostgres } from "../../server/platform/db/database.ts";
import { guardCalls, watchRequests } from "../../server/platform/db/open-transaction.ts";
import { createOutageLog } from "../../server/platform/db/outage-log.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import type { Provider } from "../../server/platform/provider.ts";
import { type Api, api } from "../../shared/api/index.ts";
import { createClient } from "../../shared/client.ts";
import type { Client } from "../../shared/contract.ts";
import { scopes as allScopes } from "../../shared/scopes.ts";
import { doDueWork } from "./due-work.ts";
import { freePort } from "./free-port.ts";
import { newId } from "./ids.ts";
import { migrations, openMemory } from "./memory-database.ts";
import { openShared } from "./postgres-database.ts";
import { checkRefusal } from "./refusals.ts";

/** A clock that stands still until it is moved. */
export class TestClock {
  time: Date;
  constructor(time: Date) {
    this.time = time;
  }
  now(): Date {
    return new Date(this.time);
  }
  advance(ms: number): void {
    this.time = new Date(this.time.getTime() + ms);
  }
}

export type Seller = {
  email: string;
  password: string;
  user_id: string;
  organization_id: string;
  /** An organization key with every scope. */
  key: string;
  /** A session token of the owner. */
  session: string;
  client: Client<Api>;
};

export type Floe = {
  app: FastifyInstance;
  url: string;
  deps: Deps;
  auth: Auth;
  /** With FLOE_BILLING=polar. */
  hosted: Hosted | undefined;
  clock: TestClock;
  /** What was logged, for tests that look for secrets there. */
  logged: string[];
  /** The typed client, with a bearer token or anonymous. */
  client(token?: string, headers?: Record<string, string>): Client<Api>;
  /** One raw request. */
  request(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<{ status: number; json: never; text: string; headers: Record<string, unknown> }>;
  seller(name?: string, scopes?: string[]): Promise<Seller>;
  /** A further key of a seller's organization. */
  keyOf(seller: Seller, scopes: string[]): Promise<string>;
  /** Do everything due by the test clock, until there is nothing left to do. */
  runJobs(): Promise<void>;
  close(): Promise<void>;
};

export type FloeOptions = {
  /** A PostgreSQL to use, as the settings name one. */
  databaseUrl?: string;
  /** The embedded database, in memory, or PostgreSQL in its place; where nothing is said, as FLOE_TEST_DATABASE says. */
  embedded?: boolean;
  /** Really listen on `url`, for browsers and SDKs. */
  listen?: boolean;
  /** Work in the background as the server does, instead of by `runJobs`. */
  worker?: boolean;
  /** Use the system's time. */
  realTime?: boolean;
  settings?: Record<string, string>;
  /** Folder of the built web app. */
  web?: string;
  development?: boolean;
  /** Another provider than floe's own engine. */
  provider?: () => Provider;
  /** With FLOE_BILLING=polar: when to stop asking Polar, and for how long. */
  breaker?: BreakerTerms;
  /** Keep passwords as in production, which takes 30 ms of the processor for each, where others are as quick as can be. */
  productionPasswords?: boolean;
  /** Where each request gets a line. */
  requestLog?: Deps["log"];
  /** Replace shared parts, such as the processor. */
  replace?: (deps: Deps) => Partial<Deps>;
};

/** Every order that a test made can be computed again from what is stored with it, by a program that shares no code. */
async function recomputeOrders(db: Deps["db"]): Promise<void> {
  const sold = await db.select().from(orders).where(isNotNull(orders.invoice_number));
  const differences = sold.flatMap((order) => findDifferences({ ...order, ...computeTotals(order) }));
  if (differences.length > 0) throw new Error(`Orders cannot be explained:\n${differences.join("\n")}`);
}

/** The counted lists that show every row of their table. */
const countedWhole = [
  ...["benefit_grants", "checkouts", "license_keys", "payments", "products", "subscriptions", "webhook_deliveries"],
];

/** What lists say of how many rows they have is how many there are, whatever a test did to them. */
async function recountLists(db: Deps["db"]): Promise<void> {
  const list = (name: string, where = "true") =>
    `select organization_id, '${name}' as list, 1 as change from ${name} where ${where}`;
  const wrong = await db.execute(sql`
    select organization_id, list, sum(change)::int as missing from (
      ${sql.raw(
        [
          list("customers", "deleted_at is null"),
          list("orders", "invoice_number is not null"),
          list("discounts", "deleted_at is null"),
          list("refunds", "is_announced"),
          ...countedWhole.map((name) => list(name)),
          "select organization_id, list, -change from list_tallies",
        ].join(" union all "),
      )}) rows group by organization_id, list having sum(change) <> 0`);
  const rows = Array.from(wrong as Iterable<unknown>);
  if (rows.length > 0) throw new Error(`Lists do not know how many rows they have: ${JSON.stringify(rows)}`);
}

const guardProcessor = (own: Deps["processor"]) => guardCalls("the card processor:", "money", own);

const quick: PasswordRecipe = { kind: "scrypt", ln: 4, r: 8, p: 1 };

/** A whole floe in this process, its outside world replaced by nothing but the test processor and a movable clock. */
export async function start(options: FloeOptions = {}): Promise<Floe> {
  const port = await freePort();
  const filesFolder = mkdtempSync(join(tmpdir(), "floe-files-"));
  const given = {
    PORT: String(port),
    FLOE_FILES_DIR: filesFolder,
    FLOE_SECRET: "a secret for tests, long enough to be one",
    // Tests ask more often than anybody may; those of the limit set one.
    FLOE_REQUESTS_PER_MINUTE: "0",
    // A test that leaves a request open does not wait for it.
    FLOE_DRAIN_SECONDS: "3",
    ...options.settings,
  };
  const settings = readSettings(
    { ...given, ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}) },
    {},
  );
  const config = completeConfig(settings);
  const logged: string[] = [];
  const write = (level: string) => (fields: object, text?: string) => {
    const error =
      "err" in fields && fields.err instanceof Error ? `${fields.err.stack} ${String(fields.err.cause ?? "")}` : "";
    const said = JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? String(value) : value));
    logged.push(`${level} ${text ?? ""} ${said} ${error}`);
    if (level === "error" && process.env.FLOE_TEST_LOG) console.error(logged.at(-1));
  };
  const { log, recordOutcome } = createOutageLog({ info: write("info"), warn: write("warn"), error: write("error") });
  const isEmbedded = options.embedded ?? process.env.FLOE_TEST_DATABASE === "embedded";
  const database = options.databaseUrl
    ? await openPostgres(options.databaseUrl, { ...getDatabaseOptions(config), onOutcome: recordOutcome })
    : await (isEmbedded ? openMemory() : openShared());
  if (options.databaseUrl) await database.migrate(migrations);
  const clock = new TestClock(new Date());
  const time = options.realTime || options.worker ? { now: () => new Date() } : clock;
  const base = await openDeps(database.db, config, log, time);
  const deps: Deps = { ...base, ...options.replace?.(base) };
  // A part that a test puts in place keeps the guard of the one that it replaces.
  const own = deps.processor === base.processor ? base.processor : guardProcessor(deps.processor);
  deps.processor = own;
  deps.processors = { own, tax: deps.taxCalculator, test: own.test ? own : base.processors.test };
  const hosted = config.FLOE_BILLING === "polar" ? await openHosted(deps, options.breaker) : undefined;
  const auth = createAuth(deps, {
    hasFinancialRecords: hasFinancialRecords,
    addSealedAuditRoutes,
    identifyCustomer: hosted?.identifyCustomer ?? identifyCustomer,
    ...(options.productionPasswords ? {} : { passwordRecipe: quick }),
  });
  const app = await buildApp({
    deps,
    auth,
    provider: options.provider?.() ?? (hosted ? createHostedProvider(hosted) : embedded),
    hosted,
    web: options.web ?? null,
    docs: null,
    demo: null,
    development: options.development ?? false,
    requestLog: options.requestLog ?? null,
  });
  if (options.listen) await app.listen({ host: "127.0.0.1", port });
  else await app.ready();
  const worker = options.worker ? await startWorker(deps, hosted ? createHostedWorkers(hosted) : []) : undefined;

  const unguarded: string[] = [];
  const endWatch = watchRequests((call) => unguarded.push(`${call}\n${new Error().stack}`));
  const request: Floe["request"] = async (method, path, { token, body, headers = {} } = {}) => {
    const answer = await app.inject({
      method: method as "GET",
      url: path,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = answer.body;
    const isJson = /[/+]json\b/.test(String(answer.headers["content-type"] ?? "")) && text.length > 0;
    const json = (isJson ? JSON.parse(text) : undefined) as never;
    checkRefusal(path, answer.statusCode, json);
    return {
      status: answer.statusCode,
      json,
      text,
      headers: answer.headers,
    };
  };
  const client: Floe["client"] = (token, headers) =>
    createClient(api, async (method, url, body) =>
      request(method, url, {
        ...(token === undefined ? {} : { token }),
        ...(headers ? { headers } : {}),
        ...(body === undefined ? {} : { body }),
      }),
    );
  const keyWith = async (session: string, organizationId: string, scopes?: string[]): Promise<string> => {
    // As if the password had been given just now: tests move the clock past the hour after which it is asked for.
    await deps.db
      .update(sessions)
      .set({ provenAt: deps.clock.now() })
      .where(eq(sessions.token, hashSecret(session)));
    const made = await request("POST", "/api/auth/api-key/create", {
      token: session,
      body: { name: "test", organizationId, scopes: scopes ?? allScopes },
    });
    if (made.status >= 300) throw new Error(`No key: ${made.status} ${made.text}`);
    return (made.json as { key: string }).key;
  };
  return {
    app,
    url: config.url,
    deps,
    auth,
    hosted,
    clock,
    logged,
    client,
    request,
    async seller(name = "seller", scopes) {
      const unique = newId().slice(-12);
      const account = { email: `${name}-${unique}@example.com`, password: `correct horse ${unique}` };
      const made = await auth.signUpSeller({
        ...account,
        name,
        organizationName: `${name} ${unique}`,
        slug: `${name}-${unique}`,
      });
      const key = await keyWith(made.session, made.organization_id, scopes);
      return { ...account, ...made, key, client: client(key) };
    },
    keyOf: (seller, scopes) => keyWith(seller.session, seller.organization_id, scopes),
    async runJobs() {
      while ((await doDueWork(deps)) > 0);
      if (hosted) await runWorkers(deps, createHostedWorkers(hosted));
    },
    async close() {
      endWatch();
      if (unguarded.length > 0) throw new Error(`Called inside of a transaction:\n${unguarded.join("\n")}`);
      // Measurements make them by the ten thousand.
      if (!options.databaseUrl || process.env.VITEST) {
        await recomputeOrders(deps.db);
        await recountLists(deps.db);
      }
      await app.close();
      hosted?.close();
      await auth.close();
      await worker?.stop();
      await database.close();
      rmSync(filesFolder, { recursive: true, force: true });
    },
  };
}
