import { getKind } from "./kinds/index.ts";
import type { Kind } from "./kinds/kind.ts";
import type { Path } from "./prices.ts";

/** Fields of the API by the words that the file has for them. */
const words: Record<string, string> = {
  is_archived: "archived",
  recurring_interval: "recurring",
  recurring_interval_count: "recurring",
  trial_interval: "trial",
  trial_interval_count: "trial",
  basis_points: "percent",
  amounts: "amount",
  duration_in_months: "duration",
  discount_id: "discount",
};
/** Where in the file a field of the API is written: `prices.0.price_amount` is `prices.0.fixed`. */
export function locateInFile(kind: Kind, [field, ...rest]: Path): Path {
  if (field === undefined) return [];
  const place = getKind(kind).placeOf?.([field, ...rest]);
  if (place) return place;
  const name = typeof field === "string" ? (words[field] ?? field) : field;
  return name === field ? [name, ...rest] : [name];
}
