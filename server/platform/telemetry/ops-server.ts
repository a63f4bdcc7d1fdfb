import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Drain } from "../jobs/drain.ts";
import { registry } from "./metrics.ts";

/** Serve metrics and health on an address of the operator's own. It is not for the public: metrics tell how the business goes. */
export async function openOpsServer(
  app: FastifyInstance,
  { isStopping }: Pick<Drain, "isStopping">,
  address: { host: string; port: number },
) {
  const findHealth = async (url: string): Promise<{ status: number; body: string }> => {
    try {
      const { statusCode: status, body } = await app.inject({ method: "GET", url });
      return { status, body };
    } catch (error) {
      // The routes are closed while the last requests are completed.
      if (!isStopping()) throw error;
      const isLiving = url === "/healthz";
      return { status: isLiving ? 200 : 503, body: JSON.stringify({ status: isLiving ? "ok" : "stopping" }) };
    }
  };
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0];
    if (request.method !== "GET") return void response.writeHead(405).end();
    if (path === "/metrics")
      return void registry.render().then(
        (text) => response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
        () => response.writeHead(500).end(),
      );
    if (path === "/healthz" || path === "/readyz")
      return void findHealth(path).then(
        ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
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
