const seatColumns = ["customer_email:name", "status:state", "invitation_token_expires_at:date", "id:key"];

/** Seats on the command line. */
export const seatView = {
  name: "seats",
  summary: "Seats and who holds them",
  noun: "seat",
  columns: ["total_seats", "available_seats"],
  columnsOf: { assign: seatColumns, revoke: seatColumns, resend: seatColumns },
  examples: {
    list: ["floe seats list --subscription-id ada@example.com"],
    assign: ["floe seats assign --subscription-id ada@example.com --email lin@example.com"],
    revoke: ["floe seats revoke lin@example.com --of ada@example.com --yes"],
    resend: ["floe seats resend lin@example.com --of ada@example.com"],
  },
};

/** The people of teams on the command line. */
export const memberView = {
  name: "customer-members",
  summary: "The people of customers that are teams",
  noun: "member of a team",
  within: "customers",
  sample: "acme@example.com",
  columns: ["email:name", "name", "role", "customer_id:id", "id:id"],
  names: {
    listOfCustomer: "of",
    listOfExternal: "of-named",
    createExternal: "create-named",
    getExternal: "get-named",
    updateExternal: "update-named",
    deleteExternal: "delete-named",
  },
  examples: {
    create: ["floe customer-members create acme@example.com --email lin@example.com --role billing_manager"],
    "create-named": ["floe customer-members create-named EXTERNAL_ID --email lin@example.com"],
    update: ["floe customer-members update acme@example.com MEMBER_ID --role billing_manager"],
    "update-named": ["floe customer-members update-named EXTERNAL_ID MEMBER_EXTERNAL_ID --role billing_manager"],
  },
};

/** How far changes of benefits are. */
export const grantRunView = {
  name: "grant-runs",
  summary: "Progress of benefit changes",
  noun: "change of benefits",
  columns: ["status", "stage", "noted", "waiting", "created_at:date", "id:id"],
};

/** Cancellations that buyers declared without signing in. */
export const cancellationView = {
  name: "cancellations",
  summary: "Cancellations that buyers declared without signing in",
  noun: "cancellation",
  columns: ["name", "email", "reference", "kind", "confirmed_at:date", "settled_at:date", "created_at:date", "id:id"],
};
