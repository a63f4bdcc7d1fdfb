/** A command that updates some fields in one way: which, what else it takes, and what it asks first. */
export type Verb = { summary: string; preset: Record<string, unknown>; fields?: string[]; confirm?: string };

/** What is done to subscriptions by an update. */
export const subscriptionVerbs: Record<string, Verb> = {
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
};
