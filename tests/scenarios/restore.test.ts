import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  checkForRestore,
  findLeftOver,
  findOpenRestore,
  type RestoreRow,
  recordLeftOver,
} from "../../server/operations/restore/detection.ts";
import { type Finding, reconcileRestore } from "../../server/operations/restore/reconcile.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { floe as runCommand } from "../cli/support.ts";
import { newId } from "../support/ids.ts";
import { openRestoredShop, webhookSecret } from "../support/restored-shop.ts";

/** A backup that is put back: nothing that the processor has charged meanwhile is charged again. */

let shop: Awaited<ReturnType<typeof openRestoredShop>>;
beforeAll(async () => {
  shop = await openRestoredShop();
});
afterAll(() => shop?.close());

test("RST-01: what was charged after a backup is not charged again by the database that was restored from it", async () => {
  await shop.sell(shop.plan, 3);
  const backup = await shop.backUp();
  await shop.renew();
  await shop.sell(shop.guide, 2);
  const charged = shop.countCharges();
  expect(charged).toBe(3 + 3 + 2);
  const { time } = shop.floe().clock;
  const before = await shop.read(
    "select id, order_id, processor_id from payments where trigger = 'subscription_cycle' order by id",
  );
  expect(before).toHaveLength(3);
  // RST-02: the processor knows what each charge is for.
  const renewed = [...shop.standIn.intents.values()].find(({ metadata }) => metadata.trigger === "subscription_cycle");
  expect(renewed?.metadata).toEqual({
    organization_id: shop.seller.organization_id,
    payment_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    order_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    product_id: shop.plan,
    subscription_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    period_start: expect.stringMatching(/^20\d\d-/),
    invoice_number: expect.stringMatching(/-000\d$/),
    trigger: "subscription_cycle",
  });
  const sold = [...shop.standIn.intents.values()].at(-1);
  expect(sold?.metadata).toMatchObject({
    trigger: "purchase",
    checkout_id: expect.any(String),
    request_id: expect.any(String),
  });

  await shop.reopen(backup, new Date(time.getTime() + 10 * 60_000));
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  expect(
    await shop.read("select id, order_id, processor_id from payments where trigger = 'subscription_cycle' order by id"),
  ).toEqual(before);
  expect(await shop.read("select status, count(*)::int as times from payments group by 1")).toEqual([
    { status: "succeeded", times: 6 },
  ]);
  expect(shop.takeFaults()).toEqual([]);
});

test("RST-01: a buyer whose page is open still is not charged again for a checkout that was paid before the restore", async () => {
  const [left, other] = [await shop.open(shop.guide), await shop.open(shop.guide)];
  const backup = await shop.backUp();
  expect((await shop.pay(left)).status).toBe(200);
  await shop.pay(other, "ctoken_chargeDeclined");
  await shop.floe().runJobs();
  const charged = shop.countCharges();
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 10 * 60_000));
  expect((await shop.pay(left)).status).toBe(200);
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  const [row] = await shop.read(
    "select count(*)::int as times from orders where checkout_id is not null and status = 'paid' and product_id = '" +
      shop.guide +
      "'",
  );
  expect(row).toEqual({ times: 1 });
  // A card that was declined before is answered as declined once; the next attempt is a new one.
  expect((await shop.pay(other)).status).toBe(400);
  expect((await shop.pay(other)).status).toBe(200);
  expect(shop.countCharges()).toBe(charged + 1);
  expect(shop.takeFaults()).toEqual([]);
});

test("RST-01: days later, when the processor has forgotten its keys, a renewal is looked for before it is charged", async () => {
  const backup = await shop.backUp();
  await shop.renew();
  const charged = shop.countCharges();
  expect(charged).toBeGreaterThan(3);
  shop.standIn.forgetKeys();
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 3 * 86_400_000));
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charged);
  expect(shop.takeFaults()).toEqual([]);
});

const newestRestore = async (): Promise<string> =>
  String((await shop.read("select id from restores order by id desc limit 1"))[0]?.id);

/** Reconcile as the command does, by the clock of the test. */
async function reconcile(asked: { since: Date; isApplied: boolean; unknown: "refund" | "keep" | null }) {
  const findings: Finding[] = [];
  const report = (finding: Finding) => void findings.push(finding);
  const isSettled = await reconcileRestore(shop.floe().deps, { ...asked, report });
  const counts: Record<string, number> = {};
  for (const { outcome } of findings) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return { findings, counts, isSettled };
}

