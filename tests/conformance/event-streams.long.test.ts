/** The stream of events as others use it: docs/realtime.md line by line, published clients, and the page of examples/live-orders. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { folder, until } from "../cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { closePages, openChromium } from "../web/support/chromium.ts";

type Follow = (options: Record<string, unknown>) => () => void;
const page = new URL("../../examples/live-orders/follow.js", import.meta.url).href;
const { followEvents } = (await import(page)) as { followEvents: Follow };

let floe: Floe;
let seller: Seller;
let bin: string;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  floe = await start({ listen: true, realTime: true, worker: true });
  seller = await floe.seller();
  bin = folder();
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  writeFileSync(join(bin, "floe"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "cli.cjs")}" "$@"\n`);
  chmodSync(join(bin, "floe"), 0o755);
  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
});
afterAll(async () => {
  for (const close of closing) await close();
  await floe?.close();
});

/** A sale of nothing: an order with its events, for a customer with this id of the seller. */
async function sell(external_customer_id = "user-42"): Promise<string> {
  const { client } = seller;
  const { items } = await client.products.list({ query: {} });
  const product =
    items[0] ?? (await client.products.create({ body: { name: "Map", prices: [{ amount_type: "free" }] } }));
  const checkout = await client.checkouts.create({ body: { products: [product.id], external_customer_id } });
  const body = { customer_email: `${external_customer_id}@example.com`, customer_billing_address: { country: "FR" } };
  const answer = await floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body });
  expect(answer.status).toBe(200);
  const findOrder = async () => (await client.orders.list({ query: { checkout_id: checkout.id } })).items[0];
  return eventually(async () => (await findOrder())?.id, "the order");
}

const blocks = [...readFileSync("docs/realtime.md", "utf8").matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
  ([, body = ""]) => body,
);
const commands = blocks.flatMap((block) => block.replaceAll("\\\n", " ").trim().split("\n"));

function runLine(line: string) {
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder(),
    FLOE_SERVER: floe.url,
    FLOE_API_KEY: seller.key,
  };
  const child: ChildProcess = spawn("sh", ["-c", `exec ${line}`], { env });
  closing.push(() => child.kill("SIGKILL"));
  let [printed, said] = ["", ""];
  child.stdout?.on("data", (part) => (printed += part));
  child.stderr?.on("data", (part) => (said += part));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, ended, printed: () => printed, said: () => said };
}

test.each(commands.filter((line) => !line.includes("POST")))("docs/realtime.md: %s", async (line) => {
  const program = runLine(line);
  await until(() => /Waiting for events|event: hello/.test(program.said() + program.printed()));
  const order = await sell();
  await until(() => program.printed().includes(order) && program.printed().includes("order.paid"));
  if (line.includes("--json")) {
    const rows = program
      .printed()
      .trim()
      .split("\n")
      .map((row) => JSON.parse(row) as { cursor: string; type: string });
    for (const { cursor, type } of rows)
      expect([cursor, type]).toEqual([expect.stringMatching(/^\d+-\d+$/), expect.stringMatching(/^\w+\.\w+$/)]);
  }
  program.child.kill("SIGINT");
  await program.ended;
});

test("docs/realtime.md: a token, as its line makes it, opens the stream that it describes", async () => {
  const [line = ""] = commands.filter((one) => one.includes("POST"));
  const program = runLine(line.replace("curl", "curl -s"));
  expect(await program.ended).toBe(0);
  const { token } = JSON.parse(program.printed()) as { token: string };
  const source = new EventSource(`${floe.url}/v1/events/stream?token=${token}`);
  closing.push(() => source.close());
  const paid: string[] = [];
  source.addEventListener("order.paid", ({ data }) => paid.push(JSON.parse(data).data.id));
  await new Promise((resolve) => source.addEventListener("hello", resolve));
  await sell("user-43");
  const order = await sell();
  await until(() => paid.length > 0);
  expect(paid).toEqual([order]);
});

