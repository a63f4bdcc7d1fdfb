/** Where the operations of the contract are on the command line that do not have a command made from them. */

/** Commands written by hand, by resource and operation. `tests/cli/complete.long.test.ts` sees them make these requests. */
export const handWritten: Record<string, Record<string, string>> = {
  organizations: { create: "orgs create" },
  imports: {
    ...{
      create: "import csv",
      read: "import csv",
      check: "import csv",
      apply: "import apply",
      switch: "import switch",
    },
    ...{ compare: "import status", finish: "import finish", rollback: "import rollback" },
  },
  archives: { export: "export", beginRestore: "restore", restorePart: "restore" },
  files: { create: "files upload", uploaded: "files upload" },
  invoices: {
    generate: "orders invoice",
    get: "orders invoice",
    receipt: "orders receipt",
    createExport: "orders invoices",
    getExport: "orders invoices",
    listExported: "orders invoices",
    generateCreditNote: "refunds credit-note",
    creditNote: "refunds credit-note",
  },
  subscriptionMigrations: { create: "products migrate", preview: "products migrate" },
  metrics: { get: "metrics show" },
  webhooks: { probe: "webhooks test" },
  sandbox: { advance: "advance", saveSnapshot: "sandbox save", diffSnapshots: "sandbox diff" },
  catalog: { pull: "pull", plan: "plan", rehearse: "plan", apply: "apply", import: "adopt" },
  diagnostics: { get: "doctor" },
  logs: { list: "logs list", get: "logs get" },
};

/** Further commands written by hand that make requests of the contract, the main one first. */
const furtherRequests: Record<string, string[]> = {
  restore: ["archives.activate"],
  "import csv": ["imports.list", "imports.records", "imports.compare"],
  "import stripe": [
    "imports.create",
    "imports.read",
    "imports.check",
    "imports.list",
    "imports.records",
    "imports.compare",
  ],
  ...Object.fromEntries(
    ["apply", "switch", "status", "finish", "rollback"].map((step) => [`import ${step}`, ["imports.list"]]),
  ),
  diff: ["catalog.plan", "catalog.pull"],
  drift: ["catalog.plan"],
  promote: ["catalog.apply", "catalog.plan", "catalog.pull"],
  "sandbox buy": ["checkouts.create", "customerSessions.create"],
  status: ["diagnostics.get"],
  top: ["overview.get"],
  "customers import": ["customers.create", "customers.update", "customers.list"],
  "events tail": ["events.list"],
  "refunds get": ["refunds.list", "orders.list"],
  "logs tail": ["logs.list"],
  "meters watch": ["meters.quantities", "customerMeters.list"],
  "usage receipt": ["events.ingest"],
  "usage verify": ["events.ingest"],
  "webhooks doctor": ["webhooks.probe", "organizations.get"],
  "webhooks disable": ["webhooks.updateEndpoint"],
  "webhooks enable": ["webhooks.updateEndpoint"],
};

/** Commands written by hand that answer what one operation answers, so that its schema is theirs. */
export const answered: Record<string, string> = {
  "logs list": "logs.list",
  "logs get": "logs.get",
  "metrics show": "metrics.get",
  "sandbox save": "sandbox.saveSnapshot",
  "sandbox diff": "sandbox.diffSnapshots",
};

const saysOnly = "It says on stderr that it is done, and answers nothing.";
const byEditor = "An editor needs a terminal. What programs use in its place, `update --data -`, has a schema.";
/** Commands without a schema of their own: those that answer no JSON, and those whose JSON is described elsewhere. */
export const withoutSchema: Record<string, string> = {
  ...Object.fromEntries(
    [
      ...["logout", "orgs use", "profiles use", "profiles pin", "profiles unpin", "profiles remove"],
      ...["init", "pull", "validate", "adopt", "members remove", "members leave", "invitations cancel"],
      ...["invitations accept", "invitations reject", "teams rename", "teams delete", "teams add", "teams remove"],
      ...[
        "roles delete",
        "sessions revoke",
        "audit prune",
        "api-keys revoke",
        "admin settle-restore",
        "admin release-money",
      ],
      ...["admin replace-secret", "alias set", "alias delete", "extension remove"],
    ].map((path) => [path, saysOnly]),
  ),
  edit: byEditor,
  serve: "A server writes a log, and answers on the network.",
  migrate: "The names of the migrations, a line each.",
  notices: "A text; with --sbom the CycloneDX document, which has a schema of its own.",
  mcp: "It speaks the Model Context Protocol, which has a schema of its own.",
  schema: "It answers schemas, whose own schema is that of JSON Schema.",
  "skills show": "A text.",
  ...Object.fromEntries(["bash", "zsh", "fish", "powershell"].map((shell) => [`completion ${shell}`, "A script."])),
  api: "It answers what the server answers to any request: see the schema of the operation.",
  ...Object.fromEntries(
    ["orders invoice", "orders receipt", "orders invoices", "refunds credit-note"].map((path) => [
      path,
      "It saves PDFs.",
    ]),
  ),
};
/** Why a command has no schema; undefined where it must have one. */
export const explainMissingSchema = (path: string): string | undefined =>
  withoutSchema[path] ?? (path.endsWith(" edit") ? byEditor : undefined);

/** The operations that a command written by hand requests, as `resource.operation`. */
export function listRequests(command: string): string[] {
  const own = Object.entries(handWritten).flatMap(([resource, operations]) =>
    Object.entries(operations).flatMap(([operation, path]) => (path === command ? [`${resource}.${operation}`] : [])),
  );
  return [...own, ...(furtherRequests[command] ?? [])];
}

const byCustomer =
  "A customer asks with a session of their own, on the pages of the portal; no key or role has its scopes.";
const byPage =
  "A page or a program of a buyer asks with the secret of one checkout, link or key, which sellers do not have.";

/** What has no command, and why: a resource, or one operation of it. */
export const withoutCommand: Record<string, string> = {
  ...{ customerPortal: byCustomer, portalCards: byCustomer, portalCancellations: byPage, portalOrders: byCustomer },
  ...{ portalSubscriptions: byCustomer, portalMeters: byCustomer, portalSeats: byCustomer, portalAccounts: byCustomer },
  ...{ portalMembers: byCustomer, portalWallets: byCustomer, portalGrants: byCustomer, portalKeys: byCustomer },
  ...{ portalDownloads: byCustomer, checkoutClient: byPage, cardLinks: byPage, seatClaims: byPage },
  licenseKeyUses: "Programs of buyers ask with nothing but a key. Sellers have floe license-keys.",
  organizationAccessTokens: "floe api-keys makes, shows, changes and revokes the same keys.",
  "ciRules.exchange": "floe makes this call by itself in a CI job, which has no key yet.",
  "organizations.list": "floe orgs list shows the same, of the person who is signed in.",
  "subscriptions.delete": "floe subscriptions revoke does the same by an update, which also takes the reason.",
};

/** Whether a command is made from this operation. */
export const hasGeneratedCommand = (resource: string, operation: string): boolean =>
  handWritten[resource]?.[operation] === undefined &&
  withoutCommand[resource] === undefined &&
  withoutCommand[`${resource}.${operation}`] === undefined;
