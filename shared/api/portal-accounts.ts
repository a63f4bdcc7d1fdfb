import { z } from "zod";
import type { Resource } from "../contract.ts";
import { customer } from "../contract.ts";

/** Where customers have accounts that something can be given to. */
export const platforms = ["discord", "github"] as const;
export type Platform = (typeof platforms)[number];
const platform = z.enum(platforms);
/** How long somebody may take there to show an account. */
export const showingMaxS = 10 * 60;

/** The accounts elsewhere of the customer who asks (BEN-80, CUP-23). What they have is with themselves, as `oauth_accounts`. */
export const portalAccounts = {
  authorize: {
    method: "GET",
    id: "customer_portal:oauth_accounts:authorize",
    path: "/v1/customer-portal/oauth-accounts/authorize",
    summary: "Begin to show which account is one's own",
    access: customer("customer_portal:own:write"),
    query: z.object({
      platform: platform.describe("Where the account is."),
      return_to: z.string().max(2083).optional().describe("Where to go on: a page of this server; else the portal."),
    }),
    response: z.object({ url: z.string() }),
    errors: ["NotPermitted"],
  },
  delete: {
    method: "DELETE",
    id: "customer_portal:oauth_accounts:delete",
    path: "/v1/customer-portal/oauth-accounts/:platform",
    summary: "Take an account away, and what was given to it",
    access: customer("customer_portal:own:write"),
    params: z.object({ platform: z.string() }),
    status: 204,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
