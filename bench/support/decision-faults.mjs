/** Faults of the decisions that are pure functions, each seen by a table of its limits, as in `faults.mjs`. */

const orders = "tests/rules/orders.test.ts";
const refunds = "tests/rules/refunds.test.ts";
const discounts = "tests/rules/discounts.test.ts";
const checkouts = "tests/rules/checkouts.test.ts";
const links = "tests/rules/checkout-links.test.ts";
const taxes = "tests/rules/tax.test.ts";
const money = "tests/rules/money.test.ts";
const people = "tests/rules/customers.test.ts";
const organizations = "tests/rules/organizations.test.ts";
const files = "tests/rules/files.test.ts";
const lib = "tests/rules/lib.test.ts";
const texts = "tests/rules/texts.test.ts";
const catalog = "tests/rules/catalog.test.ts";

// biome-ignore format: a table, one fault in a line
export const decisionFaults = {
  "sale-decisions": [
    ["balance-owed", "server/billing/orders/rules.ts", "due_amount > 0 && due_amount < least", "due_amount > 0 && due_amount <= least", orders],
    ["heard-warning", "server/billing/refunds/rules.ts", 'order.dispute_status === "early_warning" || order.dispute_status === "prevented"', 'order.dispute_status === "early_warning"', refunds],
    ["heard-reason", "server/billing/refunds/rules.ts", "Object.hasOwn(reasons, reason)", "reason in reasons", refunds],
    ["redeem-end", "server/catalog/discounts/rules.ts", "row.ends_at >= now", "row.ends_at > now", discounts],
    ["redeem-last", "server/catalog/discounts/rules.ts", "row.redemptions_count < row.max_redemptions", "row.redemptions_count <= row.max_redemptions", discounts],
    ["prices-with", "server/checkout/checkouts/quote.ts", "offered.filter(({ price_currency }) => price_currency === picked.price_currency)", "[...offered]", checkouts],
    ["signed-until", "server/checkout/checkouts/signed-quote.ts", "if (!(until >= signing.clock.now().getTime())) return false;", "", checkouts],
    ["link-room", "server/checkout/links/rules.ts", "metadataKeysMax - Object.keys(row.metadata).length", "metadataKeysMax", links],
    ["embed-star", "server/checkout/links/rules.ts", 'text.includes("*") || ', "", links],
    ["mean-up", "shared/money.ts", "all > 0n && all % parts !== 0n", "all % parts !== 0n", money],
    ["outside-postal", "server/billing/tax/territories.ts", "(97\\d|98[1-9])", "(97\\d|98\\d)", taxes],
    ["standing-end", "server/billing/tax/rules.ts", "at < ends_at", "at <= ends_at", taxes],
  ],
  "text-decisions": [
    ["ambiguous", "shared/written-amount.ts", "if (digits === 0 || Number(units) === 0) return undefined;", "if (digits === 0) return undefined;", texts],
    ["two-currencies", "shared/price-text.ts", "if (code && symbol && code !== found)", "if (code && symbol && !found)", texts],
    ["near-word", "shared/nearest.ts", "Math.max(2, word.length / 3)", "Math.max(3, word.length / 3)", texts],
    ["negative-formula", "server/platform/csv.ts", "formula.test(text) && !number.test(text)", "formula.test(text)", lib],
    ["depth", "server/platform/http/body.ts", "if (depth > depthMax)", "if (depth >= depthMax)", lib],
    ["larger-frame", "server/platform/images.ts", "b.width * b.height - a.width * a.height", "a.width * a.height - b.width * b.height", lib],
    ["name-taken", "server/platform/db/batches.ts", "before !== null && idsByName.get(before) === id", "before !== null", lib],
    ["path-dots", "server/catalog/files/rules.ts", '.replace(/^[.-]+/, "");', ";", files],
    ["part-begun", "server/catalog/files/rules.ts", "said.checksum_sha256_base64 !== begun", "false", files],
    ["below-host", "server/identity/organizations/rules.ts", "hostname.endsWith(host.slice(1))", "hostname.endsWith(host.slice(2))", organizations],
    ["mail-erased", "server/messaging/email/rules.ts", "anonymized_at === null && deleted_at === null ? email", "deleted_at === null ? email", organizations],
    ["forget-business", "server/operations/privacy/rules.ts", "tax_id === null ? [name, billing_name] : []", "[name, billing_name]", people],
  ],
  "catalog-decisions": [
    ["same-minimum", "shared/catalog/compare.ts", "custom.minimum !== undefined", "true", catalog],
    ["same-twice", "shared/catalog/compare.ts", "if (at >= 0) left.splice(at, 1);", "", catalog],
    ["kept-once", "shared/catalog/price-forms.ts", "at < 0 ? [] : left.splice(at, 1)", "at < 0 ? [] : left.slice(at)", catalog],
    ["gone-already", "shared/catalog/plan.ts", "getKind(kind).foundFields(row, names).archived !== true", "true", catalog],
    ["deleted-first", "shared/catalog/plan.ts", "[...deleted, ...plan.steps, ...archived]", "[...plan.steps, ...deleted, ...archived]", catalog],
    ["own-thing", "shared/catalog/target.ts", "section && Object.hasOwn(section, place.key) ? section[place.key] : undefined", "section?.[place.key]", catalog],
  ],
};
