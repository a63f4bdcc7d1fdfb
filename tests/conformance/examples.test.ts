/** The programs of `examples/`, run as their README pages say, against one server. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createPolar, errors } from "@polar-sh/sdk/2026-10";
import { Ajv } from "ajv";
import { renderToStaticMarkup } from "react-dom/server";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { POST as openCheckout } from "../../examples/nextjs-shop/app/checkout/route.ts";
import ProductsPage from "../../examples/nextjs-shop/app/page.tsx";
import ThanksPage from "../../examples/nextjs-shop/app/thanks/page.tsx";
import { POST as receiveWebhook } from "../../examples/nextjs-shop/app/webhooks/route.ts";
import { createUsageReporter, type UsageEvent } from "../../examples/usage-service/reporter.ts";
import { createReceiver, type WebhookEvent } from "../../examples/webhook-receiver/receiver.ts";
import { completeConfig, listWarnings, readSettings, settingNames } from "../../server/platform/config.ts";
import { api } from "../../shared/api/index.ts";
import { type Scope, scopes } from "../../shared/scopes.ts";
import { folder, floe as runCli, until } from "../cli/support.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

let floe: Floe;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(async () => {
  for (const close of closing) await close();
  await floe.close();
});

const run = promisify(execFile);
const read = (file: string): string => readFileSync(join("examples", file), "utf8");

/** The lines of a README that call the command line, but for those that need a person's sign-in. */
const listCommands = (page: string): string[][] =>
  [...read(page).matchAll(/^npx floe ((?!api-keys|login).*?)(?:\s+#.*)?$/gm)].map(([, line = ""]) =>
    [...line.matchAll(/'[^']*'|"[^"]*"|\S+/g)].map(([word]) => word.replace(/^(['"])(.*)\1$/, "$2")),
  );

/** Start a program of an example, and wait until it listens. */
async function startProgram(file: string, env: Record<string, string>) {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [join("examples", file)], {
    env: { PATH: process.env.PATH, PORT: String(port), ...env },
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  closing.push(() => child.kill("SIGKILL"));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (printed += chunk));
  await until(() => printed.includes(String(port)) || child.exitCode !== null);
  return { url: `http://127.0.0.1:${port}`, child, ended, printed: () => printed };
}

/** Sell a product by the API, as a browser would at the address of a checkout. */
async function pay(clientSecret: string): Promise<void> {
  const body = {
    customer_email: "ada@example.com",
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "pm_card_visa",
  };
  const { status, text } = await floe.request("POST", `/v1/checkouts/client/${clientSecret}/confirm`, { body });
  expect([status, text]).toEqual([200, expect.any(String)]);
  await floe.runJobs();
}

const createProduct = (seller: Seller, name: string) =>
  seller.client.products.create({
    body: { name, prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }] },
  });

test("the receiver verifies each webhook, processes each event once, and asks for another attempt when it fails", async () => {
  const seller = await floe.seller("hooks");
  const processed: WebhookEvent[] = [];
  let failures = 1;
  const handle = async (event: WebhookEvent) => {
    if (failures-- > 0) throw new Error("The database is away.");
    await sleep(100);
    processed.push(event);
  };
  const port = await freePort();
  const captured = await startReceiver();
  closing.push(() => captured.close());
  const created = await Promise.all(
    [`http://127.0.0.1:${port}/`, captured.url].map((url) =>
      seller.client.webhooks.createEndpoint({ body: { url, format: "raw", events: ["product.created"] } }),
    ),
  );
  const secret = created[0]?.secret ?? "";
  const receiver = createReceiver(secret, handle).listen(port, "127.0.0.1");
  closing.push(() => receiver.close());
  const { id } = await createProduct(seller, "Night Sky Sounds");
  await floe.runJobs();
  expect(processed).toEqual([]);
  floe.clock.advance(60_000);
  await floe.runJobs();
  expect(processed).toMatchObject([{ type: "product.created", data: { id } }]);

  const body = captured.received[0]?.body ?? "";
  const send = async (text: string, type = "msg_1", signedText = text) => {
    const at = new Date();
    const signature = new Webhook(Buffer.from(secret).toString("base64")).sign(type, at, signedText);
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: {
        "webhook-id": type,
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": signature,
      },
      body: text,
    });
    return answer.status;
  };
  // Two attempts at once: the second does not know yet whether the first succeeds.
  expect(await Promise.all([send(body), send(body)]).then((both) => both.sort())).toEqual([200, 409]);
  expect(await send(body)).toBe(200);
  expect(processed).toHaveLength(2);
  expect(await send(body.replace("Night", "Day"), "msg_2", body)).toBe(403);
  expect(await send(JSON.stringify({ type: "moon.landed", timestamp: new Date(), data: {} }), "msg_3")).toBe(202);
  expect(await send("x".repeat(1_000_001), "msg_4")).toBe(413);
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(405);
  expect(processed).toHaveLength(2);
});