/** A proxy that is stopped and started again at the same address. */
async function openProxy(port: number): Promise<{ url: string; stop(): Promise<void>; start(): Promise<void> }> {
  const target = Number(new URL(floe.url).port);
  let server: Server | undefined;
  const sockets = new Set<Socket>();
  const begin = async () => {
    server = createServer((socket) => {
      const onward = connect(target, "127.0.0.1");
      for (const one of [socket, onward]) sockets.add(one.on("error", () => {}).on("close", () => sockets.delete(one)));
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => server?.listen(port, "127.0.0.1", resolve));
  };
  const end = async () => {
    const closed = new Promise((resolve) => server?.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await begin();
  closing.push(end);
  return { url: `http://127.0.0.1:${port}`, stop: end, start: begin };
}

test("the npm client `eventsource` goes on by itself after its proxy was away, and sees each order once", async () => {
  const proxy = await openProxy(await freePort());
  const source = new EventSource(`${proxy.url}/v1/events/stream?types=order.paid`, {
    fetch: (address, init) =>
      fetch(address, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${seller.key}` } }),
  });
  closing.push(() => source.close());
  const seen: string[] = [];
  source.addEventListener("order.paid", ({ data }) => seen.push(JSON.parse(data).data.id));
  await new Promise((resolve) => source.addEventListener("hello", resolve, { once: true }));
  const orders = [await sell()];
  await until(() => seen.length === 1);
  await proxy.stop();
  orders.push(await sell(), await sell());
  await proxy.start();
  await until(() => seen.length === 3);
  orders.push(await sell());
  await until(() => seen.length === 4);
  expect(seen).toEqual(orders);
  source.close();
});

test("the page of examples/live-orders goes on with a new token after a break, and sees each order once", async () => {
  const proxy = await openProxy(await freePort());
  const port = await freePort();
  const env = { PATH: process.env.PATH, PORT: String(port), FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
  const shop = spawn(process.execPath, ["examples/live-orders/main.ts"], { env });
  closing.push(() => shop.kill("SIGKILL"));
  let printed = "";
  shop.stdout.on("data", (part) => (printed += part));
  await until(() => printed.includes(String(port)));
  const site = `http://127.0.0.1:${port}`;
  expect(await (await fetch(site)).text()).toContain("follow.js");
  expect((await fetch(`${site}/follow.js`)).headers.get("content-type")).toContain("javascript");
  Object.assign(globalThis, { EventSource });
  const [seen, states]: [string[], string[]] = [[], []];
  const stop = followEvents({
    server: proxy.url,
    getToken: async () =>
      ((await (await fetch(`${site}/token`, { method: "POST" })).json()) as { token: string }).token,
    onState: (state: string) => void states.push(state),
    onEvent: ({ type, data }: { type: string; data: { id: string } }) => {
      if (type === "order.paid") seen.push(data.id);
    },
  });
  closing.push(stop);
  await until(() => states.includes("connected"));
  const orders = [await sell()];
  await until(() => seen.length === 1);
  await proxy.stop();
  orders.push(await sell());
  await proxy.start();
  await until(() => seen.length === 2);
  expect(seen).toEqual(orders);
  expect(states.slice(0, 2)).toEqual(["connected", "connecting"]);
  stop();
});

test("the page of examples/live-orders, in a browser: it shows orders, also of the time in which the proxy was away", async () => {
  const proxy = await openProxy(await freePort());
  const port = await freePort();
  const env = { PATH: process.env.PATH, PORT: String(port), FLOE_SERVER: proxy.url, FLOE_API_KEY: seller.key };
  const shop = spawn(process.execPath, ["examples/live-orders/main.ts"], { env });
  closing.push(() => shop.kill("SIGKILL"));
  const browser = await openChromium();
  closing.push(() => closePages(browser));
  const page = await (await browser.newContext()).newPage();
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${port}/`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true);
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.getByText("connected", { exact: true }).waitFor();
  const first = await sell();
  await page.getByText(`order.paid ${first}`).waitFor();
  await proxy.stop();
  await page.getByText("connecting", { exact: true }).waitFor();
  const missed = await sell();
  await proxy.start();
  await page.getByText(`order.paid ${missed}`).waitFor();
  await page.getByText("connected", { exact: true }).waitFor();
  expect(await page.getByText(`order.paid ${first}`).count()).toBe(1);
  expect(await page.getByText(`order.paid ${missed}`).count()).toBe(1);
  if (process.env.FLOE_TEST_SCREENSHOT) await page.screenshot({ path: process.env.FLOE_TEST_SCREENSHOT });
});
