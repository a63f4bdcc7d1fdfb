// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults of imports: what is blocked, what a held subscription does, and what a switch and a rollback may do. */
const api = "tests/api/imports.test.ts";
const folder = "server/operations/imports";
const billing = "server/billing/subscriptions";

/** [name, file, text, what stands in its place, tests …] */
export const importFaults = {
  imports: [
    [
      "import-held-is-due",
      `${billing}/rules.ts`,
      "if (row.billing_held_at !== null) return null;\n  const cycle",
      "const cycle",
      api,
    ],
    [
      "import-database-allows-due",
      "server/migrations/0051_imports.sql",
      'CHECK ("subscriptions"."billing_held_at" is null or (',
      'CHECK ("subscriptions"."id" is not null or (',
      api,
    ],
    [
      "import-held-breaks-the-books",
      "server/operations/verify/money.ts",
      "and due_at is null and billing_held_at is null and status",
      "and due_at is null and status",
      api,
    ],
    [
      "import-held-lacks-its-event",
      "server/operations/verify/records.ts",
      "where s.organization_id = ${of} and s.billing_held_at is null and coalesce(e.count, 0) <> 1`",
      "where s.organization_id = ${of} and coalesce(e.count, 0) <> 1`",
      api,
    ],
    [
      "import-held-is-counted",
      "server/migrations/0051_imports.sql",
      "    WHERE s.billing_held_at IS NULL)",
      "    WHERE s.id IS NOT NULL)",
      api,
    ],
    [
      "import-switched-is-not-counted",
      "server/migrations/0051_imports.sql",
      "NEW.product_id, NEW.billing_held_at))",
      "NEW.product_id, OLD.billing_held_at))",
      api,
    ],
    [
      "import-held-is-changed",
      `${billing}/change.ts`,
      "if (row.billing_held_at === null) return;",
      "if (row.billing_held_at !== undefined) return;",
      api,
    ],
    [
      "import-held-gives",
      "server/entitlements/grants/rules.ts",
      "if (!subscription || subscription.billing_held_at != null) return false;",
      "if (!subscription) return false;",
      api,
    ],
    [
      "import-other-amount",
      `${folder}/rules.ts`,
      "if (row.amount !== price.amount)",
      "if (row.amount > price.amount)",
      api,
    ],
    ["import-renewal-past", `${folder}/rules.ts`, "if (end <= now) return block", "if (end < begin) return block", api],
    [
      "import-renewal-soon",
      `${folder}/switch.ts`,
      "if (!row.cancel_at_period_end && aheadMs < leastAheadMs)",
      "if (row.cancel_at_period_end && aheadMs < leastAheadMs)",
      api,
    ],
    [
      "import-without-card",
      `${folder}/switch.ts`,
      "if (isCharged && !without_card &&",
      "if (isCharged && without_card &&",
      api,
    ],
    [
      "import-switch-of-changed",
      `${folder}/switch.ts`,
      "if (record.changed_data !== null || record.reading !== run.reading)",
      "if (record.reading !== run.reading)",
      api,
    ],
    [
      "import-applies-changes-unasked",
      `${folder}/service.ts`,
      "if (body.update && (await updateSlice",
      "if ((await updateSlice",
      api,
    ],
    [
      "import-undoes-charged",
      `${folder}/undo.ts`,
      "if (aggregate && (await hasOrders(tx, key)))",
      "if (aggregate && (await hasOrders(tx, key)) && run.reading < 0)",
      api,
    ],
    [
      "import-undoes-changed",
      "server/customers/customers/store.ts",
      "        isNull(customers.modified_at),\n        isNull(customers.first_user_event_at),",
      "        isNull(customers.first_user_event_at),",
      api,
    ],
    [
      "import-charges-old-card",
      `${billing}/store.ts`,
      "if (!card || !row.is_imported || card.id",
      "if (!card || row.amount > 0 || card.id",
      api,
    ],
    [
      "import-charges-earlier-card",
      "server/billing/payments/methods-store.ts",
      "gte(paymentSetups.requested_at, since)",
      "gte(paymentSetups.requested_at, new Date(0))",
      api,
    ],
    ["import-is-not-told", `${folder}/apply.ts`, "is_imported: true,", "is_imported: false,", api],
    [
      "import-keeps-people",
      `${folder}/store.ts`,
      ".set({ data: null, changed_data: null, detail: null }).where(matchRun(run));",
      ".set({ detail: null }).where(matchRun(run));",
      api,
    ],
    [
      "import-twice",
      `${folder}/store.ts`,
      "status: choose(sql`'read'`, sql`${records.status}`),",
      "status: sql`'read'`,",
      api,
    ],
  ],
};
