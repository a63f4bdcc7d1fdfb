/** The tour of docs/usage.md, as a seller takes it in the terminal: free tokens each month, a price beyond, capped, to the recount. */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { begin, folder, floe as run, until } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe?.close());

type Explained = { steps: { label: string; amount: number; because: string }[]; due_amount: number };
type Watched = { total: number };

test("10,000 free tokens a month that roll over, a price beyond them, a cap, three months, and a recount", async () => {
  const shop = await openShop(floe, "2027-01-04");
  const place = folder();
  const env = {
    FLOE_SERVER: floe.url,
    FLOE_API_KEY: shop.seller.key,
    FLOE_CONFIG_DIR: join(place, "config"),
    TZ: "UTC",
  };
  const told = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await run(argv, { env });
    expect([argv.join(" "), code, code === 0 ? "" : err]).toEqual([argv.join(" "), 0, ""]);
    return out;
  };
  const json = async <T>(...argv: string[]): Promise<T> => JSON.parse(await told(...argv)) as T;

  await told("meters", "create", "--name", "Tokens", "--filter", 'name eq "completion"', "--aggregation", "sum tokens");
  const credit = ["--type", "meter_credit", "--meter", "Tokens", "--units", "10000", "--rollover"];
  await told("benefits", "create", "--description", "Free tokens", ...credit);
  const { id: product } = await json<{ id: string }>(
    ...[
      "products",
      "create",
      "--name",
      "AI plan",
      "--price",
      "9.00/month",
      "--price",
      "metered:Tokens:0.002:cap=50.00",
    ],
    ...["--benefits", "Free tokens"],
  );
  const ada = await json<{ id: string }>(
    "customers",
    "create",
    "--email",
    "ada@example.com",
    "--external-id",
    "user-1",
  );
  const id = await shop.subscribes(product, {
    checkout: { customer_id: ada.id },
    buyer: { customer_email: "ada@example.com" },
  });

  const log = join(place, "events.ndjson");
  const lines = (count: number, tokens: number): string =>
    Array.from({ length: count }, (_, n) =>
      JSON.stringify({
        name: n % 10 === 0 ? "image" : "completion",
        external_customer_id: "user-1",
        metadata: { tokens, model: "small" },
      }),
    ).join("\n");
  writeFileSync(log, `${lines(2000, 10)}\n`);
  const sent = { inserted: 2000, duplicates: 0, conflicts: 0, late: {} };
  expect(await json("events", "ingest", "--from-file", log)).toMatchObject({ sent: 2000, ...sent });
  expect(await json("events", "ingest", "--from-file", log)).toMatchObject({ inserted: 0, duplicates: 2000 });

  // A chart that is live on a terminal, and a line for each look in a pipe.
  const ending = new AbortController();
  const chart = begin(["meters", "watch", "Tokens"], { env, tty: true, columns: 80, signal: ending.signal });
  await until(() => /Tokens {2}18,000/.test(chart.stdout.text + chart.stderr.text));
  ending.abort("SIGINT");
  expect(await chart.ended).toBe(130);
  const looking = new AbortController();
  const looks = begin(["meters", "watch", "Tokens"], { env, signal: looking.signal });
  await until(() => looks.stdout.text.includes("\n"));
  looking.abort("SIGINT");
  await looks.ended;
  expect((JSON.parse(looks.stdout.text.split("\n")[0] ?? "") as Watched).total).toBe(18_000);
  const used = async () => {
    const [one] = await json<Record<string, number>[]>("customer-meters", "list", "--json");
    return [one?.consumed_units, one?.credited_units, one?.balance];
  };
  expect(await used()).toEqual([18_000, 10_000, -8000]);

  const table = await run(["customer-meters", "list"], { env, tty: true, columns: 80 });
  expect(table.out.split("\n").map((line) => line.trim().split(/ {2,}/))).toMatchObject([
    ["CUSTOMER EMAIL", "METER", "CONSUMED", "CREDITED", "BALANCE", "MODIFIED"],
    ["ada@example.com", "Tokens", "18,000", "10,000", "-8,000", expect.any(String)],
    [""],
  ]);

  // Three months: the first bills 8,000 tokens, the others leave their credit to the next.
  await told("advance", "--by", "3months");
  expect(await shop.amounts(id)).toEqual(["900 - 0 = 900", "2500 - 0 = 2500", "900 - 0 = 900", "900 - 0 = 900"]);
  expect(await used()).toEqual([0, 30_000, 30_000]);
  const explained = async (at: number) => {
    const orders = await json<{ id: string }[]>("orders", "list", "--all", "--json", "--sorting", "created_at");
    const { steps, due_amount } = await json<Explained>("orders", "explain", orders[at]?.id ?? "", "--json");
    return [due_amount, ...steps.filter(({ label }) => label.startsWith("Tokens")).map(({ because }) => because)];
  };
  const rounded = "rounded half away from zero";
  expect(await explained(1)).toEqual([2500, `18,000 Tokens, 10,000 included, 8,000 × $0.002, ${rounded}`]);

  // The log grows; what rolled over is used up, and the cap is reached.
  appendFileSync(log, `${lines(1000, 100)}\n`);
  expect(await json("events", "ingest", "--from-file", log)).toMatchObject({ inserted: 1000, duplicates: 2000 });
  await told("advance", "--by", "1month");
  expect(await explained(4)).toEqual([
    5900,
    `90,000 Tokens, 30,000 included, 60,000 × $0.002, capped at $50.00, ${rounded}`,
  ]);

  const drawn = await run(
    ["orders", "explain", (await json<{ id: string }[]>("orders", "list", "--json"))[0]?.id ?? ""],
    {
      env: { ...env, FLOE_PROMPT_DISABLED: "1" },
      tty: true,
      columns: 80,
    },
  );
  expect(Math.max(...drawn.out.split("\n").map((line) => [...line].length))).toBeLessThanOrEqual(80);
  expect(await json("usage", "verify")).toEqual({ checked: expect.any(Number), skipped: 0, differences: [] });
  expect(await json("usage", "receipt", log)).toMatchObject({
    events: 3000,
    counted: 3000,
    missing: [],
    conflicts: [],
  });
});
