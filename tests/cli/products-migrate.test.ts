import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";
import { begin, floe as run, until } from "./support.ts";

/** `floe products migrate` at a server. */

let floe: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  floe = await start({ listen: true });
  const shop = await openShop(floe, "2027-01-04");
  seller = shop.seller;
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
  const news = await shop.sells("News", 1900);
  await shop.subscribes(news);
  await shop.sells("Pro", 4900);
  await shop.accepted("PATCH", `/v1/products/${news}`, {
    prices: [{ amount_type: "fixed", price_amount: 2400, price_currency: "usd" }],
  });
});
afterAll(() => floe.close());

const listMoves = async () => (await seller.client.subscriptionMigrations.list({ query: {} })).items;

test("a rehearsal shows who would move, what each pays and when, and changes nothing", async () => {
  const shown = await run(["products", "migrate", "News", "--rehearse"], { env, tty: true, columns: 80 });
  expect(shown.code).toBe(0);
  expect(shown.out).toMatch(/story-\d+@example\.com +\$19\.00 +\$24\.00/);
  for (const line of shown.out.split("\n")) expect([...line].length).toBeLessThanOrEqual(80);
  expect(shown.err).toContain("1 of 1 subscriptions would move, 0 would stay as they are.");
  expect(shown.err).toContain("Each period: +$5.00 before tax.");
  const piped = await run(["products", "migrate", "News", "--to", "Pro", "--rehearse"], { env });
  expect(JSON.parse(piped.out)).toMatchObject({ moving: 1, items: [{ old_amount: 1900, new_amount: 4900 }] });
  expect(await listMoves()).toEqual([]);
});

test("it asks before it begins, says how to follow and undo it, and the move is undone", async () => {
  const argv = ["products", "migrate", "News", "--notify", "14"];
  const asked = begin(argv, { env, tty: true });
  await until(() => asked.stderr.text.includes("[y/N]"));
  expect(asked.stderr.text).toContain("after 14 days on");
  asked.stdin.write("n\n");
  expect([(await asked.ended) === 0, await listMoves()]).toEqual([false, []]);
  expect((await run(argv, { env })).code).toBe(64);
  expect((await run(["products", "migrate", "News", "--notify", "0", "--yes"], { env })).code).toBe(64);
  const begun = await run([...argv, "--yes"], { env, tty: true });
  const [move] = await listMoves();
  expect([begun.code, move?.notify_days]).toEqual([0, 14]);
  expect(begun.err).toContain(`floe subscription-migrations undo ${move?.id}`);
  await floe.runJobs();
  const listed = await run(["subscription-migrations", "items", move?.id ?? ""], { env });
  expect(JSON.parse(listed.out)).toMatchObject([{ state: "scheduled", old_amount: 1900, new_amount: 2400 }]);
  expect((await run(["subscription-migrations", "undo", move?.id ?? "", "--yes"], { env })).code).toBe(0);
  await floe.runJobs();
  expect(await listMoves()).toMatchObject([{ status: "undone", undone: 1 }]);
});
