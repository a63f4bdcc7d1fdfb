import type { Command } from "commander";
import type { Context } from "../context.ts";
import { editableGroups } from "../edit/kinds.ts";

/** A command that is not a resource of the contract. Its module is loaded when it is called. */
type CommandModule = { add(root: Command, contextOf: (command: Command) => Context): void };
type Entry = { summary: string; heading: "start" | "catalog" | "people" | "develop"; load(): Promise<CommandModule> };

type CatalogCommands = typeof import("./catalog.ts");
/** A command of the catalogue as a file; all of them live in one module. */
const defineEntry = (summary: string, pick: (all: CatalogCommands) => CommandModule["add"]): Entry => ({
  summary,
  heading: "catalog",
  load: async () => ({ add: pick(await import("./catalog.ts")) }),
});

type Tools = typeof import("./tools.ts");
/** Load a command that lives in the file of large commands. */
const loadTool =
  (pick: (tools: Tools) => VerbModule["add"]): (() => Promise<VerbModule>) =>
  async () => ({ add: pick(await import("./tools.ts")) });

/** The commands that are written by hand, in the order of `floe --help`. */
export const commands: Record<string, Entry> = {
  serve: { summary: "Run the server", heading: "start", load: loadTool(({ serve }) => serve.add) },
  try: {
    summary: "Start a store on this machine and make a first sale, without an account",
    heading: "start",
    load: loadTool(({ tryOut }) => tryOut.add),
  },
  login: { summary: "Sign in by a code in the browser", heading: "start", load: loadTool(({ login }) => login.add) },
  logout: { summary: "Sign out and forget the sign-in", heading: "start", load: () => import("./logout.ts") },
  whoami: {
    summary: "Say who is signed in, where, and for which organization",
    heading: "start",
    load: () => import("./whoami.ts"),
  },
  orgs: {
    summary: "Your organizations: list, choose, create",
    heading: "start",
    load: loadTool(({ orgs }) => orgs.add),
  },
  profiles: {
    summary: "The servers that you have signed in to",
    heading: "start",
    load: loadTool(({ profiles }) => profiles.add),
  },
  status: {
    summary: "Which store and server you use, and what is wrong",
    heading: "start",
    load: loadTool(({ doctor }) => doctor.addStatus),
  },
  doctor: {
    summary: "Check the store, its server and this machine; --go-live before real money",
    heading: "start",
    load: loadTool(({ doctor }) => doctor.addDoctor),
  },
  top: {
    summary: "Watch the store on one screen: revenue, orders, failures, usage",
    heading: "start",
    load: loadTool(({ top }) => top.add),
  },
  edit: {
    summary: "Change something as YAML in your editor",
    heading: "start",
    load: loadTool(({ edit }) => edit.add),
  },
  open: { summary: "Open a page of the server in the browser", heading: "start", load: () => import("./open.ts") },
  init: defineEntry("Start a catalogue file", (all) => all.addInit),
  pull: defineEntry("Update the file from the server", (all) => all.addPull),
  validate: defineEntry("Check the file, without asking the server", (all) => all.addValidate),
  plan: defineEntry("Preview the changes that the file would make", (all) => all.addPlan),
  apply: defineEntry("Make the changes of the file, all of them or none", (all) => all.addApply),
  drift: defineEntry("Show where the server has drifted from the file", (all) => all.addDrift),
  adopt: defineEntry("Bring an existing item under a key of the catalogue", (all) => all.addAdopt),
  promote: defineEntry("Give one profile the catalogue of another", (all) => all.addPromote),
  diff: defineEntry("Compare the catalogues of two profiles", (all) => all.addDiff),
  export: {
    summary: "Save all data of the organization in one file",
    heading: "start",
    load: loadTool(({ archive }) => archive.addExport),
  },
  restore: {
    summary: "Restore an organization from such a file",
    heading: "start",
    load: loadTool(({ archive }) => archive.addRestore),
  },
  members: {
    summary: "Who belongs to the organization, and as what",
    heading: "people",
    load: loadTool(({ members }) => members.add),
  },
  invitations: {
    summary: "Ask people into the organization",
    heading: "people",
    load: loadTool(({ invitations }) => invitations.add),
  },
  teams: {
    summary: "Groups of members within the organization",
    heading: "people",
    load: loadTool(({ teams }) => teams.add),
  },
  roles: {
    summary: "What members may do, in roles of your own",
    heading: "people",
    load: loadTool(({ roles }) => roles.add),
  },
  sessions: { summary: "See and end your sign-ins", heading: "people", load: loadTool(({ sessions }) => sessions.add) },
  audit: { summary: "Who did what, when and from where", heading: "people", load: loadTool(({ audit }) => audit.add) },
  usage: {
    summary: "Check usage against your own records",
    heading: "develop",
    load: loadTool(({ usage }) => usage.add),
  },
  listen: {
    summary: "Forward events to a program on this machine",
    heading: "develop",
    load: loadTool(({ listen }) => listen.add),
  },
  trigger: {
    summary: "Make an event happen in a sandbox",
    heading: "develop",
    load: loadTool(({ trigger }) => trigger.add),
  },
  advance: {
    summary: "Let time pass in a sandbox, and see what happens",
    heading: "develop",
    load: loadTool(({ advance }) => advance.add),
  },
  demo: { summary: "Fill a sandbox with months of sales", heading: "develop", load: loadTool(({ demo }) => demo.add) },
  "api-keys": {
    summary: "Make and revoke keys for programs",
    heading: "develop",
    load: loadTool(({ apiKeys }) => apiKeys.add),
  },
  jobs: {
    summary: "Failed background jobs of the server: retry, discard",
    heading: "develop",
    load: loadTool(({ jobs }) => jobs.add),
  },
  logs: {
    summary: "Requests, webhook deliveries, mails and failed jobs of the store",
    heading: "develop",
    load: loadTool(({ logs }) => logs.add),
  },
  migrate: {
    summary: "Migrate the database of a server, for its operator",
    heading: "develop",
    load: loadTool(({ migrate }) => migrate.add),
  },
  verify: {
    summary: "Compute the books of a database again, for its operator",
    heading: "develop",
    load: loadTool(({ verify }) => verify.add),
  },
  admin: {
    summary: "Operate a server on its own machine: after a backup was restored",
    heading: "develop",
    load: loadTool(({ admin }) => admin.add),
  },
  polar: {
    summary: "Connect a server with hosted Polar: webhook endpoint, status, sync",
    heading: "develop",
    load: loadTool(({ polar }) => polar.add),
  },
  notices: {
    summary: "Licenses of the packages that floe is shipped with",
    heading: "develop",
    load: () => import("./notices.ts"),
  },
  mcp: {
    summary: "Let a language model work with the store (Model Context Protocol)",
    heading: "develop",
    load: () => import("../mcp/command.ts"),
  },
  commands: {
    summary: "List every command, as data for programs",
    heading: "develop",
    load: loadTool(({ commandList }) => commandList.add),
  },
  schema: {
    summary: "The JSON Schema of what a command answers, or of floe.yaml",
    heading: "develop",
    load: loadTool(({ schema }) => schema.add),
  },
  skills: {
    summary: "A skill that teaches a coding agent to sell with floe",
    heading: "develop",
    load: loadTool(({ skills }) => skills.add),
  },
  man: {
    summary: "The manual of a command, as a page for man",
    heading: "develop",
    load: loadTool(({ man }) => man.add),
  },
  completion: {
    summary: "Complete commands, flags and names in your shell",
    heading: "develop",
    load: loadTool(({ completion }) => completion.add),
  },
  alias: { summary: "Names of your own for commands", heading: "develop", load: loadTool(({ alias }) => alias.add) },
  extension: {
    summary: "Programs as commands of floe: install, list, upgrade, remove, create",
    heading: "develop",
    load: loadTool(({ extension }) => extension.add),
  },
  api: {
    summary: "Send any request: floe api /v1/products/",
    heading: "develop",
    load: loadTool(({ api }) => api.add),
  },
};

