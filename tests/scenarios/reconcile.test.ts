import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import {
  beginRestore,
  checkForRestore,
  findNewestPaymentTime,
  findOpenRestore,
  isUnknownCharge,
  settleRestore,
} from "../../server/operations/restore/detection.ts";
import { type Finding, reconcileRestore } from "../../server/operations/restore/reconcile.ts";
import type { Deps } from "../../server/platform/context.ts";
import type { DisputeEvent, ListedCharge, RefundEvent } from "../../server/platform/processors/processor.ts";
import { newId } from "../support/ids.ts";
import { openRestoredShop } from "../support/restored-shop.ts";

/** What becomes of each kind of charge after a restore, by a processor that lists what the test says. */

let shop: Awaited<ReturnType<typeof openRestoredShop>>;
let known: ListedCharge;
beforeAll(async () => {
  shop = await openRestoredShop();
  await shop.sell(shop.plan, 1);
  for await (const charge of deps().processor.listCharges?.(new Date(0)) ?? []) known = charge;
}, 60_000);
afterAll(() => shop?.close());
beforeEach(async () => {
  for (let open = await findOpenRestore(deps().db); open; open = await findOpenRestore(deps().db))
    await settleRestore(deps(), open);
  shop.takeFaults();
});
const deps = (): Deps => shop.floe().deps;

type Listed = { charges?: ListedCharge[]; returns?: (RefundEvent | DisputeEvent)[]; fails?: boolean };
/** A processor that lists these, and remembers what it is asked to do. */
function openProcessor({ charges = [], returns = [], fails = false }: Listed) {
  const refunded: { refund_id: string; amount: number }[] = [];
  const canceled: string[] = [];
  const own: Deps["processor"] = {
    ...deps().processor,
    async *listCharges() {
      yield* charges;
    },
    async *listReturns() {
      yield* returns;
    },
    async refund(asked) {
      if (fails) throw new Error("The processor is away.");
      refunded.push({ refund_id: asked.refund_id, amount: asked.amount });
      return undefined as never;
    },
    async cancel({ processor_id }) {
      canceled.push(String(processor_id));
      return null;
    },
  };
  return { deps: { ...deps(), processor: own, processors: { ...deps().processors, own } }, refunded, canceled };
}
async function reconcile(listed: Listed, isApplied = true, unknown: "refund" | "keep" | null = "refund") {
  const findings: Finding[] = [];
  const processor = openProcessor(listed);
  const report = (finding: Finding) => void findings.push(finding);
  const isSettled = await reconcileRestore(processor.deps, { since: new Date(0), isApplied, unknown, report });
  return { ...processor, outcomes: findings.map(({ outcome }) => outcome), isSettled };
}
const lose = (part: Partial<ListedCharge> = {}): ListedCharge => ({
  ...known,
  processor_id: `pi_${newId()}`,
  payment_id: newId(),
  reference: {} as never,
  ...part,
});
const countRestores = () => shop.read("select count(*)::int as times from restores");

test("RST-04: a charge that failed is nothing, one of another organization is nobody's here, and no money is moved", async () => {
  const failed = lose({ status: "failed" });
  const foreign = lose({ organization_id: newId() });
  const made = await reconcile({ charges: [failed, foreign] });
  expect(made).toMatchObject({ outcomes: ["foreign"], isSettled: true, refunded: [], canceled: [] });
  expect(await isUnknownCharge(deps().db, foreign)).toBe(false);
  expect(await isUnknownCharge(deps().db, lose())).toBe(true);
  expect(await isUnknownCharge(deps().db, known)).toBe(false);
});

test("RST-04: an unknown charge is returned once and in part, kept, or only listed, as the operator says", async () => {
  const charge = lose({ refunded_amount: 400 });
  const returned = await reconcile({ charges: [charge] });
  expect(returned).toMatchObject({ outcomes: ["refund"], refunded: [{ amount: charge.amount - 400 }] });
  // Under the same key, by whatever run.
  shop.floe().clock.advance(60_000);
  expect((await reconcile({ charges: [charge] })).refunded).toEqual(returned.refunded);
  expect(await reconcile({ charges: [charge] }, true, "keep")).toMatchObject({ outcomes: ["keep"], refunded: [] });
  expect(await reconcile({ charges: [lose({ is_disputed: true })] })).toMatchObject({
    outcomes: ["disputed"],
    refunded: [],
  });
  expect(await reconcile({ charges: [lose({ is_returned: true })] })).toMatchObject({
    outcomes: ["returned"],
    refunded: [],
  });
  const unfinished = lose({ status: "requires_action" });
  expect(await reconcile({ charges: [unfinished] })).toMatchObject({
    outcomes: ["cancel"],
    canceled: [unfinished.processor_id],
  });
});

test("RST-04: without --apply nothing is written and the processor is asked for lists alone", async () => {
  const before = await countRestores();
  const notice = { ...returnOf("refund"), id: `evt_${newId()}` };
  const charges = [lose(), lose({ status: "requires_action" })];
  const made = await reconcile({ charges, returns: [notice] }, false);
  expect(made).toMatchObject({ outcomes: ["refund", "cancel", "adopt"], refunded: [], canceled: [] });
  expect(await countRestores()).toEqual(before);
  expect(await shop.read(`select id from processor_events where id = '${notice.id}'`)).toEqual([]);
});

test("RST-04: what is unknown or has failed keeps the server in maintenance", async () => {
  const undecided = await reconcile({ charges: [lose()] }, true, null);
  expect(undecided).toMatchObject({ outcomes: ["unknown"], isSettled: false });
  expect(await findOpenRestore(deps().db)).toBeDefined();
  const failed = await reconcile({ charges: [lose()], fails: true });
  expect(failed).toMatchObject({ outcomes: ["failed"], isSettled: false });
  expect(await findOpenRestore(deps().db)).toBeDefined();
  expect(await reconcile({})).toMatchObject({ isSettled: true });
  expect(await findOpenRestore(deps().db)).toBeUndefined();
});

