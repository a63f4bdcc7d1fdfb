/** What the operator sees across sellers: queues, failed jobs, mails and endpoints, from the database of a server. */
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { webhookEndpoints } from "../../server/messaging/webhooks/tables.ts";
import { failedWork } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { queueMail } from "../../server/platform/mail-transport/mail.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startMailServer } from "../support/mail-server.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { startReceiver } from "../support/receiver.ts";
import { floe as runFloe } from "./support.ts";

let floe: Floe;
let seller: Seller;
let other: Seller;
let url: string;
const open: (() => unknown)[] = [];
beforeAll(async () => {
  url = await createPostgresDatabase();
  const server = await startMailServer();
  open.push(() => server.close());
  const receiver = await startReceiver();
  open.push(() => receiver.close());
  receiver.answer(500);
  const hook = receiver.url.replace("127.0.0.1", "localhost");
  const allowed = { FLOE_WEBHOOK_ALLOW: new URL(hook).host };
  floe = await start({ databaseUrl: url, settings: { SMTP_URL: server.url, ...allowed } });
  seller = await floe.seller();
  other = await floe.seller();
  await floe.runJobs();
  const failed = (kind: string, of: Seller, error: string) => ({
    ...{ kind, row_id: newId(), organization_id: of.organization_id, attempts: 12, error },
    ...{ first_failed_at: new Date(Date.now() - 3_600_000), retry_at: null, discarded_at: null },
  });
  await floe.deps.db
    .insert(failedWork)
    .values([
      ...Array.from({ length: 4 }, () => failed("orders.confirm", seller, "connect ECONNREFUSED 10.0.0.7\u001b[2J")),
      ...Array.from({ length: 3 }, () => failed("orders.confirm", other, "a timeout")),
      failed("grants.run", other, "connect ECONNREFUSED 10.0.0.8"),
    ]);
  server.refuse(550);
  await transact(floe.deps, (tx) =>
    queueMail(tx, floe.deps, { to: "gone@example.com", subject: "Your order", paragraphs: ["A private word."] }),
  );
  await floe.runJobs();
  server.refuse(450);
  await transact(floe.deps, (tx) =>
    queueMail(tx, floe.deps, { to: "late@example.com", subject: "Your order", paragraphs: ["A private word."] }),
  );
  await floe.runJobs();
  await seller.client.webhooks.createEndpoint({
    body: { url: hook, format: "raw", events: ["product.created"] },
  });
  await seller.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
  await floe.runJobs();
});
afterAll(async () => {
  await floe.close();
  for (const close of open.splice(0).reverse()) await close();
});

const run = async (...argv: string[]) => {
  const env = { FLOE_PROMPT_DISABLED: "1" };
  const answer = await runFloe(["admin", ...argv, "--database-url", url], { env, tty: true, columns: 80 });
  for (const line of stripVTControlCharacters(answer.out).split("\n"))
    expect(line.length, `${argv.join(" ")}: ${line}`).toBeLessThanOrEqual(80);
  expect(answer.out).not.toContain("\u001b[2J");
  return answer;
};
const readJson = async (...argv: string[]) => {
  const { code, out, err } = await runFloe(["admin", ...argv, "--database-url", url, "--json"], {
    env: { FLOE_PROMPT_DISABLED: "1" },
  });
  expect(code, err).toBe(0);
  return JSON.parse(out);
};
const countDead = async () => (await readJson("dead-letters", "--limit", "1000")).length;

test("floe admin queues shows what is due, retried and given up for each worker", async () => {
  const { code, out } = await run("queues");
  expect(code).toBe(0);
  expect(out).toContain("orders.confirm");
  const queues = await readJson("queues", "--all");
  expect(queues.length).toBeGreaterThan(30);
  const find = (worker: string) => queues.find((one: { worker: string }) => one.worker === worker);
  expect(find("orders.confirm")).toMatchObject({ dead: 7, retrying: 0 });
  expect(find("grants.run")).toMatchObject({ dead: 1 });
  // By the clock of the operator's machine.
  await floe.deps.db.update(webhookEndpoints).set({ due_at: new Date(Date.now() - 600_000) });
  expect(await readJson("queues")).toContainEqual({
    ...{ worker: "webhooks.deliver", due: 1, retrying: 0, dead: 0 },
    oldest_at: expect.stringMatching(/^\d{4}-/),
  });
});

