import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatMoney } from "../../shared/money.ts";
import { type Floe, start } from "../support/floe.ts";
import { meterShops } from "../support/metered.ts";
import { startRelay } from "../support/relay.ts";
import { cards, openShop } from "../support/story.ts";
import { begin, floe as run, until } from "./support.ts";

/** Subscriptions from the terminal, at a server. */

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe.close());

test("a change is asked with what it comes to, and charged exactly so; the rest is one word each", async () => {
  const shop = await openShop(floe, "2027-06-01");
  const [old, fresh] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
  const id = await shop.subscribes(old);
  await shop.set("2027-06-16");
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key };
  const update = ["subscriptions", "update", id, "--product-id", fresh, "--proration-behavior", "invoice"];
  const asked = async (answer: string) => {
    const here = begin(update, { env, tty: true });
    await until(() => here.stderr.text.includes("[y/N]"));
    here.stdin.write(answer);
    return { code: await here.ended, err: here.stderr.text };
  };
  const no = await asked("n\n");
  expect(no.err).toContain(" from Old, $100.00 a month, to New, $300.00 a month? Charged now: $100.00");
  expect([no.code === 0, (await shop.get(id)).amount]).toEqual([false, 10_000]);
  // What was agreed to is no longer what it comes to: nothing is charged.
  const late = begin(update, { env, tty: true });
  await until(() => late.stderr.text.includes("[y/N]"));
  await shop.set("2027-06-21");
  late.stdin.write("y\n");
  expect([await late.ended, late.stderr.text]).toEqual([7, expect.stringContaining("is another thing by now")]);
  expect((await shop.get(id)).amount).toBe(10_000);
  expect((await asked("y\n")).code).toBe(0);
  expect((await shop.orders(id)).at(-1)).toBe("2027-06-21 update 6667 paid");

  const ends = begin(["subscriptions", "update", id, "--cancel-at-period-end"], { env, tty: true });
  await until(() => ends.stderr.text.includes("[y/N]"));
  ends.stdin.write("n\n");
  await ends.ended;
  expect(ends.stderr.text).toContain("Cancel this subscription at the end of its period?");
  const piped = await run(["subscriptions", "cancel", id], { env });
  expect([piped.code, piped.err.includes("--yes")]).toEqual([64, true]);
  const reason = ["--customer-cancellation-reason", "unused"];
  const canceled = await run(["subscriptions", "cancel", id, ...reason, "--yes"], { env });
  expect(JSON.parse(canceled.out)).toMatchObject({
    cancel_at_period_end: true,
    customer_cancellation_reason: "unused",
  });
  expect((await run(["subscriptions", "uncancel", id, "--yes"], { env })).code).toBe(0);
  const paused = await run(["subscriptions", "pause", id, "--resumes-at", "2027-08-01T00:00:00Z", "--yes"], { env });
  expect(JSON.parse(paused.out)).toMatchObject({ pause_at_period_end: true, resumes_at: "2027-08-01T00:00:00.000Z" });
  const told = JSON.parse((await run(["subscriptions", "forecast", id], { env })).out);
  expect(told.charges[0]).toMatchObject({ at: "2027-08-01T00:00:00.000Z", due_amount: 30_000 });
  const drawn = async (...argv: string[]) => {
    const { out } = await run(["subscriptions", ...argv], { env, tty: true, columns: 80 });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are control characters
    return out.replace(/\u001b\[[\d;]*m/g, "").split("\n");
  };
  const ahead = await drawn("forecast", id);
  expect(ahead[0]).toMatch(/^2027-(08-01|07-31) \d\d:\d\d +\$300\.00 +New$/);
  expect(ahead.find((line) => line.startsWith("In all"))).toContain(formatMoney(told.charges.length * 30_000, "usd"));
  const before = await drawn("preview", id, "--product-id", old, "--proration-behavior", "invoice");
  expect(before[0]).toMatch(/^Charged now +\$0\.00$/);
  expect(before.filter((line) => /^ {2}(Remaining time on New|Old) .* -?\$\d+\.\d\d$/.test(line))).toHaveLength(2);
  expect(before.join("\n")).toMatch(/\nA period, afterwards +\$100\.00\s+active; this one ends 2027-/);
  const exported = await run(["subscriptions", "export"], { env });
  expect(exported.out).toContain(id);
  expect((await run(["subscriptions", "revoke", id, "--yes"], { env })).code).toBe(0);
  expect((await shop.get(id)).status).toBe("canceled");
  // Nobody is asked about what cannot be done.
  const again = await run(["subscriptions", "revoke", id], { env, tty: true });
  expect([again.code, again.err]).toEqual([5, expect.stringContaining("ended already")]);
  expect(again.err).not.toContain("[y/N]");
});

