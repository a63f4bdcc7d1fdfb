import { z } from "zod";
import { instant, type Resource, seller } from "../contract.ts";
import { Customer } from "./customers.ts";
import { stored, webUrl } from "./fields.ts";

/** What opens the customer portal for one customer, for an hour. The token is shown here alone. */
export const CustomerSession = z.object({
  ...stored,
  token: z.string(),
  expires_at: instant,
  return_url: z.string().nullable(),
  customer_portal_url: z.string(),
  customer_id: z.uuid(),
  customer: Customer,
});
export type CustomerSession = z.output<typeof CustomerSession>;

/** For exactly one customer, by our id or by the seller's own (CUP-01). */
export const CustomerSessionCreate = z
  .object({
    customer_id: z.uuid().nullish().describe("The customer whom it is for."),
    external_customer_id: z.string().max(512).nullish().describe("Your own id of the customer whom it is for."),
    customer_external_id: z.string().max(512).nullish().describe("Older name of external_customer_id."),
    member_id: z.uuid().nullish().describe("Whom of the team it is for; the customer as such where nobody is named."),
    external_member_id: z.string().max(512).nullish().describe("The same by your own id of them."),
    return_url: webUrl.nullish().describe("Where the back button of the portal leads."),
  })
  .superRefine(({ customer_id, external_customer_id, customer_external_id }, issues) => {
    const external = external_customer_id ?? customer_external_id ?? null;
    const reject = (field: string, message: string, type: string) =>
      issues.addIssue({ code: "custom", path: [field], message, params: { type } });
    if (!customer_id && external === null) reject("customer_id", "Field required", "missing");
    if (customer_id && external !== null)
      reject("external_customer_id", "A session is for one customer: name it by one id.", "value_error");
  });

export const customerSessions = {
  create: {
    method: "POST",
    path: "/v1/customer-sessions/",
    summary: "Create a customer session",
    access: seller("customer_sessions:write"),
    body: CustomerSessionCreate,
    response: CustomerSession,
    status: 201,
    answersOnce: true,
  },
} as const satisfies Resource;
