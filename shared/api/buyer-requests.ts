/** Which fields buyers and customers may send. All others of a seller's bodies change nothing (tests/api/buyer-fields.test.ts). */
import { z } from "zod";
import type { Contract } from "../contract.ts";
import { interval } from "./fields.ts";

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** An address, or a path on this server. */
const address = z
  .string()
  .max(2083)
  .refine(
    (text) => text.startsWith("/") || /^https?:/i.test(text),
    "An http or https address, or a path that begins with /.",
  )
  .optional();

/** What a product's own page sends to start a paid checkout for the person who is signed in there. */
export const CheckoutRequest = z
  .object({
    products: z.union([z.uuid(), z.array(z.uuid()).min(1).max(100)]).optional(),
    slug: z.string().min(1).optional(),
    /** Written by the buyer's browser, as `metadata` is: who sells does not take it for proof of who they are. */
    referenceId: z.string().min(1).max(500).optional(),
    customFieldData: z.record(z.string(), scalar).optional(),
    metadata: z.record(z.string().min(1).max(40), scalar).optional(),
    allowDiscountCodes: z.boolean().optional(),
    discountId: z.uuid().optional(),
    redirect: z.boolean().default(true),
    embedOrigin: z.url({ protocol: /^https?$/ }).optional(),
    successUrl: address,
    returnUrl: address,
    /** Terms of the seller: anyone else may only decline the trial. */
    allowTrial: z.boolean().optional(),
    trialInterval: interval.optional(),
    trialIntervalCount: z.int().min(1).max(1000).optional(),
  })
  .refine((body) => body.products !== undefined || body.slug !== undefined, {
    path: ["products"],
    message: "Name products or a slug.",
  });

export const PortalRequest = z.object({ redirect: z.boolean().default(true) });

/** A customer may only add to what they have used, so no number is negative (MTR-32). */
export const UsageIngestion = z.object({
  event: z.string().min(1).max(128),
  metadata: z
    .record(z.string(), z.union([z.string(), z.number().min(0, "Must not be negative."), z.boolean()]))
    .default({}),
});

/** What the address of a checkout link may carry: what fills in the form, and what goes into the metadata (CHK-63). */
export const linkParameters = {
  form: ["product_id", "discount_code", "amount", "customer_email", "customer_name"],
  metadata: ["reference_id", "utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"],
  /** Before the slug of a custom field. */
  answer_prefix: "custom_field_data.",
} as const;

/** The fields that a body or a query takes. */
export function listFields(schema: z.ZodType | undefined): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (!(schema instanceof z.ZodUnion)) return [];
  return [...new Set(schema.options.flatMap((option) => listFields(option as z.ZodType)))];
}

export type BuyerFields = { title: string; body: readonly string[]; query: readonly string[] };

/** For each request that a buyer or a customer can make, within the contract and beside it, the fields that it takes. */
export const listBuyerFields = (contract: Contract): BuyerFields[] => [
  ...Object.entries(contract).flatMap(([resource, operations]) =>
    Object.entries(operations)
      .filter(([, { access }]) => access.by === "anyone" || access.by === "customer")
      .map(([name, { body, query }]) => ({
        title: `${resource}.${name}`,
        body: listFields(body),
        query: listFields(query),
      })),
  ),
  { title: "POST /api/auth/checkout", body: listFields(CheckoutRequest), query: [] },
  { title: "POST /api/auth/customer/portal", body: listFields(PortalRequest), query: ["slug", "organizationId"] },
  { title: "POST /api/auth/usage/ingest", body: listFields(UsageIngestion), query: ["slug", "organizationId"] },
  { title: "GET /buy", body: [], query: [...linkParameters.form, ...linkParameters.metadata, "embed_origin"] },
];
