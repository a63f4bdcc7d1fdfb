// An HTTP server that receives webhooks: it verifies the signature, and processes each event once.
import { createServer, type IncomingMessage, type Server } from "node:http";
import { webhooks } from "@polar-sh/sdk/2026-10";

export type WebhookEvent = Awaited<ReturnType<typeof webhooks.validateEvent>>;

const bodyBytesMax = 1_000_000;
const rememberedIdsMax = 10_000;

/** Read the body as it was sent: the signature covers its exact bytes. Returns undefined if it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Create the server. `handle` may throw: floe then sends the event again. */
export function createReceiver(secret: string, handle: (event: WebhookEvent) => Promise<void>): Server {
  // Every attempt of a delivery has the same id. A shop with a database stores it in the transaction of its own change.
  const processedIds = new Set<string>();
  const activeIds = new Set<string>();

  async function receive(request: IncomingMessage): Promise<[status: number, text: string]> {
    if (request.method !== "POST") return [405, "Send webhooks with POST."];
    const body = await readBody(request);
    if (body === undefined) return [413, "The body is too large."];
    const readHeader = (name: string) => String(request.headers[name] ?? "");
    const id = readHeader("webhook-id");
    try {
      const event = await webhooks.validateEvent(
        body,
        {
          "webhook-id": id,
          "webhook-timestamp": readHeader("webhook-timestamp"),
          "webhook-signature": readHeader("webhook-signature"),
        },
        secret,
      );
      if (processedIds.has(id)) return [200, "This event was processed before."];
      // An earlier attempt that timed out is still at work. Whether it succeeds is open, so floe must ask again.
      if (activeIds.has(id)) return [409, "This event is being processed."];
      activeIds.add(id);
      await handle(event).finally(() => activeIds.delete(id));
    } catch (error) {
      if (error instanceof webhooks.PolarWebhookVerificationError) return [403, "The signature is not valid."];
      // An event that is newer than this version of the SDK. A success status prevents retries.
      if (error instanceof webhooks.PolarWebhookUnknownTypeError) return [202, "This event is not supported."];
      console.error(error);
      return [500, "The event could not be processed."];
    }
    processedIds.add(id);
    const [oldestId] = processedIds;
    if (oldestId !== undefined && processedIds.size > rememberedIdsMax) processedIds.delete(oldestId);
    return [200, "The event was processed."];
  }

  return createServer((request, response) => {
    receive(request).then(
      ([status, text]) => response.writeHead(status, { "content-type": "text/plain" }).end(`${text}\n`),
      // The client closed the connection while it sent the body.
      () => response.destroy(),
    );
  });
}
