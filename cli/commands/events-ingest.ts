/** `floe events ingest --from-file`: events of a file of any size, a line of JSON each, sent in batches; each is counted once. */
import { createHash } from "node:crypto";
import { createReadStream, realpathSync, statSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import { canRedraw } from "../io.ts";
import { openCursor } from "../listen/cursor.ts";
import { pause } from "../pause.ts";
import { showProgress } from "../ui/progress.ts";

export type Options = {
  fromFile?: string;
  as?: string;
  batch?: number;
  events?: unknown;
  data?: unknown;
  dryRun?: boolean;
};
export type Line = { number: number; event: Record<string, unknown>; bytes: number };
/** So far a file was read, and what it said until then. */
type Mark = { line: number; digest: string };
type Batch = { lines: Line[]; bytes: number; mark: Mark };
type Sums = { events: number; inserted: number; duplicates: number; conflicts: number; late: LateEvents };
/** What became of an event, as the server says it. */
export type IngestAnswer = { status: string; is_late: boolean; period: { start: string; end: string } | null };
/** How many of those that came late are invoiced with the period that begins then; `none`: of those that are not. */
export type LateEvents = Record<string, number>;

/** Note where what came late is invoiced. */
export function reportLateEvents(late: LateEvents, { is_late, period }: IngestAnswer): void {
  const start = period?.start ?? "none";
  if (is_late) late[start] = (late[start] ?? 0) + 1;
}

/** The same in words, a row for each invoice. */
export const drawLate = (late: LateEvents): [number, string][] =>
  Object.entries(late)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([start, count]) => [
      count,
      start === "none" ? "late, on no invoice" : `late, on the invoice of the period from ${start.slice(0, 10)}`,
    ]);

/** A batch is full with so many lines, or bytes: below what a request may have. */
const [batch_lines, batch_bytes] = [1000, 4 * 1024 * 1024];
const lineBytesMax = 1024 * 1024;
/** Batches under way at once: the server makes one ready while another is written. */
const lanes = 3;
/** A server that is started anew, or a line that is gone for a while, is waited for: a few minutes in all. */
const [tries_max, wait_max_ms] = [12, 30_000];

const parseSize = (text: string): number => {
  const value = Number(text);
  if (!(Number.isInteger(value) && value >= 1 && value <= 5000))
    throw new InvalidArgumentError("is a whole number from 1 to 5000.");
  return value;
};

/** What stands beside the flags of the operation. */
export function addFlags(command: Command): void {
  command
    .option("--from-file <file|->", "send each line of a file, or of stdin, as an event")
    .option("--as <name>", "count the same lines anew, under this name")
    .option("--batch <number>", `so many lines in each request (${batch_lines})`, parseSize);
}

/** Send what a file has; false where none is named. */
export async function run(context: Context, options: Options): Promise<boolean> {
  const { fromFile: path } = options;
  if (path === undefined) {
    if (options.as === undefined && options.batch === undefined) return false;
    throw new Fault("usage", "--as and --batch are for --from-file");
  }
  if (options.events !== undefined || options.data !== undefined)
    throw new Fault("usage", "--from-file stands for --events and --data");
  const total = path === "-" ? 0 : measureSize(path);
  const sums: Sums = { events: 0, inserted: 0, duplicates: 0, conflicts: 0, late: {} };
  const began = Date.now();
  if (options.dryRun) {
    for await (const { lines } of splitBatches(context, path, options)) sums.events += lines.length;
    return end(context, sums, 0, began, true);
  }
  const { server } = context.settings();
  const place = ["ingest", server, await findCurrentOrganization(context), path === "-" ? "" : realpathSync(path)];
  const saved = openCursor(context.io.env, [...place, options.as ?? ""]);
  const known = path === "-" ? undefined : parseMark(saved.read());
  // What was acknowledged is passed over, if the file still begins with it; else all of it is sent, which counts nothing twice.
  const passed = known && (await isContinuation(context, path, options, known)) ? known : undefined;
  if (passed) context.say(`${passed.line.toLocaleString("en-US")} lines were sent before; going on after them.\n`);
  const shown = getMeter(context, path, total, began);
  try {
    await sendAll(context, {
      path,
      options,
      passed,
      sums,
      shown,
      save: (mark) => path !== "-" && saved.write(JSON.stringify(mark)),
    });
  } catch (error) {
    shown.end();
    const so_far = `${sums.events.toLocaleString("en-US")} events were taken before`;
    if (error instanceof Fault && sums.events > 0)
      throw new Fault(error.kind, `${error.message} (${so_far})`, {
        ...error.parts,
        hint: error.parts.hint ?? "The same command goes on from there; nothing is counted twice.",
      });
    throw error;
  }
  shown.end();
  if (path !== "-") saved.write("done");
  return end(context, sums, passed?.line ?? 0, began, false);
}

