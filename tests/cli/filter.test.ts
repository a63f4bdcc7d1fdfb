import { beforeEach, describe, expect, test } from "vitest";
import { floe, type Received, standIn } from "./support.ts";

const orders = [
  { id: "o1", total_amount: 1900, currency: "usd", customer: { email: "ada@example.com" }, n: 12345678901234567890n },
  { id: "o2", total_amount: 500, currency: "jpy", customer: { email: "b\u001b[31mob@example.com" }, n: 1n },
];
const text = JSON.stringify({ items: orders, pagination: { total_count: 2, max_page: 1 } }, (_, value) =>
  typeof value === "bigint" ? Number(value) : value,
);
let asked: Received[] = [];
const server = await standIn((request) => {
  asked.push(request);
  if (request.method === "POST") return { json: { id: "p1", name: "Pro" } };
  return { text };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };
const list = (...flags: string[]) => floe(["orders", "list", ...flags], { env });
const onTerminal = (...flags: string[]) => floe(["orders", "list", ...flags], { env, tty: true });

beforeEach(() => {
  asked = [];
});

describe("--jq", () => {
  test.each([
    [".[].id", "o1\no2\n"],
    ["map(.total_amount) | add", "2400\n"],
    ['.[] | "\\(.id)\\t\\(.currency)"', "o1\tusd\no2\tjpy\n"],
    [".[] | {id}", '{"id":"o1"}\n{"id":"o2"}\n'],
    ['.[] | select(.currency == "eur")', ""],
    ['"  two spaces  ", ""', "  two spaces  \n\n"],
    ["def f: .id; map(f) # names", '["o1","o2"]\n'],
    ['[.[].customer.email | test("bob|ada")]', "[true,false]\n"],
    ["$ENV.HOME, (input? // 1)", "/home/web_user\n1\n"],
  ])("%s", async (program, out) => {
    expect(await list("--jq", program)).toMatchObject({ code: 0, out, err: "" });
    expect(await list("-q", program)).toMatchObject({ code: 0, out });
    // Nobody at a terminal gets other answers, but for their layout and for what would move the cursor.
    const seen = await onTerminal("--jq", program);
    expect(seen.out.replace(/\s/g, "")).toBe(out.replace(/\s/g, ""));
  });

  test("is of the fields that --json picks, and what stands in no field is not there", async () => {
    expect((await list("--json", "id", "--jq", ".[0]")).out).toBe('{"id":"o1"}\n');
    const wrong = await list("--json", "idd", "--jq", ".[0]");
    expect(wrong).toMatchObject({ code: 64, out: "" });
  });

  test("takes the answers of floe api, of a write and of an account call", async () => {
    const place = { env };
    expect((await floe(["api", "/v1/orders/", "--jq", ".items | length"], place)).out).toBe("2\n");
    const made = await floe(["products", "create", "--name", "Pro", "--price", "9.00", "-q", ".id"], place);
    expect(made).toMatchObject({ code: 0, out: "p1\n", err: "" });
  });

  test.each([
    [".[", "syntax error, unexpected"],
    [".a | nope", "nope/0 is not defined"],
    [".a) | (.b", "syntax error"],
  ])("%s is no program, and nothing is asked", async (program, why) => {
    const { code, out, err } = await floe(["products", "create", "--name", "P", "--price", "9.00", "-q", program], {
      env,
    });
    expect([code, out, asked]).toEqual([64, "", []]);
    expect(err).toContain(`--jq is not a valid jq program: ${why}`);
  });

  test("says what it cannot do with an answer, after what it could", async () => {
    const { code, out, err } = await list("--jq", ".[0].id, .[0].id.x");
    expect([code, out]).toEqual([1, "o1\n"]);
    expect(err).toContain('--jq: Cannot index string with string ("x")');
    const csv = await floe(["api", "/v1/orders/", "-q", 'error("own words")'], { env });
    expect([csv.code, csv.err]).toEqual([1, expect.stringContaining("--jq: own words")]);
  });

  test("lets no text of another move the cursor of a terminal", async () => {
    expect((await onTerminal("--jq", ".[1].customer.email")).out).toBe("b�[31mob@example.com\n");
    expect((await list("--jq", ".[1].customer.email")).out).toBe("b\u001b[31mob@example.com\n");
    expect((await onTerminal("--template", "{{.customer.email}}\\n")).out).toContain("b�[31mob");
  });
});

describe("--template", () => {
  test.each([
    ["{{.id}}: {{.total_amount | money}}", "o1: $19.00\no2: ¥500\n"],
    ["{{.customer.email | length}}\\t{{.none}}|", "15\t|\n20\t|\n"],
    ['{{.total_amount | money("eur")}}', "€19.00\n€5.00\n"],
    ["no place", "no place\nno place\n"],
    ["{{.id, .currency}}", "o1, usd\no2, jpy\n"],
    ['"quoted" \\ {{.id}} \\(.id)', '"quoted" \\ o1 \\(.id)\n"quoted" \\ o2 \\(.id)\n'],
    ["{{.customer | keys}}", '["email"]\n["email"]\n'],
  ])("%s", async (template, out) => {
    expect(await list("--template", template)).toMatchObject({ code: 0, out, err: "" });
  });

  test("says how long ago something was", async () => {
    const answer = await floe(["api", "/v1/orders/", "--template", '{{"2001-01-01T12:00:00Z" | ago}}'], { env });
    expect(answer.out).toBe("2001-01-01\n");
  });

  test.each([
    [["--template", "{{.id"], 0, "{{.id\n{{.id\n"],
    [["--template", "{{.id |}}"], 64, ""],
    [["--template", "{{.id | money}}"], 64, ""],
    [["--template", "x", "--jq", "."], 64, ""],
  ])("%j ends with %s", async (flags, code, out) => {
    expect(await list(...flags)).toMatchObject({ code, out });
  });
});

const long = JSON.stringify({
  items: Array.from({ length: 100 }, (_, at) => ({ id: `o${at}` })),
  pagination: { total_count: 300, max_page: 3 },
});
const many = await standIn(() => ({ text: long }));

describe("the pager", () => {
  const run = (flags: string[], more: object = {}, own: Record<string, string> = {}) =>
    floe(["orders", "list", ...flags], { tty: true, ...more, env: { ...env, FLOE_SERVER: many.url, ...own } });

  test("has what is longer than the terminal, and what is said about it comes after", async () => {
    const { code, out, err, leafed } = await run([]);
    expect([code, out, leafed.map(({ program }) => program)]).toEqual([0, "", ["less"]]);
    expect(leafed[0]?.text.split("\n")).toHaveLength(102);
    expect([leafed[0]?.said, err]).toEqual(["", expect.stringContaining("100 of 300 are shown")]);
    const json = await run(["--json", "id"]);
    expect(JSON.parse(json.leafed[0]?.text ?? "")).toHaveLength(100);
    expect((await run(["-q", ".[].id"])).leafed[0]?.text).toContain("o99\n");
  });

  test.each([
    ["a short answer", ["--jq", "length"], {}, {}],
    ["--no-pager", ["--no-pager"], {}, {}],
    ["FLOE_PAGER is empty", [], {}, { FLOE_PAGER: "", PAGER: "less" }],
    ["PAGER is cat", [], {}, { PAGER: "cat" }],
    ["a build machine", [], {}, { CI: "1" }],
    ["a pipe", [], { tty: false }, {}],
  ])("is not begun: %s", async (_, flags, more, own) => {
    const { code, out, leafed } = await run(flags, more, own);
    expect([code, leafed]).toEqual([0, []]);
    expect(out).not.toBe("");
  });

  test("is the one that is named, FLOE_PAGER before PAGER; where it is not there, all is printed", async () => {
    expect((await run([], {}, { PAGER: "more -s" })).leafed[0]?.program).toBe("more -s");
    expect((await run([], {}, { PAGER: "more", FLOE_PAGER: "most" })).leafed[0]?.program).toBe("most");
    const { out, leafed } = await run([], { pager: false });
    expect([out.split("\n").length, leafed]).toEqual([102, []]);
  });
});
