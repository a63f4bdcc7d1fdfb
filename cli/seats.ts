/** Seats on the command line. */
export const seatLook = {
  name: "seats",
  summary: "Who has a seat of what was bought for several",
  noun: "seat",
  columns: ["total_seats", "available_seats"],
  examples: {
    list: ["floe seats list --subscription-id ID"],
    assign: ["floe seats assign --subscription-id ID --email ada@example.com"],
    revoke: ["floe seats revoke ID"],
  },
};
