import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeEach, describe, expect, test } from "vitest";
import { buildAnswerSchemas } from "../../cli/build-schemas.ts";
import { drawQuantities } from "../../cli/ui/quantities.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { api } from "../../shared/api/index.ts";
import { begin, floe, folder, manifest, standIn, until } from "./support.ts";

type Sent = { external_id: string; name: string; metadata: Record<string, unknown> };
const organization = "0b6f0f3c-3c9b-4a0e-9f0b-000000000001";
const meter = "0b6f0f3c-3c9b-4a0e-9f0b-00000000000a";
/** What the server has taken, by its id, as the real one does. */
const taken = new Map<string, Sent>();
let refuse: (
  events: Sent[],
  asked: number,
) => { status: number; json?: unknown; headers?: Record<string, string> } | undefined = () => undefined;
let asked = 0;
let listed: unknown[] = [];
let total: number | undefined;
let recounted: object[] = [];
/** How far ahead the clock of a sandbox is; without it the key may not ask. */
let aheadMs: number | undefined;
const server = await standIn(({ path, body }) => {
  if (path === "/v1/organizations/") return { json: { items: [{ id: organization, slug: "o", name: "o" }] } };
  if (path === "/v1/events/")
    return { json: { items: listed, pagination: { total_count: total ?? listed.length, max_page: 1 } } };
  if (path.endsWith("/quantities"))
    return {
      json: {
        quantities: [3, 0, 9].map((quantity, n) => ({ timestamp: `2026-11-0${n + 1}T00:00:00Z`, quantity })),
        total: 12,
      },
    };
  if (path === `/v1/meters/${meter}`) return { json: { id: meter, name: "Tokens" } };
  if (path === "/v1/sandbox/clock")
    return aheadMs === undefined ? { status: 403 } : { json: { now: new Date(Date.now() + aheadMs).toISOString() } };
  if (path === "/v1/customer-meters/verify") return { json: recounted.shift() };
  const { events } = body as { events: Sent[] };
  asked += 1;
  const refusal = refuse(events, asked);
  if (refusal) return refusal;
  const fresh = events.filter(({ external_id }) => !taken.has(external_id));
  for (const event of fresh) taken.set(event.external_id, event);
  const said = events.map((event) => landed(event, event.metadata.late ? "late" : "counted"));
  return { json: { inserted: fresh.length, duplicates: events.length - fresh.length, events: said } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "floe_key", TZ: "UTC" };
const sent = () => server.received.filter(({ path }) => path === "/v1/events/ingest");
beforeEach(() => {
  server.received.length = 0;
  taken.clear();
  refuse = () => undefined;
  asked = 0;
  aheadMs = undefined;
});

/** What a server says of an event; of some, that they are late. */
const landed = ({ metadata }: Sent, status: string) => ({
  ...{ status, is_late: metadata.late === true || metadata.late === "free" },
  period: metadata.late === true ? { start: "2026-07-01T00:00:00Z", end: "2026-08-01T00:00:00Z" } : null,
});
const lineOf = (n: number, over: object = {}) =>
  JSON.stringify({ name: "use", external_customer_id: "user-1", metadata: { n }, ...over });
function fileOf(count: number, over: object = {}): string {
  const path = join(folder(), "events.ndjson");
  writeFileSync(path, `${Array.from({ length: count }, (_, n) => lineOf(n, over)).join("\n")}\n`);
  return path;
}

describe("floe events ingest --from-file", () => {
  test("sends each line once, in batches, and says so as JSON in a pipe", async () => {
    const { code, out } = await floe(["events", "ingest", "--from-file", fileOf(2500)], { env });
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { sent: 2500, inserted: 2500, duplicates: 0, conflicts: 0, late: {}, passed_over: 0 },
    ]);
    expect(
      sent()
        .map(({ body }) => (body as { events: unknown[] }).events.length)
        .sort(),
    ).toEqual([1000, 1000, 500]);
    expect(new Set([...taken.values()].map(({ metadata }) => metadata.n)).size).toBe(2500);
  });

  test("the same file again, and one that has grown, counts nothing twice", async () => {
    const path = fileOf(30);
    await floe(["events", "ingest", "--from-file", path], { env });
    await appendFile(path, `${lineOf(1)}\n`);
    const { out } = await floe(["events", "ingest", "--from-file", path], { env });
    expect(JSON.parse(out)).toMatchObject({ sent: 31, inserted: 1, duplicates: 30 });
    const other = await floe(["events", "ingest", "--from-file", path, "--as", "again"], { env });
    expect(JSON.parse(other.out)).toMatchObject({ inserted: 31 });
  });

  test("an event's own id is kept", async () => {
    await floe(["events", "ingest", "--from-file", fileOf(1, { external_id: "mine" })], { env });
    expect([...taken.keys()]).toEqual(["mine"]);
  });

  test("goes on where it was stopped, and sends nothing before that", async () => {
    const path = fileOf(50);
    refuse = (_, n) => (n > 2 ? { status: 401, json: { detail: "no" } } : undefined);
    const config = { FLOE_CONFIG_DIR: join(folder(), "config") };
    const first = await floe(["events", "ingest", "--from-file", path, "--batch", "10"], {
      env: { ...env, ...config },
    });
    expect(first.code).toBe(4);
    expect(taken.size).toBe(20);
    refuse = () => undefined;
    server.received.length = 0;
    const second = await floe(["events", "ingest", "--from-file", path, "--batch", "10"], {
      env: { ...env, ...config },
    });
    expect(JSON.parse(second.out)).toMatchObject({ inserted: 30, duplicates: 0, passed_over: 20 });
    expect(sent()).toHaveLength(3);
    expect(taken.size).toBe(50);
  });

  test("a file that begins otherwise than it did is sent from its beginning", async () => {
    const path = fileOf(50);
    refuse = (_, n) => (n > 2 ? { status: 401, json: { detail: "no" } } : undefined);
    const config = { FLOE_CONFIG_DIR: join(folder(), "config") };
    await floe(["events", "ingest", "--from-file", path, "--batch", "10"], { env: { ...env, ...config } });
    // As long as it was, but for its first line.
    const lines = [lineOf(99), ...readFileSync(path, "utf8").split("\n").slice(1)];
    writeFileSync(path, lines.join("\n"));
    refuse = () => undefined;
    const { out } = await floe(["events", "ingest", "--from-file", path], { env: { ...env, ...config } });
    expect(JSON.parse(out)).toMatchObject({ sent: 50, inserted: 50, passed_over: 0 });
  });

  test("a server that is busy, or away for a moment, is asked again, without a key", async () => {
    refuse = (_, n) =>
      n === 1 ? { status: 429, headers: { "retry-after": "0" } } : n === 2 ? { status: 503 } : undefined;
    const { code, out } = await floe(["events", "ingest", "--from-file", fileOf(3)], { env });
    expect([code, JSON.parse(out).inserted, sent().length]).toEqual([0, 3, 3]);
    expect(sent()[0]?.headers["idempotency-key"]).toBeUndefined();
  });

  test("what the server refuses is told by the line of the file", async () => {
    refuse = () => ({
      status: 422,
      json: {
        error: "RequestValidationError",
        detail: [{ loc: ["body", "events", 1, "name"], msg: "Too long.", type: "x" }],
      },
    });
    const path = join(folder(), "events.ndjson");
    writeFileSync(path, `${lineOf(0)}\n\n${lineOf(1)}\n`);
    const { code, err } = await floe(["events", "ingest", "--from-file", path], { env, tty: true });
    expect(code).toBe(1);
    expect(err).toContain("line 3 name: Too long.");
  });

  test.each([
    ["not JSON\n", "line 1 is not an event"],
    ["[1]\n", "line 1 is not an event"],
    [`${lineOf(0)}\nnull\n`, "line 2 is not an event"],
  ])("%j is refused by its line", async (text, why) => {
    const path = join(folder(), "events.ndjson");
    writeFileSync(path, text);
    const { code, err } = await floe(["events", "ingest", "--from-file", path], { env });
    expect([code, err.includes(why)]).toEqual([1, true]);
  });

  test("lines come from standard input, and nothing is held longer than its batch", async () => {
    const here = begin(["events", "ingest", "--from-file", "-"], { env });
    for (let n = 0; n < 1000; n += 1) here.stdin.write(`${lineOf(n)}\n`);
    await until(() => taken.size === 1000);
    here.stdin.end(lineOf(1000));
    expect([await here.ended, taken.size]).toEqual([0, 1001]);
  });

  test("a file that is not there, and flags that say two things, are wrong use", async () => {
    for (const flags of [
      ["--from-file", "/nowhere/events.ndjson"],
      ["--from-file", "x", "--events", "[]"],
      ["--as", "x"],
      ["--from-file", "x", "--batch", "0"],
    ])
      expect((await floe(["events", "ingest", ...flags], { env })).code).toBe(64);
    expect(sent()).toEqual([]);
  });

  test("--dry-run reads all of it, and sends nothing", async () => {
    const { code, out } = await floe(["events", "ingest", "--from-file", fileOf(12), "--dry-run"], { env });
    const answer: unknown = JSON.parse(out);
    expect([code, answer, sent()]).toEqual([
      0,
      { sent: 0, inserted: 0, duplicates: 0, conflicts: 0, late: {}, passed_over: 0, readable: 12 },
      [],
    ]);
    const schema = buildAnswerSchemas(api, manifest).get("events")?.ingest;
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema as object);
    expect([validate(answer), validate.errors]).toEqual([true, null]);
  });

  test("a terminal is shown a bar with the speed", async () => {
    const path = fileOf(3000);
    const { code, err } = await floe(["events", "ingest", "--from-file", path], { env, tty: true, columns: 80 });
    expect(code).toBe(0);
    expect(err).toContain("█");
    expect(err).toMatch(/events, [\d,]+ a second/);
    expect(err).toMatch(/3,000 events in /);
  });

  test("a line without an end is not read into memory", async () => {
    const path = join(folder(), "endless.ndjson");
    const file = createWriteStream(path);
    file.end(Buffer.alloc(3 * 1024 * 1024, 97));
    await finished(file);
    const { code, err } = await floe(["events", "ingest", "--from-file", path], { env });
    expect([code, err.includes("a line is longer than")]).toEqual([1, true]);
  });
});

