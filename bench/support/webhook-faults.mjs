const allowed = ["tests/rules/webhook-receivers.test.ts", "tests/api/webhook-endpoints.test.ts"];
const addresses = "server/platform/external/network-addresses.ts";
const outbound = "server/platform/external/outbound.ts";
const pausing = ["tests/api/webhook-pauses.test.ts"];
const rotating = ["tests/api/webhook-rotation.test.ts"];
const secrets = "server/messaging/webhooks/secrets.ts";
const rules = "server/messaging/webhooks/rules.ts";
const jobs = "server/messaging/webhooks/jobs.ts";
const service = "server/messaging/webhooks/service.ts";

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
  pauses: [
    ["endless-pause", rules, "Math.min(Math.max(ms, 0), retryAfterMsMax)", "Math.max(ms, 0)", ...pausing],
    ["earlier", rules, "least_ms: Math.max(least_ms, retryAfterMs)", "least_ms: retryAfterMs || least_ms", ...pausing],
    ["any-status", rules, "if (http_code !== 429 && http_code !== 503) return 0;", "", ...pausing],
    ["not-paused", rules, '(event.endpoint.paused_until ?? now) > now ? "pause" : "send"', '"send"', ...pausing],
    ["overtaken", jobs, "row.attempted_at ?? (isDeferred ? null : now)", "row.attempted_at ?? now", ...pausing],
    ["new-overtakes", rules, "Math.max(queued_since.getTime(), pauseEndMs)", "queued_since.getTime()", ...pausing],
    [
      "sellers-clock",
      jobs,
      "const serverNow = getServerClock(deps.clock).now();",
      "const serverNow = now;",
      ...pausing,
    ],
    [
      "pause-kept",
      service,
      "if (body.url !== undefined || body.enabled === true) patch.paused_until = null;",
      "",
      ...pausing,
    ],
    ["after-last", jobs, "goesOn && !paused_until && endpoint.enabled", "goesOn && endpoint.enabled", ...pausing],
  ],
  rotation: [
    ["never-ends", secrets, "new Date(expires_at) > now", 'expires_at !== ""', ...rotating],
    ["leaked-kept", secrets, "if (overlapMs === 0) return [];", "", ...rotating],
    ["without-limit", secrets, "valid.length >= previousSecretsMax", "valid.length > 1000", ...rotating],
    [
      "one-signature",
      rules,
      'secrets.map((secret) => sign(secret, id, timestamp, body)).join(" ")',
      "sign(secrets[0], id, timestamp, body)",
      ...rotating,
    ],
    ["not-resealed", secrets, "({ ...one, secret: reseal(one.secret) })", "one", ...rotating],
    ["own-keeps-others", service, "if (body.secret !== undefined) patch.previous_secrets = [];", "", ...rotating],
  ],
};
