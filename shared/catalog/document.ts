import { z } from "zod";
import { findNearest } from "../nearest.ts";
import { key } from "./key.ts";
import { catalogKinds, getKind, type Item } from "./kinds/index.ts";
import { type Fault, type Kind, kinds } from "./kinds/kind.ts";
import { validatePrice } from "./prices.ts";

/** Without a prototype: a thing may be called `constructor`, and one that is not there must not be found. */
const matchKey = <T extends z.ZodType>(item: T) =>
  z
    .record(key, item)
    .overwrite((items) => Object.assign(Object.create(null), items))
    .optional();

const sections = {
  meters: matchKey(catalogKinds.meters.item),
  benefits: matchKey(catalogKinds.benefits.item),
  custom_fields: matchKey(catalogKinds.custom_fields.item),
  products: matchKey(catalogKinds.products.item),
  discounts: matchKey(catalogKinds.discounts.item),
  checkout_links: matchKey(catalogKinds.checkout_links.item),
  webhooks: matchKey(catalogKinds.webhooks.item),
};

/** One document is planned in one transaction, so it has an end. */
export const catalogEntriesMax = 5000;

/** A whole catalogue, as `floe.yaml` holds it. What it does not name is left alone; a null clears. */
export const Catalog = z
  .strictObject({
    version: z.literal(1),
    catalog: key.describe("Name of this catalogue; two files can share one organization under two names."),
    ...sections,
  })
  .superRefine((catalog, context) => {
    const count = kinds.reduce((sum, kind) => sum + Object.keys(catalog[kind] ?? {}).length, 0);
    if (count > catalogEntriesMax) {
      const message = `A catalogue has at most ${catalogEntriesMax} entries; this one has ${count}. Split it into several files.`;
      context.addIssue({ code: "custom", path: [], message });
      return;
    }
    for (const fault of getFaults(catalog))
      context.addIssue({ code: "custom", path: fault.path, message: fault.message });
  });
export type Catalog = z.output<typeof Catalog>;
export type CatalogInput = z.input<typeof Catalog>;

/** The amounts that are none in the currency of the organization, which those that name none are in. */
export const findWrongAmounts = (catalog: Catalog, standard: string): Fault[] =>
  Object.entries(catalog.products ?? {}).flatMap(([name, { prices }]) =>
    prices.flatMap((price, index) => validatePrice(price, ["products", name, "prices", index], standard)),
  );

/** The fields that a place of a catalogue may have; none where that is not known. */
export function listFields([kind, ...inside]: readonly PropertyKey[]): string[] {
  if (kind === undefined) return Object.keys(Catalog.shape);
  if (inside.length !== 1 || !isKind(kind)) return [];
  const { item } = getKind(kind);
  const written = item instanceof z.ZodPipe ? item.in : item;
  return written instanceof z.ZodObject ? Object.keys(written.shape) : [];
}
const isKind = (name: PropertyKey): name is Kind => (kinds as readonly PropertyKey[]).includes(name);

/** That a file has no such thing, and which one is meant. */
function describeMissingItem(items: object | undefined, to: Kind, name: string): string {
  const [near] = findNearest(name, Object.keys(items ?? {}));
  return `There is no "${name}" under ${to} in this file.${near === undefined ? "" : ` Did you mean "${near}"?`}`;
}

/** The references that lead nowhere, of the things that are right by themselves, in a file of which others are not. */
export function findLostReferences(catalog: Record<string, unknown>): Fault[] {
  const getItems = (kind: Kind): Record<string, unknown> => {
    const items = catalog[kind];
    return typeof items === "object" && items !== null ? { ...items } : {};
  };
  return kinds.flatMap((kind) =>
    Object.entries(getItems(kind)).flatMap(([name, written]) => {
      const faults: Fault[] = [];
      const item = getKind(kind).item.safeParse(written);
      if (item.success)
        getKind(kind).findFaults?.(item.data, (to, other, path) => {
          const items = getItems(to);
          if (!Object.hasOwn(items, other))
            faults.push({ path: [kind, name, ...path], message: describeMissingItem(items, to, other) });
        });
      return faults;
    }),
  );
}

/** What no single field can tell: references that lead nowhere, keys and codes that stand twice. */
function getFaults(catalog: Pick<Catalog, Kind>): Fault[] {
  const faults: Fault[] = [];
  for (const kind of kinds) {
    const items: Record<string, Item> = catalog[kind] ?? {};
    for (const [name, item] of Object.entries(items)) {
      const note = ({ path, message }: Fault) => void faults.push({ path: [kind, name, ...path], message });
      const own = getKind(kind).findFaults?.(item, (to, other, path) => {
        if (catalog[to]?.[other] === undefined) note({ path, message: describeMissingItem(catalog[to], to, other) });
      });
      for (const fault of own ?? []) note(fault);
      for (const [index, old] of (item.previously ?? []).entries())
        if (items[old] !== undefined)
          note({ path: ["previously", index], message: `"${old}" still stands in this file.` });
    }
  }
  return faults;
}
