/** The paths of streams, which are no operations of the contract: their answers do not end. */
export const streamPaths = {
  /** Events as they happen. */
  events: "/v1/events/stream",
  /** Tokens that open one such stream. */
  tokens: "/v1/events/stream/tokens",
  /** The same events as signed webhooks, for `floe listen`. */
  deliveries: "/v1/webhooks/listen",
} as const;
