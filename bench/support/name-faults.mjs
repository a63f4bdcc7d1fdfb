// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source
const named = ["tests/cli/people-names.test.ts"];
const detail = ["tests/cli/detail.test.ts"];
const names = "cli/resource/names.ts";
const sentences = "cli/ui/sentences.ts";

/** Faults of names in place of ids, and of what the command line says in sentences. */
export const nameFaults = {
  "names and sentences": [
    ["a subscription that has ended is meant", names, "|| Boolean(row.ended_at);", ";", ...named],
    [
      "the first of several subscriptions is meant",
      names,
      "if (!only || more.length === 0) return only;",
      "if (!only || more.length >= 0) return only;",
      ...named,
    ],
    [
      "a seat of anything is meant",
      "cli/resource/seat-names.ts",
      "[email, customer_email].some((one) => one?.toLowerCase() === holder.toLowerCase()),",
      "[email, customer_email].length > 0,",
      ...named,
    ],
    [
      "a key without orders sees no refunds",
      "cli/resource/order-numbers.ts",
      "if (!(error instanceof Fault)) throw error;",
      "throw error;",
      ...named,
    ],
    [
      "a pipe has numbers of orders that the server did not say",
      "cli/resource/command.ts",
      'view.columns.includes("order_id:order") && !context.json',
      'view.columns.includes("order_id:order")',
      ...named,
    ],
    [
      "a filter by ids finds all orders",
      "server/billing/orders/store.ts",
      "    id: matchAny(orders.id),\n",
      "    id: () => undefined,\n",
      ...named,
    ],
    ["an archived price is told", sentences, "is_archived !== true", "is_archived !== undefined", ...detail],
    ["graduated tiers are told as volume", sentences, 'seat_tiers.seat_tier_type === "graduated"', "false", ...detail],
    ["the cap of use is not told", sentences, 'typeof price.cap_amount === "number"', "false", ...detail],
    [
      "a file that is archived counts",
      "shared/benefit-text.ts",
      "archived?.[id] !== true",
      "archived?.[id] !== null",
      ...detail,
    ],
    [
      "buyers read the prefix of keys",
      "server/catalog/benefits/rules.ts",
      "terms: readTerms(row.type, row.properties) }",
      "terms: readTerms(row.type, row.properties), ...{ properties: row.properties } }",
      "tests/api/benefits.test.ts",
    ],
    [
      "an id is told beside its name",
      "cli/ui/detail.ts",
      'key.endsWith("_id") &&',
      'key.endsWith("_none") &&',
      ...detail,
    ],
  ],
};
