import type { FastifyInstance } from "fastify";
import type { Deps } from "../context.ts";
import { isHealthCheck } from "../telemetry/requests.ts";

const checkMs = 50;
/** A browser opens spare connections. They are neither idle nor busy, and would hold up the end. */
const spareMs = 1000;

/**
 * Count the requests in progress, and end the connections of a server that stops: when no request is in progress, or when the
 * time is over. A request is in progress until its handler has ended, also if its client has left: it may have begun a sale.
 */
export function completeRequests(app: FastifyInstance, { drain, log }: Pick<Deps, "drain" | "log">): void {
  app.addHook("onRoute", (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const answer: unknown = handler.call(this, request, reply);
      if (answer instanceof Promise) {
        const end = drain.add();
        answer.then(end, end);
      }
      return answer;
    };
  });
  app.addHook("onRequest", (request, reply, done) => {
    if (drain.isStopping()) reply.header("Connection", "close");
    if (!isHealthCheck(request.routeOptions.url)) {
      const end = drain.add();
      reply.raw.once("finish", end).once("close", end);
    }
    done();
  });
  app.addHook("preClose", async () => {
    drain.begin();
    let quietMs = 0;
    const timer = setInterval(() => {
      quietMs = drain.countRequests() === 0 ? quietMs + checkMs : 0;
      if (quietMs < spareMs && drain.getTimeLeft() > 0) return;
      clearInterval(timer);
      const requests = drain.countRequests();
      if (requests > 0) log.warn({ requests }, "The server stops, and requests in progress were cut off.");
      app.server.closeAllConnections();
    }, checkMs).unref();
    app.server.once("close", () => clearInterval(timer));
  });
}