test("the shop lists products, opens a checkout, shows the result and accepts webhooks; the receiver's program prints the order", async () => {
  const seller = await floe.seller("shop");
  const scopesOfPage = /--scopes (\S+)/.exec(read("nextjs-shop/README.md"))?.[1]?.split(",") ?? [];
  const key = await floe.keyOf(seller, scopesOfPage);
  await createProduct(seller, "Night Sky Sounds");
  const captured: Receiver = await startReceiver();
  closing.push(() => captured.close());
  const endpoint = { format: "raw" as const, events: ["order.paid" as const] };
  const { secret, id } = await seller.client.webhooks.createEndpoint({ body: { ...endpoint, url: captured.url } });
  const program = await startProgram("webhook-receiver/main.ts", { FLOE_WEBHOOK_SECRET: secret });
  Object.assign(process.env, {
    FLOE_SERVER: floe.url,
    FLOE_API_KEY: key,
    FLOE_WEBHOOK_SECRET: secret,
    SHOP_URL: "http://localhost:3000",
  });
  closing.push(() => {
    for (const name of ["FLOE_SERVER", "FLOE_API_KEY", "FLOE_WEBHOOK_SECRET", "SHOP_URL"]) delete process.env[name];
  });

  const page = renderToStaticMarkup(await ProductsPage());
  expect(page).toContain("<h2>Night Sky Sounds</h2>");
  expect(page).toContain("<p>$19.00</p>");
  const form = new FormData();
  expect(
    (await openCheckout(new Request("http://localhost:3000/checkout", { method: "POST", body: form }))).status,
  ).toBe(400);
  form.set("product", /value="([^"]+)"/.exec(page)?.[1] ?? "");
  const opened = await openCheckout(new Request("http://localhost:3000/checkout", { method: "POST", body: form }));
  expect(opened.status).toBe(303);
  const [checkout] = (await seller.client.checkouts.list({ query: {} })).items;
  expect(opened.headers.get("location")).toBe(checkout?.url);
  const show = async () =>
    renderToStaticMarkup(await ThanksPage({ searchParams: Promise.resolve({ checkout_id: checkout?.id }) }));
  expect(await show()).toContain("not complete");
  await pay(checkout?.client_secret ?? "");
  expect(await show()).toContain("You bought Night Sky Sounds for $19.00.");

  const [sent] = captured.received;
  const deliver = (body: string) =>
    receiveWebhook(
      new Request("http://localhost:3000/webhooks", {
        method: "POST",
        headers: Object.entries(sent?.headers ?? {}).filter(([name]) => name.startsWith("webhook-")) as [
          string,
          string,
        ][],
        body,
      }),
    );
  expect((await deliver(sent?.body ?? "")).status).toBe(204);
  expect((await deliver(`${sent?.body} `)).status).toBe(403);

  // The same event, to the program.
  await seller.client.webhooks.updateEndpoint({ params: { id }, body: { url: `${program.url}/` } });
  const [delivery] = (await seller.client.webhooks.listDeliveries({ query: {} })).items;
  await seller.client.webhooks.redeliver({ params: { id: delivery?.webhook_event.id ?? "" } });
  await floe.runJobs();
  await until(() => /^order\.paid: \S+, 1900 usd/m.test(program.printed()));
  expect(program.printed()).toContain("order.paid");
  expect(await (await startProgram("webhook-receiver/main.ts", {})).ended).toBe(64);
});