describe("floe events tail", () => {
  const event = (n: number) => ({
    ...{ id: `id-${n}`, timestamp: new Date().toISOString(), name: "use", source: "user", customer: null },
    ...{ external_customer_id: "user-1", metadata: { n, text: "\u001b[2J" } },
  });
  test("tells each event once, the older first, a line of JSON each", async () => {
    listed = [event(2), event(1)];
    const ending = new AbortController();
    const here = begin(["events", "tail", "--name", "use,other", "--since", "10m"], { env, signal: ending.signal });
    await until(() => here.stdout.text.split("\n").length > 2);
    listed = [event(3), event(2), event(1)];
    await until(() => here.stdout.text.split("\n").length > 3);
    ending.abort("SIGINT");
    expect(await here.ended).toBe(130);
    const ids = here.stdout.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).id);
    expect(ids).toEqual(["id-1", "id-2", "id-3"]);
    const query = server.received.find(({ path }) => path === "/v1/events/")?.query;
    expect(query?.getAll("name")).toEqual(["use", "other"]);
    expect(Date.now() - Date.parse(query?.get("start_timestamp") ?? "")).toBeGreaterThan(9 * 60_000);
  });

  test("on a terminal a line is one line, and what was sent cannot steer it", async () => {
    listed = [event(1)];
    const ending = new AbortController();
    const here = begin(["events", "tail", "--since", "1h"], { env, tty: true, columns: 80, signal: ending.signal });
    await until(() => here.stdout.text.includes("\n"));
    ending.abort("SIGINT");
    await here.ended;
    expect(here.stdout.text).not.toContain("\u001b[2J");
    expect([...(here.stdout.text.split("\n")[0] ?? "")].length).toBeLessThanOrEqual(80);
  });

  test.each([
    ["--since", "soon"],
    ["--source", "moon"],
  ])("%s %s is wrong use", async (...flags) => {
    expect([(await floe(["events", "tail", ...flags], { env })).code, server.received]).toEqual([64, []]);
  });
});

