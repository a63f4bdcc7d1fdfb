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
const device = ["tests/rules/device-flow.test.ts"];

// biome-ignore format: a table, one fault in a line
export const otherDecisionFaults = {
  "grant-decisions": [
    ["grace-end", "server/grants/rules.ts", "now < grace_end", "now <= grace_end", ...grants],
    ["withheld", "server/grants/rules.ts", "if (is_withheld) return false;", "", ...grants],
    ["deleted-holder", "server/grants/rules.ts", "holder.customer.deleted_at !== null", "false", ...grants],
    ["revoked-twice", "server/grants/rules.ts", "!isWanted(key) && one.row.revoked_at === null", "!isWanted(key)", ...grants],
    ["waits-updated", "server/grants/rules.ts", "isWanted(key) && one.row.granted_at !== null", "isWanted(key)", ...grants],
    ["one-for-all-members", "server/grants/rules.ts", '${member_id ?? ""}', "", ...grants],
  ],
  "seat-decisions": [
    ["below-nothing", "server/seats/rules.ts", "Math.max(0, (seats ?? 0) - taken)", "(seats ?? 0) - taken", ...seats],
    ["one-more", "server/seats/rules.ts", "countSeatsLeft(container, taken) === 0", "countSeatsLeft(container, taken - 1) === 0", ...seats],
    ["two-people", "server/seats/rules.ts", "named(email, customer_id, external_customer_id, member_id, external_member_id) !== 1", "named(email, customer_id, external_customer_id, member_id, external_member_id) < 1", ...seats],
    ["token-left", "server/seats/rules.ts", "  token_hash: null,\n", "", ...seats],
  ],
  "key-decisions": [
    ["at-its-end", "server/license-keys/rules.ts", "expires_at <= now", "expires_at < now", ...keys],
    ["one-more", "server/license-keys/rules.ts", "active >= limit", "active > limit", ...keys],
    ["disabled-rotated", "server/license-keys/rules.ts", 'if (status === "revoked") throw', 'if (status !== "granted") throw', ...keys],
    ["uses", "server/license-keys/rules.ts", "asked.increment_usage > left", "asked.increment_usage >= left", ...keys],
    ["subscribed", "server/license-keys/rules.ts", "expires && !isSubscribed", "expires", ...keys],
  ],
  "credit-decisions": [
    ["rollover-first", "server/meters/lots.ts", "Number(a.rollover) - Number(b.rollover)", "Number(b.rollover) - Number(a.rollover)", ...meters],
    ["priority", "server/meters/lots.ts", "a.priority - b.priority", "b.priority - a.priority", ...meters],
    ["newer-first", "server/meters/lots.ts", "a.created_at.getTime() - b.created_at.getTime() ||\n", "b.created_at.getTime() - a.created_at.getTime() ||\n", ...meters],
    ["older-taken", "server/meters/lots.ts", "b.created_at.getTime() - a.created_at.getTime()", "a.created_at.getTime() - b.created_at.getTime()", ...meters],
    ["any-kind", "server/meters/lots.ts", "lot.source_kind === kind && ", "", ...meters],
    ["expired-spent", "server/meters/lots.ts", "lot.expired_at ? 0 : worth - spent", "worth - spent", ...meters],
  ],
  "run-decisions": [
    ["archived-follows", "server/webhooks/rules.ts", "!waits || is_archived || payload === null", "!waits || payload === null", ...runs],
    ["due-follows", "server/webhooks/rules.ts", "!waits || is_archived || payload === null", "is_archived || payload === null", ...runs],
    ["least-code", "server/webhooks/rules.ts", "http_code >= 200", "http_code > 200", ...runs],
  ],
  "clock-decisions": [
    ["standing", "server/sandbox/rules.ts", "if (target < now)", "if (target <= now)", ...clocks],
    ["all-dates", "server/sandbox/rules.ts", "!(target <= addInterval(now, \"year\", years_max))", "target > addInterval(now, \"year\", years_max)", ...clocks],
    ["as-far-again", "server/sandbox/rules.ts", "to === undefined && underWay !== null", "to === undefined && by === undefined && underWay !== null", ...clocks],
  ],
  "token-decisions": [
    ["portal-link-end", "server/customer-sessions/portal-link.ts", "until > now.getTime()", "until >= now.getTime()", ...tokens],
    ["viewer-end", "server/lib/viewers.ts", "until > now.getTime()", "until >= now.getTime()", ...tokens],
    ["put-away", "server/downloads/rules.ts", "archived[id] !== true", "archived[id] !== false", ...tokens],
    ["moved-twice", "server/lib/clock.ts", "new Date(server.now().getTime() + offset_ms)", "new Date(clock.now().getTime() + offset_ms)", ...tokens],
  ],
  "member-decisions": [
    ["second-owner", "server/members/rules.ts", 'wanted.role === "owner" && others.some(', "false && others.some(", ...members],
    ["steps-back", "server/members/rules.ts", 'row.role === "owner" && patch.role !== undefined && patch.role !== "owner"', "false", ...members],
    ["themselves", "server/members/rules.ts", "others.filter(({ id }) => id !== wanted.id)", "others", ...members],
  ],
  "device-decisions": [
    ["client-of-objects", "server/accounts/device/protocol.ts", "Object.hasOwn(clients, id);", "id in clients;", ...device],
    ["past", "server/accounts/device/protocol.ts", "Math.max(to.getTime() - from.getTime(), 0)", "to.getTime() - from.getTime()", ...device],
    ["held-by-nature", "server/accounts/identity/permissions-guard.ts", "Object.hasOwn(held, resource) && held[resource]?.includes(action)", "(held[resource]?.length ?? 0) > 0", ...device],
  ],
};