test("usage is counted once, also when a batch got no answer, and a stopped service sends the rest", async () => {
  const seller = await floe.seller("usage");
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  const commands = listCommands("usage-service/README.md");
  expect(commands.map(([group]) => group)).toEqual(["meters", "customers", "customer-meters"]);
  for (const command of commands.slice(0, 2)) expect(await runCli(command, { env })).toMatchObject({ code: 0 });
  const key = await floe.keyOf(seller, ["events:write"]);
  const program = await startProgram("usage-service/main.ts", { FLOE_SERVER: floe.url, FLOE_API_KEY: key });
  const post = (headers: Record<string, string>) =>
    fetch(program.url, { method: "POST", headers, body: "three short words" });
  expect(await (await post({ "x-customer-id": "user-1" })).json()).toEqual({ words: 3 });
  expect((await post({})).status).toBe(400);
  program.child.kill("SIGTERM");
  expect([await program.ended, program.printed()]).toEqual([0, expect.any(String)]);

  const attempts: UsageEvent[][] = [];
  const rejected: UsageEvent[][] = [];
  const client = floe.client(key);
  const reporter = createUsageReporter({
    intervalMs: 3_600_000,
    batchSize: 2,
    queueMax: 3,
    isRejected: (error) => error instanceof TypeError,
    onRejected: (events) => rejected.push(events),
    async send(events) {
      attempts.push(events);
      await client.events.ingest({ body: { events }, query: {} });
      if (attempts.length === 1) throw new Error("The answer was lost.");
    },
  });
  const report = (number: number) =>
    reporter.report({
      name: "words_counted",
      external_customer_id: "user-1",
      external_id: `text-${number}`,
      timestamp: floe.clock.now().toISOString(),
      metadata: { words: 10 },
    });
  expect([1, 2, 3, 4].map(report)).toEqual([true, true, true, false]);
  await expect(reporter.flush()).rejects.toThrow("lost");
  await reporter.close();
  expect(attempts.map(({ length }) => length)).toEqual([2, 2, 1]);
  expect(rejected).toEqual([]);
  const { code, out } = await runCli([...(commands[2] ?? []), "--json"], { env });
  expect([code, JSON.parse(out)]).toMatchObject([0, [{ consumed_units: 33 }]]);

  // What the server rejects, as a time in the future, is handed back, and the next batch is sent.
  const polar = createPolar({ accessToken: key, baseUrl: floe.url });
  const strict = createUsageReporter({
    ...{ intervalMs: 3_600_000, batchSize: 1 },
    send: (events) => polar.events.ingest({ events }),
    isRejected: (error) => error instanceof errors.HTTPValidationError,
    onRejected: (events) => rejected.push(events),
  });
  const event = { name: "words_counted", external_customer_id: "user-1", metadata: { words: 1 } };
  const later = new Date(floe.clock.now().getTime() + 86_400_000).toISOString();
  strict.report({ ...event, external_id: "from the future", timestamp: later });
  strict.report({ ...event, external_id: "in time", timestamp: floe.clock.now().toISOString() });
  await strict.close();
  expect(rejected.flat().map(({ external_id }) => external_id)).toEqual(["from the future"]);
  const after = await runCli([...(commands[2] ?? []), "--json"], { env });
  expect(JSON.parse(after.out)).toMatchObject([{ consumed_units: 34 }]);
});

type Step = { run?: string; env?: Record<string, string> };
type Workflow = { jobs: Record<string, { env: Record<string, string>; steps: Step[] }> };

