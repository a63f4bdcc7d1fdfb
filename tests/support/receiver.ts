/** A seller's own server that takes webhooks, for tests. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  headers: IncomingHttpHeaders;
  body: string;
  json: { type: string; timestamp: string; data: Record<string, unknown> };
  /** Of the connection, on the other side. */
  port: number | undefined;
};

export type Receiver = {
  url: string;
  /** Every request so far, in order of arrival. */
  received: Received[];
  types(): string[];
  /** What to answer from now on, and with which headers; a function sees the number of the request, from 1. */
  answer(
    status: number | ((number: number) => number | Promise<number>),
    headers?: (number: number) => Record<string, string>,
  ): void;
  /** Say back what was sent, from now on: the body, or the headers as JSON. */
  echo(part?: "body" | "headers"): void;
  close(): Promise<void>;
};

/** Start one on a free port of this machine. It answers 200 until told otherwise. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let status: (number: number) => number | Promise<number> = () => 200;
  let headersOf: (number: number) => Record<string, string> = () => ({});
  let echoed: "body" | "headers" | undefined;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const body = Buffer.concat(chunks).toString("utf8");
      received.push({ headers: request.headers, body, json: JSON.parse(body), port: request.socket.remotePort });
      const { length } = received;
      const answer = { none: "noted", body, headers: JSON.stringify(request.headers) };
      response.writeHead(await status(length), headersOf(length)).end(answer[echoed ?? "none"]);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    types: () => received.map(({ json }) => json.type),
    answer(given, headers = () => ({})) {
      headersOf = headers;
      status = typeof given === "number" ? () => given : given;
    },
    echo(part = "body") {
      echoed = part;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
