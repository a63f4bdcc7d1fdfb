import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Fake } from "./fake.ts";

/** A seller's own site on another origin, with the seller's script and a policy that forbids inline styles and scripts. */
export async function startShop(fake: Fake, links: string): Promise<{ url: string; close(): Promise<void> }> {
  const html = `<!doctype html><html lang="en"><title>Shop</title><script src="${fake.url}/embed.js" defer></script>
    <body><h1>Shop</h1>${links}<p id="tall"></p></body></html>`;
  const server = createServer((request, response) => {
    const page = request.url === "/" || request.url?.startsWith("/thanks");
    response.writeHead(page ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; script-src ${fake.url}; frame-src ${fake.url}; style-src 'self'`,
    });
    response.end(page ? html : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
