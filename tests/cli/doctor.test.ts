import { beforeEach, expect, test } from "vitest";
import { floe, folder, standIn } from "./support.ts";

type Check = { id: string; status: string; message: string; fix: string | null };
const mode: Check = { id: "mode", status: "ok", message: "A sandbox\u001b[2J.", fix: null };
const processor: Check = {
  id: "card_processor",
  status: "failure",
  message: "No card processor.",
  fix: "Set STRIPE_SECRET_KEY.",
};
let checks: Check[] | undefined;
let report: Record<string, unknown>;
let ready: { status?: number; text?: string; json?: unknown };
const server = await standIn(({ path, query }) => {
  if (path === "/readyz") return ready;
  if (path === "/v1/diagnostics/mail")
    return { json: { to: "ada@example.com", sent: false, error: "ECONNREFUSED", duration_ms: 3 } };
  if (checks) return { json: { ...report, checks } };
  return { json: { ...report, checks: query.get("go_live") ? [mode, processor] : [mode] } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_PROMPT_DISABLED: "1" };
beforeEach(() => {
  server.received.length = 0;
  ready = { json: { status: "ready", database: true } };
  report = {
    ...{
      now: new Date().toISOString(),
      version: "1.2.3",
      schema: 16,
      url: server.url,
      organization_id: "o1",
      sandbox: true,
    },
    ...{ operator: false, credential: { kind: "key", scopes: ["a:read"], expires_at: null } },
  };
});
const run = async (...argv: string[]) => {
  const { code, out, err } = await floe(argv, { env });
  return { code, err, ...(JSON.parse(out) as { status: string; checks: Check[] }) };
};
const statusOf = (checks: Check[], id: string) => checks.find((check) => check.id === id)?.status;

test("all is well: exit code 0, and a line for each check that steers nothing", async () => {
  const { code, status, checks } = await run("doctor");
  expect([code, status, checks.every((check) => check.status === "ok")]).toEqual([0, "ok", true]);
  const { out } = await floe(["doctor"], { env, tty: true });
  expect(out).toContain("✓ server              http://127.0.0.1:");
  expect(out).toContain("✓ mode                A sandbox�[2J.\n");
  expect(out).toContain(`${checks.length} checks: ${checks.length} passed.`);
});

test("fits the terminal: beside the name of a check, on a narrow one below it, with commands in one piece", async () => {
  const fix = "Run: `floe webhooks doctor https://hooks.example.com/a` and `floe webhooks list`";
  const long = { ...processor, message: "The last event was not delivered, and 3 of the last 10 events.", fix };
  const lines = async (columns: number): Promise<string[]> => {
    checks = [long];
    const { out } = await floe(["doctor", "--go-live"], { env, tty: true, columns });
    checks = undefined;
    return out.split("\n");
  };
  const wide = await lines(80);
  expect(wide).toContain("✗ card processor      The last event was not delivered, and 3 of the last 10");
  expect(wide).toContain("                      events.");
  expect(wide).toContain("                      Run: floe webhooks doctor https://hooks.example.com/a and");
  const narrow = await lines(40);
  expect(narrow).toContain("✗ card processor");
  expect(narrow).toContain("  The last event was not delivered, and");
  expect(narrow).toContain("  and floe webhooks list");
  for (const line of narrow) expect(line.length <= 40 || line.includes("floe webhooks doctor https")).toBe(true);
});

test("--go-live asks for more, and a failure is exit code 1 with what mends it", async () => {
  const { code, checks, err } = await run("doctor", "--go-live", "--json");
  expect([code, statusOf(checks, "card_processor")]).toEqual([1, "failure"]);
  expect(JSON.parse(err.trim().split("\n").at(-1) ?? "")).toMatchObject({ error: "checks_failed", exit_code: 1 });
  const { out } = await floe(["doctor", "--go-live"], { env, tty: true });
  expect(out).toContain("✗ card processor      No card processor.\n                      Set STRIPE_SECRET_KEY.\n");
});

test("what only this machine can tell: clock, version, address and the end of the key", async () => {
  Object.assign(report, {
    now: new Date(Date.now() - 90_000).toISOString(),
    version: "1.3.0",
    url: "https://pay.example.com",
  });
  report.credential = { kind: "key", scopes: [], expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  const { code, status, checks } = await run("doctor");
  expect([code, status]).toEqual([0, "warning"]);
  expect(["clock", "version", "url", "credential"].map((id) => statusOf(checks, id))).toEqual(Array(4).fill("warning"));
  expect(checks.find(({ id }) => id === "clock")?.message).toContain("90 s behind");
});

test("--mail sends a test message, and tells why it was not taken", async () => {
  const { code, checks } = await run("doctor", "--mail");
  expect([code, checks.at(-1)]).toMatchObject([
    1,
    { id: "test_mail", status: "failure", message: "Not sent: ECONNREFUSED" },
  ]);
  server.received.length = 0;
  await run("doctor");
  expect(server.received.map(({ path }) => path)).toEqual(["/readyz", "/v1/diagnostics"]);
});

test("a server that is away, not ready, or no floe; and nobody signed in", async () => {
  const away = await floe(["doctor"], { env: { ...env, FLOE_SERVER: "http://127.0.0.1:9" } });
  expect([away.code, JSON.parse(away.out)]).toMatchObject([
    9,
    { status: "failure", checks: [{ id: "server", fix: "Start one with: `floe serve`" }] },
  ]);
  ready = { status: 503, json: { status: "not ready", database: false } };
  expect(statusOf((await run("doctor")).checks, "server")).toBe("failure");
  ready = { text: "<html>" };
  expect((await floe(["doctor"], { env })).code).toBe(1);
  ready = { json: { status: "ready" } };
  const stranger = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: folder() };
  const { code, out } = await floe(["doctor"], { env: stranger });
  expect([code, statusOf((JSON.parse(out) as { checks: Check[] }).checks, "sign_in")]).toEqual([1, "failure"]);
});

test("floe status shows the store and only what is wrong", async () => {
  report.version = "1.3.0";
  const { code, out } = await floe(["status"], { env, tty: true });
  expect(code).toBe(0);
  expect(out).toMatch(/^Server {2}http:\S+, version 1\.3\.0\nStore {3}o1, a sandbox\n\n! version/);
  expect(out).not.toContain("✓");
});
