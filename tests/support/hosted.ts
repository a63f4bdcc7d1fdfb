/** A floe in hosted mode, with a second floe in Polar's place and a recording proxy between them. */
import { createServer, type IncomingHttpHeaders, request as requestHttp, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { linkToPolar } from "../../server/identity/organizations/store.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { type Floe, type FloeOptions, type Seller, start } from "./floe.ts";

export type Recorded = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer };
/** What the proxy does in place of handing a request on; true where it answered. */
export type Fault = (request: Recorded, response: ServerResponse) => boolean | undefined;

export type Proxy = {
  url: string;
  recorded: Recorded[];
  /** Replaces what was set before; undefined hands every request on. */
  setFault(fault: Fault | undefined): void;
  close(): Promise<void>;
};

export async function startProxy(to: string): Promise<Proxy> {
  const recorded: Recorded[] = [];
  let fault: Fault | undefined;
  const { hostname, port } = new URL(to);
  const server = createServer(async (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const body = await buffer(request);
    const seen = { method, url, headers, body };
    recorded.push(seen);
    if (fault?.(seen, response)) return;
    const forwarded = requestHttp({ hostname, port, method, path: url, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    forwarded.end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    recorded,
    setFault: (next) => {
      fault = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** A fault that answers each request with a status and a text. */
export const answerWith =
  (status: number, text: string, headers: Record<string, string> = { "content-type": "application/json" }): Fault =>
  (_request, response) => {
    response.writeHead(status, headers).end(text);
    return true;
  };

export type HostedPair = {
  /** In Polar's place, and the organization that it has. */
  polar: Floe;
  polarSeller: Seller;
  proxy: Proxy;
  /** In hosted mode, with the organization that is linked with that. */
  floe: Floe;
  seller: Seller;
  /** Another organization of the floe in hosted mode. */
  outside: Seller;
  close(): Promise<void>;
};

export async function startHosted(options: FloeOptions = {}): Promise<HostedPair> {
  const polar = await start({ listen: true });
  const polarSeller = await polar.seller("hosted");
  const proxy = await startProxy(polar.url);
  const floe = await start({
    ...options,
    settings: {
      FLOE_BILLING: "polar",
      POLAR_URL: proxy.url,
      POLAR_ACCESS_TOKEN: polarSeller.key,
      POLAR_TIMEOUT_MS: "1500",
      ...options.settings,
    },
  });
  const seller = await floe.seller("here");
  const outside = await floe.seller("outside");
  await transact(floe.deps, (tx) => linkToPolar(tx, seller.organization_id, polarSeller.organization_id));
  await floe.hosted?.refreshLink();
  return {
    polar,
    polarSeller,
    proxy,
    floe,
    seller,
    outside,
    async close() {
      await floe.close();
      await proxy.close();
      await polar.close();
    },
  };
}
