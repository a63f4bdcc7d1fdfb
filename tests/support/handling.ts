import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** A listener that has to wait. What it fails at is told to whoever asked, and does not end the run of all tests. */
export const handling =
  (answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>): RequestListener =>
  (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(String(error));
    });
  };
