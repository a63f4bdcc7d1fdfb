/** A command that updates some fields in one way: which, what else it takes, and what it asks first. */
export type SubscriptionAction = {
  summary: string;
  preset: Record<string, unknown>;
  fields?: string[];
  confirm?: string;
};

/** What is done to subscriptions by an update. */
const verbs: Record<string, SubscriptionAction> = {
  cancel: {
    summary: "Have a subscription end with its period",
    preset: { cancel_at_period_end: true },
    fields: ["customer_cancellation_reason", "customer_cancellation_comment"],
    confirm: "Cancel this subscription at the end of its period? It is not charged again.",
  },
  uncancel: {
    summary: "Undo a scheduled cancellation",
    preset: { cancel_at_period_end: false },
    confirm: "Have this subscription go on? It is charged again when its period ends.",
  },
  pause: {
    summary: "Have a subscription pause when its period ends",
    preset: { pause_at_period_end: true },
    fields: ["resumes_at"],
    confirm: "Have this subscription pause when its period ends?",
  },
  resume: {
    summary: "Resume a paused subscription",
    preset: { resume: true },
    confirm: "Have this subscription go on now? A new period begins, and is charged at once.",
  },
  revoke: {
    summary: "End a subscription now",
    preset: { revoke: true },
    fields: ["customer_cancellation_reason", "customer_cancellation_comment"],
    confirm: "End this subscription now? What the customer has of it is taken back at once, and nothing is refunded.",
  },
};

/** Subscriptions on the command line. */
export const subscriptionView = {
  summary: "What customers pay for again and again",
  noun: "subscription",
  namedBy: ["customer.email", "customer.email product.name"],
  through: "customers",
  sample: "ada@example.com",
  columns: [
    "customer.email:name",
    "product.name:name",
    "status:state",
    "amount:money",
    "current_period_end:date",
    "id:id",
  ],
  verbs,
  examples: {
    cancel: [
      "floe subscriptions cancel ada@example.com --customer-cancellation-reason too_expensive",
      'floe subscriptions cancel "ada@example.com News"     # of a customer with several',
    ],
    pause: ["floe subscriptions pause ada@example.com --resumes-at 2027-03-01T00:00:00Z"],
    export: ["floe subscriptions export -o subscriptions.csv"],
    list: ["floe subscriptions list --status active"],
    create: ["floe subscriptions create --product-id News --customer-id ada@example.com"],
    update: [
      "floe subscriptions update ada@example.com --product-id Pro --proration-behavior invoice",
      "floe subscriptions update ada@example.com --seats 12",
      "floe subscriptions update ada@example.com --discount-id LAUNCH20",
    ],
    preview: ["floe subscriptions preview ada@example.com --product-id Pro --proration-behavior invoice"],
  },
};

/** Moves of subscribers to other prices. */
export const importView = {
  name: "import",
  summary: "Move a shop here from another product",
  noun: "import",
  columns: ["source:name", "status:state", "reading", "created_at:date", "finished_at:date", "id:id"],
  columnsOf: {
    records: ["kind:name", "source_id:key", "line", "status:state", "reason:state", "detail:name", "target_id:id"],
  },
  examples: { records: ["floe import records IMPORT_ID --status blocked --all"] },
};
export const migrationView = {
  name: "subscription-migrations",
  summary: "Moves of subscribers to other prices",
  noun: "move",
  columns: ["status", "found", "notified", "scheduled", "applied", "skipped", "undone", "created_at:date", "id:id"],
  examples: {
    items: ["floe subscription-migrations items MOVE_ID --state skipped"],
    undo: ["floe subscription-migrations undo MOVE_ID --yes"],
  },
};
