/** The shorthands by the name that `cli/resources.ts` gives them. */
import type { Shorthand } from "./shorthand.ts";
import { benefits } from "./shorthands/benefits.ts";
import { customFields } from "./shorthands/custom-fields.ts";
import { customers } from "./shorthands/customers.ts";
import { discounts } from "./shorthands/discounts.ts";
import { files } from "./shorthands/files.ts";
import { meters } from "./shorthands/meters.ts";
import { prices } from "./shorthands/prices.ts";

export const shorthands: Record<string, Shorthand> = {
  ...prices,
  ...discounts,
  ...meters,
  ...customFields,
  ...benefits,
  ...customers,
  ...files,
};
