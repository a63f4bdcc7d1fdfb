/** The store as a whole on the command line: what a seller looks at first, a sandbox, and which CI jobs may work on it. */
export const storeViews = {
  overview: {
    summary: "What a seller looks at first: revenue, orders, faults, usage, renewals",
    noun: "overview",
    columns: [],
  },
  ciRules: {
    name: "ci-rules",
    summary: "CI jobs that get a short-lived key without a stored secret",
    noun: "CI rule",
    columns: ["repository:name", "branch", "environment", "scopes", "last_used_at:date", "id:key"],
    examples: {
      list: ["floe ci-rules list", "floe ci-rules list --json repository,branch,scopes"],
      create: [
        "floe ci-rules create --repository acme/shop --branch main --scopes products:read,products:write",
        "floe ci-rules create --provider gitlab --repository acme/shop --environment production --scopes products:write",
      ],
      delete: ["floe ci-rules delete CI_RULE_ID --yes"],
    },
  },
  storefront: {
    summary: "The sellers that the server shows at its address",
    noun: "storefront",
    columns: [],
  },
  sandbox: {
    summary: "Test stores: their clock and snapshots",
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
