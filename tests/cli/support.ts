/** A terminal or a pipe to run the command line in, and a small server to answer it. */
import { mkdtempSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { afterAll } from "vitest";
import type { Keyring } from "../../cli/accounts/keyring.ts";
import { buildManifest } from "../../cli/build-manifest.ts";
import type { Io } from "../../cli/io.ts";
import type { Manifest } from "../../cli/manifest.ts";
import { run } from "../../cli/program.ts";
import { api } from "../../shared/api/index.ts";
import type { Floe } from "../support/floe.ts";
import { handling } from "../support/handling.ts";
import { checkCommandAnswer } from "./answers.ts";

export const manifest = buildManifest(api);

/** An empty folder, which goes with everything temporary at the end of the run. */
export function folder(): string {
  return mkdtempSync(join(tmpdir(), "floe-cli-"));
}

export type Received = {
  method: string;
  url: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: unknown;
  text: string;
};
type Answer = { status?: number; json?: unknown; text?: string; headers?: Record<string, string> };
type Answering = (request: Received, response: ServerResponse) => Answer | undefined | Promise<Answer | undefined>;

/** How many requests of the API were answered as a test wants it: what commands pass on of them follows no schema. */
let standInAnswers = 0;

/** An HTTP server on this machine that remembers what it was asked. An answer of undefined is written by the test itself. */
export async function standIn(answer: Answering) {
  const received: Received[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const text = await textOf(request);
    const url = new URL(request.url ?? "/", "http://stand-in");
    const one: Received = {
      method: request.method ?? "",
      url: request.url ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
      text,
    };
    received.push(one);
    if (/^\/(v1|api)\//.test(url.pathname)) standInAnswers += 1;
    const said = await answer(one, response);
    if (!said) return;
    const body = said.text ?? (said.json === undefined ? "" : JSON.stringify(said.json));
    response.writeHead(said.status ?? 200, { "content-type": "application/json", ...said.headers });
    response.end(body);
  };
  const server = createServer(handling(respond));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  afterAll(close);
  return { url: `http://127.0.0.1:${port}`, port, received, server, close };
}

export type Place = {
  /** True for a terminal, false (as by default) for pipes. */
  tty?: boolean;
  env?: Record<string, string | undefined>;
  columns?: number;
  signal?: AbortSignal;
  openBrowser?: (url: string) => Promise<void>;
  /** What an editor does with a file, and its exit code where that is not 0. */
  edit?: (file: string) => Promise<number | undefined> | number | undefined | void;
  /** What another program answers as its exit code. */
  runProgram?: (command: string, args: string[]) => number | Promise<number>;
  /** The package that speaks to keychains; none, as by default. */
  keyring?: Keyring;
  /** Whether there is a program that leafs through long texts, as by default. */
  pager?: boolean;
};

class Stream extends PassThrough {
  isTTY: boolean;
  columns: number;
  rows = 40;
  text = "";
  constructor(isTTY: boolean, columns: number) {
    super();
    this.isTTY = isTTY;
    this.columns = columns;
  }
  override write(part: unknown, ...rest: unknown[]): boolean {
    this.text += String(part);
    return (super.write as (...args: unknown[]) => boolean)(part, ...rest);
  }
  /** Whether a process would wait for it. */
  isHeld = true;
  setRawMode(): this {
    return this;
  }
  ref(): this {
    this.isHeld = true;
    return this;
  }
  unref(): this {
    this.isHeld = false;
    return this;
  }
}

/** Streams that remember what was written to them, and an environment without anything of this machine. */
export function place({
  tty = false,
  env = {},
  columns = 120,
  signal,
  openBrowser,
  edit,
  runProgram,
  keyring,
  pager = true,
}: Place = {}) {
  const stdin = new Stream(tty, columns);
  const stdout = new Stream(tty, columns);
  const stderr = new Stream(tty, columns);
  stdout.resume();
  stderr.resume();
  const opened: string[] = [];
  /** What was leafed through, and what had been said before. */
  const leafed: { program: string; text: string; said: string }[] = [];
  const io: Io = {
    stdin,
    stdout,
    stderr,
    env: { FLOE_CONFIG_DIR: join(folder(), "config"), TERM: "xterm", NO_COLOR: "1", ...env },
    signal: signal ?? new AbortController().signal,
    loadKeyring: async () => {
      if (keyring) return keyring;
      throw new Error("This machine has no keychain.");
    },
    openBrowser: openBrowser ?? (async (url) => void opened.push(url)),
    leaf: async (program, text) => {
      if (pager) leafed.push({ program, text, said: stderr.text });
      return pager;
    },
    edit: async (_, file) => (await edit?.(file)) ?? 0,
    runProgram: async (command, args) => (await runProgram?.(command, args)) ?? 0,
    atOnce: (work) => work(),
  };
  return { io, stdin, stdout, stderr, opened, leafed };
}

/** Start a command line, and watch what it writes while it runs. */
export function begin(argv: string[], where: Place = {}) {
  const here = place(where);
  const before = standInAnswers;
  const ended = run(argv, here.io, manifest, "1.2.3").then((code) => {
    if (standInAnswers === before) checkCommandAnswer(argv, here.stdout.text, manifest);
    return code;
  });
  return { ...here, ended };
}

/** Run a command line to its end. */
export async function floe(argv: string[], where: Place = {}, of: Manifest = manifest) {
  const here = place(where);
  const before = standInAnswers;
  const code = await run(argv, here.io, of, "1.2.3");
  const { opened, leafed, io } = here;
  if (standInAnswers === before) checkCommandAnswer(argv, here.stdout.text, manifest);
  return { code, out: here.stdout.text, err: here.stderr.text, opened, leafed, io };
}

/** The words of a line, as a shell would see them. */
export const splitWords = (line: string): string[] =>
  [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ""),
  );

/** Wait until something is so. */
export async function until(check: () => boolean, ms = 60_000): Promise<void> {
  const ends = Date.now() + ms;
  while (!check()) {
    if (Date.now() > ends) throw new Error("it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Run a command while the server does what is due. */
export async function whileWorking<T>(server: Floe, command: Promise<T>): Promise<T> {
  let ended = false;
  const done = command.finally(() => {
    ended = true;
  });
  while (!ended) {
    await server.runJobs();
    await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
  return done;
}
