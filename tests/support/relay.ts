/** A relay to a server, that does something after each answer, before it is sent on. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export async function startRelay(to: string, onAnswer: (method: string, path: string) => Promise<void>) {
  const server = createServer(async (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const { host: _, connection: __, "content-length": ___, "transfer-encoding": ____, ...sent } = headers;
    const body = await buffer(request);
    const answer = await fetch(new URL(url, to), {
      method,
      headers: sent as Record<string, string>,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    });
    const text = await answer.text();
    await onAnswer(method, url);
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" }).end(text);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => void server.close(resolve)),
  };
}