describe("a meter", () => {
  const flags = [
    "--start-timestamp",
    "2026-11-01T00:00:00Z",
    "--end-timestamp",
    "2026-11-03T00:00:00Z",
    "--interval",
    "day",
  ];
  test("its quantities are JSON in a pipe, and bars on a terminal", async () => {
    const piped = await floe(["meters", "quantities", meter, ...flags], { env });
    expect(JSON.parse(piped.out).total).toBe(12);
    const drawn = await floe(["meters", "quantities", meter, ...flags], { env, tty: true, columns: 80 });
    expect(drawn.out).toContain("█");
    expect(Math.max(...drawn.out.split("\n").map((line) => [...line].length))).toBeLessThanOrEqual(80);
  });

  test("what is left open of the stretch of time is the last thirty days, and pieces of which there are some dozens", async () => {
    const asked = async (...more: string[]) => {
      await floe(["meters", "quantities", meter, ...more], { env });
      const query = new URLSearchParams(server.received.find((one) => one.path.includes("/quantities"))?.query);
      server.received.length = 0;
      const [start = 0, end = 0] = ["start_timestamp", "end_timestamp"].map((name) =>
        Date.parse(query.get(name) ?? ""),
      );
      return [(end - start) / 86_400_000, query.get("interval"), Math.abs(Date.now() - end) < 60_000];
    };
    expect(await asked()).toEqual([30, "day", true]);
    expect(await asked("--interval", "hour")).toEqual([1, "hour", true]);
    expect((await asked("--start-timestamp", "2025-01-01T00:00:00Z")).slice(1)).toEqual(["month", true]);
    const until = ["--end-timestamp", "2026-11-03T00:00:00Z"];
    expect(await asked("--start-timestamp", "2026-11-01T12:00:00Z", ...until)).toEqual([1.5, "hour", false]);
    expect(await asked(...until)).toEqual([30, "day", false]);
  });

  test("a list of so many that they are not counted says so", async () => {
    listed = [landed({ external_id: "a", metadata: {} } as never, "counted")];
    total = 10_001;
    expect((await floe(["events", "list"], { env })).err).toContain("1 of more than 10,000 are shown");
    total = 10_000;
    expect((await floe(["events", "list"], { env })).err).toContain("1 of 10000 are shown");
    [listed, total] = [[], undefined];
  });

  test("is watched as a line of JSON for each look, in a pipe", async () => {
    const ending = new AbortController();
    const here = begin(["meters", "watch", meter, "--every", "1"], { env, signal: ending.signal });
    await until(() => here.stdout.text.split("\n").length > 2);
    ending.abort("SIGINT");
    expect([await here.ended, JSON.parse(here.stdout.text.split("\n")[0] ?? "").total]).toEqual([130, 12]);
  });

  test.each([
    ["now", undefined],
    ["a sandbox's time", 90 * 86_400_000],
  ])("is watched, and events are tailed, by %s", async (_, ahead) => {
    aheadMs = ahead;
    const asked_at = async (argv: string[], path: string) => {
      server.received.length = 0;
      const ending = new AbortController();
      const here = begin(argv, { env, signal: ending.signal });
      await until(() => server.received.filter((one) => one.path === path).length > 1);
      ending.abort("SIGINT");
      await here.ended;
      return server.received
        .filter((one) => one.path === path)
        .map(({ query }) => new Date(query.get("start_timestamp") ?? "").getTime() - Date.now() - (ahead ?? 0));
    };
    const watched = await asked_at(
      ["meters", "watch", meter, "--every", "1", "--hours", "2"],
      `/v1/meters/${meter}/quantities`,
    );
    expect(watched.every((ms) => ms <= -7_200_000 && ms > -7_500_000)).toBe(true);
    const tailed = await asked_at(["events", "tail", "--since", "1h"], "/v1/events/");
    expect(tailed[0]).toBeLessThanOrEqual(-3_600_000);
    // Then only what may still come late is looked for.
    expect(tailed[1]).toBeGreaterThan(-900_000);
  });

  test("what customers are called cannot steer the terminal, however narrow it is", () => {
    const answer = { quantities: [{ timestamp: "2026-11-01T00:00:00Z", quantity: 5 }], total: 5 };
    const drawn = {
      answer,
      title: "T\u001b[2J",
      interval: "day",
      timezone: "UTC",
      changes: [1, 2],
      customers: [{ who: "a\u001b", units: 5 }],
    };
    for (const columns of [20, 80])
      expect(drawQuantities(drawn, columns, createPaint({}, "never", {})).join("\n")).not.toContain("\u001b");
  });
});

