/** Emails about a cancellation without sign-in, in English. */
export const messages = {
  subject: (seller: string) => `${seller} has received your cancellation`,
  text: (seller: string) => `${seller} has received this declaration at the time below. Keep this mail.`,
  prove: "Confirm your address with the button. Then your subscription is canceled at once, to the end of its period.",
  declared: "What was declared",
  received: "Received",
  name: "Name",
  email: "Email",
  reference: "Contract, order or product",
  kind: "Kind",
  kinds: { ordinary: "Ordinary cancellation", extraordinary: "Extraordinary cancellation" },
  reason: "Reason",
  wanted_on: "To end on",
  earliest: "As early as possible",
  action: "Confirm my address",
  note: (days: number) =>
    `The link works once, within ${days} days. If you declared nothing, do nothing: nothing is canceled without it.`,
  seller_subject: (name: string) => `${name} has canceled a contract`,
  seller_done: "The address is confirmed. The subscription was canceled to the end of its period.",
  seller_open: "The address is confirmed. No subscription was canceled: decide which contract is meant.",
};

export type CancellationEmailMessages = typeof messages;
