import type { Kind } from "../../../../shared/catalog/kinds/kind.ts";
import { servedBenefits } from "./benefits.ts";
import { servedCheckoutLinks } from "./checkout-links.ts";
import { servedCustomFields } from "./custom-fields.ts";
import { servedDiscounts } from "./discounts.ts";
import type { ServedKind } from "./kind.ts";
import { servedMeters } from "./meters.ts";
import { servedProducts } from "./products.ts";
import { servedWebhooks } from "./webhooks.ts";

/** All kinds by their names in the file. */
export const servedKinds: Record<Kind, ServedKind> = {
  meters: servedMeters,
  benefits: servedBenefits,
  custom_fields: servedCustomFields,
  products: servedProducts,
  discounts: servedDiscounts,
  checkout_links: servedCheckoutLinks,
  webhooks: servedWebhooks,
};
