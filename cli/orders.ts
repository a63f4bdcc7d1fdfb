/** Orders on the command line. */
export const orderView = {
  summary: "What was sold",
  noun: "order",
  namedBy: ["invoice_number"],
  sample: "ACME-0042",
  // Its id is in --json: the number stands in its place.
  columns: [
    "invoice_number:name",
    "created_at:date",
    "status:state",
    "total_amount:money",
    "customer.email",
    "product.name",
  ],
  examples: {
    update: ['floe orders update ACME-0042 --billing-name "Acme GmbH"'],
    list: ["floe orders list", "floe orders list --all --json id,total_amount,customer.email"],
    explain: ["floe orders explain ORDER_ID", "floe orders explain ACME-0042"],
    "resend-mail": ["floe orders resend-mail ACME-0042"],
    export: [
      "floe orders export -o orders.csv",
      "floe orders export --created-after 2026-01-01T00:00:00Z --columns invoice_number,total_amount,tax_amount,currency",
    ],
  },
};
