import type { CatalogInput } from "./document.ts";
import { getKind } from "./kinds/index.ts";
import { type DocumentPlace, type Kind, kinds } from "./kinds/kind.ts";

type Items = Partial<Record<Kind, Record<string, Record<string, unknown>>>>;

/** The catalogue with nothing but these things and what they need; undefined for a thing that it does not have. */
export function selectTargets(
  catalog: CatalogInput,
  targets: readonly { kind: string; key: string }[],
): CatalogInput | undefined {
  const items: Items = JSON.parse(JSON.stringify(catalog));
  const wanted = new Map<string, DocumentPlace & { item: Record<string, unknown> }>();
  const add = (place: { kind: string; key: string }): boolean => {
    const id = `${place.kind}.${place.key}`;
    if (wanted.has(id)) return true;
    const kind = kinds.find((one) => one === place.kind);
    const section = kind && items[kind];
    // Of its own: what every object has by its nature is no thing of the file.
    const item = section && Object.hasOwn(section, place.key) ? section[place.key] : undefined;
    if (!kind || !item) return false;
    wanted.set(id, { kind, key: place.key, item });
    return (getKind(kind).needs?.(item) ?? []).every(add);
  };
  if (!targets.every(add)) return undefined;
  const kept: Items = {};
  for (const { kind, key, item } of wanted.values()) kept[kind] = { ...kept[kind], [key]: item };
  return { version: catalog.version, catalog: catalog.catalog, ...kept } as CatalogInput;
}
