/** The store as a whole on the command line: what a seller looks at first, and a sandbox. */
export const storeViews = {
  overview: {
    summary: "What a seller looks at first: revenue, orders, faults, usage, renewals",
    noun: "overview",
    columns: [],
  },
  storefront: {
    summary: "The sellers that the server shows at its address",
    noun: "storefront",
    columns: [],
  },
  sandbox: {
    summary: "A store to try things out in: its time, and what was saved of it",
    noun: "snapshot",
    columns: ["name:name", "rows", "created_at:date"],
    names: {
      ...{ getClock: "clock", listMails: "mails", listSnapshots: "list" },
      ...{ restoreSnapshot: "restore", deleteSnapshot: "delete" },
    },
    columnsOf: { mails: ["subject", "to", "created_at:date", "id:key"] },
    sample: "start",
    examples: {
      clock: ["floe sandbox clock", "floe sandbox clock --json now"],
      restore: ["floe sandbox restore start --yes"],
    },
  },
};
