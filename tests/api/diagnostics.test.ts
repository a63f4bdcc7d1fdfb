import { mkdtempSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { requeueDeadLetters } from "../../server/platform/db/due.ts";
import { failedWork } from "../../server/platform/db/tables.ts";
import type { Diagnostics } from "../../shared/api/diagnostics.ts";
import type { Job } from "../../shared/api/jobs.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startMailServer } from "../support/mail-server.ts";
import { startReceiver } from "../support/receiver.ts";

let floe: Floe;
let seller: Seller;
let operator: Seller;
const work = { kind: "a.worker", attempts: 9, error: "secret text", first_failed_at: new Date(), retry_at: null };
let mail: Awaited<ReturnType<typeof startMailServer>>;
const backups = mkdtempSync(join(tmpdir(), "floe-backups-"));
beforeAll(async () => {
  mail = await startMailServer();
  const settings = {
    FLOE_URL: "https://pay.example.com",
    SMTP_URL: mail.url,
    FLOE_BACKUPS_DIR: backups,
    FLOE_TEST_CARDS: "on",
  };
  floe = await start({ settings });
  seller = await floe.seller("ada");
  operator = await floe.seller("operator");
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, operator.user_id));
});
afterAll(async () => {
  await floe?.close();
  await mail?.close();
});

const ask = async (token: string, path = "/v1/diagnostics", headers = {}): Promise<Diagnostics> => {
  const { status, json, text } = await floe.request("GET", path, { token, headers });
  expect(status, text).toBe(200);
  return json;
};
const find = ({ checks }: Diagnostics, id: string) => checks.filter((check) => check.id === id);
const ofServer = ["server_dead_letters", "worker", "proxy", "mail", "disk", "storage", "backups"];

test("a seller sees the own store, and nothing of the server or of another store", async () => {
  const bob = await floe.seller("bob");
  await floe.deps.db.insert(failedWork).values({ ...work, row_id: "1", organization_id: bob.organization_id });
  const receiver = await startReceiver();
  await bob.client.webhooks.createEndpoint({ body: { url: "https://bob.example.com/hooks", events: ["order.paid"] } });
  await receiver.close();
  for (const token of [seller.key, seller.session]) {
    const report = await ask(token);
    expect([report.operator, report.organization_id]).toEqual([false, seller.organization_id]);
    for (const id of ofServer) expect(find(report, id)).toEqual([]);
    expect(find(report, "dead_letters")[0]?.status).toBe("ok");
    expect(JSON.stringify(report)).not.toContain("bob.example.com");
    expect(find(report, "server")[0]?.status).toBe("skipped");
  }
  const own = await ask(bob.key);
  expect(find(own, "dead_letters")[0]).toMatchObject({
    status: "failure",
    message: "1 background job of this organization given up after a day of retries: a.worker.",
    fix: expect.stringContaining("`floe admin retry`"),
  });
  expect(JSON.stringify(own)).not.toContain("secret text");
  expect(find(own, "webhooks")[0]?.message).toContain("https://bob.example.com/hooks");
});

test("the card processor of U1 fails for everybody, before and with --go-live", async () => {
  for (const path of ["/v1/diagnostics", "/v1/diagnostics?go_live=true"])
    expect(find(await ask(seller.key, path), "card_processor")[0]).toMatchObject({
      status: "failure",
      fix: expect.stringContaining("STRIPE_SECRET_KEY"),
    });
});

test("a key sees webhooks with their scope alone, and its own scopes and end", async () => {
  const key = await floe.keyOf(seller, ["organizations:read"]);
  const report = await ask(key);
  expect(find(report, "webhooks")[0]?.status).toBe("skipped");
  expect(report.credential).toEqual({ kind: "key", scopes: ["organizations:read"], expires_at: null });
  const products = await floe.keyOf(seller, ["products:read"]);
  expect((await floe.request("GET", "/v1/diagnostics", { token: products })).status).toBe(403);
});

test("a platform admin sees the server, with the own session and not with a key", async () => {
  await floe.deps.db.insert(failedWork).values({ ...work, row_id: "2" });
  const report = await ask(operator.session, "/v1/diagnostics", { "x-forwarded-for": "192.0.2.7" });
  expect(report.operator).toBe(true);
  for (const id of ofServer) expect(find(report, id).length, id).toBeGreaterThan(0);
  expect(find(report, "server_dead_letters")[0]?.status).toBe("failure");
  expect(find(report, "storage")[0]?.status).toBe("ok");
  expect(find(report, "proxy")[0]).toMatchObject({ status: "warning", fix: expect.stringContaining("TRUST_PROXY") });
  expect((await ask(operator.key)).operator).toBe(false);
});

