import { expect, test } from "vitest";
import { checkForRestore } from "../../server/operations/restore/detection.ts";
import { type Finding, reconcileRestore } from "../../server/operations/restore/reconcile.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { openRestoredShop } from "../support/restored-shop.ts";

/** A hundred renewals and a hundred sales after a backup, which is put back: the books of the processor and of floe agree again. */

const times = 100;

test("RST-01 to RST-05: nothing is charged twice, no number is given twice, and one command settles the rest", async () => {
  const shop = await openRestoredShop();
  await shop.sell(shop.plan, times);
  const since = shop.floe().clock.now();
  const backup = await shop.backUp();
  const before = await shop.numbers();
  await shop.renew();
  await shop.sell(shop.guide, times);
  const numbers = new Set(await shop.numbers());
  expect(numbers.size).toBe(3 * times);
  const charges = shop.countCharges();
  expect(charges).toBe(3 * times);
  const of = shop.seller.organization_id;
  const place = await openTail(shop.floe().deps).now();

  await shop.reopen(backup, new Date(shop.floe().clock.time.getTime() + 600_000));
  const { deps } = shop.floe();
  expect(await checkForRestore(deps)).toMatchObject({ reason: "processor" });
  const outcomes: Record<string, number> = {};
  const report = ({ kind, outcome }: Finding) => {
    if (kind === "charge") outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  expect(await reconcileRestore(deps, { since, isApplied: true, unknown: "refund", report })).toBe(true);
  // The first sales were made at the time of the backup.
  expect(outcomes).toEqual({ adopt: times, refund: times, known: times });
  // A start finds nothing unknown any more, though the refunded charges are in no table: what was settled is settled (RST-04).
  expect(await checkForRestore(deps)).toBeUndefined();
  await shop.floe().runJobs();
  await shop.sell(shop.guide, 1);
  expect(shop.countCharges()).toBe(charges + 1);
  expect([...shop.standIn.refunds.values()].map(({ amount }) => amount)).toEqual(Array(times).fill(1900));
  const given = (await shop.numbers()).filter((number) => !before.includes(number));
  expect(given).toHaveLength(times + 1);
  expect(given.filter((number) => numbers.has(number))).toEqual([]);
  expect(await shop.read("select count(*)::int as times from payments where status <> 'succeeded'")).toEqual([
    { times: 0 },
  ]);

  // A listener that was here before goes on: it hears what happened since the restore, and nothing of before.
  const tail = openTail(deps);
  const quiet = new AbortController();
  setTimeout(() => quiet.abort(), 2000);
  const heard: string[] = [];
  for await (const { id } of tail.follow(of, place, quiet.signal)) heard.push(id);
  tail.close();
  const told = await shop.read(
    `select id from events where organization_id = '${of}' and xid > 1000000000000000 order by xid, seq`,
  );
  expect(heard).toEqual(told.map(({ id }) => id));
  expect(heard.length).toBeGreaterThan(times);
  expect(shop.takeFaults()).toEqual([]);
  await shop.close();
}, 120_000);
