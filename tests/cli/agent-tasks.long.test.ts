/** The tasks of bench/agent-tasks: each is done in at most three calls, with few bytes, and a refusal names what works. */
import { writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refusals, tasks } from "../../bench/agent-tasks/tasks.ts";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { scopes } from "../../shared/scopes.ts";
import { type ExampleStore, fillExampleStore } from "../support/example-store.ts";
import { type Floe, start } from "../support/floe.ts";
import { floe, folder, manifest, splitWords, standIn } from "./support.ts";

const tree = await buildCommandTree(manifest);
const whole = { ...manifest, read: (name: string): unknown => (name === "commands" ? tree : undefined) };
const place = folder();
const home = process.cwd();
let server: Floe;
let env: Record<string, string>;
let store: ExampleStore;
/** Bytes of the answers that the server gave since the last look: what a program without floe would read. */
let rawBytes = 0;
const wordyBytes = 100;
const rows: { task: string; calls: number; answer: number; raw: number }[] = [];

/** Hands requests on to the server, and counts the bytes of what comes back. */
const counter = createServer((incoming, outgoing) => {
  const { hostname, port } = new URL(server.url);
  const headers = { ...incoming.headers, host: `${hostname}:${port}` };
  const onward = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.on("data", (part: Buffer) => {
      rawBytes += part.length;
    });
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
});

const run = (line: string) =>
  floe(splitWords(store ? store.substitute(line) : line).slice(1), { env: { ...env, FLOE_AGENT: "yes" } }, whole);
async function runWell(line: string): Promise<string> {
  const { code, out, err } = await run(line);
  expect([line, code, code === 0 ? "" : out + err]).toEqual([line, 0, ""]);
  return out;
}

beforeAll(async () => {
  server = await start({ listen: true, realTime: true, worker: true });
  await new Promise<void>((done) => counter.listen(0, "127.0.0.1", done));
  const person = await server.seller();
  const body = { name: "Acme", slug: "acme", sandbox: true };
  const { id } = await server.client(person.session).organizations.create({ body });
  const owner = { ...person, organization_id: id };
  const key = await server.keyOf(owner, [...scopes]);
  const { port } = counter.address() as AddressInfo;
  env = { FLOE_SERVER: `http://127.0.0.1:${port}`, FLOE_API_KEY: key, FLOE_CONFIG_DIR: place, HOME: place };
  process.chdir(place);
  const receiver = await standIn(() => ({ json: {} }));
  const seller = { ...owner, key, client: server.client(key) };
  store = await fillExampleStore(server, seller, place, `${receiver.url}/hooks`, async (line) => {
    const answer = await floe(splitWords(line).slice(1), { env }, whole);
    if (answer.code !== 0) throw new Error(`${line}\n${answer.out}${answer.err}`);
    return answer;
  });
  await runWell("floe sandbox save tasks");
});
afterAll(async () => {
  process.chdir(home);
  counter.closeAllConnections();
  counter.close();
  await server.close();
  if (process.env.FLOE_TASKS_TABLE) writeFileSync(process.env.FLOE_TASKS_TABLE, JSON.stringify(rows));
});

describe("tasks", () => {
  test.each(tasks)("$task", async ({ task, commands, check, expect: wanted }) => {
    rawBytes = 0;
    let [answer, last] = [0, ""];
    for (const line of commands) {
      last = await runWell(line);
      answer += Buffer.byteLength(last);
    }
    rows.push({ task, calls: commands.length, answer, raw: rawBytes });
    expect(commands.length).toBeLessThanOrEqual(3);
    expect(check === undefined ? last : await runWell(check)).toMatch(wanted);
    if (check !== undefined) await runWell("floe sandbox restore tasks --yes");
  });

  test("there are sixty tasks, and an answer has at most a sixth of the bytes of the API's", () => {
    expect(tasks.length + refusals.length).toBe(60);
    const ratios = rows.map(({ answer, raw }) => answer / raw).toSorted((a, b) => a - b);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeLessThanOrEqual(1 / 6);
    // Where the API itself says no more than a word or two, nothing can be left out.
    const long = rows.filter(({ answer, raw }) => raw > wordyBytes && answer > raw / 6);
    expect(long).toEqual([]);
    const sum = (field: "answer" | "raw") => rows.reduce((total, row) => total + row[field], 0);
    expect(sum("answer")).toBeLessThanOrEqual(sum("raw") / 6);
  });
});

describe("refusals", () => {
  test.each(refusals)("$task", async ({ command, code, next, works }) => {
    const refused = await run(command);
    expect([command, refused.code]).toEqual([command, code]);
    const { next: named = [] } = JSON.parse(refused.out || refused.err) as { next?: { command: string }[] };
    const [first] = named;
    expect([command, first?.command]).toEqual([command, expect.stringMatching(next)]);
    if (!works) return;
    expect([first?.command, (await run(first?.command ?? "")).code]).toEqual([first?.command, 0]);
    await runWell("floe sandbox restore tasks --yes");
  });
});
