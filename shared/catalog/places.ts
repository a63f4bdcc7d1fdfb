import type { Kind } from "./document.ts";

type Path = (string | number)[];

/** Fields of the API by the words that the file has for them. */
const words: Record<string, string> = {
  is_archived: "archived",
  recurring_interval: "recurring",
  recurring_interval_count: "recurring",
  trial_interval: "trial",
  trial_interval_count: "trial",
  attached_custom_fields: "custom_fields",
  basis_points: "percent",
  amounts: "amount",
  duration_in_months: "duration",
  discount_id: "discount",
};
const ofPrice: Record<string, Path> = {
  price_amount: ["fixed"],
  minimum_amount: ["custom", "minimum"],
  maximum_amount: ["custom", "maximum"],
  preset_amount: ["custom", "preset"],
  unit_amount: ["unit_price"],
  cap_amount: ["cap"],
  meter_id: ["metered"],
  price_currency: ["currency"],
};
const ofTier: Record<string, string> = { min_seats: "from", max_seats: "to", price_per_seat: "price" };

/** Where in the file a field of the API is written: `prices.0.price_amount` is `prices.0.fixed`. */
export function placeInFile(kind: Kind, [field, ...rest]: Path): Path {
  if (field === undefined) return [];
  const name = typeof field === "string" ? (words[field] ?? field) : field;
  if (kind === "products" && field === "prices") return [name, ...inPrice(rest)];
  if (kind === "products" && field === "attached_custom_fields") return [name, ...rest.slice(0, 1)];
  if (kind === "benefits" && rest[0] === "meter_id") return [name, "meter"];
  return name === field ? [name, ...rest] : [name];
}

function inPrice([index, field, ...rest]: Path): Path {
  if (index === undefined) return [];
  if (field === undefined) return [index];
  if (field !== "seat_tiers") return [index, ...(ofPrice[String(field)] ?? [field]), ...rest];
  const [, tier, part] = rest;
  return [index, "seats", ...(tier === undefined ? [] : [tier]), ...(part === undefined ? [] : [ofTier[part] ?? part])];
}
