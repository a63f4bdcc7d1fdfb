/** What people type in place of fields: loaded by those commands alone that have such flags. */
import type { FlagEntry } from "../manifest.ts";
import type { Shorthand } from "./shorthand.ts";
import { benefits } from "./shorthands/benefits.ts";
import { customFields } from "./shorthands/custom-fields.ts";
import { customers } from "./shorthands/customers.ts";
import { discounts } from "./shorthands/discounts.ts";
import { files } from "./shorthands/files.ts";
import { meters } from "./shorthands/meters.ts";
import { prices } from "./shorthands/prices.ts";

/** The shorthands by the name that `cli/resources.ts` gives them. */
export const shorthands: Record<string, Shorthand> = {
  ...prices,
  ...discounts,
  ...meters,
  ...customFields,
  ...benefits,
  ...customers,
  ...files,
};

/** Fields with the shorthands that write them. */
export const addShorthands = (entries: FlagEntry[]): FlagEntry[] =>
  entries.map((entry) => ({ ...entry, shorts: (entry.shorthands ?? []).flatMap((name) => shorthands[name] ?? []) }));
