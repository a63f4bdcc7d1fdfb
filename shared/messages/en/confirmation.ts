/** The page after a purchase, in English. */
export const messages = {
  thanks: "Thank you for your purchase",
  thanks_trial: "Thank you, your trial has begun",
  your_order: "Your order",
  thank_you: "Thank you",
  paid: "The payment went through.",
  unpaid: "Nothing had to be paid.",
  wait: "This takes a moment. The page will change by itself.",
  completing_title: "Completing your purchase",
  sent_to: (email: string) => `A confirmation is on its way to ${email}.`,
  order_number: "Order number",
  status: "Status",
  next_charge: "Next charge",
  charge_on: (amount: string, date: string) => `${amount} on ${date}`,
  get_receipt: "Download receipt",
  get_invoice: "Download invoice",
  is_paid: "Paid",
  is_complete: "Complete",
  is_underway: "Being completed",
  continue_to: (seller: string) => `Continue to ${seller}`,
  back_to: (seller: string) => `Back to ${seller}`,
  cancel_contract: "Cancel a contract",
  in_purchases: "What you bought is in your purchases. You sign in there with a code that we email you.",
  to_purchases: "Open your purchases",
};

export type ConfirmationMessages = typeof messages;
