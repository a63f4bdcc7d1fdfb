// A service that customers pay by use: it counts the words of a text, and reports them as usage.
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import { text } from "node:stream/consumers";
import type { UsageReporter } from "./reporter.ts";

export function createService(reporter: UsageReporter): Server {
  return createServer(async (request, response) => {
    // A real service takes the customer from its own sign-in, and never from the request alone.
    const customerId = request.headers["x-customer-id"];
    if (request.method !== "POST" || typeof customerId !== "string") {
      response.writeHead(400).end("Send a text with POST and the header X-Customer-Id.\n");
      return;
    }
    try {
      const words = (await text(request)).split(/\s+/).filter(Boolean).length;
      const isReported = reporter.report({
        name: "words_counted",
        external_customer_id: customerId,
        external_id: randomUUID(),
        timestamp: new Date().toISOString(),
        metadata: { words },
      });
      if (isReported) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ words }));
      else response.writeHead(503).end("Usage cannot be reported at the moment.\n");
    } catch {
      // The client closed the connection.
      response.destroy();
    }
  });
}
