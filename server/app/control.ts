/**
 * How a command of the operator reaches the server that holds the data folder of an embedded database. The address and a
 * token are in a file there, which the owner of the folder alone may read.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { isSameText } from "../platform/crypto/secrets.ts";

type Call = { input: Record<string, unknown>; tell(value: unknown): void; signal: AbortSignal };
export type Commands = Readonly<Record<string, (call: Call) => Promise<unknown>>>;
/** A line of the answer: what it tells meanwhile, and at the end the result or what failed. */
type Line = { told: unknown } | { fault: string };

/** The server refused, in words for the operator. */
export class ControlError extends Error {
  override readonly name = "ControlError";
}

const fileName = "control";
/** By this header a server of floe is known: the port may be another program's by now. */
const header = "x-floe-control";
/** How often an answer that takes long says that it goes on. */
const heartbeatMs = 10_000;

/** Take commands until the server stops. Those under way are broken off then, and waited for. */
export async function openControl(folder: string, commands: Commands): Promise<{ close(): Promise<void> }> {
  const token = randomBytes(32).toString("base64url");
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const answered = respond(request, response, { token, commands, stopping: stopping.signal }).finally(() =>
      running.delete(answered),
    );
    running.add(answered);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const path = join(folder, fileName);
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify({ port: (server.address() as AddressInfo).port, token }), { mode: 0o600 });
  return {
    async close() {
      rmSync(path, { force: true });
      stopping.abort(new ControlError("The server stops. Run the command again."));
      await Promise.all(running);
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

type Answering = { token: string; commands: Commands; stopping: AbortSignal };

async function respond(request: IncomingMessage, response: ServerResponse, { token, commands, stopping }: Answering) {
  const command = commands[request.url?.slice(1) ?? ""];
  response.setHeader(header, "1");
  if (!isSameText(request.headers.authorization ?? "", `Bearer ${token}`)) return void response.writeHead(401).end();
  if (request.method !== "POST" || !command) return void response.writeHead(404).end();
  const gone = new AbortController();
  response.once("close", () => gone.abort(new ControlError("The command was ended.")));
  const write = (line: Line) => response.write(`${JSON.stringify(line)}\n`);
  const heartbeat = setInterval(() => response.write("\n"), heartbeatMs);
  try {
    const input = (await json(request)) as Record<string, unknown>;
    const signal = AbortSignal.any([gone.signal, stopping]);
    write({ told: await command({ input, tell: (told) => write({ told }), signal }) });
  } catch (error) {
    const failure = stopping.aborted ? stopping.reason : error;
    write({ fault: failure instanceof Error ? failure.message : String(failure) });
  } finally {
    clearInterval(heartbeat);
  }
  response.end();
}

const endedEarly = "The server ended before the command was done. Run the command again.";

/** Ask the server that holds a data folder: each `read` is the next thing that it tells. Undefined where none runs. */
export async function openCall(folder: string, command: string, input: object, signal: AbortSignal | undefined) {
  const gone = new AbortController();
  const given = signal ? AbortSignal.any([signal, gone.signal]) : gone.signal;
  const answer = await findServer(folder, command, input, given);
  if (!answer?.headers.has(header)) return undefined;
  if (!answer.ok || !answer.body)
    throw new ControlError(`The server that holds ${folder} does not know this command. Start this version of it.`);
  const lines = readLines(answer.body);
  return {
    async read(): Promise<unknown> {
      const next = await lines.next();
      if (next.done) throw new ControlError(endedEarly);
      if ("fault" in next.value) throw new ControlError(next.value.fault);
      return next.value.told;
    },
    async close(): Promise<void> {
      gone.abort();
      await lines.return(undefined).catch(() => undefined);
    },
  };
}

/** Ask it for something that is done at once. */
export async function sendCommand(folder: string, command: string, signal: AbortSignal | undefined): Promise<void> {
  const call = await openCall(folder, command, {}, signal);
  if (!call) throw new ControlError(endedEarly);
  await call.read();
  await call.close();
}

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Line, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const text of lines) if (text !== "") yield JSON.parse(text) as Line;
  }
}

async function findServer(folder: string, command: string, input: object, signal: AbortSignal | undefined) {
  let place: { port: number; token: string };
  try {
    place = JSON.parse(readFileSync(join(folder, fileName), "utf8"));
  } catch {
    return undefined;
  }
  const sent = fetch(`http://127.0.0.1:${place.port}/${command}`, {
    method: "POST",
    headers: { authorization: `Bearer ${place.token}` },
    body: JSON.stringify(input),
    signal: signal ?? null,
  });
  return sent.catch((error: { cause?: { code?: string } }) => {
    // The server was killed, and its file is left.
    if (error.cause?.code === "ECONNREFUSED") return undefined;
    throw error;
  });
}
