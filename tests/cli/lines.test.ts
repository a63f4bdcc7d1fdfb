/** Questions line by line: with TERM=dumb and for a screen reader, every prompt can be answered, and nothing steers the terminal. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { run } from "../../cli/program.ts";
import { promptChoice } from "../../cli/ui/lines.ts";
import { folder, manifest, type Place, place, type Received, standIn, until } from "./support.ts";

// A question that nobody answers would wait for ever.
vi.setConfig({ testTimeout: 15_000 });

const idOf = (number: number): string => `0193a000-0000-7000-8000-0000000000${10 + number}`;
let names: string[];
const bodies: unknown[] = [];
let answer: (request: Received) => { status?: number; json?: unknown } | undefined;
const server = await standIn((request) => {
  if (request.method !== "GET") bodies.push(request.body);
  const special = answer(request);
  if (special) return special;
  const items = names.map((name, index) => ({ id: idOf(index), name, is_archived: false, prices: [] }));
  if (request.path === "/v1/products/" && request.method === "GET")
    return { json: { items, pagination: { total_count: items.length, max_page: 1 } } };
  return { json: items.find(({ id }) => request.path.endsWith(id)) ?? { id: idOf(0), name: "Pro" } };
});
beforeEach(() => {
  bodies.length = 0;
  names = ["Pro", "Pro 2", "Basic"];
  answer = () => undefined;
});

const dumb = { TERM: "dumb" };
const aloud = { INK_SCREEN_READER: "true" };

/** Type each answer when its question is there; the questions are looked for in what came since the last answer. */
async function type(argv: string[], answers: [question: string, typed: string | undefined][], more: Place = {}) {
  const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", ...dumb, ...more.env };
  const here = place({ ...more, tty: true, env });
  const ended = run(argv, here.io, manifest, "1.2.3");
  let [over, read] = [false, 0];
  const note = () => {
    over = true;
  };
  void ended.then(note, note);
  for (const [question, typed] of answers) {
    await until(() => over || here.stderr.text.slice(read).includes(question), 10_000);
    read = here.stderr.text.length;
    if (typed === undefined) here.stdin.end();
    else here.stdin.write(typed);
  }
  const code = await ended;
  expect(here.stdout.text + here.stderr.text).not.toMatch(/[^\P{Cc}\n]/u);
  return { code, out: here.stdout.text, err: here.stderr.text };
}

describe.each([
  ["on a terminal without escape codes", dumb],
  ["for a screen reader", { ...aloud, TERM: "xterm" }],
])("%s", (_, env) => {
  test("a picker takes a number, and names what it takes", async () => {
    const { code, out, err } = await type(["products", "get"], [["part of the name", "3\n"]], { env });
    expect([code, out]).toEqual([0, expect.stringContaining("Basic")]);
    expect(err).toContain("Which product?\n  1  Pro");
  });

  test("a form asks each question, says what is wrong with an answer, and sends what was answered", async () => {
    const { code, err } = await type(
      ["products", "create"],
      [
        ["part of the name", "month\n"],
        ["name (", "Pr\n"],
        ["has at least 3 characters.", "Pro plan\n"],
        ["price each month (", "abc\n"],
        ["price each month: ", "9.00\n"],
        ["description (", "\n"],
        ["picture (", "\n"],
      ],
      { env },
    );
    expect([code, bodies]).toMatchObject([
      0,
      [{ name: "Pro plan", recurring_interval: "month", prices: [{ price_amount: 900 }] }],
    ]);
    expect(err).toContain("Created the product");
  });

  test.each([
    ["y\n", 0, 1],
    ["yes\r\n", 0, 1],
    ["\n", 2, 0],
    ["yep\n", 2, 0],
    [undefined, 2, 0],
  ])("a question that is answered by %j ends with %i", async (typed, exit, writes) => {
    const { code } = await type(["products", "archive", idOf(0)], [["[y/N] ", typed]], { env });
    expect([code, bodies.length]).toEqual([exit, writes]);
  });
});

describe("a picker", () => {
  test.each([
    ["part of a name", [["part of the name", "bas\n"]], 2],
    ["a whole name that begins others", [["part of the name", "pro\n"]], 0],
    ["an id", [["part of the name", `${idOf(1)}\n`]], 1],
    [
      "a part that several have, and then a number of those",
      [
        ["part of the name", "ro\n"],
        ["  2  Pro 2", "2\n"],
      ],
      1,
    ],
    [
      "nothing and numbers that there are not, without a default",
      [
        ["part of the name", "\n"],
        ["Nothing matches. Type a number from 1 to 3.", "9\n"],
        ["Nothing matches", "0\n"],
        ["Nothing matches", "1\n"],
      ],
      0,
    ],
  ] as [string, [string, string][], number][])("takes %s", async (_, answers, index) => {
    const { code, out } = await type(["products", "get", "--json", "id"], answers);
    // JSON is asked for, and the question stands on stderr all the same.
    expect([code, JSON.parse(out)]).toEqual([0, { id: idOf(index) }]);
  });

  test("shows the first of many, and finds the others by name", async () => {
    names = Array.from({ length: 60 }, (_, index) => `Product ${index + 1}`);
    const { code, out, err } = await type(["products", "get"], [["… 40 more", "product 57\n"]]);
    expect([code, out]).toEqual([0, expect.stringContaining("Product 57")]);
    expect(err).not.toContain("Product 21");
  });

  test("shows names of ill will as text", async () => {
    names = ["Pro\u001b[95m\u001b]0;owned\u0007\u202e", "Line\nbreak"];
    const { code, err } = await type(["products", "get"], [["part of the name", undefined]]);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/ {2}1 {2}Pro�\[95m�\]0;owned�� +no\n {2}2 {2}Line break +no\n/),
    ]);
  });

  test("shows as text what nobody has cleaned before", async () => {
    const here = place({ tty: true });
    const chosen = promptChoice(here.io, "Which\u001b[2J?", [{ value: "a", label: "Acme\u001b]0;owned\u0007" }]);
    here.stdin.write("1\n");
    expect(await chosen).toEqual({ value: "a" });
    expect(here.stderr.text).toMatch(/^Which�\[2J\?\n {2}1 {2}Acme�\]0;owned�\nNumber/);
  });

  test("leaves at the end of the input, and at a signal, with nothing done", async () => {
    expect(await type(["products", "archive"], [["part of the name", undefined]])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/: \nfloe: .*nothing was changed/s),
    });
    const stop = new AbortController();
    const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", ...dumb };
    const here = place({ tty: true, env, signal: stop.signal });
    const ended = run(["products", "archive"], here.io, manifest, "1.2.3");
    await until(() => here.stderr.text.includes("part of the name"));
    stop.abort("SIGTERM");
    expect([await ended, bodies]).toEqual([143, []]);
  });
});

