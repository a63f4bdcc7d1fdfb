/** A load balancer as teams have one: it asks `/readyz`, sends requests to the servers that are ready in turn, and repeats none. */
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";

const checkMs = 1000;
/** Checks in a row that must fail before a server gets no more requests. */
const failuresMax = 2;
const checkMsMax = 2000;

type Node = { url: string; agent: Agent; isReady: boolean; failures: number; open: Set<string>; cut: number };
export type Balancer = Awaited<ReturnType<typeof openBalancer>>;

/** Start one on a free port of this machine. */
export async function openBalancer() {
  const nodes = new Map<string, Node>();
  let turn = 0;
  /** Requests that nobody could be asked, or whose server closed the connection before it answered. */
  const failures: string[] = [];

  async function check(node: Node): Promise<void> {
    const isWell = await fetch(`${node.url}/readyz`, { signal: AbortSignal.timeout(checkMsMax) }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.ok;
      },
      () => false,
    );
    node.failures = isWell ? 0 : node.failures + 1;
    node.isReady = isWell || (node.isReady && node.failures < failuresMax);
  }
  const timer = setInterval(() => {
    for (const node of nodes.values()) void check(node);
  }, checkMs);

  function pass(request: IncomingMessage, response: ServerResponse): void {
    const ready = [...nodes.values()].filter(({ isReady }) => isReady);
    const node = ready[turn++ % ready.length];
    const what = `${request.method} ${request.url}`;
    const fail = (why: string) => {
      failures.push(`${what}: ${why}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    };
    if (!node) {
      fail("no server is ready");
      return;
    }
    node.open.add(what);
    const end = () => node.open.delete(what);
    const { method, url, headers } = request;
    const asked = sendRequest(node.url + url, { method, headers, agent: node.agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.once("close", end);
    });
    asked.once("error", (error) => {
      end();
      node.cut += 1;
      fail(`${node.url} ${error.message}`);
    });
    request.pipe(asked);
  }
  const server = createServer(pass);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failures,
    /** Send requests to a server from now on, while it is ready. */
    async add(url: string): Promise<void> {
      const agent = new Agent({ keepAlive: true });
      const node: Node = { url, agent, isReady: false, failures: 0, open: new Set(), cut: 0 };
      await check(node);
      if (!node.isReady) throw new Error(`${url} is not ready.`);
      nodes.set(url, node);
    },
    /** Forget a server that is gone. Answers how many requests it has cut off. */
    remove(url: string): number {
      const node = nodes.get(url);
      node?.agent.destroy();
      nodes.delete(url);
      return node?.cut ?? 0;
    },
    /** The requests that a server has not answered yet. */
    listOpen: (url: string): string[] => [...(nodes.get(url)?.open ?? [])],
    async close(): Promise<void> {
      clearInterval(timer);
      for (const { agent } of nodes.values()) agent.destroy();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
