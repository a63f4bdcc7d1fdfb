import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";
import { buildOnTerminal, hasTerminals, runOnTerminal } from "./pty.ts";

/** `floe products migrate` on a terminal of its own: it fits 80 columns, asks, begins, and leaves the terminal as it was. */

let floe: Floe;
let dist: string;
let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  floe = await start({ listen: true });
  shop = await openShop(floe, "2027-01-04");
  const news = await shop.sells("News", 1900);
  await shop.subscribes(news);
  await shop.accepted("PATCH", `/v1/products/${news}`, {
    prices: [{ amount_type: "fixed", price_amount: 2400, price_currency: "usd" }],
  });
  dist = await buildOnTerminal();
}, 120_000);
afterAll(() => floe.close());

const listMoves = async () => (await shop.seller.client.subscriptionMigrations.list({ query: {} })).items;
const escapeMark = String.fromCharCode(27);
const readLines = (out: string) =>
  out
    .split(/\r?\n/)
    .map((line) =>
      line
        .split(escapeMark)
        .map((part, at) => (at === 0 ? part : part.replace(/^\[[\d;?]*[A-Za-z]/, "")))
        .join(""),
    )
    .filter((line) => line !== "" && !/^[\da-f:]+$/.test(line));

test.runIf(hasTerminals())(
  "it is rehearsed, refused and begun",
  async () => {
    const env = { FLOE_API_KEY: shop.seller.key };
    const run = (argv: string[], ready: string, keys?: string) =>
      runOnTerminal({ dist, server: floe.url, argv, ready, env, end: (_, type) => keys && type(keys) });
    const rehearsed = await run(["products", "migrate", "News", "--rehearse"], "would move");
    const lines = readLines(rehearsed.out);
    expect(lines.some((line) => /story-\d+@example\.com +\$19\.00 +\$24\.00/.test(line))).toBe(true);
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80);
    expect(rehearsed.code).toBe(0);
    const argv = ["products", "migrate", "News", "--notify", "14"];
    const refused = await run(argv, "[y/N]", "n\r");
    expect([refused.code === 0, await listMoves()]).toEqual([false, []]);
    const begun = await run(argv, "[y/N]", "y\r");
    const [move, ...more] = await listMoves();
    expect([begun.code, move?.notify_days, more]).toEqual([0, 14, []]);
    expect(begun.out).toContain(`floe subscription-migrations undo ${move?.id}`);
    for (const { settings } of [rehearsed, refused, begun]) expect(settings[0]).toBe(settings[1]);
  },
  120_000,
);
