import { z } from "zod";
import {
  byId,
  flag,
  ids,
  many,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { Benefit, BenefitPublic } from "./benefits.ts";
import { AttachedCustomField, AttachedCustomFieldInput } from "./custom-fields.ts";
import {
  auditArchiving,
  blankToNull,
  checkTrial,
  id,
  interval,
  organizationOf,
  stored,
  trialInput,
  unlessNull,
} from "./fields.ts";
import { ProductMedia } from "./files.ts";
import { ExistingPrice, ProductPrice, ProductPriceCreate } from "./prices.ts";

const visibility = z.enum(["draft", "private", "public"]);

/** What a product says of itself wherever it is shown. */
export const productFields = {
  ...stored,
  name: z.string(),
  description: z.string().nullable(),
  visibility,
  trial_interval: interval.nullable(),
  trial_interval_count: z.int().nullable(),
  recurring_interval: interval.nullable(),
  recurring_interval_count: z.int().nullable(),
  meter_interval: interval.nullable(),
  meter_interval_count: z.int().nullable(),
  is_recurring: z.boolean(),
  is_archived: z.boolean(),
  organization_id: z.uuid(),
};

export const Product = z.object({
  ...productFields,
  /** Whether it can be deleted, which newer clients ask: no operation does that, so never (PRD-28). */
  is_deletable: z.boolean(),
  metadata: metadataOut,
  prices: z.array(ProductPrice),
  benefits: z.array(Benefit),
  medias: z.array(ProductMedia),
  attached_custom_fields: z.array(AttachedCustomField),
});
export type Product = z.output<typeof Product>;

/** A product as its buyer sees it. */
export const CheckoutProduct = z.object({
  ...productFields,
  prices: z.array(ProductPrice),
  benefits: z.array(BenefitPublic),
  medias: z.array(ProductMedia),
});
export type CheckoutProduct = z.output<typeof CheckoutProduct>;

/** A product inside an order or a subscription. */
export const OrderProduct = z.object({ ...productFields, metadata: metadataOut });
export type OrderProduct = z.output<typeof OrderProduct>;

const name = z.string().min(3).max(64).trim().min(1).describe("Name of the product, 3 to 64 characters.");
const description = blankToNull(100_000).nullish().describe("What the product is, in Markdown.");
const count = z.int().min(1).max(999);
const medias = z.array(id).max(100).describe("Files to show, in order.");
const customFields = z.array(AttachedCustomFieldInput).max(100).describe("Custom fields the checkout asks for.");

export const ProductCreate = z
  .object({
    name,
    description,
    prices: z.array(ProductPriceCreate).min(1).max(100).describe("How it can be paid for; at least one price."),
    recurring_interval: interval.nullish().describe("How often it is charged; not given for a one-time purchase."),
    recurring_interval_count: count.nullish().describe("Charge every so many intervals."),
    ...trialInput,
    meter_interval: interval.nullish().describe("How often metered use is charged, if not with the product."),
    meter_interval_count: count.nullish().describe("Charge metered use every so many intervals."),
    visibility: visibility.default("public").describe("Who finds it."),
    medias: medias
      .nullish()
      .transform((files) => files ?? [])
      .describe("Files to show, in order."),
    attached_custom_fields: customFields.default(() => []),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    organization_id: organizationOf,
  })
  // What a one-time purchase has no use for is not looked at (PRD-03).
  .superRefine((body, issues) => {
    if (body.recurring_interval) checkTrial(body, issues);
  });

export const ProductUpdate = z
  .object({
    name: name.optional(),
    description,
    prices: unlessNull(
      z
        .array(z.union([ExistingPrice, ProductPriceCreate]))
        .min(1)
        .max(100),
    ).describe(
      "The whole list that is wanted: { id } keeps a price, anything else adds one, what is missing is archived.",
    ),
    recurring_interval: unlessNull(interval).describe("Cannot be changed; the same value is accepted."),
    recurring_interval_count: unlessNull(count).describe("Cannot be changed; the same value is accepted."),
    ...trialInput,
    is_archived: unlessNull(z.boolean()).describe("Whether it is taken off sale; subscriptions to it go on."),
    visibility: unlessNull(visibility).describe("Who finds it."),
    medias: unlessNull(medias),
    attached_custom_fields: unlessNull(customFields),
    metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
  })
  .superRefine(checkTrial);

export const products = {
  list: {
    method: "GET",
    path: "/v1/products/",
    summary: "List products",
    access: seller("products:read"),
    query: z.object({
      ...paging.shape,
      id: ids.describe("Only these products."),
      organization_id: ids.describe("Only of these organizations."),
      query: z.string().optional().describe("Part of the name."),
      is_archived: flag.describe("Only archived ones, or only those on sale."),
      is_recurring: flag.describe("Only subscriptions, or only one-time purchases."),
      benefit_id: ids.describe("Only products that give one of these benefits."),
      visibility: many(visibility).describe("Only of this visibility."),
      metadata: metadataFilter,
      sorting: sorting(["created_at", "name", "price_amount_type", "price_amount"], ["-created_at"]),
    }),
    response: page(Product),
  },
  get: {
    method: "GET",
    path: "/v1/products/:id",
    summary: "Get a product",
    access: seller("products:read"),
    params: byId,
    response: Product,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/products/",
    summary: "Create a product",
    access: seller("products:write"),
    body: ProductCreate,
    response: Product,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/products/:id",
    summary: "Update a product",
    access: seller("products:write"),
    params: byId,
    body: ProductUpdate,
    response: Product,
    audit: auditArchiving("product"),
    errors: ["NotPermitted", "ResourceNotFound"],
  },
  setBenefits: {
    method: "POST",
    id: "products:update_benefits",
    path: "/v1/products/:id/benefits",
    audit: "product.benefits_set",
    summary: "Set the benefits of a product",
    access: seller("products:write"),
    params: byId,
    body: z.object({
      benefits: z.array(id).max(100).describe("The whole list that is wanted, in order; an empty one for none."),
    }),
    response: Product,
    errors: ["NotPermitted", "ResourceNotFound"],
  },
} as const satisfies Resource;
