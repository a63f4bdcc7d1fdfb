/** `--watch` of every command that reads: what it shows of the answers, how often it asks, and how it ends. */
import { beforeEach, expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { begin, floe, manifest, type Place, standIn, until } from "./support.ts";

const id = "0193a000-0000-7000-8000-000000000001";
let name = "";
let status = 200;
let count = 1;
const server = await standIn(({ path }) => {
  if (status !== 200) return { status, json: { detail: "it rests" } };
  const row = { id, name, is_archived: false, prices: [] };
  return {
    json: path.endsWith(id) ? row : { items: Array(count).fill(row), pagination: { total_count: count, max_page: 1 } },
  };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };

beforeEach(() => {
  [name, status, count] = ["Pro", 200, 1];
  server.received.length = 0;
});

/** Watch until `work` is done, and end it by a signal. */
async function watch(argv: string[], where: Place, work: (here: ReturnType<typeof begin>) => Promise<void>) {
  const stop = new AbortController();
  const here = begin(argv, { ...where, env: { ...env, ...where.env }, signal: stop.signal });
  await work(here);
  stop.abort("SIGTERM");
  return { code: await here.ended, out: here.stdout.text, err: here.stderr.text };
}
const askMore = (times: number) => {
  const before = server.received.length;
  return until(() => server.received.length >= before + times);
};

test("every command that reads takes it, and none that writes or answers with a file", async () => {
  const tree = await buildCommandTree(manifest);
  const taking = new Set(
    tree.commands.filter(({ flags }) => flags.some((one) => one.name === "--watch")).map(({ path }) => path),
  );
  const operations = manifest
    .index()
    .groups.flatMap(({ name: group }) =>
      (manifest.group(group)?.operations ?? []).map((one) => ({ ...one, path: `${group} ${one.name}` })),
    );
  const reading = operations.filter(({ method, file }) => method === "GET" && !file).map(({ path }) => path);
  expect(reading.length).toBeGreaterThan(60);
  expect(reading.filter((path) => !taking.has(path))).toEqual([]);
  const others = operations.filter(({ method, file }) => method !== "GET" || file).map(({ path }) => path);
  expect(others.filter((path) => taking.has(path))).toEqual([]);
});

test("in a pipe, an answer that changed is one line of JSON, and one that did not is none", async () => {
  const { code, out } = await watch(["products", "list", "--watch", "1"], {}, async () => {
    await askMore(3);
    name = "Team";
    await askMore(2);
  });
  expect(code).toBe(143);
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)[0].name),
  ).toEqual(["Pro", "Team"]);
});

test("it asks no more often than it was told, and not at all once it has ended", async () => {
  const started = Date.now();
  await watch(["products", "get", id, "--watch", "1"], {}, () => askMore(3));
  expect(Date.now() - started).toBeGreaterThan(1900);
  const asked = server.received.length;
  await new Promise((resolve) => setTimeout(resolve, 1300));
  expect(server.received.length).toBe(asked);
});

test("fields, jq and templates pick from each answer", async () => {
  for (const [flags, shown] of [
    [["--json", "name"], '[{"name":"Pro"}]\n'],
    [["--jq", ".[].name"], "Pro\n"],
    [["--template", "{{.name}}!"], "Pro!\n"],
  ] as const) {
    const { out } = await watch(["products", "list", "--watch", "1", ...flags], {}, () => askMore(2));
    expect(out).toBe(shown);
  }
});

test("on a terminal it draws the table again, no higher than the terminal, until q", async () => {
  count = 100;
  const here = begin(["products", "list", "--watch"], { tty: true, env });
  await until(() => here.stderr.text.includes("more lines"));
  expect(here.stderr.text).toContain("Every 5 s; q ends it.");
  // The terminal of the test has 40 rows.
  expect(here.stderr.text.split("Pro").length - 1).toBeLessThan(38);
  here.stdin.write("q");
  expect(await here.ended).toBe(0);
});

test("a server that cannot be reached for a while is said, and does not end it; a first failure and a refusal do", async () => {
  const { err, out } = await watch(["products", "list", "--watch", "1"], {}, async (here) => {
    await askMore(1);
    status = 503;
    await until(() => here.stderr.text.includes("it rests"));
    [status, name] = [200, "Back"];
    await until(() => here.stdout.text.includes("Back"));
  });
  expect(err).toContain("it rests");
  expect(out).toContain("Back");
  status = 404;
  expect((await floe(["products", "get", id, "--watch"], { env })).code).toBe(6);
});

test("a rate that is none is refused before anything is asked", async () => {
  for (const rate of ["0", "0.5", "4000", "1e9"]) {
    const { code, err } = await floe(["products", "list", `--watch=${rate}`], { env });
    expect([code, err]).toEqual([64, expect.stringContaining("from 1 to 3600")]);
  }
  expect(server.received).toEqual([]);
});
