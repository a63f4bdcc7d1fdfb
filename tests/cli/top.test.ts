/** `floe top`, and `floe` alone on a terminal: what stands on the screen, what keys do, and how it ends. */
import { beforeEach, describe, expect, test } from "vitest";
import { run } from "../../cli/program.ts";
import { createBoard, type Key } from "../../cli/top/board.ts";
import { composeHome, type Look, renderLine, type Target } from "../../cli/top/compose.ts";
import { getWidth } from "../../cli/ui/table.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { buildLook, buildOrder, idOf, now } from "./overview-sample.ts";
import { showScreen } from "./screen.ts";
import { begin, floe, manifest, place, standIn, until } from "./support.ts";

const plain = createPaint({ NO_COLOR: "1" }, undefined, {});
const [toScreen, fromScreen] = ["\u001b[?1049h", "\u001b[?1049l"];

let look: Look;
let status = 200;
const server = await standIn(({ path }) => {
  if (path === "/v1/overview") return status === 200 ? { json: look } : { status, json: { detail: "down" } };
  if (path === "/v1/payments/") return { json: { items: [{ id: idOf(5), status: "failed" }], pagination: {} } };
  return { json: { id: idOf(50), status: "failed", decline_reason: "card_declined" } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };

function openBoard() {
  const [shown, listed, browsed]: [Target[], string[], string[]] = [[], [], []];
  const board = createBoard({
    paint: plain,
    rhythm: "every 5 s",
    list: async (group) => {
      listed.push(group);
      const target = { group, id: idOf(7), page: "/store/orders/7" };
      return { title: "A list", lines: [{ parts: ["HEAD"] }, { parts: ["row"], target }] };
    },
    show: async (target) => {
      shown.push(target);
      if (target.group === "webhooks") throw new Error("it is gone");
      return { title: "A detail", lines: Array.from({ length: 60 }, (_, index) => ({ parts: [`field ${index}`] })) };
    },
    browse: async (page) => void browsed.push(page),
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
  const press = async (...keys: Key[]) => {
    let goesOn = true;
    for (const key of keys) {
      goesOn = board.press(key);
      await settle();
    }
    return goesOn;
  };
  const getCurrent = () => board.draw(80, 24).find((line) => line.startsWith("❯"));
  return { board, press, shown, listed, browsed, getCurrent };
}

describe("the home", () => {
  const drawHome = (look: Look, columns = 80, seen = new Set<string>()) =>
    composeHome(look, new Map(), seen, columns).map((line) => renderLine(line, columns, plain));

  test("holds today against the same day a week ago, with month, recurring revenue and what needs attention", () => {
    const lines = drawHome(buildLook());
    expect(lines.slice(0, 3)).toEqual([
      "Today  $150.00  ▲ 50 %  Friday a week ago $100.00",
      "Month  $2,300.00",
      expect.stringMatching(/^MRR {4}\$1,900\.00 {2}▁▁.*██$/),
    ]);
    expect(lines).toContain("Payment failed  $9.00  eve@example.com  card_declined 2 h ago");
    expect(lines).toContain("Webhook failing  3 of 20  https://hooks.example.com/a");
    expect(lines).toContain("Jobs given up  2  mail, grants");
    expect(lines.find((line) => line.includes("Guide 1 "))).toBe(
      "$19.01  paid  1 min ago   Guide 1  ada@example.com  new",
    );
    expect(
      drawHome(buildLook({ figures: { ...buildLook().figures, today_revenue: 5000 } as Look["figures"] }))[0],
    ).toContain("▼ 50 %");
  });

  test("says what is missing in place of a section: a scope, a sale, a failure", () => {
    const bare = { figures: null, orders: null, failed_payments: null, failing_endpoints: null, meters: null };
    const lines = drawHome(buildLook({ ...bare, dead_letters: { count: 0, kinds: [] } }));
    expect(lines).toContain("Figures need the scope metrics:read.");
    expect(lines).toContain("Orders need the scope orders:read.");
    expect(lines).toContain("Nothing needs attention.");
    expect(drawHome(buildLook({ orders: [] }))).toContain("No orders yet.");
  });

  test("has no line wider than the terminal, and nothing in it steers the terminal", () => {
    const hostile = { product_name: "山の\u001b[2J本".repeat(30), customer_email: "a\u0007@b\u202e.c" };
    const look = buildLook({ orders: [buildOrder(1, hostile)], name: "\u001b]0;x\u0007" });
    for (const columns of [20, 40, 80, 200])
      for (const line of drawHome(look, columns)) {
        expect(getWidth(line)).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(/\p{Cc}|\u202e/u);
      }
    // A wide character leaves a column free, which no second ellipsis takes.
    expect(renderLine({ parts: ["山山山", "xy"] }, 4, plain)).toBe("山…");
  });
});

describe("the board", () => {
  test("fits every size, keeps the cursor in sight, and always leaves a row free", async () => {
    const { board, press } = openBoard();
    board.show(buildLook());
    await press(...Array.from({ length: 11 }, (): Key => "down"));
    for (const [columns, rows] of [
      [80, 24],
      [40, 12],
      [20, 5],
      [80, 3],
      [200, 60],
    ] as const) {
      const lines = board.draw(columns, rows);
      expect(lines.length).toBeLessThan(rows);
      if (rows > 3) expect(lines.filter((line) => line.startsWith("❯"))).toHaveLength(1);
      if (rows > 3) expect(lines.at(-1)).toContain("q ends");
      for (const line of lines) expect(getWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  test("leaves the cursor on what was chosen as orders come above it, and marks those as new", async () => {
    const { board, press, getCurrent } = openBoard();
    board.show(buildLook());
    await press("down", "down", "down");
    expect(getCurrent()).toContain("Guide 2");
    const orders = [buildOrder(0), ...(buildLook().orders ?? [])];
    board.show(buildLook({ orders }));
    expect(getCurrent()).toContain("Guide 2");
    expect(board.draw(80, 30).filter((line) => line.endsWith("  new"))).toEqual([expect.stringContaining("Guide 0")]);
  });

  test("says how fast usage grows since it was opened, and nothing after a period has ended", () => {
    const { board } = openBoard();
    const at = (minutes: number, consumed_units: number) =>
      buildLook({
        now: new Date(now + minutes * 60_000).toISOString(),
        meters: [{ id: idOf(70), name: "Tokens", consumed_units, customers: 3, partial: false }],
      });
    board.show(at(0, 1000));
    board.show(at(2, 1300));
    expect(board.draw(80, 24).join("\n")).toContain("Usage  Tokens  1,300  150/min");
    board.show(at(3, 10));
    expect(board.draw(80, 24).find((line) => line.includes("Tokens"))).toBe("  Usage  Tokens  10");
  });

  test("opens a detail, a list, a detail from it, and the page of what is chosen; back goes one step, and ends at home", async () => {
    const { board, press, shown, listed, browsed } = openBoard();
    board.show(buildLook());
    await press("down", "down", "enter");
    expect(shown).toMatchObject([{ group: "orders", id: idOf(1) }]);
    expect(board.draw(80, 10)).toMatchObject({ 0: "A detail", 1: "  field 0" });
    await press("down", "down");
    expect(board.draw(80, 10)[1]).toBe("  field 2");
    expect(await press("back")).toBe(true);
    await press("browser", "list");
    expect([listed, browsed]).toEqual([["orders"], [`/store/orders/${idOf(1)}`]]);
    await press("enter");
    expect(shown[1]).toMatchObject({ id: idOf(7) });
    expect(await press("back", "back")).toBe(true);
    expect(await press("back")).toBe(false);
  });

  test("stays as it is where something cannot be opened, and says why until the next look", async () => {
    const { board, press } = openBoard();
    board.show(buildLook());
    await press("down", "enter");
    expect(board.draw(80, 24).at(-1)).toBe("it is gone");
    board.warn("no answer");
    expect(board.draw(80, 24).at(-1)).toBe("no answer");
    board.show(buildLook());
    expect(board.draw(80, 24).at(-1)).toContain("q ends");
  });
});

describe("floe top", () => {
  beforeEach(() => {
    look = buildLook();
    status = 200;
    server.received.length = 0;
  });

  test("takes a screen of its own and gives it back; `floe` alone is the same", async () => {
    for (const argv of [["top"], []]) {
      const here = begin(argv, { tty: true, env, columns: 80 });
      await until(() => here.stdout.text.includes("Friday a week ago"));
      here.stdin.write("\r");
      await until(() => here.stdout.text.includes(`payments ${idOf(50)}`));
      here.stdin.write("qq");
      expect(await here.ended).toBe(0);
      const { text } = here.stdout;
      expect(text.startsWith(toScreen)).toBe(true);
      expect(text.split(toScreen)).toHaveLength(2);
      expect(text.slice(text.lastIndexOf("\u001b[?25l"))).toContain(`\u001b[?25h${fromScreen}`);
      expect(text.endsWith(fromScreen)).toBe(true);
      expect(here.stderr.text).toBe("");
    }
  });

  test("draws what has changed in its own place: each line of the screen stands there once", async () => {
    const here = begin(["top", "--every", "1"], { tty: true, env, columns: 80 });
    await until(() => here.stdout.text.includes("q ends"));
    look = buildLook({ orders: [buildOrder(0, { product_name: "Fresh" }), ...(buildLook().orders ?? [])] });
    await until(() => here.stdout.text.includes("Fresh"));
    look = buildLook({ figures: null });
    await until(() => here.stdout.text.includes("metrics:read"));
    const lines = showScreen(here.stdout.text);
    const awaited = openBoard().board;
    awaited.show(buildLook());
    awaited.show(look);
    expect(lines.map((line) => line.replace(/every 1 s|\d+ min ago|just now| {2}new/g, "").trimEnd())).toEqual(
      awaited.draw(80, 40).map((line) => line.replace(/every 5 s|\d+ min ago|just now| {2}new/g, "").trimEnd()),
    );
    here.stdin.write("q");
    expect(await here.ended).toBe(0);
  });

  test("draws everything again in a terminal that got narrower", async () => {
    const here = begin(["top"], { tty: true, env, columns: 80 });
    await until(() => here.stdout.text.includes("hooks.example.com"));
    const before = here.stdout.text.length;
    here.stdout.columns = 30;
    here.stdout.emit("resize");
    // Ink's own frame comes first; then the screen is emptied and drawn from its corner.
    const getAfter = () => here.stdout.text.slice(before).split("\u001b[2J\u001b[H")[1] ?? "";
    await until(() => getAfter().includes("Webhook failing"));
    const after = getAfter();
    expect(after).not.toContain("hooks.example.com");
    here.stdin.write("q");
    expect(await here.ended).toBe(0);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("ends by %s with the terminal as it was", async (signal, code) => {
    const stop = new AbortController();
    const here = begin(["top"], { tty: true, env, signal: stop.signal });
    await until(() => here.stdout.text.includes("Orders"));
    stop.abort(signal);
    expect(await here.ended).toBe(code);
    expect(here.stdout.text.endsWith(fromScreen)).toBe(true);
  });

  test("ends with an error where it may not look, at the first look and at a later one", async () => {
    status = 401;
    const refused = begin(["top"], { tty: true, env });
    expect(await refused.ended).toBe(4);
    expect(refused.stdout.text.endsWith(fromScreen)).toBe(true);
    status = 200;
    const here = begin(["top", "--every", "1"], { tty: true, env });
    await until(() => here.stdout.text.includes("Friday a week ago"));
    status = 404;
    expect(await here.ended).toBe(6);
  });

  test("keeps what it shows while the server cannot be reached, says so, and goes on afterwards", async () => {
    const here = begin(["top", "--every", "1"], { tty: true, env });
    await until(() => here.stdout.text.includes("Friday a week ago"));
    status = 503;
    await until(() => here.stdout.text.includes("down"));
    const before = here.stdout.text.length;
    status = 200;
    await until(() => here.stdout.text.slice(before).includes("q ends"));
    here.stdin.write("q");
    expect(await here.ended).toBe(0);
  });

  test("prints a JSON line in a pipe where something changed, and none where only time has passed", async () => {
    const stop = new AbortController();
    const here = begin(["top", "--every", "1"], { env, signal: stop.signal });
    await until(() => server.received.length > 1);
    look = buildLook({ now: new Date(now + 60_000).toISOString() });
    const seen = server.received.length;
    await until(() => server.received.length > seen + 1);
    look = buildLook({ has_products: false });
    await until(() => here.stdout.text.split("\n").length > 2);
    stop.abort("SIGTERM");
    expect(await here.ended).toBe(143);
    const lines = here.stdout.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Look);
    expect(lines.map(({ has_products }) => has_products)).toEqual([true, false]);
  });

  test.each([
    ["a screen reader", { INK_SCREEN_READER: "true" }],
    ["a terminal without escape codes", { TERM: "dumb" }],
  ])("prints lines for %s: all of them once, then what happened", async (_, plain) => {
    const stop = new AbortController();
    const here = begin(["top", "--every", "1"], {
      tty: true,
      env: { ...env, ...plain },
      signal: stop.signal,
    });
    await until(() => here.stdout.text.includes("Guide 10"));
    const before = here.stdout.text.length;
    const orders = [buildOrder(0), ...(buildLook().orders ?? [])];
    look = buildLook({ orders, now: new Date(now + 60_000).toISOString() });
    await until(() => here.stdout.text.length > before);
    stop.abort("SIGINT");
    expect(await here.ended).toBe(130);
    expect(here.stdout.text.slice(before)).toMatch(/^.*Guide 0 .*new\n$/);
    expect(here.stdout.text).not.toContain("\u001b");
  });

  test("is not what `floe` alone shows without a sign-in, in a pipe, to an agent or in CI", async () => {
    const { FLOE_SERVER } = env;
    for (const where of [
      { tty: true, env: { FLOE_SERVER } },
      { env },
      { tty: true, env: { ...env, CI: "1" } },
      { tty: true, env: { ...env, FLOE_AGENT: "yes" } },
    ]) {
      const { code, out } = await floe([], where);
      expect([code, out]).toEqual([0, expect.stringContaining("Sell digital products from the terminal.")]);
    }
    expect(server.received).toEqual([]);
  });

  test("leaves nothing behind it listening: a hundred sizes and an end", async () => {
    const counted = process.listenerCount("exit") + process.listenerCount("SIGHUP");
    const here = place({ tty: true, env });
    const ended = run(["top"], here.io, manifest, "1.2.3");
    await until(() => here.stdout.text.includes("Orders"));
    for (let times = 0; times < 100; times += 1) here.stdout.emit("resize");
    here.stdin.write("q");
    expect(await ended).toBe(0);
    expect(here.stdout.listenerCount("resize")).toBe(0);
    expect(process.listenerCount("exit") + process.listenerCount("SIGHUP")).toBe(counted);
  });
});
