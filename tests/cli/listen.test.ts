import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createEventReader } from "../../cli/listen/events.ts";
import { parseTarget } from "../../cli/listen/forward.ts";
import { streamTimeouts } from "../../cli/listen/stream.ts";
import { begin, floe, folder, type Received, standIn, until } from "./support.ts";

type Occurrence = { id: string; type: string; body: string };
const secret = "session-secret";
const occurrence = (number: number, type = "order.paid"): Occurrence => ({
  id: `msg_${number}`,
  type,
  // Spaces, and letters of several bytes: whoever parses and writes it again breaks the signature.
  body: `{ "type":"${type}",  "data":{"number":${number}, "name":"Zoë ✓"} }`,
});
const sign = ({ id, body }: Occurrence, timestamp: number) =>
  `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`;

/** The stream of the server: everything that happened, in order; a cursor is a position in it. */
let log: Occurrence[];
let open: { response: ServerResponse; sent: number }[];
let refuse: { status: number; json?: unknown } | undefined;

function feed(): void {
  for (const one of open) {
    for (; one.sent < log.length; one.sent++) {
      const item = log[one.sent] as Occurrence;
      const timestamp = 1_800_000_000;
      const data = { ...item, timestamp, created_at: new Date().toISOString(), signature: sign(item, timestamp) };
      one.response.write(`id: ${one.sent + 1}\nevent: delivery\ndata: ${JSON.stringify(data)}\n\n`);
    }
  }
}
const happen = (...items: Occurrence[]): void => {
  log.push(...items);
  feed();
};
const drop = (): void => {
  for (const { response } of open.splice(0)) response.destroy();
};

const server = await standIn((request, response) => {
  if (refuse) return refuse;
  const from = request.headers["last-event-id"];
  const sent = from === undefined ? log.length : Number(from);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`id: ${sent}\nevent: hello\ndata: ${JSON.stringify({ secret })}\n\n: keep-alive\n\n`);
  open.push({ response, sent });
  feed();
  return undefined;
});

let answers: (request: Received) => { status?: number } | undefined;
const local = await standIn((request) => answers(request));
const target = `${local.url}/hooks`;

let env: Record<string, string>;
let stop: AbortController;
const usual = { ...streamTimeouts };
beforeEach(() => {
  log = [];
  open = [];
  refuse = undefined;
  answers = () => ({});
  server.received.length = 0;
  local.received.length = 0;
  stop = new AbortController();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", FLOE_CONFIG_DIR: join(folder(), "floe") };
  Object.assign(streamTimeouts, usual, { backoffMs: 10, backoffMsMax: 40 });
});
afterEach(() => {
  stop.abort();
  drop();
  Object.assign(streamTimeouts, usual);
});

const listen = (...more: string[]) => {
  const { ended, stdout, stderr } = begin(["listen", "--forward-to", target, ...more], { env, signal: stop.signal });
  return {
    ended: ended.then((code) => ({ code, out: stdout.text, err: stderr.text })),
    ready: () => until(() => open.length > 0),
    /** Whether the server has been heard. */
    heard: () => until(() => stderr.text.includes("Signing secret")),
    /** Until so many were forwarded and told: what was received only may still be cut off, and comes again. */
    told: (count: number) => until(() => stdout.text.split("\n").length > count),
  };
};
const numbers = () => local.received.map(({ headers }) => headers["webhook-id"]);

