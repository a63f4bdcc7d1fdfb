/** The paths of the pages that a card processor would have, while the test processor is in use. They are no operations of the contract. */
export const testProcessorPaths = {
  /** Takes a card, and answers a token for it. */
  tokens: "/v1/payment-processor/test/confirmation-tokens",
  /** Answers for the buyer what the bank asks. */
  authenticate: "/v1/payment-processor/test/intents/:client_secret/authenticate",
} as const;