test("what came late is told with the invoice that it will be on, by who sends it and by who compares", async () => {
  const path = join(folder(), "events.ndjson");
  const lines = [{}, { late: true }, { late: true }, { late: "free" }];
  writeFileSync(path, lines.map((more, n) => `${lineOf(n, { metadata: { n, ...more } })}\n`).join(""));
  const { out } = await floe(["events", "ingest", "--from-file", path], { env });
  expect(JSON.parse(out).late).toEqual({ "2026-07-01T00:00:00Z": 2, none: 1 });
  const again = await floe(["events", "ingest", "--from-file", path, "--as", "b"], { env, tty: true });
  expect(again.err).toContain("2 late, on the invoice of the period from 2026-07-01\n  1 late, on no invoice\n");
  refuse = (events) => ({ status: 200, json: { events: events.map((event) => landed(event, "duplicate")) } });
  const compared = await floe(["usage", "receipt", path], { env, tty: true });
  expect(compared.out.trim().split("\n")).toEqual([
    "4 counted",
    "2 late, on the invoice of the period from 2026-07-01",
    "1 late, on no invoice",
  ]);
});

test("floe usage verify asks until the end, names each difference, and fails where there is one", async () => {
  const of = { customer_id: meter, meter_id: organization, what: "consumed_units", kept: "12", recounted: "11.5" };
  const page = { checked: 200, skipped: 1, differences: [], next: `b${meter}` };
  recounted = [page, { ...page, checked: 3, skipped: 0, next: null }];
  const good = await floe(["usage", "verify", "--meter", meter], { env });
  expect([good.code, JSON.parse(good.out)]).toEqual([0, { checked: 203, skipped: 1, differences: [] }]);
  expect(server.received.map(({ query }) => [query.get("after"), query.get("meter_id")])).toEqual([
    [null, meter],
    [`b${meter}`, meter],
  ]);
  const differences = [{ ...of, started_at: "2026-07-01T00:00:00Z", ended_at: null }];
  recounted = [page, { ...page, checked: 3, skipped: 0, differences, next: null }];
  const bad = await floe(["usage", "verify"], { env, tty: true });
  expect(bad.code).toBe(7);
  expect(bad.out.split("\n")).toEqual([
    `customer ${meter}, meter ${organization}, 2026-07-01 to now: consumed_units 12 is kept, 11.5 recounted`,
    "203 balances and periods recounted, 1 differences; 1 passed over, as their events are not all kept",
    "",
  ]);
});

