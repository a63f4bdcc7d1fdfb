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
    confirm: "Have this subscription end with its period? It is not charged again.",
  },
  uncancel: {
    summary: "Have a subscription that was to end go on",
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
    summary: "Have a paused subscription go on now",
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
  columns: ["product.name:name", "status:state", "amount:money", "customer.email", "current_period_end:date", "id:key"],
  names: { delete: false as const },
  verbs,
  examples: {
    cancel: ["floe subscriptions cancel ID --customer-cancellation-reason too_expensive"],
    pause: ["floe subscriptions pause ID --resumes-at 2027-03-01"],
    forecast: ["floe subscriptions forecast ID"],
    export: ["floe subscriptions export -o subscriptions.csv"],
    list: ["floe subscriptions list --status active"],
    create: ["floe subscriptions create --product-id News --customer-id ada@example.com"],
    update: [
      "floe subscriptions update ID --product-id Pro --proration-behavior invoice",
      "floe subscriptions update ID --seats 12",
      "floe subscriptions update ID --discount-id LAUNCH20",
    ],
    revoke: ["floe subscriptions revoke ID"],
    preview: ["floe subscriptions preview ID --product-id Pro --proration-behavior invoice"],
  },
};
