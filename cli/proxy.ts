/** Requests through a proxy. Loaded only where a proxy variable is set. */
import http, { type ClientRequest, type RequestOptions } from "node:http";
import https from "node:https";
import tls from "node:tls";
import { Fault } from "./fault.ts";

type Env = Record<string, string | undefined>;

/** The proxy for an address by the usual variables, or none (`NO_PROXY`, or this machine). */
export function findProxy(url: URL, env: Env): URL | undefined {
  const readVariable = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const chosen =
    (url.protocol === "https:" ? readVariable("HTTPS_PROXY") : readVariable("HTTP_PROXY")) ?? readVariable("ALL_PROXY");
  if (!chosen) return undefined;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const excluded = (readVariable("NO_PROXY") ?? "localhost,127.0.0.1,::1").split(/[\s,]+/).some((entry) => {
    if (entry === "*") return true;
    const [name = "", only] = /^\[?([^\]]*?)\]?(?::(\d+))?$/.exec(entry)?.slice(1) ?? [];
    const bare = (entry.split(":").length > 2 ? entry : name).replace(/^\*?\./, "");
    return (
      bare !== "" &&
      (only === undefined || entry.split(":").length > 2 || only === port) &&
      (host === bare || host.endsWith(`.${bare}`))
    );
  });
  if (excluded) return undefined;
  try {
    const proxy = new URL(chosen.includes("://") ? chosen : `http://${chosen}`);
    if (proxy.protocol === "http:") return proxy;
  } catch {
    // Told below, together with the kinds of proxy that are not spoken to.
  }
  throw new Fault("error", `the proxy "${chosen}" cannot be used`, {
    hint: "A proxy is given as http://HOST:PORT; exclude hosts with NO_PROXY.",
  });
}

const readCredentials = (proxy: URL): Record<string, string> =>
  proxy.username
    ? {
        "proxy-authorization": `Basic ${Buffer.from(`${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`).toString("base64")}`,
      }
    : {};

/** Begin a request through a proxy: in absolute form for http, through a tunnel for https. */
export async function requestThroughProxy(proxy: URL, url: URL, options: RequestOptions): Promise<ClientRequest> {
  const at = { host: proxy.hostname, port: proxy.port || 80 };
  if (url.protocol === "http:") {
    const headers = { ...(options.headers as Record<string, string>), ...readCredentials(proxy), host: url.host };
    return http.request({ ...options, ...at, path: url.href, headers });
  }
  const target = `${url.hostname}:${url.port || 443}`;
  const socket = await new Promise<import("node:net").Socket>((resolve, reject) => {
    const connect = http.request({
      ...at,
      method: "CONNECT",
      path: target,
      headers: { host: target, ...readCredentials(proxy) },
      agent: false,
    });
    connect.once("connect", (answer, opened) => {
      if (answer.statusCode === 200) return resolve(opened);
      opened.destroy();
      return reject(
        new Fault("unreachable", `the proxy ${proxy.host} refused a tunnel to ${target} (${answer.statusCode})`),
      );
    });
    connect.once("error", (error: NodeJS.ErrnoException) =>
      reject(new Fault("unreachable", `the proxy ${proxy.host} cannot be reached (${error.code})`)),
    );
    connect.end();
  });
  const servername = url.hostname;
  return https.request(url, { ...options, agent: false, createConnection: () => tls.connect({ socket, servername }) });
}