describe("floe usage receipt", () => {
  const statuses = (of: (event: Sent) => string) => {
    refuse = (events) => ({
      status: 200,
      json: { inserted: 0, duplicates: 0, events: events.map((event) => landed(event, of(event))) },
    });
  };
  test("a log that was counted is all counted; nothing is sent to be counted", async () => {
    statuses(() => "duplicate");
    const { code, out } = await floe(["usage", "receipt", fileOf(1200)], { env });
    expect([code, JSON.parse(out)]).toMatchObject([0, { events: 1200, counted: 1200, missing: [], conflicts: [] }]);
    expect(sent().every(({ query }) => query.get("preview") === "true" && query.get("representation") === "true")).toBe(
      true,
    );
  });

  test("says by its lines what is missing, differs, or stands twice", async () => {
    statuses(({ metadata }) => (metadata.n === 1 ? "conflict" : metadata.n === 2 ? "no_customer" : "duplicate"));
    const path = join(folder(), "events.ndjson");
    writeFileSync(path, [0, 1, 2, 3, 3].map((n) => `${lineOf(n, { external_id: `own-${n}` })}\n`).join(""));
    const { code, out } = await floe(["usage", "receipt", path], { env, tty: true });
    expect(code).toBe(7);
    expect(out.trim().split("\n")).toEqual([
      "2 counted",
      "1 more than once in the file, counted once",
      "1 counted with other content: line 2",
      "1 not counted: line 3",
    ]);
  });
});
