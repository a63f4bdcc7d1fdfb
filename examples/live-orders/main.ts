/** A page that shows orders as they come. The API key stays on this server; the page gets tokens that each open one stream. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { FLOE_API_KEY: key = "", FLOE_SERVER: server = "http://localhost:4455", PORT = "3002" } = process.env;
if (key === "") throw new Error("Set FLOE_API_KEY to an API key with the scope orders:read.");

const read = (name: string) => readFileSync(new URL(name, import.meta.url));
const files: Record<string, [type: string, content: Buffer | string]> = {
  "/": ["text/html; charset=utf-8", read("page.html")],
  "/follow.js": ["text/javascript; charset=utf-8", read("follow.js")],
  "/settings": ["application/json", JSON.stringify({ server })],
};

/** A token for one stream of orders. Here you check who is signed in to your page. */
async function makeToken(): Promise<string> {
  const answer = await fetch(`${server}/v1/events/stream/tokens`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ types: ["order.*"] }),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`floe answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { token: string }).token;
}

createServer(async (request, response) => {
  if (request.method === "POST" && request.url === "/token") {
    try {
      const token = await makeToken();
      response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
      response.end(JSON.stringify({ token }));
    } catch (error) {
      console.error(error);
      response.writeHead(502).end();
    }
    return;
  }
  const [type, content] = files[request.url ?? ""] ?? [];
  if (type === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": type }).end(content);
}).listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));
