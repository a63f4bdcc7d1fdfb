const seatColumns = ["customer_email:name", "status:state", "invitation_token_expires_at:date", "id:key"];

/** Seats on the command line. */
export const seatView = {
  name: "seats",
  summary: "Who has a seat of what was bought for several",
  noun: "seat",
  columns: ["total_seats", "available_seats"],
  columnsOf: { assign: seatColumns, revoke: seatColumns, resend: seatColumns },
  examples: {
    list: ["floe seats list --subscription-id ID"],
    assign: ["floe seats assign --subscription-id ID --email ada@example.com"],
    revoke: ["floe seats revoke ID"],
  },
};

/** The people of teams on the command line. */
export const memberView = {
  name: "customer-members",
  summary: "The people of customers that are teams",
  noun: "member of a team",
  within: "customers",
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
    create: ["floe customer-members create acme@example.com --email ada@example.com --role billing_manager"],
  },
};

/** How far changes of benefits are. */
export const grantRunView = {
  name: "grant-runs",
  summary: "How far changes of benefits are",
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

/** What customers do on their own pages has no commands. */
export const portalViews: Record<string, false> = {
  ...{ portalOrders: false, portalSubscriptions: false, portalMeters: false, portalSeats: false },
  portalAccounts: false,
  portalCancellations: false,
  ...{ portalMembers: false, portalWallets: false, portalGrants: false, portalKeys: false, portalDownloads: false },
};
