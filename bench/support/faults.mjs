// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** The faults that `mutants.mjs` plants, by area: name, file, text, what stands in its place, and the tests that must see it. */

const money = ["tests/rules/money.test.ts"];
const settlement = [
  "tests/rules/orders.test.ts",
  "tests/rules/checkouts.test.ts",
  "tests/api/payments.test.ts",
  "tests/scenarios/sale-stripe.test.ts",
  "tests/scenarios/sale-steps.test.ts",
  "tests/scenarios/sale-interleavings.test.ts",
];
const keys = ["tests/api/api-keys.test.ts", "tests/api/api-keys-personal.test.ts", "tests/api/api-keys-limits.test.ts"];
const sessions = ["tests/api/auth.test.ts", "tests/api/sessions.test.ts", "tests/api/security.test.ts"];
const secrets = ["tests/api/secrets.test.ts", "tests/api/auth-requests.test.ts"];
const every = ["tests/api/every-operation.test.ts", "tests/api/tenants.test.ts"];
const sending = ["tests/rules/webhooks.test.ts", "tests/api/webhooks.test.ts"];
const catalog = ["tests/api/catalog-properties.test.ts", "tests/api/catalog.test.ts", "tests/cli/catalog.test.ts"];

// biome-ignore format: a table, one fault in a line
export const faults = {
  money: [
    ["half", "shared/money.ts", "(2n * top + bottom)", "(2n * top)", ...money],
    ["sign", "shared/money.ts", "return negative ? -rounded : rounded", "return rounded", ...money],
    ["rest", "shared/money.ts", "share.units += 1n;", "share.units += 0n;", ...money],
    ["largest-rest", "shared/money.ts", "a.rest > b.rest ? -1 : 1", "a.rest > b.rest ? 1 : -1", ...money],
    ["later-first", "shared/money.ts", "b.index - a.index", "a.index - b.index", ...money],
    ["all-zero", "shared/money.ts", "const parts = even ? given.map(() => 1n) : given;", "const parts = given;", ...money],
    ["digits-case", "shared/money.ts", "zeroDecimal.has(currency.toLowerCase())", "zeroDecimal.has(currency)", ...money],
    ["least-case", "shared/money.ts", "minimums[currency.toLowerCase()]", "minimums[currency]", ...money],
    ["decimals", "shared/money.ts", "if (decimals.length > digits) return undefined;", "", ...money],
    ["padding", "shared/money.ts", 'decimals.padEnd(digits, "0")', "decimals", ...money],
    ["safe", "shared/money.ts", "Number.isSafeInteger(amount) ? amount : undefined", "amount", ...money],
    ["minus", "shared/money.ts", 'const sign = amount < 0 ? "-" : "";', 'const sign = "";', ...money],
  ],
  settlement: [
    ["amount", "server/payments/rules.ts", "intent.amount === row.amount &&", "", ...settlement],
    ["payment", "server/payments/rules.ts", "intent.payment_id === row.id &&", "", ...settlement],
    ["currency", "server/payments/rules.ts", "intent.currency.toLowerCase() === row.currency.toLowerCase()", "true", ...settlement],
    ["terms", "server/payments/rules.ts", "&& row.terms === order.terms", "", ...settlement],
    ["payable", "server/payments/rules.ts", "isPayable(order.status) &&", "", ...settlement],
    ["surplus", "server/payments/rules.ts", 'intent.status === "succeeded" && !isWanted(row, order)', "false", ...settlement],
    ["late-success", "server/payments/rules.ts", 'failed: ["succeeded"]', "failed: []", ...settlement],
    ["twice", "server/payments/rules.ts", "succeeded: [],", 'succeeded: ["succeeded", "failed"],', ...settlement],
    ["challenge", "server/payments/settlement.ts", "> challenge_ms_max", "> Infinity", ...settlement],
    ["lost-answer", "server/payments/settlement.ts", "if (!found) return failedIntent(payment, never_reached);", "if (!found) throw new Error();", ...settlement],
    ["keep-id", "server/payments/store.ts", "coalesce(${payments.processor_id}, ${processor_id})", "${processor_id}", ...settlement],
    ["sum-of-lines", "server/orders/rules.ts", "if (sum !== subtotal_amount)", "if (false)", ...settlement],
    ["total", "server/orders/rules.ts", "const total_amount = net_amount + row.tax_amount;", "const total_amount = net_amount;", ...settlement],
  ],
  auth: [
    ["key-enabled", "server/auth/api-keys-identify.ts", "eq(apikey.enabled, true),", "", ...keys],
    ["key-expired", "server/auth/api-keys-identify.ts", "or(isNull(apikey.expiresAt), gt(apikey.expiresAt, now)),", "", ...keys],
    ["key-previous", "server/auth/api-keys-identify.ts", ", gt(apikey.previousKeyExpiresAt, now)", "", ...keys],
    ["key-banned", "server/auth/api-keys-identify.ts", ", or(ne(user.banned, true), isNull(user.banned), lte(user.banExpires, now))", "", ...keys, "tests/api/platform.test.ts"],
    ["key-uses", "server/auth/api-keys-identify.ts", "or(isNull(apikey.remaining), gt(apikey.remaining, 0), isRefilled),", "", ...keys],
    ["key-personal-scopes", "server/auth/api-keys-identify.ts", "memberships: limited }", "memberships: membershipsIn(row.memberships) }", ...keys],
    ["session-expired", "server/auth/identify.ts", "gt(session.expiresAt, deps.clock.now()),", "", ...sessions],
    ["cookie-origin", "server/auth/identify.ts", "!origins.includes(origin)", "false", ...sessions, ...secrets],
    ["limited-permissions", "server/auth/memberships.ts", "permissions: {},", "", "tests/api/device-sessions.test.ts", "tests/api/device-hardened.test.ts"],
    ["own-role", "server/auth/memberships.ts", "${organizationRole.organizationId} = ${member.organizationId}", "true", "tests/api/roles.test.ts", "tests/api/members.test.ts"],
    ["header-of-others", "server/http/actor.ts", "if (!found) throw notFound();", "if (!found) return speakFor(inHeader, everywhere());", ...every, "tests/api/frame.test.ts"],
    ["scope", "server/http/actor.ts", "!isFree && !scopes.some(isHeld)", "false", ...every],
    ["password", "server/auth/passwords.ts", "if (!crypto.timingSafeEqual(key, kept.key)) return false;", "", "tests/api/passwords.test.ts", "tests/api/auth.test.ts"],
  ],
  signatures: [
    ["webhook-time", "server/webhooks/rules.ts", "`${id}.${timestamp}.${body}`", "`${id}.${body}`", ...sending],
    ["webhook-id", "server/webhooks/rules.ts", "`${id}.${timestamp}.${body}`", "`${timestamp}.${body}`", ...sending],
    ["webhook-secret", "server/webhooks/rules.ts", 'Buffer.from(secret, "utf8")', 'Buffer.from("", "utf8")', ...sending],
    ["cookie", "server/lib/secrets.ts", "sameText(signatureOf(secret, text, encoding), signature)", "signature.length > 0", ...secrets],
    ["same-text", "server/lib/secrets.ts", "&& timingSafeEqual(left, right)", "", ...secrets],
    ["seal-key", "server/lib/secrets.ts", 'hkdfSync("sha256", secret,', 'hkdfSync("sha256", "",', ...secrets],
    ["older-secret", "server/lib/secrets.ts", "if (older.length === 0) throw error;", "throw error;", ...secrets],
    ["token-secret", "server/lib/secrets.ts", 'createHmac("sha256", secret).update(token)', 'createHmac("sha256", "").update(token)', ...secrets, "tests/api/customers.test.ts"],
  ],
  isolation: [
    ["key", "server/lib/rows.ts", "and(eq(table.organization_id, organization_id), eq(table.id, id))", "eq(table.id, id)", ...every],
    ["payments", "server/payments/store.ts", "    eq(payments.organization_id, organization_id),\n    among", "    among", ...every],
    ["path", "server/http/actor.ts", "found ? as(found) : speakFor(nowhere, everywhere())", "as(found ?? memberships[0])", ...every, "tests/api/organizations.test.ts"],
    ["body", "server/http/actor.ts", "inBody !== undefined && inBody !== identity.organization_id", "false", ...every, "tests/api/frame.test.ts"],
    ["endpoints", "server/webhooks/store.ts", "const mine = and(eq(webhookEndpoints.organization_id, organization_id), isNull(webhookEndpoints.deleted_at));", "const mine = isNull(webhookEndpoints.deleted_at);", ...every],
    ["entries", "server/catalog/store.ts", "and(eq(catalogEntries.organization_id, organization_id), eq(catalogEntries.catalog, catalog))", "eq(catalogEntries.catalog, catalog)", ...catalog, ...every],
  ],
  webhooks: [
    ["number", "server/lib/outbound.ts", "if (refusal !== undefined) return { http_code: null, text: refusal };", "", ...sending],
    ["private-name", "server/lib/outbound.ts", "!addresses.every(({ address }) => isPublicAddress(address))", "false", ...sending],
    ["no-address", "server/lib/outbound.ts", "addresses.length === 0 || ", "", ...sending],
    ["retries", "server/webhooks/rules.ts", "attempts < attempts_max", "attempts <= attempts_max", ...sending],
    ["pause", "server/webhooks/rules.ts", "retry_base_ms * 2 ** n", "retry_base_ms * n", ...sending],
    ["redirect", "server/webhooks/rules.ts", "http_code < 300", "http_code < 400", ...sending],
    ["switched-off", "server/webhooks/rules.ts", 'if (!event.endpoint.enabled) return "skip";', "", ...sending],
    ["too-early", "server/webhooks/rules.ts", 'event.next_attempt_at > now ? "nothing" : "send"', '"send"', ...sending],
    ["dead", "server/webhooks/rules.ts", "latest.length >= disable_after_failures &&", "", ...sending],
    ["redelivery", "server/webhooks/rules.ts", "succeeded: event.succeeded === true, retry: null", "succeeded: false, retry: null", ...sending],
    ["since-on", "server/webhooks/service.ts", "if (body.enabled === true && !row.enabled) patch.since_seq = await store.findLatestSeq(tx);", "", ...sending],
    ["unknown-type", "server/webhooks/rules.ts", "types.filter((type): type is EventType => knows(profile, type))", "types as EventType[]", ...sending, "tests/api/webhook-endpoints.test.ts"],
  ],
  plan: [
    ["rename-taken", "shared/catalog/plan.ts", "heir !== undefined && !isTaken ? heir : key", "heir !== undefined ? heir : key", ...catalog],
    ["looks-like", "shared/catalog/plan.ts", "!known.has(row.id) &&", "", ...catalog],
    ["immutable", "shared/catalog/plan.ts", "immutable[kind]?.includes(field) ||", "", ...catalog],
    ["term", "shared/catalog/plan.ts", '(kind === "discounts" && isTerm(field, have))', "false", ...catalog],
    ["order", "shared/catalog/plan.ts", "[...deleted, ...plan.steps, ...archived]", "[...plan.steps, ...deleted, ...archived]", ...catalog],
    ["prune", "shared/catalog/plan.ts", "if (prune) removals();", "removals();", ...catalog],
    ["no-update", "shared/catalog/plan.ts", "else if (fixed.length === 0) plan.steps.push", "else if (fixed.length < 0) plan.steps.push", ...catalog],
    ["unknown-file", "shared/catalog/plan.ts", "if (only && others.length === 0) return [];", "return [];", ...catalog],
    ["kept-properties", "shared/catalog/plan.ts", "properties: { ...kept, ...sent }", "properties: sent", ...catalog],
    ["fewer-prices", "shared/catalog/compare.ts", "if (left.length !== wants.length) return false;", "", ...catalog],
    ["least-of-custom", "shared/catalog/compare.ts", "minimum: had.minimum } }", "} }", ...catalog],
  ],
  apply: [
    ["write-scope", "server/catalog/service.ts", 'demand(ctx, kindsOf(plan), "write");', "", ...catalog],
    ["stale", "server/catalog/service.ts", "body.fingerprint && body.fingerprint !== fingerprint", "false", ...catalog],
    ["issues", "server/catalog/service.ts", "if (plan.issues.length > 0)", "if (false)", ...catalog],
    ["hidden-kinds", "server/catalog/service.ts", "plan.missing.filter(({ kind }) => ctx.actor.scopes.has(`${kind}:read`))", "plan.missing", ...catalog],
    ["forget-entry", "server/catalog/changes.ts", "await remove?.(tx, ctx, step.id);\n    await store.deleteEntry(tx, place);", "await remove?.(tx, ctx, step.id);", ...catalog],
    ["remember-entry", "server/catalog/changes.ts", "await store.putEntry(tx, { ...place, subject_id: made.id, created_at: ctx.clock.now() });", "", ...catalog],
    ["new-ids", "server/catalog/changes.ts", "ids.set(`${kind} ${key}`, made.id);", "", ...catalog],
    ["put-away", "server/catalog/changes.ts", "handlers[kind].update(tx, ctx, id, { is_archived: true } as never)", "Promise.resolve()", ...catalog],
    ["lock", "server/catalog/store.ts", "await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`catalog ${organization_id}`}, 0))`);", "", "tests/api/catalog-races.test.ts"],
    ["import-there", "server/catalog/service.ts", "if (!(await store.isThere(tx, organization_id, kind, id)))", "if (false)", ...catalog],
  ],
};
