// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

const streamed = ["tests/api/event-stream.test.ts"];
const tokened = ["tests/api/event-stream-tokens.test.ts"];
const tokens = "server/messaging/streams/tokens.ts";
const lagging = ["tests/scenarios/tail-lag.test.ts"];
const lag = "server/platform/events/tail-lag.ts";
const waking = ["tests/scenarios/stream-wake-up.test.ts"];
const followed = ["tests/api/listen.test.ts", "tests/api/event-stream.test.ts"];
const rules = "server/messaging/streams/rules.ts";
const reader = "server/messaging/streams/reader.ts";
const begin = "server/messaging/streams/start.ts";
const messages = "server/messaging/streams/messages.ts";
const routes = "server/messaging/streams/routes.ts";
const core = "server/platform/http/event-stream.ts";
const sse = "server/platform/http/sse.ts";
const tail = "server/platform/events/tail.ts";

/** Faults of streams of events: who is sent what, from where on, and when a stream ends. */
// biome-ignore format: a table, one fault in a line
export const streamFaults = {
  streams: [
    ["scope-unasked", reader, "new Set(known.filter(isHeld))", "new Set(known)", ...streamed],
    ["scope-named", reader, "if (missing !== undefined) throw", "if (missing === undefined && named) throw", ...streamed],
    ["data-to-customers", messages, "const json = customer\n", "const json = customer && customer.token\n", ...streamed],
    ["others-events", messages, "if (customer && !isOfCustomer(event, customer.customer_id, own)) return undefined;", "", ...streamed],
    ["shared-words", messages, "JSON.stringify([client, hasTokens])", '"same"', ...streamed],
    ["tokens-shown", messages, "return hasTokens ? openTokens", "return words ? openTokens", ...streamed],
    ["other-customer", reader, "customer_id !== undefined && customer_id !== customer.customer_id", "customer_id === customer.customer_id", ...streamed],
    ["named-elsewhere", routes, "organization_id !== undefined && organization_id !== admitted.actor.organization_id", "organization_id === null", ...streamed],
    ["header-second", routes, "isHeader ? last : inQuery", "inQuery ?? last", ...streamed],
    ["any-filter", rules, "(product_id === undefined || isOfProduct(type, data, product_id)) &&", "(product_id === undefined || isOfProduct(type, data, product_id)) ||", ...streamed],
    ["external-by-event", rules, "named === external_customer_id ? holders.add(of)", "named === null ? holders.add(of)", ...streamed],
    ["old-cursor", begin, "next && next.created_at < oldest", "next && next.created_at > now", ...streamed],
    ["future-cursor", begin, "if (cursor.xid > end.xid)", "if (cursor.xid < 0n)", ...streamed],
    ["made-up-place", begin, "cursor.seq > 0 &&", "cursor.seq < 0 &&", ...streamed],
    ["ended-key", core, "error instanceof ApiError && refused.abort()", "error instanceof ApiError && checkMs < 0 && refused.abort()", ...followed],
    ["no-farewell", core, "over.aborted || tail.closed.aborted", "over.aborted", ...streamed],
    ["unread", sse, "request.raw.socket.destroy(), stallMs", "releaseWriters(), stallMs", ...streamed],
    ["buffered", sse, "if (gone.signal.aborted || out.push(text)) return;", "if (gone.signal.aborted || out.push(text) || text) return;", ...streamed],
    ["idle-place", tail, "listening.isIdle() && isBefore(cursor, horizon) ? horizon : cursor", "cursor", ...streamed],
    ["joined-read", tail, "if (known) return known;", "if (known) return known.then(() => []);", ...followed],
    ["settled-only", tail, "matchAfter(from), settled)", "matchAfter(from))", ...followed],
    ["token-twice", tokens, ".delete(eventStreamTokens).where(inArray(eventStreamTokens.token_hash, hashes)).returning();", ".select().from(eventStreamTokens).where(inArray(eventStreamTokens.token_hash, hashes));", ...tokened],
    ["token-late", tokens, "!row || row.expires_at <= getServerClock(clock).now()", "!row", "tests/scenarios/ends.test.ts"],
    ["token-bare", tokens, "token_hash: hashToken(config.secret, token)", "token_hash: token", ...tokened],
    ["token-unfiltered", routes, "filters: grant.filters, authenticateAgain", "filters, authenticateAgain", ...tokened],
    ["lag-unseen", lag, "now() - held.since < warnAfterMs", "now() - held.since < warnAfterMs * 100", ...lagging],
    ["lag-always", lag, "if (!isHeld || held?.xmin !== xmin) {", "if (!isHeld && held) {", ...lagging],
    ["lag-newest", lag, "order by age(xid) desc", "where false order by age(xid) desc", ...lagging],
    ["cut-off", core, "request.raw.socket.destroy(), endMs", "undefined, endMs", ...streamed],
    ["unwoken", tail, "      quiet = 0;\n      nap?.abort();", "      quiet = 0;", ...waking],
    ["unshared", "server/platform/events/wake-up.ts", "if (!isShared || jobs.isAlone()) return;", "if (isShared || jobs.isAlone()) return;", ...waking],
    ["notify-each", "server/platform/events/wake-up.ts", "sentAt + notifyEveryMs - performance.now()", "sentAt - performance.now()", ...waking],
    ["check-counts", "server/platform/http/limits.ts", "const isRecheck = asked.has(request);", "const isRecheck = false;", ...streamed],
    ["limit-key", "server/platform/http/stream-limits.ts", "{ subject: `key:${key_id}`, max: 5 }", "{ subject: `key:${key_id}`, max: 6 }", ...streamed],
  ],
};