test("RST-03, RST-04: one command settles every unknown charge, and no number is given twice", async () => {
  const since = shop.floe().clock.now();
  const backup = await shop.backUp();
  const at_backup = await shop.numbers();
  await shop.renew();
  await shop.sell(shop.guide, 2);
  const numbers = await shop.numbers();
  const charges = shop.countCharges();
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 600_000));
  const { deps } = shop.floe();
  expect(await checkForRestore(deps)).toMatchObject({ reason: "processor", settled_at: null });
  expect(shop.floe().logged.filter((line) => line.includes("it was restored from a backup"))).toHaveLength(1);
  // Found again, it is the same restore.
  expect((await checkForRestore(deps))?.id).toBe((await checkForRestore(deps))?.id);
  expect(await shop.read("select count(*)::int as times from restores")).toEqual([{ times: 1 }]);

  const renewals = numbers.length - at_backup.length - 2;
  const rehearsed = await reconcile({ since, isApplied: false, unknown: null });
  expect(rehearsed).toMatchObject({ counts: { unknown: 2, adopt: renewals }, isSettled: false });
  expect(await shop.numbers()).toEqual(at_backup);
  const applied = await reconcile({ since, isApplied: true, unknown: "refund" });
  expect(applied).toMatchObject({ counts: { refund: 2, adopt: renewals }, isSettled: true });
  expect(shop.countCharges()).toBe(charges);
  expect(shop.standIn.refunds.size).toBe(2);
  await shop.floe().runJobs();
  await shop.sell(shop.guide, 1);
  expect(shop.countCharges()).toBe(charges + 1);
  const after = (await shop.numbers()).filter((number) => !at_backup.includes(number));
  expect(after).toHaveLength(renewals + 1);
  expect(after.filter((number) => numbers.includes(number))).toEqual([]);
  expect(after[0]).toMatch(/-\d{10}-\d{4}$/);
  const receipts = await shop.read("select receipt_number from orders where receipt_number ~ '-[0-9]{10}-'");
  expect(receipts).toHaveLength(renewals + 1);
  // Nothing is left, and nothing is done twice.
  const again = await reconcile({ since, isApplied: true, unknown: "refund" });
  expect(again).toMatchObject({ counts: { returned: 2, known: renewals + 1 + 2 }, isSettled: true });
  expect(shop.standIn.refunds.size).toBe(2);
  expect(await findBreaches()).toEqual([]);
  expect(shop.takeFaults()).toEqual([]);
});

const findBreaches = () =>
  verifyOrganization(shop.floe().deps.db, {
    organization_id: shop.seller.organization_id,
    kept_since: null,
    statementMs: 10_000,
    rest: async () => undefined,
  });

test("RST-04: a refund and a dispute since the backup become due, and a charge over another amount stops", async () => {
  await shop.sell(shop.guide, 2);
  const since = shop.floe().clock.now();
  const backup = await shop.backUp();
  const [first] = [...shop.standIn.intents.values()].slice(-2);
  const { key } = shop.seller;
  const [order] = (await shop.client().orders.list({ query: { limit: 1, sorting: "-created_at" } as never })).items;
  await shop.floe().request("POST", "/v1/refunds", {
    token: key,
    body: { order_id: order?.id, amount: 500, reason: "other" },
  });
  await shop.floe().runJobs();
  shop.standIn.dispute(String(first?.id), "general");
  await shop.renew();
  const renewed = [...shop.standIn.intents.values()].at(-1);
  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 600_000));
  if (renewed) renewed.amount = 1234;
  const charges = shop.countCharges();
  const applied = await reconcile({ since, isApplied: true, unknown: "keep" });
  const adopted = applied.findings.filter(({ outcome }) => outcome === "adopt").map(({ kind }) => kind);
  expect(adopted.filter((kind) => kind !== "charge")).toEqual(["refund", "dispute"]);
  expect(applied.counts).toMatchObject({ mismatch: 1 });
  // What is left is not forgotten.
  expect(await findLeftOver(shop.floe().deps.db)).toEqual({ mismatch: 1 });
  await shop.floe().runJobs();
  expect(await shop.read("select count(*)::int as times from disputes")).toEqual([{ times: 1 }]);
  expect(await shop.read("select status, amount from refunds where amount = 500")).toEqual([
    { status: "succeeded", amount: 500 },
  ]);
  // However often it is tried, it is not charged a second time, and it is seen.
  shop.floe().clock.advance(3_600_000);
  await shop.floe().runJobs();
  expect(shop.countCharges()).toBe(charges);
  const failed = await shop.read("select kind from failed_work where error ~ 'another payment, amount or currency'");
  expect(failed).toEqual([{ kind: "payments.reconcile" }]);
  shop.takeFaults();
});

test("a notice of a payment that is unknown here is an error that is logged", async () => {
  const metadata = { organization_id: shop.seller.organization_id, payment_id: newId() };
  const { body, signature } = shop.standIn.notice(
    "payment_intent.succeeded",
    { id: "pi_lost", object: "payment_intent", metadata },
    webhookSecret,
    `evt_${newId()}`,
  );
  const { status } = await shop
    .floe()
    .request("POST", "/v1/integrations/stripe/webhook", { body, headers: { "stripe-signature": signature } });
  expect(status).toBe(200);
  expect(
    shop.floe().logged.filter((line) => /^error .*unknown here/.test(line) && line.includes("pi_lost")),
  ).toHaveLength(1);
});

