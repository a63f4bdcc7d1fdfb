/** The paths of streams, which are no operations of the contract: their answers do not end. */
export const streamPaths = {
  /** Events as they happen. */
  events: "/v1/events/stream",
  /** Tokens that open one such stream. */
  tokens: "/v1/events/stream/tokens",
  /** The same events as signed webhooks, for `floe listen`. */
  deliveries: "/v1/webhooks/listen",
  /** What becomes of a checkout, for its page. */
  checkout: "/v1/checkouts/client/:client_secret/stream",
  /** What becomes of what a customer has, for the portal. */
  customer: "/v1/customer-portal/customers/stream",
  /** What becomes of the invitation to a seat, for the page that claims it. */
  seat: "/v1/customer-seats/claim/:invitation_token/stream",
} as const;
