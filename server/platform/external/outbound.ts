import { lookup as resolve } from "node:dns";
import { Agent as AgentHttp, request as requestHttp } from "node:http";
import { Agent as AgentHttps, request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { Config } from "../config.ts";
import { assertOutsideTransaction } from "../db/open-transaction.ts";
import { createCallSignal } from "../jobs/deadline.ts";
import { type AllowedReceivers, isAllowedAddress, isPrivateAddress, isPublicAddress } from "./network-addresses.ts";

/** What may be called, and how names are resolved. */
export type OutboundPolicy = {
  /** True on a developer's own machine: plain http and receivers on localhost are fine there. */
  private_allowed: boolean;
  /** Ports that may be called besides 80, 443 and those from 1024 on that no database or mail server has. */
  ports_allowed?: readonly number[];
  /** Private receivers that the operator allows. Plain data: it is handed to a thread. */
  receivers_allowed?: AllowedReceivers;
  /** How a name becomes addresses; the system's way unless given. */
  lookup?: LookupFunction;
};

/** What came back: a status and the beginning of the text, or the reason why nothing did. */
export type OutboundReply = {
  http_code: number | null;
  text: string;
  /** The header `Retry-After` of the answer, as it was sent. */
  retry_after?: string;
};

export const timeoutMs = 10_000;
export const replyLengthMax = 2048;
/** Of UTF-8, no character is longer. */
const replyBytesMax = replyLengthMax * 4;

/** An address that the server will not call: a sentence for the seller. */
export class RefusedAddressError extends Error {
  override readonly name = "RefusedAddress";
}

type ReachSettings = Pick<Config, "development" | "FLOE_WEBHOOK_ALLOW" | "FLOE_WEBHOOK_PORTS">;
/** Any private address may be called only if nobody else reaches the server itself; otherwise those that the operator allows. */
export const findReach = ({ development, FLOE_WEBHOOK_ALLOW, FLOE_WEBHOOK_PORTS }: ReachSettings): OutboundPolicy => ({
  private_allowed: development,
  ports_allowed: FLOE_WEBHOOK_PORTS,
  receivers_allowed: FLOE_WEBHOOK_ALLOW,
});

const webPorts = new Set([80, 443]);
const unprivilegedPort = 1024;
/** Ports from 1024 on on which databases, caches, queues, their administration, and mail servers listen. */
const servicePorts = new Set([
  ...[1110, 1433, 1434, 1521, 1526, 1830, 2049, 2181, 2375, 2376, 2379, 2380, 2424, 2480, 2483, 2484, 2525, 3050, 3306],
  ...[3351, 4333, 4369, 5432, 5433, 5434, 5671, 5672, 5984, 6082, 6379, 6380, 6381, 6432, 7000, 7001, 7199],
  ...[
    7473, 7474, 7687, 8086, 8087, 8098, 8123, 8529, 9042, 9092, 9093, 9160, 9200, 9300, 9440, 10025, 11211, 11214,
    11215,
  ],
  ...[15672, 16379, 25672, 26257, 26379, 27017, 27018, 27019, 28015, 28017, 29015, 33060, 50000, 61613, 61616],
]);

/** Whether a port may be called: a server for the web is there, and nothing that takes lines of text for commands. */
const isAllowedPort = (port: number, { ports_allowed = [] }: OutboundPolicy): boolean =>
  ports_allowed.includes(port) || webPorts.has(port) || (port >= unprivilegedPort && !servicePorts.has(port));

const getBareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
const isLocalName = (host: string): boolean =>
  !host.includes(".") || /\.(localhost|local|internal|lan|home\.arpa|onion)$/i.test(host);

const mustBeSecure = "The address must begin with https://.";
const mustBePublic = "The address must be on the public internet.";
const mustHavePublicName = "The address must have a public host name.";
const leadsToPrivate = "The host name leads to an address that is not on the public internet.";

/** Why an address may not be called; or which IP addresses its host name may lead to, and what is said of others. */
type AddressPolicy = { refusal: string } | { isAllowed: (ip: string) => boolean; otherwise: string };

/** Decide about an address by its text. A host name is allowed here only under the condition that its IP addresses are. */
function resolveAddressPolicy(text: string, reach: OutboundPolicy): AddressPolicy {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { refusal: "This is not a valid web address." };
  if (reach.private_allowed) return { isAllowed: () => true, otherwise: "" };
  const { receivers_allowed: receivers = { ranges: [], hosts: [] } } = reach;
  const host = getBareHost(url);
  const isSecure = url.protocol === "https:";
  const port = Number(url.port || (isSecure ? "443" : "80"));
  const entries = receivers.hosts.filter(({ name }) => name === host);
  const isNamed = (ip: string) => isPublicAddress(ip) || isPrivateAddress(ip);
  if (entries.some((entry) => entry.port === port)) return { isAllowed: isNamed, otherwise: leadsToPrivate };
  const isListed = entries.some((entry) => entry.port === undefined);
  const isInRange = (ip: string) => isAllowedAddress(ip, receivers);
  const isIp = ipaddr.isValid(host);
  // Without a range, no name leads to an allowed address, so that it need not be looked up.
  const canBeAllowed = isListed || (isIp ? isInRange(host) : receivers.ranges.length > 0);
  if (!isSecure && !canBeAllowed) return { refusal: mustBeSecure };
  if (!isAllowedPort(port, reach))
    return {
      refusal: `Port ${port} may not be called: receivers are on port 80, 443 or one from 1024 on that no database or mail server has.`,
    };
  if (isListed) return { isAllowed: isNamed, otherwise: leadsToPrivate };
  if (!isSecure) return { isAllowed: isInRange, otherwise: mustBeSecure };
  if (isIp && !isPublicAddress(host) && !canBeAllowed) return { refusal: mustBePublic };
  if (isIp || !isLocalName(host))
    return { isAllowed: (ip) => isPublicAddress(ip) || isInRange(ip), otherwise: leadsToPrivate };
  return canBeAllowed ? { isAllowed: isInRange, otherwise: mustHavePublicName } : { refusal: mustHavePublicName };
}

/** Why an address may not be called, as far as its text tells; undefined when nothing speaks against it. */
export function findRefusal(text: string, reach: OutboundPolicy): string | undefined {
  const policy = resolveAddressPolicy(text, reach);
  return "refusal" in policy ? policy.refusal : undefined;
}

/**
 * A name's addresses, all of them allowed for this address, or an error. Handed to the socket itself, so that what is checked is
 * what is connected to: an answer that changes between check and use does not help.
 */
export function wrapLookup(text: string, reach: OutboundPolicy): LookupFunction {
  const lookup = reach.lookup ?? resolve;
  if (reach.private_allowed) return lookup;
  const policy = resolveAddressPolicy(text, reach);
  return (hostname, options, callback) => {
    if ("refusal" in policy) return callback(new RefusedAddressError(policy.refusal), "", 0);
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "", 0);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: found.includes(":") ? 6 : 4 }];
      if (addresses.length === 0 || !addresses.every(({ address }) => policy.isAllowed(address)))
        return callback(new RefusedAddressError(policy.otherwise), "", 0);
      const [first] = addresses;
      return options.all ? callback(null, addresses) : callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

