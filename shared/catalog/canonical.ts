import type { z } from "zod";
import { type BenefitCreate, benefits, readProperties as readBenefit } from "../api/benefits.ts";
import { checkoutLinks } from "../api/checkout-links.ts";
import { customFields, readProperties as readField } from "../api/custom-fields.ts";
import { discounts } from "../api/discounts.ts";
import { type Filter, meters } from "../api/meters.ts";
import { products } from "../api/products.ts";
import { webhooks } from "../api/webhooks.ts";
import { normalFilter } from "../meter-filter.ts";
import type { Fields } from "./compare.ts";
import type { Kind } from "./document.ts";

const bodies: Record<Kind, z.ZodObject> = {
  meters: meters.update.body,
  benefits: benefits.update.body,
  custom_fields: customFields.update.body,
  products: products.update.body,
  discounts: discounts.update.body,
  checkout_links: checkoutLinks.update.body,
  webhooks: webhooks.updateEndpoint.body,
};
/** What the file says in words of its own; it is brought into form by itself. */
const translated = new Set(["properties", "prices", "products", "medias", "starts_at", "ends_at", "filter"]);

/** Properties as the API would keep them: trimmed, and a blank as none. What is not all there yet is left as it is. */
function canonicalProperties(kind: Kind, type: unknown, given: Fields): Fields {
  const result =
    kind === "benefits"
      ? readBenefit(type as z.output<typeof BenefitCreate>["type"], given)
      : readField(type as Parameters<typeof readField>[0], given);
  if (!result.success) return given;
  const kept: Fields = { ...result.data };
  return Object.fromEntries(Object.keys(given).map((name) => [name, kept[name] ?? null]));
}

/** Fields as the API would keep them, so that what it trims is not taken for a difference for ever. */
export function canonical(kind: Kind, fields: Fields): Fields {
  const shape: Record<string, z.ZodType> = bodies[kind].shape as Record<string, z.ZodType>;
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => {
      if (field === "filter") return [field, normalFilter(value as Filter)];
      if (field === "properties" && value) return [field, canonicalProperties(kind, fields.type, value as Fields)];
      const result = translated.has(field) ? undefined : shape[field]?.safeParse(value);
      return [field, result?.success && result.data !== undefined ? result.data : value];
    }),
  );
}
