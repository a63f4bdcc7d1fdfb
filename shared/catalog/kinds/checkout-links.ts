import { z } from "zod";
import { type CheckoutLink, checkoutLinks } from "../../api/checkout-links.ts";
import { webUrl } from "../../api/fields.ts";
import { key } from "../key.ts";
import { defineKind, listPlaces, metadata, omitDefaults, previously, readMark, Trial, writeTrial } from "./kind.ts";

export const checkoutLinkKind = defineKind({
  item: z.strictObject({
    products: z.array(key).min(1),
    label: z.string().nullable().optional(),
    discount: key.nullable().optional(),
    allow_discount_codes: z.boolean().optional(),
    require_billing_address: z.boolean().optional(),
    seats: z.int().min(1).nullable().optional(),
    success_url: z.string().nullable().optional(),
    return_url: webUrl.nullable().optional(),
    trial: Trial.optional(),
    metadata,
    previously,
  }),
  update: checkoutLinks.update.body,
  wantedFields: ({ previously: _, ...item }) => item,
  foundFields: (row: CheckoutLink, names) => ({
    products: row.products.map(({ id }) => names.keyOf("products", id)),
    label: row.label,
    discount: row.discount_id && names.keyOf("discounts", row.discount_id),
    allow_discount_codes: row.allow_discount_codes,
    require_billing_address: row.require_billing_address,
    seats: row.seats,
    success_url: row.success_url,
    return_url: row.return_url,
    trial: row.trial_interval && { interval: row.trial_interval, count: row.trial_interval_count },
    metadata: row.metadata,
  }),
  bodyOf({ products, discount, trial, ...plain }, ids) {
    return {
      ...plain,
      ...writeTrial(trial),
      ...(products === undefined ? {} : { products: (products as string[]).map((one) => ids.idOf("products", one)) }),
      ...(discount === undefined ? {} : { discount_id: discount && ids.idOf("discounts", String(discount)) }),
    };
  },
  shorten: (fields) => omitDefaults(fields, { allow_discount_codes: true, require_billing_address: false }),
  nameOf: ({ label }) => label,
  marksOf: ({ label }) => [label],
  likeness: ({ label }) => readMark(label),
  needs: ({ products, discount }) => [...listPlaces("products", products), ...listPlaces("discounts", discount)],
  findFaults({ products, discount }, refer) {
    for (const [index, product] of products.entries()) refer("products", product, ["products", index]);
    if (discount) refer("discounts", discount, ["discount"]);
    return [];
  },
});