export function measureSize(path: string): number {
  try {
    const status = statSync(path);
    if (status.isDirectory()) throw new Fault("usage", `${path} is a folder`);
    return status.size;
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("usage", `cannot read ${path} (${(error as NodeJS.ErrnoException).code})`);
  }
}

function parseMark(text: string | undefined): Mark | undefined {
  if (text === undefined || text === "done") return undefined;
  try {
    const { line, digest } = JSON.parse(text) as Partial<Mark>;
    return typeof line === "number" && typeof digest === "string" ? { line, digest } : undefined;
  } catch {
    return undefined;
  }
}

/** The answer of the operation for the whole file; `events` stands there for what became of each, so the number is `sent`. */
const describeSums = ({ events: sent, ...sums }: Sums, passed_over: number) => ({ sent, ...sums, passed_over });

function end(context: Context, sums: Sums, passed: number, began: number, isDry: boolean): true {
  const seconds = (Date.now() - began) / 1000;
  const rate = Math.round(sums.events / Math.max(seconds, 0.001));
  const answer = isDry
    ? { ...describeSums({ ...sums, events: 0 }, 0), readable: sums.events }
    : describeSums(sums, passed);
  if (context.json) context.print(`${JSON.stringify(answer)}\n`);
  else if (isDry) context.say(`${sums.events.toLocaleString("en-US")} events can be read; nothing was sent.\n`);
  else {
    const [events, before, speed] = [sums.events, sums.duplicates, rate].map((one) => one.toLocaleString("en-US"));
    const known = sums.duplicates > 0 ? ` ${before} of them were known before.` : "";
    const paint = context.paint.err();
    context.say(`${paint.good("✓")} ${events} events in ${seconds.toFixed(1)} s, ${speed} a second.${known}\n`);
    const more: [number, string][] = [
      ...drawLate(sums.late),
      ...(sums.conflicts > 0
        ? [[sums.conflicts, "known with other content; the first stays"] as [number, string]]
        : []),
    ];
    for (const [count, what] of more) context.say(`  ${count.toLocaleString("en-US")} ${what}\n`);
  }
  return true;
}

type Shown = { add(bytes: number, events: number): void; end(): void };

/** How far it is, and how fast: a bar where the size is known, a number where lines come from a pipe. */
function getMeter(context: Context, path: string, total: number, began: number): Shown {
  const formatSpeed = (events: number) =>
    `${events.toLocaleString("en-US")} events, ${Math.round((events * 1000) / Math.max(1, Date.now() - began)).toLocaleString("en-US")} a second`;
  if (total > 0) {
    const bar = showProgress(context, path, total);
    bar.start("");
    return { add: (bytes, events) => bar.add(bytes, formatSpeed(events)), end: () => bar.end() };
  }
  const isDrawn = canRedraw(context.io);
  return {
    add: (_, events) => isDrawn && context.say(`\r\u001b[2K${formatSpeed(events)}`),
    end: () => isDrawn && context.say("\r\u001b[2K"),
  };
}

/** The lines of a file as they are read, none held longer than its batch. */
async function* getLines(context: Context, path: string): AsyncGenerator<Buffer> {
  const stream = path === "-" ? context.io.stdin : createReadStream(path, { highWaterMark: 256 * 1024 });
  let rest: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer | string>) {
    if (context.io.signal.aborted) throw new Fault("interrupted", "stopped");
    const bytes = typeof part === "string" ? Buffer.from(part) : part;
    let start = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, start)) {
      yield Buffer.concat([...rest, bytes.subarray(start, at)]);
      [rest, length, start] = [[], 0, at + 1];
    }
    length += bytes.length - start;
    if (length > lineBytesMax)
      throw new Fault("error", `a line is longer than ${lineBytesMax} bytes: is this a file of lines?`);
    if (start < bytes.length) rest.push(Buffer.from(bytes.subarray(start)));
  }
  if (length > 0) yield Buffer.concat(rest);
}

/** What a file said until a line: the digest of what it said before, and of the line. */
const follow = (digest: string, line: Buffer): string =>
  createHash("sha256").update(digest).update("\n").update(line).digest("hex").slice(0, 32);
const getBeginning = ({ as = "" }: Options): string => createHash("sha256").update(as).digest("hex").slice(0, 32);

async function isContinuation(context: Context, path: string, options: Options, mark: Mark): Promise<boolean> {
  let [digest, number] = [getBeginning(options), 0];
  for await (const line of getLines(context, path)) {
    digest = follow(digest, line);
    number += 1;
    if (number === mark.line) return digest === mark.digest;
  }
  return false;
}

/**
 * The events of a file, in batches. One without an id of its own gets that of its place: the digest of all lines down to it. So
 * a file that is sent again, also one that has grown, counts nothing twice.
 */
