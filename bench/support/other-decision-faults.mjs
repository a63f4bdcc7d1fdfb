// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults in the pure decisions beside money: what is given and taken back, who may, and until when. One area for each folder. */

const grants = ["tests/rules/grants.test.ts"];
const seats = ["tests/rules/seats.test.ts"];
const keys = ["tests/rules/license-keys.test.ts"];
const meters = ["tests/rules/meters.test.ts"];
const runs = ["tests/rules/webhooks.test.ts"];
const clocks = ["tests/rules/sandbox.test.ts"];
const tokens = ["tests/rules/tokens.test.ts"];
const members = ["tests/rules/members.test.ts"];
const endpoint = ["tests/cli/payments-connect.test.ts"];
const marks = ["tests/api/test-marks.test.ts"];
const device = ["tests/rules/device-flow.test.ts"];
const examples = ["tests/cli/complete.long.test.ts"];
const jobs = ["tests/cli/jobs.test.ts"];
const schemas = ["tests/cli/schema.test.ts"];
const people = ["tests/cli/people.test.ts"];
const folders = ["tests/cli/folder-profile.test.ts"];

// biome-ignore format: a table, one fault in a line
export const otherDecisionFaults = {
  "grant-decisions": [
    ["grace-end", "server/entitlements/grants/rules.ts", "now < grace_end", "now <= grace_end", ...grants],
    ["withheld", "server/entitlements/grants/rules.ts", "if (is_withheld) return false;", "", ...grants],
    ["deleted-holder", "server/entitlements/grants/rules.ts", "holder.customer.deleted_at !== null", "false", ...grants],
    ["revoked-twice", "server/entitlements/grants/rules.ts", "!isWanted(key) && one.row.revoked_at === null", "!isWanted(key)", ...grants],
    ["waits-updated", "server/entitlements/grants/rules.ts", "isWanted(key) && one.row.granted_at !== null", "isWanted(key)", ...grants],
    ["one-for-all-members", "server/entitlements/grants/rules.ts", '${member_id ?? ""}', "", ...grants],
  ],
  "folder-profile": [
    ["server-named", "cli/folder-profile.ts", "other !== undefined", "false", ...folders],
    ["any-parent", "cli/folder-profile.ts", "return [from];", "return folders;", ...folders],
    ["key-follows", "cli/settings.ts", "if (env.FLOE_API_KEY || globals.apiKeyFile !== undefined) return undefined;", "", ...folders],
    ["through-link", "cli/commands/profiles.ts", "  rmSync(pinPath, { force: true });\n", "", ...folders],
    ["unknown-profile", "cli/settings.ts", "!readProfileNames(env).includes(pinned.profile)", "false", ...folders],
  ],
  "command-examples": [
    ["no-example", "cli/examples.ts", "if (isChange || needsMore) return undefined;", "if (op.method) return undefined;", ...examples],
    ["wrong-example", "cli/examples.ts", 'param === "id" || param === "name"', 'param === "name"', ...examples],
    ["operation-lost", "cli/command-map.ts", 'get: "logs get"', 'get: "logs list"', ...examples],
    ["download-untold", "cli/resource/download.ts", "    context.debug(`${method} ${server}${path} → ${status} in ${Date.now() - started} ms`);\n", "", ...examples],
    ["every-flag-asked", "cli/commands/jobs.ts", "const query = { status, kind, ", "const query = { status, kind, pager: true, ", ...jobs],
  ],
  "command-schemas": [
    ["no-schema", "shared/command-answers/operator.ts", '  "jobs list": z.array(Job),\n', "", ...schemas],
    ["takes-anything", "shared/command-answers/people.ts", "whoami: Identity,", "whoami: z.unknown(),", ...schemas],
    ["field-renamed", "cli/commands/sessions.ts", "current: token === own", "is_current: token === own", ...people],
    ["field-lost", "cli/commands/roles.ts", "built_in: true, permissions", "permissions", ...people],
  ],
  "seat-decisions": [
    ["below-nothing", "server/entitlements/seats/rules.ts", "Math.max(0, (seats ?? 0) - taken)", "(seats ?? 0) - taken", ...seats],
    ["one-more", "server/entitlements/seats/rules.ts", "countSeatsLeft(container, taken) === 0", "countSeatsLeft(container, taken - 1) === 0", ...seats],
    ["two-people", "server/entitlements/seats/rules.ts", "countNamed(email, customer_id, external_customer_id, member_id, external_member_id) !== 1", "countNamed(email, customer_id, external_customer_id, member_id, external_member_id) < 1", ...seats],
    ["token-left", "server/entitlements/seats/rules.ts", "  token_hash: null,\n", "", ...seats],
  ],
  "key-decisions": [
    ["at-its-end", "server/entitlements/license-keys/rules.ts", "expires_at <= now", "expires_at < now", ...keys],
    ["one-more", "server/entitlements/license-keys/rules.ts", "active >= limit", "active > limit", ...keys],
    ["disabled-rotated", "server/entitlements/license-keys/rules.ts", 'if (status === "revoked") throw', 'if (status !== "granted") throw', ...keys],
    ["uses", "server/entitlements/license-keys/rules.ts", "asked.increment_usage > left", "asked.increment_usage >= left", ...keys],
    ["subscribed", "server/entitlements/license-keys/rules.ts", "expires && !isSubscribed", "expires", ...keys],
  ],
  "credit-decisions": [
    ["rollover-first", "server/usage/meters/credit-grants.ts", "Number(a.rollover) - Number(b.rollover)", "Number(b.rollover) - Number(a.rollover)", ...meters],
    ["priority", "server/usage/meters/credit-grants.ts", "a.priority - b.priority", "b.priority - a.priority", ...meters],
    ["newer-first", "server/usage/meters/credit-grants.ts", "a.created_at.getTime() - b.created_at.getTime() ||\n", "b.created_at.getTime() - a.created_at.getTime() ||\n", ...meters],
    ["older-taken", "server/usage/meters/credit-grants.ts", "b.created_at.getTime() - a.created_at.getTime()", "a.created_at.getTime() - b.created_at.getTime()", ...meters],
    ["any-kind", "server/usage/meters/credit-grants.ts", "lot.source_kind === kind && ", "", ...meters],
    ["expired-spent", "server/usage/meters/credit-grants.ts", "lot.expired_at ? 0 : worth - spent", "worth - spent", ...meters],
  ],
  "run-decisions": [
    ["least-code", "server/messaging/webhooks/rules.ts", "http_code >= 200", "http_code > 200", ...runs],
  ],
  "clock-decisions": [
    ["standing", "server/operations/sandbox/rules.ts", "if (target < now)", "if (target <= now)", ...clocks],
    ["all-dates", "server/operations/sandbox/rules.ts", "!(target <= addInterval(now, \"year\", yearsMax))", "target > addInterval(now, \"year\", yearsMax)", ...clocks],
    ["as-far-again", "server/operations/sandbox/rules.ts", "to === undefined && underWay !== null", "to === undefined && by === undefined && underWay !== null", ...clocks],
  ],
  "token-decisions": [
    ["portal-link-end", "server/customers/sessions/portal-link.ts", "until <= now.getTime()", "until < now.getTime()", ...tokens],
    ["viewer-end", "server/platform/crypto/viewers.ts", "until > now.getTime()", "until >= now.getTime()", ...tokens],
    ["put-away", "server/entitlements/downloads/rules.ts", "archived[id] !== true", "archived[id] !== false", ...tokens],
    ["moved-twice", "server/platform/clock.ts", "new Date(server.now().getTime() + offset_ms)", "new Date(clock.now().getTime() + offset_ms)", ...tokens],
  ],
  "member-decisions": [
    ["second-owner", "server/customers/members/rules.ts", 'wanted.role === "owner" && others.some(', "false && others.some(", ...members],
    ["steps-back", "server/customers/members/rules.ts", 'row.role === "owner" && patch.role !== undefined && patch.role !== "owner"', "false", ...members],
    ["themselves", "server/customers/members/rules.ts", "others.filter(({ id }) => id !== wanted.id)", "others", ...members],
  ],
  "device-decisions": [
    ["client-of-objects", "server/identity/accounts/device/protocol.ts", "Object.hasOwn(clients, id);", "id in clients;", ...device],
    ["past", "server/identity/accounts/device/protocol.ts", "Math.max(to.getTime() - from.getTime(), 0)", "to.getTime() - from.getTime()", ...device],
    ["held-by-nature", "server/identity/accounts/identity/permissions-guard.ts", "Object.hasOwn(held, resource) && held[resource]?.includes(action)", "(held[resource]?.length ?? 0) > 0", ...device],
  ],
  "stripe-endpoint": [
    ["any-address", "server/platform/processors/stripe-endpoint.ts", "one.url === url", "one.url.endsWith(stripeWebhookPath)", ...endpoint],
    ["deletes-all", "server/platform/processors/stripe-endpoint.ts", "for (const { id } of found) await", "for (const { id } of data) await", ...endpoint],
    ["stays-off", "server/platform/processors/stripe-endpoint.ts", "if (missing.length === 0 && isOn(endpoint))", "if (missing.length === 0)", ...endpoint],
    ["drops-others", "server/platform/processors/stripe-endpoint.ts", "[...sent, ...missing]", "[...stripeEventTypes]", ...endpoint],
    ["off-first", "server/platform/processors/stripe-endpoint.ts", "Number(isOn(b)) - Number(isOn(a))", "Number(isOn(a)) - Number(isOn(b))", ...endpoint],
    ["plain-http", "server/app/operator-stripe.ts", 'if (url.protocol !== "https:")', "if (false)", ...endpoint],
    ["unasked", "cli/commands/payments-connect.ts", "if (replace)\n", "if (false)\n", ...endpoint],
  ],
  "test-marks": [
    ["free-is-test", "server/platform/processors/processor.ts", "processor.test === undefined ? isTestAccount(processor.account) : config.test_cards", "processor.test !== undefined || isTestAccount(processor.account)", ...marks],
    ["sandbox-alone", "server/platform/mail-transport/mail.ts", "const isTest = acceptsTestPayments(deps);", "const isTest = deps.sandbox;", ...marks],
    ["live-stripe", "server/platform/processors/processor.ts", 'account.startsWith("stripe_test")', 'account.startsWith("stripe_")', ...marks],
    ["mark-of-now", "server/billing/invoices/rules.ts", "payment ? isTestAccount(payment.account) : sources.sells_test", "sources.sells_test", ...marks],
    ["words-left-out", "server/messaging/email/rules.ts", "        test: messages.test,\n", "", ...marks],
  ],
};
