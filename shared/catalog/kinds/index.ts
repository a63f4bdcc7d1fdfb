import type { z } from "zod";
import { benefitKind } from "./benefits.ts";
import { checkoutLinkKind } from "./checkout-links.ts";
import { customFieldKind } from "./custom-fields.ts";
import { discountKind } from "./discounts.ts";
import type { CatalogKind, Kind } from "./kind.ts";
import { meterKind } from "./meters.ts";
import { productKind } from "./products.ts";
import { webhookKind } from "./webhooks.ts";

/** All kinds by their names in the file. */
export const catalogKinds = {
  meters: meterKind,
  benefits: benefitKind,
  custom_fields: customFieldKind,
  products: productKind,
  discounts: discountKind,
  checkout_links: checkoutLinkKind,
  webhooks: webhookKind,
} satisfies Record<Kind, unknown>;

type Kinds = typeof catalogKinds;
/** One thing of a kind, as a file holds it. */
export type Item<K extends Kind = Kind> = { [N in Kind]: z.output<Kinds[N]["item"]> }[K];
/** What each kind is on the wire. */
export type Rows = { [K in Kind]: Parameters<Kinds[K]["foundFields"]>[0] };

export type AnyKind = CatalogKind<z.ZodType, Rows[Kind]>;
/** What a kind says of itself, where any may be meant. */
export const getKind = (kind: Kind): AnyKind => catalogKinds[kind];
