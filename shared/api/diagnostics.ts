import { z } from "zod";
import { flag, instant, type Resource, seller } from "../contract.ts";

export const checkStatuses = ["ok", "warning", "failure", "skipped"] as const;

/** The result of one check. `fix` names the setting or the command that mends it, a command between backticks. */
export const Check = z.object({
  id: z.string(),
  status: z.enum(checkStatuses),
  message: z.string(),
  fix: z.string().nullable(),
});
export type Check = z.output<typeof Check>;

export const Diagnostics = z.object({
  /** The server's clock, whatever time a sandbox has. */
  now: instant,
  version: z.string(),
  /** How many migrations the database has. */
  schema: z.int(),
  /** FLOE_URL: the address in links and e-mails. */
  url: z.string(),
  /** The address from which the server sees the caller. */
  client_address: z.string(),
  organization_id: z.string(),
  sandbox: z.boolean(),
  /** Whether the caller runs this server, and therefore sees the checks of the server itself. */
  operator: z.boolean(),
  credential: z.object({
    kind: z.enum(["key", "user", "customer", "system", "anonymous"]),
    scopes: z.array(z.string()),
    expires_at: instant.nullable(),
  }),
  checks: z.array(Check),
});
export type Diagnostics = z.output<typeof Diagnostics>;

/** Whether a store, and the server that it runs on, are set up so that sales work. */
export const diagnostics = {
  get: {
    method: "GET",
    path: "/v1/diagnostics",
    summary: "Check a store and the server that it runs on",
    access: seller("organizations:read"),
    query: z.object({ go_live: flag.describe("Check for the sale of real goods for real money.") }),
    response: Diagnostics,
    external: true,
  },
} as const satisfies Resource;
