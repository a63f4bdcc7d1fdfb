/** The page that takes the place of one that could not be loaded or drawn, in English. */
export const messages = {
  title: "This page could not be shown",
  text: "The server may have been updated while the page was open. Load the page again.",
  not_charged: "Nothing was charged.",
  reload: "Load again",
  paid: "Thank you for your purchase",
  paid_how: "Your order is complete, but this page cannot show its details. Your purchases show them.",
  pending: "Your payment is being processed",
  pending_how: "Do not pay again. If your bank has a question, load the page again to answer it.",
  purchases: "Open your purchases",
};
export type FailureMessages = typeof messages;
