import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { registry } from "./metrics.ts";

/** Serve metrics and health on an address of the operator's own. It is not for the public: metrics tell how the business goes. */
export async function openOpsServer(app: FastifyInstance, address: { host: string; port: number }) {
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (request.method !== "GET") return void response.writeHead(405).end();
    if (path === "/metrics")
      return void registry.render().then(
        (text) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
        () => response.writeHead(500).end(),
      );
    if (path === "/healthz" || path === "/readyz")
      return void app.inject({ method: "GET", url: path }).then(
        (answer) => response.writeHead(answer.statusCode, { "content-type": "application/json" }).end(answer.body),
        () => response.writeHead(500).end(),
      );
    response.writeHead(404).end();
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(address.port, address.host, listening);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
