/** The page on which contracts are canceled without signing in, in English. */
export const messages = {
  title: "Cancel a contract here",
  how: (seller: string) =>
    `Cancel a contract with ${seller}. You need no account. A confirmation is sent to your address.`,
  name: "Your name",
  email: "Email address of the contract",
  reference: "Order number, invoice number or product",
  kind: "Kind of cancellation",
  kinds: { ordinary: "Ordinary", extraordinary: "Extraordinary, for a good cause" },
  reason: "Reason",
  wanted_on: "To end on",
  earliest: "Blank: as early as possible",
  submit: "Cancel now",
  missing: "Please fill this in.",
  received: "Your cancellation was received",
  received_how: (moment: string, email: string) =>
    `Received on ${moment}. A confirmation is on its way to ${email}. Follow its link to cancel the subscription at once.`,
  keep: "You can print or save this page.",
  confirm_title: "Confirm your address",
  confirm_how: "Your subscription is then canceled to the end of its period.",
  confirm: "Confirm my address",
  done: "Your subscription is canceled",
  done_how: (day: string) => `It ends on ${day}. You keep access until then.`,
  open: "Your address is confirmed",
  open_how: "The seller has your cancellation, and will tell you which contract ends and when.",
  gone: "This link works no more",
  gone_how: "It was used already or has expired. Your cancellation was received all the same.",
  unknown: "There is no such seller",
};

export type CancellationMessages = typeof messages;