test("a script reads what was charged, and bounds it", async () => {
  const shop = await openShop(floe, "2027-06-01");
  const [old, fresh] = [await shop.sells("Old", 10_000), await shop.sells("New", 30_000)];
  const id = await shop.subscribes(old);
  await shop.set("2027-06-16");
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key };
  const update = (...more: string[]) =>
    run(["subscriptions", "update", id, "--product-id", fresh, "--proration-behavior", "invoice", "--yes", ...more], {
      env,
    });
  for (const [most, code, why] of [
    ["99.99", 7, "$100.00 would be charged now, more than --max-charge"],
    ["100", 64, "100 may mean 100.00 or 1.00"],
  ] as const) {
    const refused = await update("--max-charge", most);
    expect([refused.code, refused.err, refused.out]).toEqual([code, expect.stringContaining(why), ""]);
    expect((await shop.get(id)).amount).toBe(10_000);
  }
  const done = await update("--max-charge", "100.00");
  expect([done.code, done.err, JSON.parse(done.out).amount]).toEqual([0, "Charged now: $100.00.\n", 30_000]);
  expect((await shop.orders(id)).at(-1)).toBe("2027-06-16 update 10000 paid");
  const cancel = await run(["subscriptions", "revoke", id, "--yes"], { env });
  expect([cancel.code, cancel.err]).toEqual([0, "Nothing was charged now.\n"]);
});

test("usage that comes after the preview charges a script no more than its maximum", async () => {
  const { shop, id, use, fixed, metered } = await meterShops(() => floe).open({ unit_amount: "1" });
  await shop.on("2027-01-16");
  const product = await shop.sells("API 2", [fixed(1000), metered("2")]);
  const { charge } = await shop.previews(id, { product_id: product, proration_behavior: "invoice" });
  const relay = await startRelay(floe.url, async (method, path) => {
    if (method === "POST" && path.endsWith("/preview")) await use(100);
  });
  const env = { FLOE_SERVER: relay.url, FLOE_API_KEY: shop.seller.key };
  const change = ["--product-id", product, "--proration-behavior", "invoice", "--yes"];
  const most = (amount: number) => ["--max-charge", (amount / 100).toFixed(2)];
  const before = await shop.get(id);
  const due = charge?.due_amount ?? 0;
  const refused = await run(["subscriptions", "update", id, ...change, ...most(due)], { env });
  expect([refused.code, refused.err]).toEqual([
    7,
    expect.stringContaining(`charge ${formatMoney(due + 100, "usd")} now`),
  ]);
  // Ending is bounded as well: 100 units of use are billed with it, 200 once they have come.
  const ended = await run(["subscriptions", "revoke", id, "--yes", ...most(100)], { env });
  expect([ended.code, ended.err]).toEqual([7, expect.stringContaining("more than the maximum of $1.00")]);
  expect(await shop.get(id)).toMatchObject({ product_id: before.product_id, status: "active" });
  await relay.close();
});

