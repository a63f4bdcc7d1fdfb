import type { z } from "zod";
import type { Filter } from "../api/meters.ts";
import { normalizeFilter } from "../meter-filter.ts";
import type { Fields } from "./compare.ts";
import { type AnyKind, getKind, type Item } from "./kinds/index.ts";
import type { Kind } from "./kinds/kind.ts";

/** What the file says in words of its own; it is brought into form by itself. */
const translated = new Set(["properties", "prices", "products", "medias", "starts_at", "ends_at", "filter"]);

/** Properties as the API would keep them: trimmed, and a blank as none. What is not all there yet is left as it is. */
function canonicalizeProperties({ readProperties }: AnyKind, type: unknown, given: Fields): Fields {
  const result = readProperties?.(type as never, given);
  if (!result?.success) return given;
  const kept: Fields = { ...result.data };
  return Object.fromEntries(Object.keys(given).map((name) => [name, kept[name] ?? null]));
}

/** Fields as the API would keep them, so that what it trims is not taken for a difference for ever. */
function canonicalize(kind: AnyKind, fields: Fields): Fields {
  const shape: Record<string, z.ZodType> = kind.update.shape as Record<string, z.ZodType>;
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => {
      if (field === "filter") return [field, normalizeFilter(value as Filter)];
      if (field === "properties" && value) return [field, canonicalizeProperties(kind, fields.type, value as Fields)];
      const result = translated.has(field) ? undefined : shape[field]?.safeParse(value);
      return [field, result?.success && result.data !== undefined ? result.data : value];
    }),
  );
}

/** Without what was not said. */
const omitUndefined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What the file wants of a thing; `standard` is the currency of prices that name none. */
export function readWantedFields(kind: Kind, key: string, item: Item, standard: string): Fields {
  const own = getKind(kind);
  return canonicalize(own, omitUndefined(own.wantedFields(item, key, standard)));
}