/** As `findRefusal`, and looks the name up too. A name that cannot be resolved now is let through: sending checks again. */
export async function checkAddress(text: string, reach: OutboundPolicy): Promise<string | undefined> {
  assertOutsideTransaction("the lookup of a host name");
  const refusal = findRefusal(text, reach);
  if (refusal !== undefined || reach.private_allowed) return refusal;
  const host = getBareHost(new URL(text));
  if (ipaddr.isValid(host)) return undefined;
  return new Promise((done) => {
    const slow = setTimeout(() => done(undefined), timeoutMs);
    wrapLookup(text, reach)(host, { all: true }, (error) => {
      clearTimeout(slow);
      done(error instanceof RefusedAddressError ? error.message : undefined);
    });
  });
}

/**
 * A connection to a seller's address, opened with the first call and kept for those that follow; the address is checked as it is
 * opened. To be closed within seconds: what the name leads to may change.
 */
export function openLine(address: string, reach: OutboundPolicy) {
  const refusal = findRefusal(address, reach);
  const agent = new (address.startsWith("https:") ? AgentHttps : AgentHttp)({ keepAlive: true, maxSockets: 1 });
  return {
    /**
     * POST a body. Never throws: whatever goes wrong on the way is a reply without a status. Redirects are answers like any
     * other, not followed; 10 s for everything; 2048 characters are read.
     */
    async post(headers: Record<string, string>, body: string): Promise<OutboundReply> {
      if (refusal !== undefined) return { http_code: null, text: refusal };
      return post(new URL(address), agent, headers, body, reach, createCallSignal(timeoutMs));
    },
    close: () => agent.destroy(),
  };
}

function post(
  url: URL,
  agent: AgentHttp,
  headers: Record<string, string>,
  body: string,
  reach: OutboundPolicy,
  signal: AbortSignal,
): Promise<OutboundReply> {
  return new Promise((done) => {
    const handleFailure = (error: NodeJS.ErrnoException) => {
      // The other side had closed the connection since the call before, and has heard nothing of this one.
      if (request.reusedSocket && error.code === "ECONNRESET" && !isAnswered)
        return done(post(url, agent, headers, body, reach, signal));
      const text = signal.aborted
        ? `No answer within ${timeoutMs / 1000} seconds.`
        : error.message || error.code || error.name;
      done({ http_code: null, text: text.slice(0, replyLengthMax) });
    };
    let isAnswered = false;
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(
      url,
      {
        method: "POST",
        headers: { ...headers, "content-length": String(Buffer.byteLength(body)) },
        agent,
        lookup: wrapLookup(url.href, reach),
        signal,
      },
      (response) => {
        isAnswered = true;
        const chunks: Buffer[] = [];
        let size = 0;
        const finish = () => {
          response.destroy();
          const text = Buffer.concat(chunks).subarray(0, replyBytesMax).toString("utf8").replaceAll("\0", "");
          const retry_after = response.headers["retry-after"];
          done({
            http_code: response.statusCode ?? null,
            text: text.slice(0, replyLengthMax).toWellFormed(),
            ...(retry_after !== undefined && { retry_after }),
          });
        };
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk);
          size += chunk.length;
          if (size >= replyBytesMax) finish();
        });
        response.on("end", finish);
        // The status has been seen, but the answer was not heard to its end.
        response.on("error", handleFailure);
      },
    );
    request.on("error", handleFailure);
    request.end(body);
  });
}
