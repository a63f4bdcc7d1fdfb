/** Large commands and rarely called ones. They live in one file of the bundle, so that the others start without them. */
export * as admin from "./admin.ts";
export * as completion from "./completion.ts";
export * as customersImport from "./customers-import.ts";
export * as demo from "./demo.ts";
export * as doctor from "./doctor.ts";
export * as invitations from "./invitations.ts";
export * as jobs from "./jobs.ts";
export * as listen from "./listen.ts";
export * as logs from "./logs.ts";
export * as roles from "./roles.ts";
export * as schema from "./schema.ts";
export * as teams from "./teams.ts";
export * as trigger from "./trigger.ts";
export * as tryOut from "./try.ts";
export * as usage from "./usage.ts";
export * as verify from "./verify.ts";
export * as webhooks from "./webhooks.ts";
