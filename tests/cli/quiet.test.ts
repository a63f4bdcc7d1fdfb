/** `--quiet`: data or ids on stdout, and on stderr nothing but errors. The walk of every command is in complete.long. */
import { expect, test } from "vitest";
import { begin, floe, standIn, until } from "./support.ts";

const id = "0193a000-0000-7000-8000-000000000001";
const token = "polar_cst_told\u001b[31m";
let total = 1;
const server = await standIn(({ path, method }) => {
  if (path.startsWith("/v1/customer-sessions"))
    return { json: { id, token, customer_portal_url: "https://x.example" } };
  if (path.startsWith("/v1/metrics")) return { json: { periods: [], totals: {}, metrics: {} } };
  if (path.endsWith("api-key/create")) return { json: { id, key: "floe_oat_told_once", name: "ci" } };
  const row = { id, name: "Pro\u001b[31m\nTeam", is_archived: false, prices: [] };
  const rows = total === 0 ? [] : [row, { ...row, id: `${id}2` }];
  const one = method !== "GET" || path.includes(id);
  return { json: one ? row : { items: rows, pagination: { total_count: total, max_page: 1 } } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };

test.each([true, false])("a list is its ids, a line each, and says nothing (on a terminal: %s)", async (tty) => {
  total = 100;
  const { code, out, err } = await floe(["products", "list", "--quiet"], { tty, env });
  expect([code, out, err]).toEqual([0, `${id}\n${id}2\n`, ""]);
  total = 0;
  expect(await floe(["products", "list", "--quiet"], { tty, env })).toMatchObject({ code: 0, out: "", err: "" });
  total = 1;
});

test.each([
  [["products", "get", id], `${id}\n`],
  [["products", "create", "--name", "Pro", "--price", "19.00usd"], `${id}\n`],
  [["products", "archive", id, "--yes"], `${id}\n`],
  // What is told only once is not lost.
  [["customer-sessions", "create", "--customer-id", id], "polar_cst_told\ufffd[31m\n"],
  // What was asked for stands.
  [["products", "list", "--json", "name"], '"name": "Pro\\u001b[31m\\nTeam"'],
  [["products", "list", "--jq", ".[0].id"], `${id}\n`],
  [["products", "list", "--template", "{{.id}}!"], `${id}!\n${id}2!\n`],
])("%j --quiet shows %j, and says nothing", async (argv, shown) => {
  const { code, out, err } = await floe([...argv, "--quiet"], { env });
  expect([code, out, err]).toEqual([0, expect.stringContaining(shown), ""]);
  if (!argv.includes("--json")) expect(out).toBe(shown);
});

test("errors are told, an agent gets JSON, and --debug still says each request", async () => {
  const refused = await floe(["products", "archive", id, "--quiet"], { env });
  expect([refused.code, refused.out, refused.err]).toEqual([64, "", expect.stringContaining("--yes")]);
  const agent = await floe(["products", "list", "--quiet", "--agent", "yes"], { env });
  expect(JSON.parse(agent.out)).toHaveLength(2);
  const debugged = await floe(["products", "list", "--quiet", "--debug"], { env });
  expect(debugged.err).toContain("GET ");
});

test("watched in a pipe, ids are written again where they change", async () => {
  const stop = new AbortController();
  const here = begin(["products", "list", "--watch", "1", "--quiet"], { env, signal: stop.signal });
  await until(() => here.stdout.text === `${id}\n${id}2\n`);
  total = 0;
  await new Promise((resolve) => setTimeout(resolve, 1200));
  stop.abort("SIGTERM");
  expect([await here.ended, here.stdout.text]).toEqual([143, `${id}\n${id}2\n`]);
  total = 1;
});
