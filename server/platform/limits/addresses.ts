import ipaddr from "ipaddr.js";

const networkBits = 64;

/**
 * What one address counts as where tries are counted: the same for every spelling of it, an IPv4 address in IPv6 clothes
 * is that IPv4 address, and IPv6 addresses count by their /64, which whoever has one has whole.
 */
export function getBucket(address: string): string {
  const bare = address.split("%")[0] ?? "";
  if (!ipaddr.isValid(bare)) return "unknown";
  const parsed = ipaddr.process(bare);
  if (parsed.kind() === "ipv4") return parsed.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${networkBits}`);
  return `${network.toString()}/${networkBits}`;
}
