import { z } from "zod";
import { key } from "./key.ts";
import { catalogKinds, type Item, kindOf } from "./kinds/index.ts";
import { type Fault, type Kind, kinds } from "./kinds/kind.ts";
import { wrongInPrice } from "./prices.ts";

/** Without a prototype: a thing may be called `constructor`, and one that is not there must not be found. */
const keyed = <T extends z.ZodType>(item: T) =>
  z
    .record(key, item)
    .overwrite((items) => Object.assign(Object.create(null), items))
    .optional();

const sections = {
  meters: keyed(catalogKinds.meters.item),
  benefits: keyed(catalogKinds.benefits.item),
  custom_fields: keyed(catalogKinds.custom_fields.item),
  products: keyed(catalogKinds.products.item),
  discounts: keyed(catalogKinds.discounts.item),
  checkout_links: keyed(catalogKinds.checkout_links.item),
  webhooks: keyed(catalogKinds.webhooks.item),
};

/** A whole catalogue, as `floe.yaml` holds it. What it does not name is left alone; a null clears. */
export const Catalog = z
  .strictObject({
    version: z.literal(1),
    catalog: key.describe("Name of this catalogue; two files can share one organization under two names."),
    ...sections,
  })
  .superRefine((catalog, context) => {
    for (const fault of faultsOf(catalog))
      context.addIssue({ code: "custom", path: fault.path, message: fault.message });
  });
export type Catalog = z.output<typeof Catalog>;
export type CatalogInput = z.input<typeof Catalog>;

/** The amounts that are none in the currency of the organization, which those that name none are in. */
export const wrongAmounts = (catalog: Catalog, standard: string): Fault[] =>
  Object.entries(catalog.products ?? {}).flatMap(([name, { prices }]) =>
    prices.flatMap((price, index) => wrongInPrice(price, ["products", name, "prices", index], standard)),
  );

/** What no single field can tell: references that lead nowhere, keys and codes that stand twice. */
function faultsOf(catalog: Pick<Catalog, Kind>): Fault[] {
  const faults: Fault[] = [];
  for (const kind of kinds) {
    const items: Record<string, Item> = catalog[kind] ?? {};
    for (const [name, item] of Object.entries(items)) {
      const note = ({ path, message }: Fault) => void faults.push({ path: [kind, name, ...path], message });
      const own = kindOf(kind).findFaults?.(item, (to, other, path) => {
        if (catalog[to]?.[other] === undefined)
          note({ path, message: `There is no "${other}" under ${to} in this file.` });
      });
      for (const fault of own ?? []) note(fault);
      for (const [index, old] of (item.previously ?? []).entries())
        if (items[old] !== undefined)
          note({ path: ["previously", index], message: `"${old}" still stands in this file.` });
    }
  }
  return faults;
}