test("the pipeline plans with one key, applies with another, and reports drift", async () => {
  const seller = await floe.seller("pipeline");
  const place = folder();
  cpSync("examples/ci-pipeline", place, { recursive: true });
  const [readKey = "", writeKey = ""] = await Promise.all(
    [...read("ci-pipeline/README.md").matchAll(/--scopes (\S+)/g)].map(([, list = ""]) =>
      floe.keyOf(
        seller,
        list.split(",").filter((one): one is Scope => scopes.some((scope) => scope === one)),
      ),
    ),
  );
  // What GitHub has and this machine lacks: an installed floe, and the program that comments.
  const bin = folder();
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
  const programs = {
    npx: `shift\nexec "${process.execPath}" "${join(bin, "cli.cjs")}" "$@"`,
    npm: `[ "$*" = ci ]`,
    gh: `[ "$1 $2 $3" = "pr comment 7" ] && cp "$5" comment.md`,
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const values: Record<string, string> = {
    "vars.FLOE_SERVER": floe.url,
    "secrets.FLOE_PLAN_KEY": readKey,
    "secrets.FLOE_APPLY_KEY": writeKey,
    "github.token": "a token",
    "github.event.number": "7",
  };
  const workflow = parse(read("ci-pipeline/.github/workflows/catalog.yml")) as Workflow & {
    env: Record<string, string>;
  };
  const fill = (env: Record<string, string> = {}, given = values): Record<string, string> =>
    Object.fromEntries(
      Object.entries(env).map(([name, text]) => [
        name,
        text.replace(/\$\{\{ (\S+) \}\}/g, (_, key) => given[key] ?? ""),
      ]),
    );
  async function runJob(name: string, given = values): Promise<number> {
    const job = workflow.jobs[name];
    for (const step of job?.steps ?? []) {
      if (step.run === undefined) continue;
      const env = { ...fill(workflow.env), ...fill(job?.env, given), ...fill(step.env, given) };
      const more = { PATH: `${bin}:${process.env.PATH}`, HOME: place, GITHUB_STEP_SUMMARY: join(place, "summary.md") };
      const code = await run("bash", ["-e", "-c", step.run], { cwd: place, env: { ...more, ...env } }).then(
        () => 0,
        (error: { code: number }) => error.code,
      );
      if (code !== 0) return code;
    }
    return 0;
  }
  expect(Object.keys(workflow.jobs)).toEqual(["plan", "apply", "drift"]);
  expect(await runJob("plan")).toBe(0);
  expect(readFileSync(join(place, "comment.md"), "utf8")).toContain("| create | `products.pro` Pro |");
  expect(await runJob("apply", { ...values, "secrets.FLOE_APPLY_KEY": readKey })).toBe(5);
  expect((await seller.client.products.list({ query: {} })).items).toEqual([]);
  expect(await runJob("apply")).toBe(0);
  const { items } = await seller.client.products.list({ query: {} });
  expect(items.map(({ name }) => name).sort()).toEqual(["Night Sky Sounds", "Pro"]);
  expect(await runJob("drift")).toBe(0);
  await seller.client.products.update({ params: { id: items[0]?.id ?? "" }, body: { name: "Renamed" } });
  expect(await runJob("drift")).toBe(10);
});

type Compose = {
  services: Record<
    string,
    {
      build?: { context: string; dockerfile: string };
      depends_on?: Record<string, unknown>;
      environment?: Record<string, string>;
      healthcheck?: { test: string[] };
      volumes?: string[];
    }
  >;
  volumes: Record<string, unknown>;
};

test("the compose file follows its specification, and gives the server settings that it knows and accepts", async () => {
  const text = read("compose/compose.yaml");
  const file = parse(text) as Compose;
  const isValid = new Ajv({ strict: false, validateFormats: false }).compile(
    JSON.parse(readFileSync("tests/fixtures/compose-spec.json", "utf8")),
  );
  isValid(file);
  expect(isValid.errors).toBeNull();
  expect(isValid({ services: { floe: { port: ["80"] } } })).toBe(false);

  // What the shell of the containers fills in: `${NAME:?message}`, `${NAME:-default}`, `$$`.
  const given: Record<string, string> = {
    POSTGRES_PASSWORD: "a-password",
    FLOE_SECRET: randomBytes(32).toString("hex"),
  };
  const fill = (value: string): string =>
    value.replace(/\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}/g, (whole, name?: string, kind?: string, more?: string) =>
      whole === "$$" || name === undefined ? "$" : (given[name] ?? (kind === "-" ? (more ?? "") : "")),
    );
  const required = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
  for (const name of required) expect(read("compose/.env.example")).toMatch(new RegExp(`^${name}=$`, "m"));
  const { floe: server, ...others } = file.services;
  for (const [name, { volumes = [] }] of Object.entries(file.services))
    for (const volume of volumes) expect(Object.keys(file.volumes), name).toContain(volume.split(":")[0]);
  expect(Object.keys(server?.depends_on ?? {})).toEqual(Object.keys(others));
  const root = join("examples/compose", server?.build?.context ?? "");
  expect(existsSync(join(root, "package.json")) && existsSync(join(root, server?.build?.dockerfile ?? ""))).toBe(true);

  const env = Object.fromEntries(
    Object.entries(server?.environment ?? {}).map(([name, value]) => [name, fill(String(value))]),
  );
  expect(Object.keys(env).filter((name) => !settingNames.includes(name as never))).toEqual([]);
  const config = completeConfig(readSettings(env, {}));
  expect(config).toMatchObject({
    url: "http://localhost:4455",
    embedded: false,
    DATABASE_URL: "postgres://floe:a-password@database:5432/floe",
    SMTP_URL: "smtp://mail:1025",
  });
  expect(listWarnings(config)).toEqual([expect.stringContaining("FLOE_TEST_CARDS is on")]);

  const [, program = "", ...words] = server?.healthcheck?.test ?? [];
  const check = (port: number) =>
    run(program, words.map(fill), { env: { PATH: process.env.PATH, PORT: String(port) } }).then(
      () => 0,
      (error: { code: number }) => error.code,
    );
  let status = 200;
  const asked: (string | undefined)[] = [];
  const stand = createServer(({ url }, response) => {
    asked.push(url);
    response.writeHead(status).end();
  });
  await new Promise<void>((done) => stand.listen(0, "127.0.0.1", done));
  closing.push(() => stand.close());
  const { port } = stand.address() as AddressInfo;
  expect([await check(port), asked]).toEqual([0, ["/readyz"]]);
  status = 503;
  expect([await check(port), await check(await freePort())]).toEqual([1, 1]);
});

test("each example has a page of at most one screen, and the list of examples names it", () => {
  const index = read("README.md");
  const names = readdirSync("examples", { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(names.length).toBeGreaterThan(4);
  for (const { name } of names) {
    expect(index).toContain(`](${name}/README.md)`);
    expect(read(`${name}/README.md`).split("\n").length, name).toBeLessThan(45);
  }
});
