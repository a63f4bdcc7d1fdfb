import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { execa } from "execa";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openSender } from "../../server/messaging/webhooks/sender.ts";
import { openThread } from "../../server/platform/jobs/thread.ts";

const limits = { idle_ms: 60_000, silent_ms_max: 10_000, memory_mb_max: 64 };
/** A program that does what its order says, and answers which thread it is. */
const program = `
  import { threadId } from "node:worker_threads";
  import { serveThread } from ${JSON.stringify(new URL("../../server/platform/jobs/thread.ts", import.meta.url).href)};
  const early = Promise.withResolvers();
  serveThread(async (order) => {
    if (order === "fail") throw new Error("It cannot be done.");
    if (order === "end") process.exit(3);
    if (order === "throw") setImmediate(() => { throw new Error("Nobody catches it."); });
    if (order === "wait" || order === "throw" || order === "hang") await early.promise;
    if (order === "go on") early.resolve();
    return threadId;
  });`;
const open = () => openThread<string, number>(new URL(`data:text/javascript,${encodeURIComponent(program)}`), limits);
afterEach(() => void vi.useRealTimers());

describe("what is done in a thread of its own", () => {
  test("is asked for at once and answered as each is done, by one thread", async () => {
    const thread = open();
    const waited = thread.ask("wait");
    const id = await thread.ask("go on");
    expect(await waited).toBe(id);
    expect(await thread.ask("")).toBe(id);
  });
  test("fails with its own words, and nothing else with it", async () => {
    const thread = open();
    const waited = thread.ask("wait");
    await expect(thread.ask("fail")).rejects.toThrow("It cannot be done.");
    expect(await thread.ask("go on")).toBe(await waited);
  });
  test.each([
    ["end", "The thread ended with 3."],
    ["throw", "Nobody catches it."],
  ])("fails where the thread ends, with all that waits for it, and the next begins another: %s", async (how, words) => {
    const thread = open();
    const first = await thread.ask("");
    const waited = expect(thread.ask("wait")).rejects.toThrow(words);
    await expect(thread.ask(how)).rejects.toThrow(words);
    await waited;
    expect(await thread.ask("")).not.toBe(first);
  });
  test("fails where nothing is answered for too long, and goes on in another", async () => {
    const thread = open();
    const first = await thread.ask("");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const hanging = expect(thread.ask("hang")).rejects.toThrow("The thread ended with 1.");
    vi.advanceTimersByTime(limits.silent_ms_max - 1);
    // Something was answered meanwhile, so it is alive.
    expect(await thread.ask("")).toBe(first);
    vi.advanceTimersByTime(limits.silent_ms_max - 1);
    expect(await thread.ask("")).toBe(first);
    vi.advanceTimersByTime(limits.silent_ms_max);
    await hanging;
    expect(await thread.ask("")).not.toBe(first);
  });
  test("ends once nothing has been asked for a while", async () => {
    const thread = open();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const first = await thread.ask("");
    vi.advanceTimersByTime(limits.idle_ms - 1);
    expect(await thread.ask("")).toBe(first);
    vi.advanceTimersByTime(limits.idle_ms);
    expect(await thread.ask("")).not.toBe(first);
  });
});

test("a webhook is sent and answered while requests keep the server's own thread busy", async () => {
  const seen = new Int32Array(new SharedArrayBuffer(4));
  const receiver = new Worker(
    new URL(
      `data:text/javascript,${encodeURIComponent(`
      import { createServer } from "node:http";
      import { parentPort, workerData } from "node:worker_threads";
      createServer((request, response) => {
        request.resume().on("end", () => {
          response.end(request.headers["webhook-id"]);
          response.on("close", () => { Atomics.add(workerData, 0, 1); Atomics.notify(workerData, 0); });
        });
      }).listen(0, "127.0.0.1", function () { parentPort.postMessage(this.address().port); });`)}`,
    ),
    { workerData: seen },
  );
  const port = await new Promise((resolve) => receiver.once("message", resolve));
  const sender = openSender(`http://127.0.0.1:${port}/hook`, { private_allowed: true });
  expect(await sender.post({ "webhook-id": "first" }, "{}")).toEqual({ http_code: 200, text: "first" });
  await vi.waitFor(() => expect(seen[0]).toBe(1));
  const reply = sender.post({ "webhook-id": "second" }, "{}");
  // Nothing else goes on in this thread until it has arrived.
  expect(Atomics.wait(seen, 0, 1, 20_000)).not.toBe("timed-out");
  expect(await reply).toEqual({ http_code: 200, text: "second" });
  await sender.close();
  await receiver.terminate();
});

test("what may not be called is not called from there either", async () => {
  const sender = openSender("https://127.0.0.1/hook", { private_allowed: false });
  expect(await sender.post({}, "{}")).toEqual({ http_code: null, text: "The address must be on the public internet." });
  await sender.close();
});

test("a connection is kept from call to call, and given up with its sender", async () => {
  const sockets: Socket[] = [];
  const server = createServer((request, response) => void request.resume().on("end", () => response.end()));
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => sockets.push(socket));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const sender = openSender(`http://127.0.0.1:${port}/hook`, { private_allowed: true });
  await sender.post({}, "{}");
  await sender.post({}, "{}");
  expect(sockets).toHaveLength(1);
  const closed = Promise.all(sockets.map((socket) => once(socket, "close")));
  await sender.close();
  await closed;
  server.close();
});

test("a process ends once what it sent is answered, and not before", async () => {
  const server = createServer((request, response) => {
    request.resume().on("end", () => setTimeout(() => response.end("noted"), 300));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const program = JSON.stringify(new URL("../../server/messaging/webhooks/sender.ts", import.meta.url).href);
  const script = `import(${program}).then(async ({ openSender }) => {
    const sender = openSender("http://127.0.0.1:${port}/hook", { private_allowed: true });
    console.log((await sender.post({}, "{}")).text);
    await sender.close();
  });`;
  const { stdout } = await execa(process.execPath, ["-e", script], { timeout: 10_000 });
  expect(stdout).toBe("noted");
  server.close();
});
