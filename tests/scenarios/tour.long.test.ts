import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { webhooks } from "@polar-sh/sdk/2026-10";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { closePages, openChromium, openPage } from "../web/support/chromium.ts";

/** The README's tour, as its reader takes it: the built program, real processes, a real browser. */

const folder = mkdtempSync(join(tmpdir(), "floe-tour-"));
const executable = join(process.cwd(), "bin/floe.js");
const running = new Set<ChildProcess>();
let port: number;
let url: string;
let browser: Browser;
let receiver: Receiver;
const complaints: string[] = [];
let demo: { email: string; password: string };

type Program = {
  child: ChildProcess;
  out: () => string;
  err: () => string;
  ended: Promise<number | null>;
  until(text: RegExp): Promise<RegExpExecArray>;
};

function floe(...args: string[]): Program {
  const env = { ...process.env, FLOE_CONFIG_DIR: join(folder, "config"), FLOE_SERVER: url, CI: "", NO_COLOR: "1" };
  const child = spawn(process.execPath, [executable, ...args], { cwd: folder, env });
  running.add(child);
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => (out += String(data)));
  child.stderr.on("data", (data) => (err += String(data)));
  const ended = new Promise<number | null>((resolve) =>
    child.on("exit", (code) => {
      running.delete(child);
      resolve(code);
    }),
  );
  const until = (text: RegExp): Promise<RegExpExecArray> =>
    eventually(
      async () => {
        const found = text.exec(out) ?? text.exec(err);
        if (!found && child.exitCode !== null)
          throw new Error(`${args.join(" ")} did not say ${text}:\n${out}\n${err}`);
        return found ?? undefined;
      },
      `${args.join(" ")} says ${text}`,
    );
  return { child, out: () => out, err: () => err, ended, until };
}
const run = async (...args: string[]): Promise<unknown> => {
  const program = floe(...args);
  const code = await program.ended;
  expect([args.join(" "), code, code === 0 ? "" : program.err()]).toEqual([args.join(" "), 0, ""]);
  return JSON.parse(program.out());
};
const serve = async (): Promise<Program> => {
  const server = floe("serve", "--port", String(port), "--data-dir", join(folder, "data"));
  await server.until(/floe is ready/);
  return server;
};

beforeAll(async () => {
  port = await freePort();
  url = `http://localhost:${port}`;
  [browser, receiver] = await Promise.all([openChromium(), startReceiver()]);
});
afterAll(async () => {
  for (const child of running) child.kill("SIGKILL");
  await closePages(browser);
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("E-mail").fill(demo.email);
  await page.getByLabel("Password").fill(demo.password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

async function buy(page: Page, product: string, card = "4242 4242 4242 4242"): Promise<void> {
  await page.goto(`${url}/demo`);
  await page.getByRole("button", { name: `Buy ${product}` }).click();
  const checkout = page.frameLocator("iframe");
  await checkout.getByLabel("E-mail").fill("buyer@example.com");
  await checkout.getByLabel("Name on card").fill("Ada Buyer");
  await checkout.getByLabel("Country").selectOption("FR");
  await checkout.getByLabel(/^I agree that delivery begins/).check();
  await checkout.getByLabel("Card number").fill(card);
  await checkout.getByLabel("Expiry date").fill("12/40");
  await checkout.getByLabel("Security code").fill("123");
  await checkout.getByRole("button", { name: /^Pay/ }).click();
}

type Order = {
  id: string;
  status: string;
  total_amount: number;
  product: { name: string };
  customer: { email: string };
};

test("sign in by code, sell a product, hear of it, and lose nothing to a crash", { timeout: 240_000 }, async () => {
  let server = await serve();
  const [, email = ""] = await server.until(/Demo seller\s+(\S+)/);
  const [, password = ""] = await server.until(/Password\s+(\S+)/);
  demo = { email, password };
  expect((await fetch(`${url}/readyz`)).status).toBe(200);

  // The terminal asks; the browser approves.
  const login = floe("login", "--no-browser");
  const [, page_url = ""] = await login.until(/Open\s+(\S+)/);
  const [, code = ""] = await login.until(/Code\s+([A-Z0-9-]+)/);
  const page = await openPage(browser, complaints);
  await page.goto(page_url);
  await signIn(page);
  await page.getByText(code.replace(/^(.{4})-?(.{4})$/, "$1-$2")).waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  expect([await login.ended, login.err()]).toEqual([0, expect.stringContaining("Signed in")]);
  expect(await run("whoami", "--json")).toMatchObject({ user: { email } });

  // A product from the terminal, bought in the overlay, told to a program on this machine.
  const product = (await run("products", "create", "--name", "Night Sky Sounds", "--price", "19.00")) as { id: string };
  const listen = floe("listen", "--forward-to", receiver.url);
  const [, secret = ""] = await listen.until(/Signing secret: (\S+)/);
  await buy(page, "Night Sky Sounds");
  await expect.poll(() => receiver.types()).toContain("order.paid");
  const paid = receiver.received.find(({ json }) => json.type === "order.paid");
  const event = await webhooks.validateEvent(paid?.body ?? "", paid?.headers as Record<string, string>, secret);
  expect(event).toMatchObject({ type: "order.paid", data: { product_id: product.id, total_amount: 1900 } });
  const orders = (await run("orders", "list", "--json")) as Order[];
  expect(orders).toMatchObject([
    {
      status: "paid",
      total_amount: 1900,
      product: { name: "Night Sky Sounds" },
      customer: { email: "buyer@example.com" },
    },
  ]);

  // Killed in the middle of its life, it has everything when it comes back, and the listener goes on where it was.
  listen.child.kill("SIGINT");
  expect(await listen.ended).toBe(130);
  server.child.kill("SIGKILL");
  await server.ended;
  server = await serve();
  expect(await run("orders", "list", "--json")).toMatchObject([{ id: orders[0]?.id }]);
  await buy(await openPage(browser, complaints), "Night Sky Sounds");
  await expect.poll(async () => ((await run("orders", "list", "--json")) as Order[]).length, { interval: 500 }).toBe(2);
  const before = receiver.types().filter((type) => type === "order.paid").length;
  const again = floe("listen", "--forward-to", receiver.url);
  await expect.poll(() => receiver.types().filter((type) => type === "order.paid").length).toBe(before + 1);
  again.child.kill("SIGTERM");
  expect(await again.ended).toBe(143);

  // A second server on the same folder, or on the same port, says so in one line.
  const second = floe("serve", "--port", String(await freePort()), "--data-dir", join(folder, "data"));
  expect([await second.ended, second.err()]).toEqual([
    1,
    expect.stringMatching(/held by another floe \(process \d+\)/),
  ]);
  const samePort = floe("serve", "--port", String(port), "--data-dir", join(folder, "other"));
  expect([await samePort.ended, samePort.err()]).toEqual([1, expect.stringContaining(`Port ${port} is in use`)]);
  server.child.kill("SIGINT");
  expect(await server.ended).toBe(0);
  expect(complaints).toEqual([]);
});
