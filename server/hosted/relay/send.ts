import { Agent as AgentHttp, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as AgentHttps, request as requestHttps } from "node:https";
import type { Readable } from "node:stream";
import { assertOutsideTransaction } from "../../platform/db/open-transaction.ts";

export type SentCall = {
  method: string;
  /** Path and query, as they stand on the wire. */
  path: string;
  headers: Record<string, string>;
  body: Buffer | string | undefined;
  /** Aborts when the caller leaves; absent where the call goes on without them. */
  signal?: AbortSignal | undefined;
  /** True where a success is handed on as it comes, and not collected. */
  isFile: boolean;
};
export type ServiceReply = { status: number; headers: IncomingHttpHeaders; text: string; stream: Readable | undefined };

/** No answer came, or only a part of one. */
export class NoReplyError extends Error {
  override readonly name = "NoReplyError";
  /** False where the service cannot have read the request. */
  readonly wasSent: boolean;
  /** Whether it used up the time of a request: another try would, too. */
  readonly tookAll: boolean;
  constructor(reason: string, wasSent: boolean, tookAll = false) {
    super(reason);
    this.wasSent = wasSent;
    this.tookAll = tookAll;
  }
}

const connectMs = 3000;
const fileIdleMs = 30_000;
/** Longer than any page of a list. */
const replyBytesMax = 32 * 1024 * 1024;

export type SendTerms = { url: string; timeoutMs: number };

/**
 * Reads share connections. A write opens its own: on a connection that the service is just closing, nobody knows whether it
 * was read, and a write is never sent twice.
 */
const createAgents = () => ({
  "http:": new AgentHttp({ keepAlive: true, timeout: 4000 }),
  "https:": new AgentHttps({ keepAlive: true, timeout: 4000 }),
});

export type Send = (call: SentCall) => Promise<ServiceReply>;

/** A way to send requests to one service, with a limit on the time of each step. */
export function openSender({ url, timeoutMs }: SendTerms): { send: Send; close(): void } {
  const base = new URL(url);
  const agents = createAgents();
  const isSecure = base.protocol === "https:";
  const prefix = base.pathname.replace(/\/+$/, "");
  const send: Send = async (call) => {
    assertOutsideTransaction("the relayed service");
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let wasSent = false;
    const { method, path, headers, body, signal } = call;
    const isRead = method === "GET";
    const options = {
      method,
      protocol: base.protocol,
      hostname: base.hostname.replace(/^\[|\]$/g, ""),
      port: base.port,
      path: `${prefix}${path}`,
      headers: { ...headers, ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }) },
      agent: isRead ? agents[isSecure ? "https:" : "http:"] : false,
      ...(signal ? { signal } : {}),
    } as const;
    const request = isSecure ? requestHttps(options, resolve) : requestHttp(options, resolve);
    const fail = (reason: string, tookAll = false) => request.destroy(new NoReplyError(reason, wasSent, tookAll));
    const connecting = setTimeout(() => fail("No connection in time."), Math.min(connectMs, timeoutMs));
    const answering = setTimeout(() => fail("No answer in time.", true), timeoutMs);
    const noteConnected = () => {
      clearTimeout(connecting);
      wasSent = true;
    };
    request.on("socket", (socket) => {
      if (!socket.connecting) noteConnected();
      else socket.once(isSecure ? "secureConnect" : "connect", noteConnected);
    });
    request.on("error", (error: Error) =>
      reject(error instanceof NoReplyError ? error : new NoReplyError(describeFault(error), wasSent)),
    );
    request.end(body);
    try {
      const answer = await promise;
      clearTimeout(answering);
      const { statusCode: status = 0, headers: received } = answer;
      if (call.isFile && status >= 200 && status < 300) {
        answer.setTimeout(fileIdleMs, () => answer.destroy(new NoReplyError("The file stopped.", true)));
        return { status, headers: received, text: "", stream: answer };
      }
      return { status, headers: received, text: await readText(answer, timeoutMs), stream: undefined };
    } finally {
      clearTimeout(connecting);
      clearTimeout(answering);
    }
  };
  return {
    send,
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** What went wrong with a connection, without the address that it went to. */
const describeFault = (error: Error): string => ("code" in error ? String(error.code) : error.name);

async function readText(answer: IncomingMessage, timeoutMs: number): Promise<string> {
  const limit = setTimeout(
    () => answer.destroy(new NoReplyError("The answer did not end in time.", true, true)),
    timeoutMs,
  );
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > replyBytesMax) throw new NoReplyError("The answer is too long.", true);
      parts.push(part);
    }
  } catch (error) {
    throw error instanceof NoReplyError ? error : new NoReplyError("The answer was cut off.", true);
  } finally {
    clearTimeout(limit);
  }
  return Buffer.concat(parts).toString("utf8");
}
