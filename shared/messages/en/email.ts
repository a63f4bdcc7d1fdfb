/** Emails to customers, in English. */
export const messages = {
  subject: (number: string, seller: string) => `Your order ${number} from ${seller}`,
  paid: (amount: string, seller: string) => `Thank you. ${seller} has received your payment of ${amount}.`,
  unpaid: (seller: string) => `Thank you for your order from ${seller}. Nothing was charged.`,
  order: (number: string, date: string) => `Order ${number} of ${date}`,
  test: "This is a test: nothing was sold, and no money was taken.",
  what_you_have: "What you have now",
  how_to_get: {
    custom: "Details are in your purchases.",
    discord: "Connect your Discord account in your purchases.",
    github_repository: "Connect your GitHub account in your purchases.",
    downloadables: "Download the files in your purchases.",
    license_keys: "Your license key is in your purchases.",
    meter_credit: (units: string) => `Credited units: ${units}. What is left is in your purchases.`,
    feature_flag: null as string | null,
    slack_shared_channel: null as string | null,
    seat_count: (count: number) => `Seats: ${count}`,
    seats: "Assign them in your purchases.",
    seat_holder: "For each person with a seat.",
  },
  agreed: (day: string) =>
    `On ${day} you agreed that delivery begins at once, and you acknowledged that you thereby lose your right of withdrawal.`,
  open_portal: "Open your purchases",
  cancel_contract: "Cancel a contract",
  open_invoice: "Open the invoice",
  open_receipt: "Open the receipt",
  kept: "Document links work for one year. The link to your purchases works once, within 30 days; then sign in with a code.",
  portal_days: "The link to your purchases works once, within 30 days; then sign in with a code.",
  questions: (email: string) => `Questions? Write to ${email}.`,
  fallback: "If the button does not work, open this address:",
  via: "via" as string,
  terms: "Terms and conditions",
  privacy: "Privacy policy",
  sent_by: "Sent by" as string,
  subjects: {
    started: (product: string) => `Your subscription to ${product} has begun`,
    trial_started: (product: string) => `Your free trial of ${product} has begun`,
    trial_over: (product: string) => `Your trial of ${product} is over, and your subscription has begun`,
    renewed: (product: string) => `Your subscription to ${product} was renewed`,
    changed: (product: string) => `Your subscription has changed to ${product}`,
    change_planned: (_: string, day: string) => `Your subscription changes on ${day}`,
    migration_announced: (product: string) => `The price of your subscription to ${product} changes`,
    migration_withdrawn: (product: string) => `Your subscription to ${product} stays as it is`,
    canceled: (product: string) => `Your subscription to ${product} is canceled`,
    uncanceled: (product: string) => `Your subscription to ${product} goes on after all`,
    paused: (product: string) => `Your subscription to ${product} is paused`,
    resumed: (product: string) => `Your subscription to ${product} goes on`,
    payment_failed: (product: string) => `Your payment for ${product} did not go through`,
    ended: (product: string) => `Your subscription to ${product} has ended`,
    trial_ending: (product: string, day: string) => `Your trial of ${product} ends on ${day}`,
    renewal_ahead: (product: string, day: string) => `Your subscription to ${product} is renewed on ${day}`,
    card_expiring: (product: string) => `The card for your subscription to ${product} is about to expire`,
  },
  changed: (product: string, seller: string) => `Your subscription from ${seller} is now: ${product}.`,
  change_planned: (day: string, product: string, seller: string) =>
    `From ${day} on, your subscription from ${seller} is: ${product}.`,
  price_changes: (day: string, product: string, seller: string, amounts: { from: string; to: string }) =>
    `From ${day} on, ${product} from ${seller} costs ${amounts.to} instead of ${amounts.from} per billing period, before tax.`,
  product_changes: (day: string, from: string, product: string, seller: string) =>
    `From ${day} on, your subscription to ${from} from ${seller} becomes ${product}.`,
  amount_changes: (amounts: { from: string; to: string }) =>
    `It then costs ${amounts.to} instead of ${amounts.from} per billing period, before tax.`,
  usage_prices_change: (product: string) => `Usage is then billed at the prices of ${product}.`,
  change_or_leave: (day: string) =>
    `If you agree, you need to do nothing. If not, cancel your subscription before ${day}.`,
  migration_off: (product: string, seller: string) =>
    `The announced change of your subscription to ${product} from ${seller} does not take place. It stays as it is.`,
  seats: (count: number) => `Seats: ${count}.`,
  canceled: (product: string, seller: string) => `Your subscription to ${product} from ${seller} was canceled.`,
  uncanceled: (product: string, seller: string) =>
    `The cancellation of your subscription to ${product} from ${seller} was taken back.`,
  paused: (product: string, seller: string) =>
    `Your subscription to ${product} from ${seller} is paused. It costs nothing meanwhile.`,
  resumes: (day: string) => `It goes on on ${day}.`,
  resumed: (product: string, seller: string) => `Your subscription to ${product} from ${seller} is no longer paused.`,
  ended: (product: string, seller: string) => `Your subscription to ${product} from ${seller} has ended.`,
  no_charge: "Nothing more is charged.",
  last_charge: (amount: string) =>
    `${amount} is charged for what you had used and not paid yet. After that nothing more is charged.`,
  was_unpaid: "It ended because a payment was missing. That payment is not asked for any more.",
  runs: (day: string) => `It runs until ${day}.`,
  renews: (day: string, amount: string) => `It runs until ${day} and is then renewed for ${amount}.`,
  ends: (day: string) => `It runs until ${day} and is not renewed.`,
  trial: (product: string, seller: string, day: string) => `Your trial of ${product} from ${seller} ends on ${day}.`,
  trial_runs: (day: string) => `The trial ends on ${day}.`,
  then_charged: (amount: string) => `Then ${amount} is charged.`,
  charged_to: (card: string) => `It is charged to your card ${card}.`,
  no_card: "There is no card yet that could be charged.",
  renewal: (product: string, seller: string, day: string, amount: string) =>
    `Your subscription to ${product} from ${seller} is renewed on ${day} for ${amount}.`,
  failed: (seller: string, amount: string, product: string, card: string | null) =>
    card === null
      ? `${seller} could not charge ${amount} for your subscription to ${product}, as there is no card that could be charged.`
      : `${seller} could not charge ${amount} for your subscription to ${product} to your card ${card}.`,
  next_try: (moment: string, last: string) =>
    `It is tried again on ${moment}, and for the last time by ${last}. After that your subscription ends.`,
  last_try: (last: string) => `It is tried for the last time by ${last}. After that your subscription ends.`,
  leave_card: "Leave another card",
  leave_and_pay: "Leave another card, and it is charged at once.",
  no_more_tries: "Your subscription has ended, and it is not tried again by itself.",
  pay_last: "You can pay it with any card.",
  pay: "Pay now",
  expiring: (card: string, month: string, product: string, seller: string) =>
    `Your card ${card} expires at the end of ${month}. It pays for your subscription to ${product} from ${seller}.`,
  leave_in_time: "Leave another card, so that your subscription goes on.",
  link_until: (day: string) => `The link is good until ${day}, and for you alone.`,
  seat_subject: (product: string, seller: string) => `You have a seat of ${product} from ${seller}`,
  seat: (product: string, seller: string) =>
    `Somebody has given you a seat of ${product}, which they have from ${seller}.`,
  seat_action: "Take your seat",
  seat_hours: (hours: number) => `The link is good for ${hours} hours.`,
};
export type EmailMessages = typeof messages;