test("RST-04: a second charge for a payment that is known is unknown, and goes back", async () => {
  const twice = { ...known, processor_id: `pi_${newId()}` };
  expect(await reconcile({ charges: [known, twice] })).toMatchObject({
    outcomes: ["known", "refund"],
    refunded: [{ amount: known.amount }],
  });
});

test("RST-04: a charge of a payment that is not finished here is adopted, unless its money went back", async () => {
  await shop.pay(await shop.open(shop.guide), "ctoken_threeDSecure2Required");
  const [pending] = await shop.read("select id, amount from payments where status = 'pending'");
  const charge = { ...lose(), payment_id: String(pending?.id), amount: Number(pending?.amount) };
  const [own] = await shop.read(`select processor_id from payments where id = '${pending?.id}'`);
  charge.processor_id = String(own?.processor_id);
  const status = async () => (await shop.read(`select status from payments where id = '${pending?.id}'`))[0]?.status;
  expect((await reconcile({ charges: [{ ...charge, is_returned: true }] })).outcomes).toEqual(["returned"]);
  expect(await status()).toBe("pending");
  expect((await reconcile({ charges: [charge] }, false)).outcomes).toEqual(["adopt"]);
  expect(await status()).toBe("pending");
  expect((await reconcile({ charges: [charge] })).outcomes).toEqual(["adopt"]);
  expect(await status()).toBe("succeeded");
});

test("RST-04: a charge for a period is adopted only where the period is due and the money is still there", async () => {
  const [subscription] = await shop.read("select id, current_period_end from subscriptions limit 1");
  const reference = {
    trigger: "subscription_cycle",
    subscription_id: String(subscription?.id),
    period_start: new Date(String(subscription?.current_period_end)).toISOString(),
  } as never;
  const charge = lose({ reference });
  expect((await reconcile({ charges: [charge] }, false)).outcomes).toEqual(["refund"]);
  shop.floe().clock.advance(32 * 86_400_000);
  const orders = () => shop.read("select count(*)::int as times from orders");
  const before = await orders();
  expect((await reconcile({ charges: [charge] }, false)).outcomes).toEqual(["adopt"]);
  expect((await reconcile({ charges: [lose({ reference, is_returned: true })] })).outcomes).toEqual(["returned"]);
  expect(await orders()).toEqual(before);
});

const returnOf = (kind: "refund"): RefundEvent => ({
  kind,
  id: `evt_${newId()}`,
  account: deps().processor.account,
  processor_id: `re_${newId()}`,
  organization_id: known.organization_id,
  payment_id: known.payment_id,
  intent_processor_id: known.processor_id,
  refund_id: null,
});

test("RST-04: a refund that is known is not told again, and one of an unknown payment is nothing", async () => {
  const { items } = await shop.client().orders.list({ query: { limit: 1, sorting: "created_at" } as never });
  const body = { order_id: items[0]?.id, amount: 100, reason: "other" };
  await shop.floe().request("POST", "/v1/refunds", { token: shop.seller.key, body });
  await shop.floe().runJobs();
  const [made] = await shop.read("select processor_id, payment_id from refunds limit 1");
  const notice = {
    ...returnOf("refund"),
    processor_id: String(made?.processor_id),
    payment_id: String(made?.payment_id),
  };
  const stray = { ...returnOf("refund"), payment_id: newId() };
  const foreign = { ...returnOf("refund"), organization_id: newId() };
  const { outcomes } = await reconcile({ returns: [notice, stray, foreign] });
  expect(outcomes).toEqual(["known", "known", "foreign"]);
  const ids = [notice, stray, foreign].map(({ id }) => `'${id}'`).join(", ");
  expect(await shop.read(`select id from processor_events where id in (${ids})`)).toEqual([]);
});

test("RST-04: a restore that is open is the same restore, however it is found", async () => {
  const first = await beginRestore(deps(), "operator");
  expect((await beginRestore(deps(), "processor")).id).toBe(first.id);
});

test("RST-04: the processor is asked for what came since the newest payment, with a margin; sandboxes do not count", async () => {
  const [newest] = await shop.read("select max(created_at)::text as at from payments");
  const at = new Date(String(newest?.at)).getTime();
  expect((await findNewestPaymentTime(deps())).getTime()).toBe(at - 600_000);
  await shop.read("update organization set sandbox = true");
  const without = (await findNewestPaymentTime(deps())).getTime();
  await shop.read("update organization set sandbox = false");
  expect(without).toBe(shop.floe().clock.now().getTime() - 30 * 86_400_000 - 600_000);
});

test("RST-04: a processor that fails or gives no answer delays no start for longer than 10 seconds", async () => {
  const failing = openProcessor({});
  failing.deps.processor.listCharges = () => {
    throw new Error("The processor is away.");
  };
  expect(await checkForRestore(failing.deps)).toBeUndefined();
  const silent = openProcessor({});
  silent.deps.processor.listCharges = async function* () {
    await new Promise(() => undefined);
    yield known;
  };
  // The ten seconds pass at once; every other time is as it is.
  const { setTimeout: begin } = globalThis;
  const timers = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation(((run: () => void, ms: number) => begin(run, ms === 10_000 ? 50 : ms)) as never);
  try {
    expect(await checkForRestore(silent.deps)).toBeUndefined();
  } finally {
    timers.mockRestore();
  }
  expect(shop.floe().logged.filter((line) => line.includes("could not be checked"))).toHaveLength(2);
});