test("RST-05: after a move to another cluster, listeners hear every new event and no old one", async () => {
  const { deps } = shop.floe();
  const of = shop.seller.organization_id;
  await shop.sell(shop.guide, 1);
  const [newest] = await shop.read(
    `select xid::text as place, seq from events where organization_id = '${of}' order by xid desc, seq desc limit 1`,
  );
  // The other cluster has counted so many transactions more.
  const ahead = 1_000_000_000n;
  await deps.db.execute(`update events set xid = xid + ${ahead}`);
  const cursor = { xid: BigInt(String(newest?.place)) + ahead, seq: Number(newest?.seq) };
  expect(await checkForRestore(deps)).toBeUndefined();
  expect(await shop.read("select reason from restores order by id desc limit 1")).toEqual([{ reason: "cluster" }]);
  const tail = openTail(deps);
  const now = await tail.now();
  await shop.sell(shop.guide, 1);
  const told = await shop.read(
    `select type from events where organization_id = '${of}' and xid > (select max(event_offset) from restores) order by xid, seq`,
  );
  expect(told.length).toBeGreaterThan(3);
  for (const from of [cursor, now]) {
    const heard: string[] = [];
    const quiet = new AbortController();
    setTimeout(() => quiet.abort(), 500);
    for await (const { type } of tail.follow(of, from, quiet.signal)) heard.push(type);
    expect(heard).toEqual(told.map(({ type }) => type));
  }
  tail.close();
  // It is one move, however often it is looked at.
  await checkForRestore(deps);
  expect(await shop.read("select count(*)::int as times from restores where reason = 'cluster'")).toEqual([
    { times: 1 },
  ]);
});

test("floe admin restore-check and reconcile work on the database of the settings, and say what comes next", async () => {
  // A charge of which the database knows nothing.
  const [lost] = [...shop.standIn.intents.values()].filter(
    ({ status, metadata }) => status === "succeeded" && metadata.checkout_id,
  );
  const id = "pi_only_there";
  shop.standIn.intents.set(id, {
    ...structuredClone(lost),
    id,
    metadata: { ...lost?.metadata, payment_id: newId() },
  } as never);
  for (const [name, value] of Object.entries(shop.settings())) vi.stubEnv(name, value);
  vi.stubEnv("FLOE_SECRET", "a secret for tests, long enough to be one");
  const since = ["--since", "2020-01-01"];
  const check = await runCommand(["admin", "restore-check", ...since]);
  expect([check.code, check.err]).toEqual([1, expect.stringContaining("restored from a backup")]);
  expect(check.err).toContain("floe admin reconcile --since");
  const shown = await runCommand(["admin", "reconcile", ...since, "--json"]);
  expect([shown.code, shown.err]).toEqual([0, expect.stringContaining("Nothing was changed")]);
  expect(
    (JSON.parse(shown.out) as Finding[]).filter(({ outcome }) => outcome === "unknown").map((one) => one.processor_id),
  ).toContain(id);
  expect((await runCommand(["admin", "reconcile", ...since, "--apply"])).code).toBe(64);
  expect(await findOpenRestore(shop.floe().deps.db)).toBeDefined();
  const status = await runCommand(["admin", "status"], { tty: true, columns: 80 });
  expect([status.code, status.leafed[0]?.text ?? status.out]).toEqual([0, expect.stringContaining("in maintenance")]);
  const done = await runCommand(["admin", "reconcile", ...since, "--apply", "--unknown", "keep", "--yes"]);
  expect([done.code, done.err]).toEqual([0, expect.stringContaining("Everything is settled")]);
  expect(await findOpenRestore(shop.floe().deps.db)).toBeUndefined();
  // A charge of another organization is nobody's here: the operator says when it is settled.
  await recordLeftOver(shop.floe().deps.db, { id: await newestRestore() } as RestoreRow, { foreign: 2 });
  const left = await runCommand(["admin", "status", "--json", "left_over,restore"]);
  expect(JSON.parse(left.out)).toEqual({ left_over: { foreign: 2 }, restore: null });
  expect((await runCommand(["admin", "settle-restore"])).code).toBe(64);
  expect((await runCommand(["admin", "settle-restore", "--yes"])).code).toBe(0);
  expect(await findLeftOver(shop.floe().deps.db)).toBeNull();
  expect((await runCommand(["admin", "reconcile", "--since", "yesterday-ish"])).code).toBe(64);
  vi.unstubAllEnvs();
  shop.takeFaults();
}, 60_000);
