// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

const relay = ["tests/hosted/relay.test.ts"];
const outages = ["tests/hosted/outages.test.ts"];
const organization = ["tests/hosted/organization.test.ts"];

const events = ["tests/hosted/events.test.ts"];
const verify = ["tests/hosted/verify.test.ts"];
const connection = ["tests/hosted/connection.test.ts"];
const sync = ["tests/hosted/sync.test.ts"];
const answers = ["tests/hosted/answers.test.ts"];
const races = ["tests/hosted/connect-races.test.ts"];
const buyers = ["tests/hosted/buyers.test.ts"];

/** Faults of hosted mode. */
export const hostedFaults = [
  [
    "endpoint-twice",
    "server/hosted/connection/endpoint.ts",
    " ?? endpoints.find((one) => one.url === url)",
    "",
    ...connection,
  ],
  [
    "organization-unlinked",
    "server/hosted/connection/create-organization.ts",
    "if (!(await hosted.refreshLink()) && !isMade)",
    "if (!isMade)",
    "tests/hosted/connect-organization.test.ts",
  ],
  [
    "endpoint-by-two",
    "server/hosted/connection/store.ts",
    "setWhere: lte(polarLeases.leased_until, now),",
    "",
    ...races,
  ],
  [
    "lease-forever",
    "server/hosted/connection/store.ts",
    "setWhere: lte(polarLeases.leased_until, now),",
    "setWhere: lte(polarLeases.leased_until, new Date(0)),",
    ...races,
  ],
  [
    "lease-written-late",
    "server/hosted/connection/lease.ts",
    "requireHeld(await deleteLease(tx, organization_id, holder));",
    "await deleteLease(tx, organization_id, holder);",
    ...races,
  ],
  [
    "endpoint-left-off",
    "server/hosted/connection/rules.ts",
    "...(endpoint.enabled ? {} : { enabled: true }),",
    "",
    ...connection,
  ],
  [
    "secret-not-read-again",
    "server/hosted/events/routes.ts",
    "const reloaded = await secrets.reload();",
    "const reloaded = known;",
    ...connection,
  ],
  [
    "gap-not-read",
    "server/hosted/connection/jobs.ts",
    "!wasOff && !wasRepaired && !isOld",
    "!wasOff && !isOld",
    ...connection,
  ],
  [
    "sync-counted-twice",
    "server/hosted/connection/store.ts",
    "eq(polarSyncs.step, step)",
    "gte(polarSyncs.step, 0)",
    ...sync,
  ],
  ["sync-from-the-start", "server/hosted/connection/run-sync.ts", "isResumed ? stored : await", "await", ...sync],
  [
    "foreign-object",
    "server/hosted/connection/sync.ts",
    "(item.organization_id ?? polar_id) === polar_id",
    "true",
    ...sync,
  ],
  [
    "gone-unnoticed",
    "server/hosted/connection/sync.ts",
    "else await markGone(tx, organization_id, kind, id, asked_at);",
    "",
    ...sync,
  ],
  ["own-query", "server/hosted/relay/request.ts", "if (own.includes(key)) {", "if (!key) {", ...relay],
  ["dot-segment", "server/hosted/relay/request.ts", 'decoded === "." || decoded === ".."', 'decoded === "."', ...relay],
  [
    "id-in-query",
    "server/hosted/relay/request.ts",
    "return [`${name}=${link.polar_id}`];",
    "return [part];",
    ...organization,
  ],
  ["id-in-events", "server/hosted/relay/request.ts", "{ events: events.map(rename) }", "{ events }", ...organization],
  ["token-to-anyone", "server/hosted/relay/hosted.ts", 'if (access.by === "anyone") return null;', "", ...relay],
  [
    "token-of-customers",
    "server/hosted/relay/hosted.ts",
    'if (access.by !== "customer") return ownToken;',
    "return ownToken;",
    ...relay,
  ],
  [
    "served-to-all",
    "server/hosted/relay/provider.ts",
    "if (!meant.some((id) => hosted.isServed(id))) throw notFound();",
    "",
    ...organization,
  ],
  [
    "write-repeated",
    "server/hosted/relay/polar.ts",
    'call.method === "GET" && !call.signal?.aborted ?',
    "!call.signal?.aborted ?",
    ...outages,
  ],
  [
    "outcome-known",
    "server/platform/http/idempotency.ts",
    "if (hasUnknownOutcome(error)) throw error;",
    "",
    ...outages,
  ],
  [
    "outcome-abandoned",
    "server/platform/http/idempotency.ts",
    "...(outside === elsewhere ? { status: unknownStatus } : {}),",
    "",
    ...outages,
  ],
  ["never-open", "server/hosted/relay/breaker.ts", "if (isFailing()) openFor(terms.openMs);", "", ...outages],
  [
    "never-longer",
    "server/hosted/relay/breaker.ts",
    "openFor(Math.min(open.lastsMs * 2, terms.openMsMax))",
    "openFor(1)",
    ...outages,
  ],
  [
    "shape-unread",
    "server/hosted/relay/answer.ts",
    'if (config.POLAR_CHECK === "report") return',
    "if (fault) return",
    ...outages,
  ],
  [
    "token-blamed",
    "server/hosted/relay/answer.ts",
    "if (usesOwnToken && status === 401)",
    "if (status === 0)",
    ...relay,
  ],
  [
    "event-time",
    "server/hosted/events/verify.ts",
    "nowSeconds - seconds > toleranceSeconds",
    "nowSeconds < 0",
    ...verify,
  ],
  [
    "event-digits",
    "server/hosted/events/verify.ts",
    "/^\\d{1,15}$/.test(timestamp)",
    "Number.isFinite(Number.parseInt(timestamp, 10))",
    ...verify,
  ],
  ["event-version", "server/hosted/events/verify.ts", 'version === "v1" && text', "text", ...verify],
  ["event-decoded", "server/hosted/events/verify.ts", "...(isBase64 ? [decoded] : [])", "", ...verify],
  [
    "event-older",
    "server/hosted/mirror/store.ts",
    "(excluded.modified_at, excluded.event_at, excluded.source) > (${stored}, ${told}, ${by})",
    "true",
    ...events,
  ],
  [
    "event-embedded",
    "server/hosted/mirror/rules.ts",
    "const untold = new Date(0);",
    "const untold = new Date(8e15);",
    ...events,
  ],
  [
    "event-elsewhere",
    "server/hosted/events/jobs.ts",
    "(owner !== undefined && owner !== polar_id)",
    "false",
    ...events,
  ],
  [
    "default-everywhere",
    "server/hosted/relay/defaults.ts",
    "of === undefined || of.includes(operation) || of.includes(resource)",
    "of?.length !== 0 || operation === resource",
    ...answers,
  ],
  ["default-elsewhere", "server/hosted/relay/defaults.ts", "of.includes(operation) || ", "", ...answers],
  [
    "default-of-members",
    "server/hosted/relay/complete.ts",
    "return made.length > 0 ? { ...value, ...Object.fromEntries(made) } : value;",
    "return made.length > 99 ? {} : value;",
    ...answers,
  ],
  [
    "default-for-null",
    "server/hosted/relay/complete.ts",
    "isNullable(field, root) ? null : makeDefault(filled, inner, at.outer)",
    "isNullable(field, root) ? undefined : makeDefault(filled, inner, at.outer)",
    ...answers,
  ],
  [
    "names-before-polar",
    "server/hosted/organizations.ts",
    "if (names !== undefined && isBody(changed) && changed.id === polar_id)",
    "if (names !== undefined)",
    ...organization,
  ],
  [
    "buyer-terms",
    "server/hosted/buyers.ts",
    "if (!requester?.seller_ids.includes(organization_id))",
    "if (organization_id === null)",
    ...buyers,
  ],
];