describe("floe listen", () => {
  test("says on a terminal which of several programs has answered", async () => {
    const argv = ["listen", "--forward-to", target, "--forward-to", `${target}/two`];
    const { ended, stderr } = begin(argv, { env, signal: stop.signal, tty: true });
    await until(() => open.length > 0);
    happen(occurrence(1));
    await until(() => stderr.text.includes(`${target}/two\n`) && stderr.text.includes("→"));
    await until(() => stderr.text.split("→").length === 3);
    stop.abort();
    await ended;
    const lines = stderr.text.split("\n").filter((line) => line.includes("→"));
    expect(lines.map((line) => line.split(" ms  ")[1])).toEqual([target, `${target}/two`]);
    expect(stderr.text).toContain(`Forwarding to ${target}\n          and ${target}/two\n`);
  });

  test("forwards the exact bytes with the signature of the server, one JSON line each", async () => {
    const { ended, ready, told } = listen();
    await ready();
    happen(occurrence(1), occurrence(2, "order.created"));
    await told(2);
    stop.abort();
    const { code, out, err } = await ended;
    expect(code).toBe(130);
    const [first] = local.received as [Received];
    expect(first.text).toBe(occurrence(1).body);
    expect(first.headers).toMatchObject({
      "webhook-id": "msg_1",
      "webhook-timestamp": "1800000000",
      "content-type": "application/json",
    });
    expect(first.headers["webhook-signature"]).toBe(sign({ ...occurrence(1), body: first.text }, 1_800_000_000));
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ id, type, status, missed }) => [id, type, status, missed])).toEqual([
      ["msg_1", "order.paid", 200, false],
      ["msg_2", "order.created", 200, false],
    ]);
    expect(err).toContain(`Signing secret: ${secret}`);
  });

  test("goes on where it stopped: nothing is lost between two runs, nothing comes twice", async () => {
    const one = listen();
    await one.ready();
    happen(occurrence(1));
    await one.told(1);
    stop.abort();
    await one.ended;
    drop();
    log.push(occurrence(2), occurrence(3));
    stop = new AbortController();
    const two = listen();
    await two.told(2);
    happen(occurrence(4));
    await two.told(3);
    expect(numbers()).toEqual(["msg_1", "msg_2", "msg_3", "msg_4"]);
  });

  test("what happens before the first delivery of a listener is not lost either", async () => {
    const one = listen();
    await one.ready();
    await one.heard();
    stop.abort();
    await one.ended;
    drop();
    log.push(occurrence(1));
    stop = new AbortController();
    listen();
    await until(() => local.received.length === 1);
    expect(numbers()).toEqual(["msg_1"]);
  });

  test("an event that was cut off on its way comes again", async () => {
    answers = () => undefined;
    const one = listen();
    await one.ready();
    happen(occurrence(1));
    await until(() => local.received.length === 1);
    stop.abort();
    await one.ended;
    drop();
    answers = () => ({});
    stop = new AbortController();
    listen();
    await until(() => local.received.length === 2);
    expect(numbers()).toEqual(["msg_1", "msg_1"]);
  });

  test("--latest leaves out what was missed", async () => {
    const one = listen();
    await one.ready();
    happen(occurrence(1));
    await until(() => local.received.length === 1);
    stop.abort();
    await one.ended;
    drop();
    log.push(occurrence(2));
    stop = new AbortController();
    const two = listen("--latest");
    await two.ready();
    happen(occurrence(3));
    await until(() => local.received.length === 2);
    expect(numbers()).toEqual(["msg_1", "msg_3"]);
  });

  test("connects again by itself, and misses nothing", async () => {
    const { ended, ready } = listen();
    await ready();
    happen(occurrence(1));
    await until(() => local.received.length === 1);
    drop();
    log.push(occurrence(2));
    await until(() => local.received.length === 2);
    expect(server.received.at(-1)?.headers["last-event-id"]).toBe("1");
    stop.abort();
    const { err } = await ended;
    expect(err).toContain("Connection lost");
    expect(err).toContain("Connected again");
  });

  test("takes a silent connection for a dead one", async () => {
    Object.assign(streamTimeouts, { silenceMs: 50 });
    const { ready } = listen();
    await ready();
    await until(() => server.received.length >= 2);
    expect(server.received.map(({ url }) => url)).toEqual(server.received.map(() => server.received[0]?.url));
  });

  test("a program that refuses or is not there is told, and does not stop the others", async () => {
    answers = ({ headers }) => ({ status: headers["webhook-id"] === "msg_1" ? 500 : 200 });
    const { ended, ready } = listen("--retry", "1");
    await ready();
    happen(occurrence(1), occurrence(2));
    await until(() => local.received.length === 3);
    stop.abort();
    const { out } = await ended;
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ id: "msg_1", status: 500, attempts: 2 });
    expect(numbers()).toEqual(["msg_1", "msg_1", "msg_2"]);
  });

  test("asks the server for the named events only", async () => {
    const { ready } = listen("--events", "order.paid,order.created");
    await ready();
    expect(server.received[0]?.query.getAll("events")).toEqual(["order.paid", "order.created"]);
  });

  test("gives up with exit 9 when it cannot connect again for too long", async () => {
    Object.assign(streamTimeouts, { giveUpMs: 100 });
    const { ended, ready } = listen();
    await ready();
    refuse = { status: 503, json: {} };
    drop();
    const { code, err } = await ended;
    expect(code).toBe(9);
    expect(err).toContain("goes on where it stopped");
  });

  test("a sign-in that ends while it listens is exit 4, at once", async () => {
    const { ended, ready } = listen();
    await ready();
    refuse = { status: 401, json: { error: "Unauthorized", detail: "Unauthorized" } };
    drop();
    expect((await ended).code).toBe(4);
  });

  test("no server at the start is exit 9, without waiting", async () => {
    env.FLOE_SERVER = "http://127.0.0.1:9";
    expect((await listen().ended).code).toBe(9);
  });

  test("--print-secret prints the secret alone and ends", async () => {
    const { code, out } = await floe(["listen", "--print-secret"], { env });
    expect([code, out]).toEqual([0, `${secret}\n`]);
  });
});

test("events are read from pieces that end anywhere", () => {
  const text =
    ': hi\r\nid: 7\r\nevent: delivery\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: x\n\nid: 8\ndata:y\r\rretry: 50\n\n';
  for (const size of [1, 2, 3, 7, 1000]) {
    const reader = createEventReader();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...reader.push(text.slice(at, at + size)));
    expect(found).toEqual([
      { event: "delivery", data: '{"a":\n1}', id: "7" },
      { event: "message", data: "x", id: "7" },
      { event: "message", data: "y", id: "8" },
    ]);
  }
});

test.each([
  ["3000/hooks", "http://localhost:3000/hooks"],
  ["3000", "http://localhost:3000/"],
  ["localhost:3000/hooks", "http://localhost:3000/hooks"],
  ["https://x.test/a?b=1", "https://x.test/a?b=1"],
])("--forward-to %s is %s", (given, meant) => {
  expect(parseTarget(given).href).toBe(meant);
});