test("the newest file of the backups tells when the last backup was", async () => {
  const check = async () => find(await ask(operator.session), "backups")[0];
  expect(await check()).toMatchObject({ status: "failure" });
  // What a backup that was broken off has left is no backup.
  writeFileSync(join(backups, "floe-20260531T040000Z.partial"), "");
  expect(await check()).toMatchObject({ status: "failure" });
  const name = join(backups, "floe.dump");
  writeFileSync(name, "");
  expect(await check()).toMatchObject({ status: "ok" });
  const old = floe.clock.now().getTime() / 1000 - 90_000;
  utimesSync(name, old, old);
  expect(await check()).toMatchObject({ status: "failure", message: expect.stringContaining("more than a day ago") });
});

test("a test message goes to the operator's own address, five times an hour", async () => {
  const send = (token: string) => floe.request("POST", "/v1/diagnostics/mail", { token });
  expect((await floe.request("POST", "/v1/diagnostics/mail")).status).toBe(401);
  expect((await send(seller.session)).status).toBe(403);
  expect((await send(operator.key)).status).toBe(403);
  const first = await send(operator.session);
  expect(first.json).toMatchObject({ to: operator.email, sent: true, error: null });
  expect(mail.received.flatMap(({ recipients }) => recipients)).toEqual([operator.email]);
  for (let number = 2; number <= 5; number += 1) expect((await send(operator.session)).status).toBe(200);
  expect((await send(operator.session)).status).toBe(429);
});

describe("jobs", () => {
  type Answer = { status: number; json: Job & { items: Job[]; next: string | null } };
  const jobs = (token: string | undefined, method: "GET" | "POST", path = ""): Promise<Answer> =>
    floe.request(method, `/v1/jobs${path}`, token === undefined ? {} : { token });
  const failed = (row_id: string, more: object = {}) =>
    floe.deps.db
      .insert(failedWork)
      .values({ ...work, kind: "jobs.test", row_id, organization_id: seller.organization_id, ...more });

  test("only the operator sees and changes failed jobs", async () => {
    await failed("closed");
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/jobs.test:closed"],
      ["POST", "/jobs.test:closed/retry"],
      ["POST", "/jobs.test:closed/discard"],
    ] as const) {
      expect((await jobs(undefined, method, path)).status).toBe(401);
      for (const token of [seller.session, seller.key, operator.key])
        expect((await jobs(token, method, path)).status, `${method} ${path}`).toBe(403);
    }
    const { json } = await jobs(operator.session, "GET", "/jobs.test:closed");
    expect(json).toMatchObject({ status: "dead", retry_at: null, discarded_at: null, attempts: 9 });
  });

  test("are listed by status and worker, page by page", async () => {
    const retry_at = new Date(floe.clock.now().getTime() + 60_000);
    for (const row_id of ["p1", "p2", "p3"]) await failed(row_id, { kind: "jobs.pages" });
    await failed("later", { kind: "jobs.pages", retry_at });
    const first = (await jobs(operator.session, "GET", "?kind=jobs.pages&limit=2")).json;
    expect(first.items.map(({ id }) => id)).toEqual(["jobs.pages:p1", "jobs.pages:p2"]);
    const second = (await jobs(operator.session, "GET", `?kind=jobs.pages&limit=2&after=${first.next}`)).json;
    expect([second.items.length, second.next]).toEqual([1, null]);
    const retrying = (await jobs(operator.session, "GET", "?kind=jobs.pages&status=retrying")).json;
    expect(retrying.items).toMatchObject([{ id: "jobs.pages:later", status: "retrying" }]);
    for (const query of ["?status=lost", "?limit=0", "?limit=101", "?after=nothing", "?page=2"])
      expect((await jobs(operator.session, "GET", query)).status, query).toBe(422);
  });

  test("a retry is due at once, and a discarded job is given up until it is retried", async () => {
    await failed("again");
    const dead = async (): Promise<number> => JSON.parse((await floe.request("GET", "/readyz")).text).dead_letters;
    const before = await dead();
    const requeued = (await jobs(operator.session, "POST", "/jobs.test:again/retry")).json;
    expect(requeued).toMatchObject({ status: "retrying", retry_at: expect.any(String) });
    expect((await jobs(operator.session, "POST", "/jobs.test:again/discard")).status).toBe(400);
    expect(await dead()).toBe(before - 1);
    await failed("over");
    const discarded = (await jobs(operator.session, "POST", "/jobs.test:over/discard")).json;
    expect(discarded).toMatchObject({ status: "discarded", discarded_at: expect.any(String) });
    // The second call changes nothing.
    expect((await jobs(operator.session, "POST", "/jobs.test:over/discard")).json).toEqual(discarded);
    expect(await dead()).toBe(before - 1);
    await requeueDeadLetters(floe.deps);
    expect((await jobs(operator.session, "GET", "/jobs.test:over")).json.status).toBe("discarded");
    expect((await jobs(operator.session, "POST", "/jobs.test:over/retry")).json.status).toBe("retrying");
    for (const path of ["/jobs.test:none/retry", "/jobs.test:none/discard"])
      expect((await jobs(operator.session, "POST", path)).status).toBe(404);
    expect((await jobs(operator.session, "POST", "/nothing/retry")).status).toBe(422);
  });
});