export async function* splitBatches(
  context: Context,
  path: string,
  options: Options,
  passed = 0,
): AsyncGenerator<Batch> {
  let [digest, number] = [getBeginning(options), 0];
  let batch: Batch = { lines: [], bytes: 0, mark: { line: 0, digest } };
  for await (const line of getLines(context, path)) {
    digest = follow(digest, line);
    number += 1;
    batch.bytes += line.length + 1;
    batch.mark = { line: number, digest };
    if (number > passed && line.length > 0 && !/^\s*$/.test(line.toString("utf8", 0, 64))) {
      const event = parseLine(line, number);
      batch.lines.push({ number, event: { external_id: `line-${digest}`, ...event }, bytes: line.length });
    }
    const isFull = batch.lines.length >= (options.batch ?? batch_lines) || batch.bytes >= batch_bytes;
    if (!isFull) continue;
    yield batch;
    batch = { lines: [], bytes: 0, mark: batch.mark };
  }
  if (batch.bytes > 0) yield batch;
}

function parseLine(line: Buffer, number: number): Record<string, unknown> {
  let event: unknown;
  try {
    event = JSON.parse(line.toString("utf8"));
  } catch {
    event = undefined;
  }
  if (typeof event === "object" && event !== null && !Array.isArray(event)) return event as Record<string, unknown>;
  const start = line.toString("utf8", 0, 60);
  throw new Fault("error", `line ${number} is not an event as JSON: ${start}`, {
    hint: 'A line is: {"name": "completion", "external_customer_id": "user-1", "metadata": {"tokens": 120}}',
  });
}

type Sending = {
  path: string;
  options: Options;
  passed: Mark | undefined;
  sums: Sums;
  shown: Shown;
  save(mark: Mark): unknown;
};

/** Send the batches, some at once; what is acknowledged without a gap is noted. */
async function sendAll(context: Context, { path, options, passed, sums, shown, save }: Sending): Promise<void> {
  const batches = splitBatches(context, path, options, passed?.line ?? 0);
  const marks: { mark: Mark; isDone: boolean }[] = [];
  let failed: { error: unknown } | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  /** A generator is asked by one at a time. */
  const claimBatch = (): Promise<Batch | undefined> => {
    const next = turn.then(async () => {
      if (failed) return undefined;
      const { value, done } = await batches.next();
      if (done) return undefined;
      marks.push({ mark: value.mark, isDone: false });
      return value;
    });
    turn = next.catch(() => undefined);
    return next;
  };
  const sendBatches = async (): Promise<void> => {
    for (let batch = await claimBatch(); batch; batch = await claimBatch()) {
      const { lines, mark } = batch;
      if (lines.length > 0) {
        const { inserted, duplicates, events = [] } = await sendBatch(context, lines);
        sums.events += lines.length;
        sums.inserted += inserted;
        sums.duplicates += duplicates;
        for (const one of events) {
          if (one.status === "conflict") sums.conflicts += 1;
          reportLateEvents(sums.late, one);
        }
      }
      const own = marks.find((one) => one.mark === mark);
      if (own) own.isDone = true;
      let last: Mark | undefined;
      while (marks[0]?.isDone) last = marks.shift()?.mark;
      if (last) save(last);
      shown.add(batch.bytes, sums.events);
    }
  };
  await Promise.all(
    Array.from({ length: lanes }, () =>
      sendBatches().catch((error: unknown) => {
        failed ??= { error };
      }),
    ),
  );
  if (failed) throw failed.error;
}

type Taken = { inserted: number; duplicates: number; events?: IngestAnswer[] };

async function sendBatch(context: Context, lines: Line[]): Promise<Taken> {
  const body = { events: lines.map(({ event }) => event) };
  for (let attempt = 1; ; attempt++) {
    try {
      // Each event has its id, so that it is safe to send it again without a key.
      const request = { ...splitRoute(routes.events.ingest), query: { representation: true }, body };
      return (await context.call({ ...request, isRepeatSafe: true })) as Taken;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const isPassing = error.kind === "unreachable" || error.kind === "rate_limited";
      if (!isPassing || attempt >= tries_max || context.io.signal.aborted) throw locateFault(error, lines);
      await pause(Math.min(wait_max_ms, 500 * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2), context.io.signal);
      if (context.io.signal.aborted) throw new Fault("interrupted", "stopped");
    }
  }
}

const shownFaultsMax = 10;
/** The same refusal, by the lines of the file. */
function locateFault(fault: Fault, lines: readonly Line[]): Fault {
  const faults = (fault.parts.places ?? []).flatMap(({ loc, msg }) => {
    const [, list, index, ...field] = loc;
    const line = list === "events" && typeof index === "number" ? lines[index] : undefined;
    return line ? [{ flag: `line ${line.number}${field.length > 0 ? ` ${field.join(".")}` : ""}`, message: msg }] : [];
  });
  if (faults.length === 0) return fault;
  return new Fault(fault.kind, "the server does not accept some lines, and took none of their batch", {
    ...fault.parts,
    faults: faults.slice(0, shownFaultsMax),
    hint: "Put them right and give the same command again; nothing is counted twice.",
  });
}
