import { z } from "zod";
import { anyone, byId, ids, instant, page, paging, type Resource, seller } from "../contract.ts";
import { email, stored } from "./fields.ts";

export const cancellationKinds = ["ordinary", "extraordinary"] as const;
const limitText = (max: number) => z.string().trim().min(1).max(max);

/** What a buyer declared on the public page on which contracts are canceled without signing in. Beyond Polar. */
export const CancellationNotice = z.object({
  ...stored,
  organization_id: z.uuid(),
  name: z.string(),
  email: z.string(),
  /** The contract, order or product that the buyer named. */
  reference: z.string(),
  kind: z.enum(cancellationKinds),
  reason: z.string().nullable(),
  /** The day on which the contract is to end; null: as early as possible. */
  wanted_on: z.string().nullable(),
  /** When the link of the mail was followed, which proves the address; null until then. */
  confirmed_at: instant.nullable(),
  /** Whose address it is; null where nobody has it, or it is not proved. */
  customer_id: z.uuid().nullable(),
  /** What was canceled to the end of its period; null where the seller has to decide. */
  subscription_id: z.uuid().nullable(),
  /** When the seller noted that nothing is left to do. */
  settled_at: instant.nullable(),
});
export type CancellationNotice = z.output<typeof CancellationNotice>;

export const CancellationDeclaration = z
  .object({
    organization_id: z.uuid().describe("The seller with whom the contract is."),
    name: limitText(200).describe("Who cancels."),
    email: email.describe("Where the confirmation is sent."),
    reference: limitText(200).describe("Number of the order or invoice, or the product."),
    kind: z.enum(cancellationKinds).describe("Ordinary, or extraordinary for a good cause."),
    reason: limitText(2000).nullish().describe("The cause of an extraordinary cancellation."),
    wanted_on: z.iso.date().nullish().describe("The day on which the contract is to end; none: as early as possible."),
    locale: z.string().max(35).nullish().describe("The language of the confirmation."),
  })
  .refine(({ kind, reason }) => kind === "ordinary" || reason, {
    path: ["reason"],
    message: "An extraordinary cancellation needs a reason.",
  });

export const cancellations = {
  list: {
    method: "GET",
    path: "/v1/cancellations/",
    summary: "List the cancellations that buyers declared without signing in",
    access: seller("subscriptions:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      settled: z.stringbool().optional().describe("Only those that are settled, or are not."),
    }),
    response: page(CancellationNotice),
  },
  get: {
    method: "GET",
    path: "/v1/cancellations/:id",
    summary: "Get a declared cancellation",
    access: seller("subscriptions:read"),
    params: byId,
    response: CancellationNotice,
    errors: ["ResourceNotFound"],
  },
  settle: {
    method: "POST",
    path: "/v1/cancellations/:id/settle",
    summary: "Note that nothing is left to do for a declared cancellation",
    access: seller("subscriptions:write"),
    params: byId,
    response: CancellationNotice,
    audit: "cancellation.settled",
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;

/** What a buyer does without signing in (CUP-30). */
export const portalCancellations = {
  declare: {
    method: "POST",
    id: "customer_portal:cancellations:declare",
    path: "/v1/customer-portal/cancellations",
    summary: "Cancel a contract without signing in",
    access: anyone,
    limit: "code",
    body: CancellationDeclaration,
    response: z.object({ received_at: instant }),
    status: 201,
    errors: ["ResourceNotFound"],
  },
  confirm: {
    method: "POST",
    id: "customer_portal:cancellations:confirm",
    path: "/v1/customer-portal/cancellations/confirm",
    summary: "Prove the address of a declared cancellation by the link that was mailed to it",
    access: anyone,
    limit: "code",
    body: z.object({ token: z.string().min(1).max(256).describe("What stands in the link after `token=`.") }),
    response: z.object({
      /** Whether a contract was canceled at once; otherwise the seller decides. */
      canceled: z.boolean(),
      ends_at: instant.nullable(),
    }),
    answersOnce: true,
    errors: ["ResourceUnavailable"],
  },
} as const satisfies Resource;