type VerbModule = { add(group: Command, contextOf: (command: Command) => Context): void };
const loadDocument = (pick: (all: Tools["documents"]) => VerbModule["add"]) =>
  loadTool(({ documents }) => pick(documents));
const loadEdit = loadTool(({ edit }) => edit.addToGroup);
/** Commands written by hand that stand in a group of the contract, by group and name. */
const handWrittenVerbs: Record<string, Record<string, () => Promise<VerbModule>>> = {
  customers: { import: loadTool(({ customersImport }) => customersImport.add) },
  files: { upload: () => import("./files-upload.ts") },
  orders: {
    invoice: loadDocument((all) => all.addInvoice),
    receipt: loadDocument((all) => all.addReceipt),
    invoices: loadTool(({ invoices }) => invoices.addInvoices),
  },
  import: {
    csv: loadTool(({ imports }) => imports.addCsv),
    stripe: loadTool(({ importStripe }) => importStripe.addStripe),
    apply: loadTool(({ imports }) => imports.addApply),
    switch: loadTool(({ imports }) => imports.addSwitch),
    status: loadTool(({ imports }) => imports.addStatus),
    finish: loadTool(({ imports }) => imports.addFinish),
    rollback: loadTool(({ imports }) => imports.addRollback),
  },
  payments: { connect: loadTool(({ paymentsConnect }) => paymentsConnect.addConnect) },
  products: { migrate: loadTool(({ productsMigrate }) => productsMigrate.addMigrate) },
  refunds: {
    get: loadTool(({ refundsGet }) => refundsGet.addGet),
    "credit-note": loadDocument((all) => all.addCreditNote),
  },
  events: {
    stream: loadTool(({ eventsStream }) => eventsStream.add),
    tail: loadTool(({ eventsTail }) => eventsTail.add),
  },
  meters: { watch: loadTool(({ metersWatch }) => metersWatch.addWatch) },
  webhooks: {
    test: loadTool(({ webhooks }) => webhooks.addTest),
    doctor: loadTool(({ webhooks }) => webhooks.addDoctor),
    enable: loadTool(({ webhooks }) => webhooks.addEnable),
    disable: loadTool(({ webhooks }) => webhooks.addDisable),
  },
  metrics: { show: loadTool(({ metrics }) => metrics.addShow) },
  sandbox: {
    buy: loadTool(({ sandboxBuy }) => sandboxBuy.addBuy),
    save: loadTool(({ sandbox }) => sandbox.addSave),
    diff: loadTool(({ sandbox }) => sandbox.addDiff),
  },
};

/** The same with `edit` of each group whose things can be edited. */
export const verbs: Record<string, Record<string, () => Promise<VerbModule>>> = {
  ...handWrittenVerbs,
  ...Object.fromEntries(editableGroups.map((name) => [name, { ...handWrittenVerbs[name], edit: loadEdit }])),
};
