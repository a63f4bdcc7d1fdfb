import type { CatalogInput, Kind } from "./document.ts";

type Items = Record<string, Record<string, Record<string, unknown>> | undefined>;
type Place = { kind: string; key: string };

const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one) => {
    if (typeof one === "string") return [one];
    const named = (one as { field?: unknown; metered?: unknown } | null | undefined) ?? {};
    return [named.field, named.metered].filter((name) => typeof name === "string");
  });

/** What a thing cannot be made without. */
function needs(kind: string, item: Record<string, unknown>): Place[] {
  const of = (to: Kind, value: unknown): Place[] => texts(value).map((key) => ({ kind: to, key }));
  switch (kind) {
    case "benefits":
      return of("meters", (item.properties as Record<string, unknown> | undefined)?.meter);
    case "products":
      return [
        // A price in words names no meter.
        ...of(
          "meters",
          [item.prices ?? []].flat().filter((price) => typeof price === "object"),
        ),
        ...of("benefits", item.benefits),
        ...of("custom_fields", item.custom_fields),
      ];
    case "discounts":
      return of("products", item.products);
    case "checkout_links":
      return [...of("products", item.products), ...of("discounts", item.discount)];
    default:
      return [];
  }
}

/** The catalogue with nothing but these things and what they need; undefined for a thing that it does not have. */
export function onlyTargets(catalog: CatalogInput, targets: readonly Place[]): CatalogInput | undefined {
  const items: Items = JSON.parse(JSON.stringify(catalog));
  const wanted = new Map<string, Place>();
  const add = (place: Place): boolean => {
    const id = `${place.kind}.${place.key}`;
    const item = items[place.kind]?.[place.key];
    if (!item) return false;
    if (wanted.has(id)) return true;
    wanted.set(id, place);
    return needs(place.kind, item).every(add);
  };
  if (!targets.every(add)) return undefined;
  const kept: Items = {};
  for (const { kind, key } of wanted.values()) {
    const item = items[kind]?.[key];
    if (item) kept[kind] = { ...kept[kind], [key]: item };
  }
  return { version: catalog.version, catalog: catalog.catalog, ...kept } as CatalogInput;
}
