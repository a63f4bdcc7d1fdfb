/** Which IP addresses are public, and which private ones the operator has allowed as receivers of webhooks. */
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** The private receivers that the operator allows: ranges of addresses, and host names with or without a port. */
export type AllowedReceivers = {
  ranges: readonly string[];
  hosts: readonly { name: string; port: number | undefined }[];
};

const parseRanges = (...texts: string[]): Range[] => texts.map((text) => ipaddr.parseCIDR(text));
const isIn = (address: Address, range: Range): boolean =>
  address.kind() === range[0].kind() && address.match(range as [ipaddr.IPv4 & ipaddr.IPv6, number]);

/**
 * A cloud's own addresses. They answer a machine with its credentials or describe it, and are never called: 168.63.129.16 is
 * public by its number, the others are in private ranges.
 */
const cloudRanges = parseRanges(...["168.63.129.16/32", "100.100.100.200/32", "fd00:ec2::/32", "fd20:ce::254/128"]);
/** Networks of an organization, of its VPN, and of the machine itself. Link-local addresses are none of them. */
const privateRanges = parseRanges(
  ...["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "fc00::/7", "::1/128"],
);
const [globalIpv6] = parseRanges("2000::/3") as [Range];

const parseAddress = (text: string): Address | undefined => (ipaddr.isValid(text) ? ipaddr.parse(text) : undefined);
const isOfCloud = (address: Address): boolean => cloudRanges.some((range) => isIn(address, range));

/** Whether an IP address is one of the public internet. Forms that wrap an IPv4 address count as not public. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address?.range() !== "unicast" || isOfCloud(address)) return false;
  // What is not yet assigned to anyone, and the old `::a.b.c.d` form, also call themselves unicast.
  return address.kind() === "ipv4" || isIn(address, globalIpv6);
}

/** Whether an IP address is one of a private network. */
export function isPrivateAddress(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && !isOfCloud(address) && privateRanges.some((range) => isIn(address, range));
}

/** Whether an IP address is private, and in a range that the operator allows. */
export function isAllowedAddress(text: string, { ranges }: AllowedReceivers): boolean {
  const address = parseAddress(text);
  return (
    address !== undefined && isPrivateAddress(text) && parseRanges(...ranges).some((range) => isIn(address, range))
  );
}

const hostName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)*$/;
const portMax = 65_535;

/** Read one entry of the operator's list; a text says what is wrong with it. */
function parseEntry(entry: string): { range: string } | AllowedReceivers["hosts"][number] | string {
  const { IPv4, IPv6 } = ipaddr;
  const isIp = IPv4.isValidFourPartDecimal(entry) || IPv6.isValid(entry);
  const text = isIp ? `${entry}/${entry.includes(":") ? 128 : 32}` : entry;
  // No short forms: `10.0.0` is an IP address to some programs, and here a mistake.
  if (IPv4.isValidCIDRFourPartDecimal(text) || IPv6.isValidCIDR(text)) {
    const [address, length] = ipaddr.parseCIDR(text);
    if (!privateRanges.some((range) => isIn(address, range) && length >= range[1]))
      return `${entry} is no range of private networks`;
    const first = (address.kind() === "ipv4" ? IPv4 : IPv6).networkAddressFromCIDR(text);
    // 10.0.0.7/8 may mean one address or all of 10.0.0.0/8.
    if (first.toString() !== address.toString()) return `${entry} begins at ${first}: write ${first}/${length}`;
    return { range: text };
  }
  const [, name = "", digits] = /^([^:/[\]]+)(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const isName = hostName.test(name.toLowerCase()) && !/^[\d.]+$/.test(name);
  if (!isName || port === 0 || (port ?? 0) > portMax)
    return `${entry} is neither a range, as 10.0.0.0/8, nor a host name, as app:3000`;
  return { name: name.toLowerCase(), port };
}

/** Read the operator's list; the fault is that of its first wrong entry. */
export function readAllowedReceivers(entries: readonly string[]): { value: AllowedReceivers } | { fault: string } {
  const ranges: string[] = [];
  const hosts: AllowedReceivers["hosts"][number][] = [];
  for (const entry of entries) {
    const parsed = parseEntry(entry);
    if (typeof parsed === "string") return { fault: parsed };
    if ("range" in parsed) ranges.push(parsed.range);
    else hosts.push(parsed);
  }
  return { value: { ranges, hosts } };
}
