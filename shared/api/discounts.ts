import { z } from "zod";
import {
  byId,
  ids,
  instant,
  metadata,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { currency, id, markMinorUnits, organizationOf, stored, unlessNull } from "./fields.ts";
import { OrderProduct } from "./products.ts";

const lasting = {
  duration: z.enum(["once", "forever", "repeating"]),
  /** Stands only where the duration is `repeating`. */
  duration_in_months: z.int().optional(),
};
/** `amount` and `currency` are one of the `amounts`: the one older clients read. */
const fixed = {
  ...lasting,
  type: z.literal("fixed"),
  amount: z.int(),
  currency: z.string(),
  amounts: z.record(z.string(), z.int()),
};
const percentage = { ...lasting, type: z.literal("percentage"), basis_points: z.int() };

const brief = { id: z.uuid(), name: z.string(), code: z.string().nullable() };
const base = {
  ...stored,
  ...brief,
  metadata: metadataOut,
  starts_at: instant.nullable(),
  ends_at: instant.nullable(),
  max_redemptions: z.int().nullable(),
  max_redemptions_per_customer: z.int().nullable(),
  redemptions_count: z.int(),
  organization_id: z.uuid(),
};

/** A discount inside an order or a subscription: all of it but its products. */
export const DiscountBase = z.discriminatedUnion("type", [
  z.object({ ...base, ...fixed }),
  z.object({ ...base, ...percentage }),
]);
export type DiscountBase = z.output<typeof DiscountBase>;

/** A discount as a buyer sees it. */
export const CheckoutDiscount = z.discriminatedUnion("type", [
  z.object({ ...brief, ...fixed }),
  z.object({ ...brief, ...percentage }),
]);
export type CheckoutDiscount = z.output<typeof CheckoutDiscount>;

const products = { products: z.array(OrderProduct) };
/** A price taken off. Without products it is good for all of them; without a code it is given by the API alone. */
export const Discount = z.discriminatedUnion("type", [
  z.object({ ...base, ...fixed, ...products }),
  z.object({ ...base, ...percentage, ...products }),
]);
export type Discount = z.output<typeof Discount>;

const int32Max = 2_147_483_647;
const amountMax = 999_999_999_999;
const productsMax = 100;

const name = z.string().min(1).max(255).describe("Name, as buyers see it.");
/** Letters and digits of any script, 3 to 256 of them; blank means none (DSC-01). */
const code = z
  .string()
  .trim()
  .transform((text) => (text === "" ? null : text))
  .pipe(
    z
      .string()
      .min(3)
      .max(256)
      .regex(/^[\p{L}\p{N}]+$/u, "Letters and digits only.")
      .nullable(),
  )
  .nullish()
  .describe("What buyers type; without one only the API gives it.");
const amount = markMinorUnits(z.int().min(0).max(amountMax));
const amounts = z
  .partialRecord(currency, amount)
  .refine((map) => Object.keys(map).length > 0, { message: "At least one currency." });
const months = z.int().min(1).max(999);
const cap = z.int().min(1).max(int32Max).nullish();
const type = z.enum(["fixed", "percentage"]);
const duration = z.enum(["once", "forever", "repeating"]);
const productIds = z.array(id).max(productsMax).nullish();
const basisPoints = z.int().min(1).max(10_000);

const described = {
  code,
  starts_at: instant.nullish().describe("From when it can be redeemed."),
  ends_at: instant.nullish().describe("Until when it can be redeemed; who has it then keeps it."),
  max_redemptions: cap.describe("How often in all it can be redeemed."),
  max_redemptions_per_customer: cap.describe("How often each customer can redeem it."),
  products: productIds.describe("Only for these products; none means all."),
};

type Terms = {
  type?: string | null | undefined;
  duration?: string | null | undefined;
  duration_in_months?: number | null | undefined;
  amount?: number | null | undefined;
  amounts?: object | null | undefined;
  basis_points?: number | null | undefined;
  starts_at?: Date | null | undefined;
  ends_at?: Date | null | undefined;
};
const addFault = (issues: z.RefinementCtx, path: string, message: string, kind = "value_error") =>
  issues.addIssue({ code: "custom", path: [path], message, params: { type: kind } });

/** Dates in their order (DSC-03). */
function checkDates({ starts_at, ends_at }: Terms, issues: z.RefinementCtx): void {
  if (starts_at && ends_at && starts_at >= ends_at) addFault(issues, "ends_at", "Ends at must be after starts at.");
}

/** What a new discount must say, by its type and duration (DSC-03, DSC-04). */
function checkTerms(body: Terms, issues: z.RefinementCtx): void {
  checkDates(body, issues);
  if (body.duration === "repeating" && !body.duration_in_months)
    addFault(issues, "duration_in_months", "A repeating discount needs its number of months.", "missing");
  if (body.duration !== "repeating" && body.duration_in_months)
    addFault(issues, "duration_in_months", "Only a repeating discount has a number of months.");
  const share = body.basis_points ?? undefined;
  const isFixed = (body.type ?? (share === undefined ? "fixed" : "percentage")) === "fixed";
  const given = [body.amount, body.amounts].filter((one) => one !== undefined && one !== null).length;
  if (isFixed && given === 0) addFault(issues, "amount", "A fixed discount needs an amount.", "missing");
  if (isFixed && given === 2) addFault(issues, "amounts", "Give either amount and currency, or amounts.");
  if (isFixed && share !== undefined)
    addFault(issues, "basis_points", "A fixed discount has an amount, no percentage.");
  if (!isFixed && share === undefined)
    addFault(issues, "basis_points", "A percentage discount needs its basis points: 2550 is 25.5 %.", "missing");
  if (!isFixed && given > 0) addFault(issues, "amount", "A percentage discount has no amount.");
}

export const DiscountCreate = z
  .object({
    name,
    type: type.nullish().describe("fixed takes an amount off, percentage a share; follows from the rest if not given."),
    amount: amount.nullish().describe("Amount taken off, in minor units."),
    currency: currency.nullish().describe("Currency of the amount; the organization's default if not given."),
    amounts: amounts.nullish().describe("Amounts by currency, in place of amount and currency."),
    basis_points: basisPoints.nullish().describe("Hundredths of a percent taken off: 2550 is 25.5 %."),
    duration: duration.describe("For subscriptions: only the first invoice, every one, or for some months."),
    duration_in_months: months.nullish().describe("For how many months a repeating discount lasts."),
    ...described,
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    organization_id: organizationOf,
  })
  .superRefine(checkTerms);

export const DiscountUpdate = z
  .object({
    name: unlessNull(name),
    type: unlessNull(type).describe("Cannot be changed; the same value is accepted."),
    amount: amount.nullish().describe("Amount taken off; fixed once it was redeemed."),
    currency: currency.nullish().describe("Currency of the amount; fixed once it was redeemed."),
    amounts: amounts.nullish().describe("Amounts by currency; fixed once it was redeemed."),
    basis_points: basisPoints.nullish().describe("Hundredths of a percent; fixed once it was redeemed."),
    duration: unlessNull(duration).describe("Cannot be changed; the same value is accepted."),
    duration_in_months: months.nullish().describe("For how many months; fixed once it was redeemed."),
    ...described,
    metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
  })
  .superRefine(checkDates);

export const discounts = {
  list: {
    method: "GET",
    path: "/v1/discounts/",
    summary: "List discounts",
    access: seller("discounts:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      query: z.string().optional().describe("Part of the name or the code."),
      sorting: sorting(["created_at", "name", "code", "redemptions_count", "ends_at"], ["-created_at"]),
    }),
    response: page(Discount),
  },
  get: {
    method: "GET",
    path: "/v1/discounts/:id",
    summary: "Get a discount",
    access: seller("discounts:read"),
    params: byId,
    response: Discount,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/discounts/",
    summary: "Create a discount",
    access: seller("discounts:write"),
    body: DiscountCreate,
    response: Discount,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/discounts/:id",
    summary: "Update a discount",
    access: seller("discounts:write"),
    params: byId,
    body: DiscountUpdate,
    response: Discount,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/discounts/:id",
    summary: "Delete a discount",
    access: seller("discounts:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this discount? Nobody can redeem it any more; subscriptions that have it keep it.",
  },
} as const satisfies Resource;
