import { stripVTControlCharacters } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { begin, floe, standIn, until } from "./support.ts";

const entry = (n: number, more: object = {}) => ({
  ...{ id: `id-${n}`, kind: "request", created_at: new Date(Date.now() - 1000 * (100 - n)).toISOString() },
  ...{ request_id: `request-${n}`, status: "ok", http_status: 200, duration_ms: 12, method: "GET" },
  ...{ target: "/v1/products/", name: "products.list", error: null, skipped: 0 },
  ...{ actor: { kind: "key", id: "k", name: "Build\u001b[2J server" } },
  ...more,
});
let listed: ReturnType<typeof entry>[] = [];
const server = await standIn(({ path, query }) => {
  if (path === "/v1/logs") {
    const [begin_, end] = [query.get("since") ?? "", query.get("until")];
    const older = listed.filter(({ created_at }) => created_at >= begin_ && (end === null || created_at <= end));
    return { json: { items: older.slice(0, Number(query.get("limit"))) } };
  }
  if (path === "/v1/logs/request-1")
    return {
      json: {
        request_id: "request-1",
        requests: [entry(1)],
        events: [{ id: "e", type: "order.paid", created_at: entry(1).created_at, subject_id: "o" }],
        orders: [
          {
            id: "o",
            created_at: entry(1).created_at,
            invoice_number: "ACME-1",
            status: "paid",
            ...money("total_amount"),
          },
        ],
        payments: null,
        mails: [],
        deliveries: [entry(2, { kind: "delivery", status: "failed", http_status: 503, name: "order.paid" })],
      },
    };
  return { status: 404, json: { error: "ResourceNotFound", detail: "Not found" } };
});
const money = (field: string) => ({ [field]: 1900, currency: "usd" });
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_PROMPT_DISABLED: "1" };
beforeEach(() => server.received.splice(0));

test("floe logs tail prints each line once, the older first, and passes the filters on", async () => {
  listed = [entry(2), entry(1)];
  const ending = new AbortController();
  const argv = ["logs", "tail", "--kind", "requests,mails", "--status", "failed", "--since", "10m", "--show-body"];
  const here = begin(argv, { env, signal: ending.signal });
  await until(() => here.stdout.text.split("\n").length > 2);
  listed = [entry(3, { created_at: new Date().toISOString() }), entry(2), entry(1)];
  await until(() => here.stdout.text.split("\n").length > 3);
  ending.abort("SIGINT");
  expect(await here.ended).toBe(130);
  const lines = here.stdout.text.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).id)).toEqual(["id-1", "id-2", "id-3"]);
  const query = server.received.at(-1)?.query;
  expect([query?.getAll("kind"), query?.get("status"), query?.get("bodies")]).toEqual([
    ["request", "mail"],
    "failed",
    "true",
  ]);
});

test("floe logs list reads page after page, and a line fits the terminal and cannot steer it", async () => {
  listed = Array.from({ length: 150 }, (_, n) => entry(150 - n, { status: n === 0 ? "failed" : "ok" }));
  const { code, out } = await floe(["logs", "list", "--limit", "130", "--no-pager"], { env, tty: true, columns: 80 });
  expect(code).toBe(0);
  expect(out).not.toContain("\u001b[2J");
  const lines = stripVTControlCharacters(out).trimEnd().split("\n");
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  // A failure has its id below it.
  expect(lines.length).toBe(131);
  expect(lines[1]?.trim()).toBe("request request-150");
  const piped = await floe(["logs", "list", "--limit", "130", "--json", "id"], { env });
  expect((JSON.parse(piped.out) as object[]).at(-1)).toEqual({ id: "id-21" });
  const wrong = await floe(["logs", "list", "--kind", "letters"], { env });
  expect([wrong.code, wrong.err.includes("requests, deliveries, mails, jobs")]).toEqual([64, true]);
});

test("floe logs get shows what a request did, and an unknown one is no success", async () => {
  const { code, out } = await floe(["logs", "get", "request-1"], { env, tty: true, columns: 80 });
  expect(code).toBe(0);
  for (const said of ["order.paid", "ACME-1", "$19.00", "503"]) expect(out).toContain(said);
  expect(out).not.toContain("Payments");
  const missing = await floe(["logs", "get", "request-9"], { env });
  expect([missing.code, missing.out]).toEqual([6, ""]);
});
