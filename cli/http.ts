/** One HTTP request over Node's own client: `fetch` would cost a third of the start-up time of a whole command. */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { Fault } from "./fault.ts";

type Env = Record<string, string | undefined>;

/** What is sent. */
export type HttpRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
  timeoutMs: number;
  env: Env;
  signal?: AbortSignal | undefined;
};

/** What came back, read to its end. */
export type HttpAnswer = { status: number; headers: IncomingHttpHeaders; text: string };

/** The request did not get an answer. `code` is the system's word for why; whether it arrived may not be known. */
export class UnreachableError extends Fault {
  readonly code: string;
  readonly mayHaveArrived: boolean;
  constructor(code: string, message: string, hint?: string, mayHaveArrived = true) {
    super("unreachable", message, { name: "unreachable", ...(hint && { hint }) });
    this.code = code;
    this.mayHaveArrived = mayHaveArrived;
  }
}

const wrapProxied = (env: Env): boolean =>
  Boolean(env.HTTP_PROXY || env.http_proxy || env.HTTPS_PROXY || env.https_proxy || env.ALL_PROXY || env.all_proxy);

async function begin(url: URL, options: RequestOptions, env: Env): Promise<ClientRequest> {
  if (wrapProxied(env)) {
    const { findProxy, requestThroughProxy } = await import("./proxy.ts");
    const proxy = findProxy(url, env);
    if (proxy) return requestThroughProxy(proxy, url, options);
  }
  // Not imported above: https brings TLS with it, which a server on this machine does not need.
  const client = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
  return client.request(url, options);
}

function explain(error: NodeJS.ErrnoException & { errors?: NodeJS.ErrnoException[] }, url: URL): Fault {
  if (error instanceof Fault) return error;
  const code = error.code ?? error.errors?.[0]?.code ?? error.message;
  const place = url.origin;
  const local = /^(localhost|127\.|\[::1\])/.test(url.hostname);
  const start = local ? "Start one with: `floe serve`" : "Check the address and your network.";
  if (code === "ECONNREFUSED") return new UnreachableError(code, `nothing answers at ${place}`, start, false);
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new UnreachableError(
      code,
      `the host ${url.hostname} is not known`,
      "Check the address and your network.",
      false,
    );
  if (/CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS/.test(code)) {
    return new UnreachableError(
      code,
      `the certificate of ${place} is not trusted (${code})`,
      "Name your own authority with NODE_EXTRA_CA_CERTS=/path/to/ca.pem",
      false,
    );
  }
  return new UnreachableError(
    code,
    `the connection to ${place} failed (${code})`,
    "Try again; floe --debug shows each request.",
  );
}

/** Send a request and answer as soon as its headers are there. */
export async function open(out: HttpRequest): Promise<{ response: IncomingMessage; stop: (error?: Error) => void }> {
  const { url, body, signal } = out;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const request = await begin(url, { method: out.method, headers: { ...out.headers, ...length } }, out.env);
  const stop = (error?: Error): void => void request.destroy(error);
  const abort = (): void => stop(new Fault(signal?.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped"));
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  request.once("close", () => signal?.removeEventListener("abort", abort));
  return new Promise((resolve, reject) => {
    request.once("response", (response) => resolve({ response, stop }));
    request.on("error", (error) => reject(explain(error, url)));
    request.end(body);
  });
}

/** Send a request and read the whole answer, within the time allowed for both. */
export async function send(out: HttpRequest): Promise<HttpAnswer> {
  const tooSlow = new UnreachableError(
    "ETIMEDOUT",
    `${out.url.origin} did not answer within ${out.timeoutMs / 1000} s`,
    "Allow more time with --timeout SECONDS",
  );
  let cancel: ((error: Error) => void) | undefined;
  const timer = setTimeout(() => cancel?.(tooSlow), out.timeoutMs);
  const limit = new AbortController();
  try {
    const slow = new Promise<never>((_, reject) => {
      cancel = (error) => {
        limit.abort();
        reject(error);
      };
    });
    slow.catch(() => undefined);
    const opened = open({ ...out, signal: out.signal ? AbortSignal.any([out.signal, limit.signal]) : limit.signal });
    opened.catch(() => undefined);
    return await Promise.race([slow, opened.then(({ response }) => read(response, out.url))]);
  } finally {
    clearTimeout(timer);
  }
}

function read(response: IncomingMessage, url: URL): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    response.on("data", (part: Buffer) => parts.push(part));
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(parts).toString("utf8"),
      }),
    );
    response.on("error", (error) => reject(explain(error, url)));
  });
}
