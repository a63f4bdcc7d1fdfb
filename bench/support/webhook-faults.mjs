// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

const allowed = ["tests/rules/webhook-receivers.test.ts", "tests/api/webhook-endpoints.test.ts"];
const addresses = "server/platform/external/network-addresses.ts";
const outbound = "server/platform/external/outbound.ts";
const pausing = ["tests/api/webhook-pauses.test.ts"];
const rotating = ["tests/api/webhook-rotation.test.ts"];
const secrets = "server/messaging/webhooks/secrets.ts";
const rules = "server/messaging/webhooks/rules.ts";
const delivery = "server/messaging/webhooks/delivery.ts";
const jobs = "server/messaging/webhooks/jobs.ts";
const queue = "server/messaging/webhooks/queue.ts";
const store = "server/messaging/webhooks/store.ts";
const upkeep = "server/messaging/webhooks/upkeep.ts";
const resting = ["tests/api/webhook-rests.test.ts"];
const replaying = ["tests/api/webhook-replays.test.ts"];
const replays = "server/messaging/webhooks/replays.ts";
const replayed = "server/messaging/webhooks/replays-store.ts";
const ordering = ["tests/api/webhooks-order.test.ts"];
const offing = ["tests/api/webhooks.test.ts"];
const heading = ["tests/api/webhook-headers.test.ts"];
const headers = "server/messaging/webhooks/own-headers.ts";
const probe = "server/messaging/webhooks/probe.ts";
const declared = "shared/api/webhooks.ts";
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
    ["given-up-early", rules, "attempts < attemptsLeast || isInTime", "attempts < attemptsLeast", ...offing],
    ["never-given-up", rules, "attempts < attemptsLeast || isInTime", "attempts > 0", ...offing],
    ["any-status", rules, "if (http_code !== 429 && http_code !== 503) return 0;", "", ...pausing],
    [
      "not-paused",
      rules,
      'paused_until && paused_until > now ? { is: "postpone", due_at: paused_until } : { is: "take" }',
      '{ is: "take" }',
      ...pausing,
      "tests/rules/webhooks.test.ts",
    ],
    ["overtaken", delivery, "(mine && !isDeferred ? now : null)", "(mine ? now : null)", ...pausing],
    [
      "new-ends-pause",
      queue,
      "const { id, due_at, paused_until, lease, enabled, deleted_at } = webhookEndpoints;",
      "const { id, due_at, created_at: paused_until, lease, enabled, deleted_at } = webhookEndpoints;",
      ...pausing,
    ],
    [
      "sellers-clock",
      delivery,
      "computeRetryAfter(reply, getServerClock(deps.clock).now())",
      "computeRetryAfter(reply, now)",
      ...pausing,
    ],
    [
      "pause-kept",
      service,
      "Object.assign(patch, { paused_until: null, failures: 0, failing_since: null });",
      "Object.assign(patch, {});",
      ...pausing,
    ],
    ["after-last", delivery, "if (goesOn && !isPaused && canGoOn", "if (goesOn && canGoOn", ...pausing],
  ],
  queues: [
    ["object-overtaken", queue, 'row.seq > (held.get(row.object_id ?? "") ?? row.seq)', "row.seq < 0", ...ordering],
    [
      "run-overtaken",
      delivery,
      "if (event.object_id !== null && failed.has(event.object_id)) continue;",
      "",
      ...ordering,
    ],
    ["never-released", delivery, "await queue.releaseObjects(tx, endpoint, over);", "", ...ordering],
    ["archive-holds", upkeep, "await releaseObjects(", "if (!id) await releaseObjects(", ...ordering],
    ["redelivery-holds", queue, "} is null)`,", "} is null or true)`,", ...ordering],
    ["lease-ignored", delivery, "const holds = endpoint.lease === run.lease;", "const holds = true;", ...ordering],
    ["not-restarted", upkeep, "isNull(due_at),", "eq(enabled, false),", ...ordering],
    ["wake-overlooked", queue, "locked.lease is null", "${lease} is null", "tests/api/webhooks-workers.test.ts"],
    ["wake-unlocked", queue, " order by ${id} for no key update)", ")", "tests/api/webhooks-workers.test.ts"],
    [
      "sender-waits",
      store,
      "where(isKeptFor(organization_id)).orderBy(asc(webhookEndpoints.id));",
      'where(isKeptFor(organization_id)).orderBy(asc(webhookEndpoints.id)).for("no key update");',
      "tests/api/webhooks-workers.test.ts",
    ],
    ["not-woken", jobs, "await wakeEndpoints(tx, organization_id, told, now);", "", ...ordering],
    [
      "off-dropped",
      store,
      "or(eq(webhookEndpoints.enabled, true), isNotNull(webhookEndpoints.off_since))",
      "eq(webhookEndpoints.enabled, true)",
      ...offing,
    ],
    ["kept-for-ever", jobs, "if ((await skipSome(tx, key, now, skippedTogether)) > 0) return true;", "", ...offing],
    ["dropped-early", jobs, "    delayMs: backlogKeptMs,\n", "", ...offing],
  ],
  rests: [
    [
      "never-rests",
      rules,
      "if (failures < restAfterFailures) return undefined;",
      "if (failures > 0) return undefined;",
      ...resting,
    ],
    ["run-goes-on", delivery, "if (failed_in_a_row >= restAfterFailures) break;", "", ...resting],
    ["not-hastened", delivery, "if (hasRecovered) await queue.scheduleRepeated(tx, endpoint, now);", "", ...resting],
    ["success-forgotten", rules, "(last === -1 ? before.failures : 0)", "before.failures", ...resting],
    ["never-down", delivery, "if (!isDown(endpoint, deps.clock.now()) && !isExhausted", "if (!isExhausted", ...resting],
    ["asked-rests", service, "patch: { paused_until: null, failures: 0 }", "patch: { paused_until: null }", ...resting],
    [
      "lease-kept",
      queue,
      ".set({ lease: null, process_id: null, due_at: webhookEndpoints.created_at })",
      ".set({ process_id: null })",
      ...resting,
    ],
    [
      "all-released",
      queue,
      "and(inArray(process_id, [...process_ids]), isNotNull(lease))",
      "isNotNull(lease)",
      ...resting,
    ],
  ],
  replays: [
    ["types-ignored", replayed, "types === null ? undefined : inArray(webhookEvents.type, types),", "", ...replaying],
    [
      "delivered-too",
      replayed,
      "failed_only ? sql`${webhookEvents.succeeded} is not true` : undefined,",
      "",
      ...replaying,
    ],
    ["of-all-times", replayed, "gte(webhookEvents.created_at, since),", "", ...replaying],
    ["order-lost", replayed, "requeued_at: null }", "requeued_at: now }", ...replaying],
    ["off-fed", replays, "if (!endpoint.enabled || isPaused) {", "if (isPaused) {", ...replaying],
    ["several-at-once", replays, "if (open)\n", "if (open && !open)\n", ...replaying],
    [
      "stop-forgotten",
      replays,
      "stopped_at: now, finished_at: now, due_at: null, modified_at: now }),",
      "stopped_at: now, finished_at: now, modified_at: now }),",
      ...replaying,
    ],
    ["all-in-one-slice", replays, "const sliceMax = 200;", "const sliceMax = 100_000;", ...replaying],
    ["slices-overlap", replays, "if (await store.isSliceWaiting(tx, replay)) {", "if (!replay) {", ...replaying],
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
  headers: [
    [
      "sent-elsewhere",
      headers,
      "if (new URL(change.url).origin === origin) return undefined;",
      "return undefined;",
      ...heading,
    ],
    [
      "stored-open",
      headers,
      'seal(secret, "webhook-headers", endpoint_id, JSON.stringify(headers))',
      "JSON.stringify(headers)",
      ...heading,
    ],
    ["said-back", delivery, "text: redactHeaders(reply.text, own)", "text: reply.text", ...heading],
    [
      "said-back-to-probe",
      probe,
      "const text = redactHeaders(reply.text, own);",
      "const { text } = reply;",
      ...heading,
    ],
    ["lost-is-none", headers, "text === null ? undefined :", "text === null ? {} :", ...heading],
    [
      "signature-forged",
      declared,
      "else if (reservedHeader.test(lower))",
      "else if (reservedHeader.test(name))",
      ...heading,
    ],
    ["own-over-ours", declared, "(?:content|proxy|webhook)-.*", "(?:content|proxy)-.*", ...heading],
    ["line-end", declared, "else if (!headerValue.test(value))", "else if (value.length > 1024)", ...heading],
    ["without-limit", declared, "const headersMax = 10;", "const headersMax = 11;", ...heading],
    [
      "merged",
      service,
      "sealHeaders(ctx.config.secret, row.id, headers);",
      "sealHeaders(ctx.config.secret, row.id, { ...openHeaders(ctx, row), ...headers });",
      ...heading,
    ],
    ["not-resealed", secrets, 'row.headers && reseal(row.headers, "webhook-headers")', "row.headers", ...heading],
    ["request-of-none", rules, '...(origin?.request_id && { "x-request-id": origin.request_id }),', "", ...heading],
    [
      "request-of-others",
      queue,
      "and ${events.id} = ${webhookEvents.event_id}",
      "and ${events.request_id} is null limit 1",
      ...heading,
    ],
    [
      "sent-to-nobody",
      "server/messaging/webhooks/service.ts",
      "      rejectSwitchedOff(found.endpoint);\n",
      "",
      "tests/api/webhooks.test.ts",
    ],
    [
      "replayed-to-nobody",
      "server/messaging/webhooks/replays.ts",
      "      rejectSwitchedOff(locked);\n",
      "",
      "tests/api/webhook-replays.test.ts",
    ],
    ["trace-dropped", rules, "...(origin?.traceparent && { traceparent: origin.traceparent }),", "", ...heading],
    [
      "trace-made-up",
      "server/platform/telemetry/spans.ts",
      "trace?.isTraced ? trace.traceparent : undefined",
      "trace?.traceparent",
      ...heading,
    ],
  ],
};