test("answers that come at once, as from a paste or a braille display, each reach their question", async () => {
  const { code } = await type(["products", "create"], [["part of the name", "year\nPro plan\n9.00\n\n\nignored"]]);
  expect([code, bodies]).toMatchObject([0, [{ name: "Pro plan", recurring_interval: "year" }]]);
});

test("letters that come in halves are whole", async () => {
  const [first, second] = [Buffer.from("Émi").subarray(0, 1), Buffer.from("Émile's\n").subarray(1)];
  names = ["Émile's", "Other"];
  const here = place({ tty: true, env: { FLOE_SERVER: server.url, FLOE_API_KEY: "k", ...dumb } });
  const ended = run(["products", "get"], here.io, manifest, "1.2.3");
  await until(() => here.stderr.text.includes("part of the name"));
  here.stdin.write(first);
  await new Promise((resolve) => setTimeout(resolve, 20));
  here.stdin.write(second);
  expect([await ended, here.stdout.text]).toEqual([0, expect.stringContaining("Émile's")]);
});

test("a choice within a form takes its name, a beginning or enter, and nothing else", async () => {
  const argv = ["benefits", "create", "--type", "github_repository", "--description", "Sources"];
  const { code, err } = await type(argv, [
    ["repository (", "acme/book\n"],
    ["enter takes pull): ", "everything\n"],
    ["permission: is one of pull, triage", "tri\n"],
  ]);
  expect([code, bodies]).toMatchObject([0, [{ properties: { permission: "triage" } }]]);
  expect(err).not.toContain("‹");
  bodies.length = 0;
  await type(argv, [
    ["repository (", "acme/book\n"],
    ["enter takes pull): ", "\n"],
  ]);
  expect(bodies).toMatchObject([{ properties: { permission: "pull" } }]);
});

test("what the server refuses is asked again, with what was said and why", async () => {
  answer = ({ method, body }) =>
    method === "POST" && (body as { name: string }).name === "Taken"
      ? { status: 422, json: { detail: [{ type: "value_error", loc: ["body", "name"], msg: "Is taken." }] } }
      : undefined;
  const { code, err } = await type(
    ["products", "create", "--price", "9.00"],
    [
      ["name (", "Taken\n"],
      ["description (", "\n"],
      ["picture (", "\n"],
      ["name: Taken: Is taken.", "Free\n"],
    ],
  );
  expect([code, bodies.length, err]).toEqual([0, 2, expect.stringContaining("Created the product")]);
});

test("long output goes to no pager unless one was chosen for floe", async () => {
  names = Array.from({ length: 60 }, (_, index) => `Product ${index + 1}`);
  const list = async (env: Record<string, string>) => {
    const here = place({ tty: true, env: { FLOE_SERVER: server.url, FLOE_API_KEY: "k", ...env } });
    here.stdout.rows = 24;
    expect(await run(["products", "list"], here.io, manifest, "1.2.3")).toBe(0);
    return [here.leafed.map(({ program }) => program), here.stdout.text.includes("Product 60")];
  };
  expect(await list({ TERM: "xterm", PAGER: "more" })).toEqual([["more"], false]);
  expect(await list({ ...dumb, PAGER: "more" })).toEqual([[], true]);
  expect(await list({ ...aloud })).toEqual([[], true]);
  expect(await list({ ...dumb, FLOE_PAGER: "reader" })).toEqual([["reader"], false]);
});

test("a meter that is watched is a line for each look that found more", async () => {
  const stop = new AbortController();
  let total = 0;
  answer = ({ path }) => {
    if (path.includes("/clock")) return { status: 404, json: { detail: "Not found" } };
    if (!path.includes("/quantities")) return undefined;
    total += 5;
    // A look that finds what the one before found is told to nobody.
    return { json: { quantities: [], total: Math.min(total, 10) } };
  };
  const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", ...dumb };
  const here = place({ tty: true, signal: stop.signal, env });
  const ended = run(["meters", "watch", idOf(0), "--every", "1"], here.io, manifest, "1.2.3");
  await until(() => total >= 15, 10_000);
  stop.abort("SIGTERM");
  expect([await ended, here.stdout.text]).toEqual([143, "Pro: 5\nPro: 10, +5 since the last look\n"]);
});

test("what takes long says how far it is in lines, as in a pipe", async () => {
  const path = join(folder(), "customers.csv");
  writeFileSync(path, `email\n${Array.from({ length: 30 }, (_, index) => `a${index}@example.com\n`).join("")}`);
  answer = () => ({ json: { id: idOf(0), email: "a@example.com" } });
  const { code, err } = await type(["customers", "import", path], []);
  expect([code, err]).toEqual([0, expect.stringContaining(`50 % of 30 rows`)]);
});
