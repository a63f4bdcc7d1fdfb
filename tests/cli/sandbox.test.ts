import { beforeEach, expect, test } from "vitest";
import { floe, type Received, standIn } from "./support.ts";

let answers: object[] = [];
let headers: Record<string, string> = {};
const server = await standIn(() => ({ json: answers.length > 1 ? answers.shift() : answers[0], headers }));
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "floe_key" };
const entry = (day: number) => ({
  at: `2027-01-0${day}T09:00:00.000Z`,
  type: "order.paid",
  id: `order-${day}`,
  text: `Order paid: Pro ${day}\u001b[2J`,
});
const [half, whole] = [
  { now: "2027-01-03T09:00:00.000Z", to: "2027-02-01T00:00:00.000Z", done: false, timeline: [entry(1), entry(2)] },
  { now: "2027-02-01T00:00:00.000Z", to: null, done: true, timeline: [entry(3)] },
];
const bodies = () => server.received.map(({ body }: Received) => body);

beforeEach(() => {
  server.received.length = 0;
  headers = {};
  answers = [half, whole];
});

test("advance goes on until it is there, and gives a line of JSON for each thing that happened", async () => {
  const { code, out } = await floe(["advance", "--by", "1month"], { env });
  expect(code).toBe(0);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(lines).toEqual([entry(1), entry(2), entry(3), { now: whole.now, done: true }]);
  expect(bodies()).toEqual([{ by: "1month" }, { by: "1month" }]);
  expect(server.received[0]?.path).toBe("/v1/sandbox/clock");
});

test("a date is its first moment; on a terminal what happened is drawn, and steers nothing", async () => {
  const { code, out, err } = await floe(["advance", "--to", "2027-02-01"], {
    env: { ...env, FLOE_PROMPT_DISABLED: "1" },
    tty: true,
  });
  expect(code).toBe(0);
  expect(bodies()[0]).toEqual({ to: "2027-02-01T00:00:00.000Z" });
  expect(out).toContain("2027-01-02 09:00:00 │ Order paid: Pro 2�[2J");
  expect(err).toContain("It is 2027-02-01 00:00:00 UTC.");
});

test("it takes one measure, and only one that is a date", async () => {
  for (const flags of [[], ["--to", "2027-02-01", "--by", "1day"], ["--to", "soon"]]) {
    const { code, err } = await floe(["advance", ...flags], { env });
    expect([code, err.includes("floe advance --")]).toEqual([64, true]);
  }
  expect(server.received).toEqual([]);
});

test("sandbox save says what it has, and diff what is different, with the money", async () => {
  answers = [{ name: "start", rows: 41, created_at: "2027-01-01T09:00:00.000Z" }];
  const saved = await floe(["sandbox", "save", "start"], { env: { ...env, FLOE_PROMPT_DISABLED: "1" }, tty: true });
  expect([saved.code, saved.err]).toEqual([0, "Saved start: 41 rows, as of 2027-01-01 09:00 UTC.\n"]);
  expect(bodies()).toEqual([{ name: "start" }]);
  const orders = {
    kind: "orders",
    added: 2,
    removed: 0,
    changed: 1,
    totals: [{ currency: "usd", before: 1900, after: 5700 }],
    items: [
      { id: "o1", change: "added", text: "Pro\u001b[2J", fields: [] },
      { id: "o2", change: "changed", text: "Old", fields: ["status"] },
    ],
  };
  answers = [{ from: "start", to: "end", kinds: [orders] }];
  const shown = await floe(["sandbox", "diff", "start", "end"], { env: { ...env, NO_COLOR: "1" }, tty: true });
  expect(server.received[1]?.url).toBe("/v1/sandbox/snapshots/start/diff?to=end");
  expect(shown.out).toBe(
    "orders  2 added, 1 changed\n  $19.00 → $57.00\n  + Pro\ufffd[2J\n  ~ Old status\n  … and 1 more\n",
  );
  const long = {
    id: "o3",
    change: "changed",
    text: "Pro ".repeat(20).trim(),
    fields: ["total_amount", "refunded_amount"],
  };
  answers = [{ from: "start", to: "end", kinds: [{ ...orders, added: 0, totals: [], items: [long] }] }];
  const wrapped = await floe(["sandbox", "diff", "start", "end"], {
    env: { ...env, NO_COLOR: "1" },
    columns: 80,
    tty: true,
  });
  expect(wrapped.out).toBe(
    `orders  1 changed\n  ~ ${"Pro ".repeat(19).trim()}\n    Pro\n    total_amount, refunded_amount\n`,
  );
  answers = [{ from: "start", to: "now", kinds: [] }];
  const same = await floe(["sandbox", "diff", "start"], { env, tty: true });
  expect(same.err).toBe("They are the same.\n");
});

test("what happened last is drawn before time stands still, also where one answer has all of it", async () => {
  answers = [whole];
  const { code, err } = await floe(["advance", "--to", "2027-02-01"], { env, tty: true });
  expect(code).toBe(0);
  expect(err).toContain("Order paid: Pro 3");
  expect(err).toContain("It is 2027-02-01 00:00:00 UTC.");
});

test("how long ago something was goes by the clock of the sandbox that answers", async () => {
  const created_at = "2031-05-01T09:00:00.000Z";
  answers = [{ items: [{ name: "start", rows: 41, created_at }], pagination: { total_count: 1, max_page: 1 } }];
  headers = { "floe-now": "2031-05-01T12:30:00.000Z" };
  const listed = await floe(["sandbox", "list"], { env: { ...env, NO_COLOR: "1" }, tty: true });
  expect(listed.out).toContain("3 h ago");
  const made = ["api", "/v1/orders/", "--template", `{{"${created_at}" | ago}}`];
  expect((await floe(made, { env })).out).toBe("3 h ago\n");
});

test("where there are no mails of a sandbox, it says where those of other stores are", async () => {
  answers = [{ items: [], pagination: { total_count: 0, max_page: 0 } }];
  const { err } = await floe(["sandbox", "mails"], { env: { ...env, NO_COLOR: "1" }, tty: true });
  expect(err).toMatch(/^There are none\. .*floe open mail/);
});
