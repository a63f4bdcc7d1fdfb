const allowed = ["tests/rules/webhook-receivers.test.ts", "tests/api/webhook-endpoints.test.ts"];
const addresses = "server/platform/external/network-addresses.ts";
const outbound = "server/platform/external/outbound.ts";

/** Faults of what sellers' webhooks keep to: where they go, when they are sent again, and how they are signed. */
export const webhookFaults = {
  receivers: [
    ["cloud-in-range", addresses, "!isOfCloud(address) && privateRanges", "privateRanges", ...allowed],
    [
      "public-range",
      addresses,
      "if (!privateRanges.some((range) => isIn(address, range) && length >= range[1]))",
      "if (!address)",
      ...allowed,
    ],
    ["wider-range", addresses, " && length >= range[1]", "", ...allowed],
    ["other-port", outbound, "entries.some((entry) => entry.port === undefined)", "entries.length > 0", ...allowed],
    [
      "plain-public",
      outbound,
      "if (!isSecure) return { isAllowed: isInRange, otherwise: mustBeSecure };",
      "",
      ...allowed,
    ],
    [
      "local-public",
      outbound,
      "return canBeAllowed ? { isAllowed: isInRange,",
      "return canBeAllowed ? { isAllowed: isNamed,",
      ...allowed,
    ],
    [
      "named-anywhere",
      outbound,
      "const isNamed = (ip: string) => isPublicAddress(ip) || isPrivateAddress(ip);",
      'const isNamed = (ip: string) => ip !== "";',
      ...allowed,
    ],
    [
      "socket-unchecked",
      outbound,
      "lookup: wrapLookup(url.href, reach),",
      "lookup: reach.lookup ?? resolve,",
      ...allowed,
    ],
  ],
};
