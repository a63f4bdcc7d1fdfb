const counts = "tests/scenarios/statement-counts.test.ts";
const searchPlans = "tests/scenarios/search-plans.test.ts";

/** Faults that make floe slower and nothing wrong. */
export const speedFaults = {
  speed: [
    ["search-plan-kept", "server/platform/db/page.ts", "sql.raw(unpreparedPlan)}`));", 'sql.raw("")}`));', searchPlans],
    [
      "search-index-of-everybody",
      "server/migrations/0035_search_by_organization.sql",
      'USING gin ("organization_id","customer_email" gin_trgm_ops)',
      'USING gin ("customer_email" gin_trgm_ops)',
      searchPlans,
    ],
    [
      "storefront-index-missing",
      "server/migrations/0035_search_by_organization.sql",
      '{"storefront_enabled": true}',
      '{"storefront_enabled": false}',
      searchPlans,
    ],
    [
      "secrets-compressed",
      "server/platform/http/compression.ts",
      "if (hasPossibleSecret(payload)) return payload;",
      "",
      "tests/api/compression.test.ts",
    ],
    [
      "cookies-compressed",
      "server/platform/http/compression.ts",
      "request.headers.cookie !== undefined || ",
      "",
      "tests/api/compression.test.ts",
    ],
    [
      "rows-before-the-end",
      "server/platform/db/unit-of-work.ts",
      "if (noted.length > 0) await writeEvents(tx, noted, added);\n  else for",
      "if (noted.length > 0) await writeEvents(tx, noted, []);\n  for",
      counts,
    ],
    [
      "inserts-of-savepoints-lost",
      "server/platform/db/unit-of-work.ts",
      "parent.inserts.push(...unit.inserts);",
      "",
      "tests/api/unit-of-work.test.ts",
    ],
    [
      "product-read-apart",
      "server/checkout/checkouts/access.ts",
      "loadCheckout(tx, row, product)",
      "loadCheckout(tx, row)",
      counts,
    ],
    [
      "nothing-compressed",
      "server/platform/http/compression.ts",
      "if (!acceptsGzip(request)) return payload;",
      "return payload;",
      "tests/api/compression.test.ts",
    ],
  ],
};
