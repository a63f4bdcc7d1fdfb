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

/** Payments of orders, and what goes back, on the command line. */
export const moneyViews = {
  payments: {
    summary: "Attempts to pay",
    noun: "payment",
    columns: [
      ...["status:state", "amount:money", "method", "decline_reason"],
      ...["order_id:order", "created_at:date", "id:key"],
    ],
    examples: { list: ["floe payments list --status failed"] },
  },
  refunds: {
    summary: "Money that goes back",
    noun: "refund",
    columns: [
      "order_id:order",
      "amount:money",
      "tax_amount:money",
      "status:state",
      "reason",
      "created_at:date",
      "id:id",
    ],
    columnsOf: { preview: ["amount:money", "tax_amount:money", "total_amount:money", "remaining_amount:money"] },
    examples: {
      list: ["floe refunds list", "floe refunds list --order-id ACME-0042"],
      create: [
        "floe refunds create --order-id ACME-0042 --amount 5.00 --reason customer_request",
        "floe refunds create --order-id ACME-0042 --amount 50% --reason customer_request",
        "floe refunds create --order-id ORDER_ID --amount all --reason duplicate --revoke-benefits --yes",
      ],
      preview: ["floe refunds preview --order-id ORDER_ID"],
    },
  },
  disputes: {
    summary: "Chargebacks and inquiries",
    noun: "dispute",
    columns: [
      "status:state",
      "amount:money",
      "order_id:order",
      "reason",
      "evidence_due_by:date",
      "created_at:date",
      "id:key",
    ],
    examples: {
      list: ["floe disputes list --status needs_response"],
      accept: ["floe disputes accept DISPUTE_ID", "floe disputes accept DISPUTE_ID --yes"],
    },
  },
};