test("what is charged at once is said before a trial is moved, before one who leaves stays, and before one goes on", async () => {
  const shop = await openShop(floe, "2027-06-01");
  const id = await shop.subscribes(
    await shop.sells("Tried", 10_000, { trial_interval: "month", trial_interval_count: 1 }),
    { buyer: { customer_email: "tries@example.com" } },
  );
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key, TZ: "UTC" };
  const asked = async (...argv: string[]) => {
    const here = begin(["subscriptions", ...argv], { env, tty: true });
    await until(() => here.stderr.text.includes("[y/N]"));
    here.stdin.write("y\n");
    return { code: await here.ended, err: here.stderr.text };
  };
  const longer = await asked("update", id, "--trial-end", "2027-07-10T00:00:00Z");
  expect(longer.err).toMatch(
    /Let the trial end 2027-07-\d\d \d\d:\d\d\? The first charge, \$100\.00 a period, comes then\./,
  );
  expect([longer.code, (await shop.get(id)).trial_end]).toEqual([0, new Date("2027-07-10")]);
  const { customer_id } = await shop.get(id);
  await shop.changes(id, { payment_method_id: await shop.leaves(customer_id, cards.failing) });
  await shop.on("2027-07-12");
  expect((await shop.get(id)).status).toBe("past_due");
  await shop.changes(id, { cancel_at_period_end: true });
  const stays = await asked("uncancel", id);
  expect([stays.code, stays.err]).toEqual([
    0,
    expect.stringContaining("go on? What is unpaid, $100.00, is charged at once."),
  ]);
  const card = await shop.leaves(customer_id, cards.other);
  const shown = await run(["subscriptions", "preview", id, "--payment-method-id", card], { env, tty: true });
  expect(shown.out).toMatch(/^Charged now +\$100\.00 +what is unpaid/m);
  const plain = await run(["subscriptions", "preview", id, "--metadata", "a=b", "--json"], { env });
  expect(JSON.parse(plain.out)).toMatchObject({ charge: null, unpaid_amount: 0 });
  const odd = await run(["subscriptions", "preview", id, "--payment-method-id", randomUUID()], { env, tty: true });
  expect([odd.code, odd.err]).toEqual([1, expect.stringContaining("no such card")]);
  expect((await asked("update", id, "--payment-method-id", card)).code).toBe(0);
  await shop.changes(id, { pause_at_period_end: true });
  await shop.on("2027-08-11");
  expect((await shop.get(id)).status).toBe("paused");
  const goes = await asked("resume", id);
  expect([goes.code, goes.err]).toEqual([
    0,
    expect.stringContaining("A new period begins. Charged now: $100.00 (Tried: $100.00)."),
  ]);
});

test("another card is asked about with what it is charged at once", async () => {
  const shop = await openShop(floe, "2027-06-01");
  const id = await shop.subscribes(await shop.sells("Old", 10_000), { buyer: { customer_email: "late@example.com" } });
  const { customer_id } = await shop.get(id);
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key };
  const asked = async (card: string) => {
    const here = begin(["subscriptions", "update", id, "--payment-method-id", card], { env, tty: true });
    await until(() => here.stderr.text.includes("[y/N]"));
    here.stdin.write("y\n");
    return { code: await here.ended, err: here.stderr.text };
  };
  const bad = await asked(await shop.leaves(customer_id, cards.failing));
  expect([bad.code, bad.err]).toEqual([0, expect.stringContaining("Nothing is charged now.")]);
  await shop.on("2027-07-02");
  expect((await shop.get(id)).status).toBe("past_due");
  const good = await asked(await shop.leaves(customer_id, cards.other));
  expect(good.err).toContain("What is unpaid, $100.00, is charged at once.");
  expect([good.code, (await shop.get(id)).status]).toEqual([0, "active"]);
});

test("what was saved of a sandbox is deleted, and not the sandbox", async () => {
  const { key } = await floe.seller("saves");
  const env = { FLOE_SERVER: floe.url, FLOE_API_KEY: key, FLOE_PROMPT_DISABLED: "1" };
  expect((await run(["sandbox", "save", "start"], { env })).code).toBe(0);
  const { code, err } = await run(["sandbox", "delete", "start", "--yes"], { env, tty: true });
  expect([code, err]).toEqual([0, expect.stringContaining("Deleted the snapshot.")]);
});
