/** `--watch` of every command that reads: what it shows of the answers, how often it asks, and how it ends. */
import type { ServerResponse } from "node:http";
import { beforeEach, expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { computeWait } from "../../cli/resource/watch.ts";
import { begin, floe, manifest, type Place, standIn, until } from "./support.ts";

const id = "0193a000-0000-7000-8000-000000000001";
let name = "";
let status = 200;
let count = 1;
let headers: Record<string, string> = {};
let broken: ((response: ServerResponse) => void) | undefined;
const server = await standIn(({ path }, response) => {
  if (broken) return void broken(response);
  if (status !== 200) return { status, headers, json: { detail: "it rests" } };
  const row = { id, name, is_archived: false, prices: [] };
  return {
    json: path.endsWith(id) ? row : { items: Array(count).fill(row), pagination: { total_count: count, max_page: 1 } },
  };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };

beforeEach(() => {
  [name, status, count, headers, broken] = ["Pro", 200, 1, {}, undefined];
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
  // These read a file of this machine, or of the package.
  const local = new Set(["alias list", "extension list", "profiles list", "skills show"]);
  const byHand = tree.commands
    .map(({ path }) => path)
    .filter((path) => / (list|get|show)$/.test(path) && !local.has(path));
  expect(byHand).toEqual(expect.arrayContaining(["members list", "jobs show", "roles get", "metrics show"]));
  expect(byHand.filter((path) => !taking.has(path))).toEqual([]);
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
  const other = begin(["products", "list", "--watch"], { tty: true, env });
  await until(() => other.stderr.text.includes("q ends it"));
  await new Promise((resolve) => setTimeout(resolve, 60));
  other.stdin.write("\u0003");
  expect(await other.ended).toBe(130);
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

test("a look waits longer after each failure, as long as the server asks, and longer when nothing changes", () => {
  const calm = { failures: 0, unchanged_ms: 0 };
  const waits = [
    [calm, 5],
    [{ ...calm, unchanged_ms: 300_000 }, 30],
    [{ ...calm, every_ms: 2_000, unchanged_ms: 300_000 }, 2],
    [{ ...calm, failures: 1 }, 5],
    [{ ...calm, failures: 3 }, 20],
    [{ ...calm, failures: 40 }, 300],
    [{ ...calm, every_ms: 1_000, failures: 1, retry_after: 42 }, 42],
    [{ ...calm, failures: 1, retry_after: 1e9 }, 3600],
    [{ ...calm, every_ms: 3_600_000, failures: 9 }, 3600],
    // What a server asked for once does not count any more when it answers.
    [{ ...calm, retry_after: 42 }, 5],
  ] as const;
  expect(waits.map(([course]) => computeWait(course) / 1000)).toEqual(waits.map(([, seconds]) => seconds));
});

test.each([429, 503])(
  "a server that answers %i is asked again when it says, and once for each look",
  async (answered) => {
    const { err, code } = await watch(["products", "list", "--watch", "1"], {}, async (here) => {
      await askMore(1);
      const before = server.received.length;
      [status, headers] = [answered, { "retry-after": "4" }];
      await until(() => here.stderr.text.includes("the next look is in 4 s"));
      const asked = server.received.length;
      expect(asked).toBe(before + 1);
      await new Promise((resolve) => setTimeout(resolve, 2500));
      expect(server.received.length).toBe(asked);
    });
    expect([code, err.split("it rests").length]).toEqual([143, 2]);
  },
);

test.each([
  [401, 4],
  [403, 5],
])("a server that answers %i is not asked again", async (answered, code) => {
  const here = begin(["products", "list", "--watch", "1"], { env });
  await askMore(1);
  status = answered;
  expect(await here.ended).toBe(code);
  const asked = server.received.length;
  await new Promise((resolve) => setTimeout(resolve, 1300));
  expect(server.received.length).toBe(asked);
});

test.each([
  ["hangs", () => undefined, "did not answer within 1 s", 143],
  ["closes in the middle", (response: ServerResponse) => void response.destroy(), "the connection to", 143],
  [
    "closes in the middle of its answer",
    (response: ServerResponse) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"items":[', () => response.destroy());
    },
    "the connection to",
    143,
  ],
  ["answers HTML", (response: ServerResponse) => void response.end("<html></html>"), "did not answer with JSON", 1],
])("a server that %s is told, and what is shown is not garbled", async (_, fault, told, code) => {
  const ended = await watch(["products", "list", "--watch", "1", "--timeout", "1"], {}, async (here) => {
    await askMore(1);
    await until(() => here.stdout.text.includes("Pro"));
    broken = fault;
    await until(() => here.stderr.text.includes(told));
  });
  expect(ended.code).toBe(code);
  expect(JSON.parse(ended.out)).toMatchObject([{ name: "Pro" }]);
});

test("what a name means is asked once, and a terminal of another size is drawn without asking", async () => {
  const here = begin(["products", "get", "Pro", "--watch", "1"], { tty: true, env });
  await until(() => server.received.filter(({ path }) => path.endsWith(id)).length >= 3);
  expect(server.received.filter(({ path }) => !path.endsWith(id)).length).toBe(1);
  here.stdin.write("q");
  expect(await here.ended).toBe(0);
  server.received.length = 0;
  count = 12;
  const list = begin(["products", "list", "--watch", "60"], { tty: true, env });
  await until(() => list.stderr.text.includes("ID"));
  list.stdout.columns = 20;
  const drawn = list.stderr.text.length;
  list.stdout.emit("resize");
  await until(() => list.stderr.text.slice(drawn).includes("NAME"));
  expect(list.stderr.text.slice(drawn)).not.toContain("0193a000");
  expect(server.received.length).toBe(1);
  list.stdin.write("q");
  expect(await list.ended).toBe(0);
});

test("a rate that is none is refused before anything is asked", async () => {
  for (const rate of ["0", "0.5", "4000", "1e9"]) {
    const { code, err } = await floe(["products", "list", `--watch=${rate}`], { env });
    expect([code, err]).toEqual([64, expect.stringContaining("from 1 to 3600")]);
  }
  expect(server.received).toEqual([]);
});
