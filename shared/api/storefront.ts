import { z } from "zod";
import { anyone, type Resource } from "../contract.ts";
import { OrganizationBranding } from "./organizations.ts";
import { CheckoutProduct } from "./products.ts";

const { id, name, description, recurring_interval, prices } = CheckoutProduct.shape;

/** A public product that a checkout link sells. */
export const StorefrontProduct = z.object({
  ...{ id, name, description, recurring_interval, prices },
  picture: z.string().nullable(),
  /** The address of the checkout link. */
  url: z.string(),
});

/** A seller that shows its products at the address of the server. */
export const StorefrontSeller = z.object({
  name: z.string(),
  slug: z.string(),
  website: z.string().nullable(),
  branding: OrganizationBranding,
  products: z.array(StorefrontProduct),
});

export const Storefront = z.object({ sellers: z.array(StorefrontSeller) });
export type Storefront = z.output<typeof Storefront>;

export const storefront = {
  get: {
    method: "GET",
    path: "/v1/storefront",
    summary: "Get the sellers who show their products at the address of the server",
    access: anyone,
    response: Storefront,
  },
} as const satisfies Resource;
