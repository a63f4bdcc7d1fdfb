/** What customers were given of what they bought. */
export const holdingLooks = {
  benefitGrants: {
    name: "benefit-grants",
    summary: "What customers were given of what they bought",
    noun: "benefit grant",
    columns: [
      ...["customer.email:name", "benefit.description", "benefit.type", "is_granted:flag", "error.message"],
      ...["created_at:date", "id:key"],
    ],
    examples: {
      list: ["floe benefit-grants list --customer-id ada@example.com", "floe benefit-grants list --is-granted false"],
      retry: ["floe benefit-grants retry GRANT_ID"],
    },
  },
};
