import { stripVTControlCharacters } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { floe, standIn } from "./support.ts";

const job = (row_id: string, status = "dead") => ({
  id: `a.worker:${row_id}`,
  kind: "a.worker",
  row_id,
  organization_id: null,
  status,
  attempts: 12,
  error: "The processor\u001b[2J said no.",
  first_failed_at: "2026-01-02T03:04:05.000Z",
  retry_at: null,
  discarded_at: null,
});
const server = await standIn(({ method, path, query }) => {
  if (path === "/v1/jobs" && !query.has("after")) return { json: { items: [job("1"), job("2")], next: "a.worker:2" } };
  if (path === "/v1/jobs") return { json: { items: [job("3")], next: null } };
  const [, row_id = "", action] = /^\/v1\/jobs\/a\.worker%3A(\w+)(?:\/(\w+))?$/.exec(path) ?? [];
  if (row_id === "none") return { status: 404, json: { error: "ResourceNotFound", detail: "Not found" } };
  return { json: job(row_id, method === "GET" ? "dead" : action === "retry" ? "retrying" : "discarded") };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_PROMPT_DISABLED: "1" };
beforeEach(() => server.received.splice(0));

test("floe jobs list asks page by page, and shows no control characters of an error", async () => {
  const { code, out } = await floe(["jobs", "list"], { env, tty: true });
  expect(code).toBe(0);
  for (const id of ["a.worker:1", "a.worker:2", "a.worker:3"]) expect(out).toContain(id);
  expect(out).not.toContain("\u001b[2J");
  for (const line of stripVTControlCharacters(out).split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  // What every command takes, as --no-pager, is no filter.
  expect(server.received.map(({ query }) => [...query.keys()])).toEqual([
    ["status", "limit"],
    ["status", "after", "limit"],
  ]);
  const piped = await floe(["jobs", "list", "--limit", "3", "--json", "id"], { env });
  expect(JSON.parse(piped.out)).toEqual([{ id: "a.worker:1" }, { id: "a.worker:2" }, { id: "a.worker:3" }]);
});

test("floe jobs retry requeues each job that is named, and stops at one that there is not", async () => {
  const { code, err } = await floe(["jobs", "retry", "a.worker:1", "a.worker:none", "a.worker:2"], { env });
  expect(code).not.toBe(0);
  expect(err).toContain("Requeued a.worker:1");
  expect(server.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /v1/jobs/a.worker%3A1/retry",
    "POST /v1/jobs/a.worker%3Anone/retry",
  ]);
});

test("floe jobs discard says why the job failed, and does nothing without a yes", async () => {
  const refused = await floe(["jobs", "discard", "a.worker:1"], { env });
  expect([refused.code, refused.err.includes("said no")]).toEqual([64, true]);
  expect(server.received.filter(({ method }) => method === "POST")).toEqual([]);
  const { code, out } = await floe(["jobs", "discard", "a.worker:1", "--yes", "--json", "status"], { env });
  expect([code, JSON.parse(out)]).toEqual([0, { status: "discarded" }]);
});