test("floe admin dead-letters filters by worker, organization and error", async () => {
  const { out } = await run("dead-letters");
  expect(out).toContain("ECONNREFUSED");
  expect(await readJson("dead-letters", "--kind", "orders.confirm")).toHaveLength(7);
  expect(await readJson("dead-letters", "--organization", other.organization_id)).toHaveLength(4);
  expect(await readJson("dead-letters", "--error", "econnrefused")).toHaveLength(5);
  expect(await readJson("dead-letters", "--error", "%")).toHaveLength(0);
  const limited = await run("dead-letters", "--limit", "2");
  expect(limited.err).toContain("6 more");
});

test("floe admin retry shows first what it would do, asks, and retries what the filter matches and nothing else", async () => {
  const before = await countDead();
  const preview = await run("retry", "--error", "ECONNREFUSED", "--dry-run");
  expect([preview.code, await countDead()]).toEqual([0, before]);
  expect(preview.err).toContain("5 of 5 jobs would be retried");
  const unasked = await run("retry", "--error", "ECONNREFUSED");
  expect([unasked.code === 0, await countDead()]).toEqual([false, before]);
  expect(unasked.err).toContain("4 orders.confirm");
  const done = await run("retry", "--error", "ECONNREFUSED", "--kind", "orders.confirm", "--limit", "3", "--yes");
  expect([done.code, await countDead()]).toEqual([0, before - 3]);
  expect(done.err).toContain("3 jobs run again");
  expect(
    (await readJson("queues", "--all")).find((one: { worker: string }) => one.worker === "orders.confirm"),
  ).toMatchObject({
    retrying: 3,
  });
  const none = await run("retry", "--kind", "no.such");
  expect([none.code, none.out + none.err]).toEqual([0, expect.stringContaining("No failed job matches")]);
});

test("floe admin mails shows what the mail server answered, and which addresses bounced, and no words of a mail", async () => {
  const refused = await run("mails");
  expect(refused.out).toContain("gone@example.com");
  expect(refused.out).toContain("550");
  const failing = await readJson("mails", "--status", "failing");
  expect(failing).toMatchObject([{ to: "late@example.com", attempts: 1, answer: expect.stringContaining("450") }]);
  expect(JSON.stringify(failing)).not.toContain("private");
  expect(await readJson("mails", "--to", "GONE@example.com")).toHaveLength(1);
  expect((await run("mails", "--bounced")).out).toContain("gone@example.com");
  expect((await run("mails", "--forget", "gone@example.com")).code).toBe(0);
  expect((await run("mails", "--forget", "gone@example.com")).code).not.toBe(0);
  expect(await readJson("mails", "--bounced")).toEqual([]);
});

test("floe admin endpoints and status show the endpoint whose receiver is away", async () => {
  const [endpoint] = await readJson("endpoints");
  expect(endpoint).toMatchObject({ organization_id: seller.organization_id, enabled: true, waiting: 1 });
  expect((await run("endpoints")).code).toBe(0);
  const status = await readJson("status");
  expect(status.endpoints).toHaveLength(1);
  expect(status.dead_letters.count).toBe(await countDead());
  expect((await run("status")).out).toContain("floe admin dead-letters");
});

test("a wrong number or status is refused before the database is asked", async () => {
  for (const argv of [
    ["mails", "--limit", "0"],
    ["mails", "--status", "lost"],
    ["retry", "--limit", "1001"],
  ])
    expect((await run(...argv)).code).not.toBe(0);
});
