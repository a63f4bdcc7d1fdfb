import { z } from "zod";
import { interval } from "../../api/fields.ts";
import { type Product, products } from "../../api/products.ts";
import type { Fields } from "../compare.ts";
import { key } from "../key.ts";
import { locateInPrices, omitPriceDefaults, readFoundPrice, readWantedPrice, writePrices } from "../price-forms.ts";
import { getPriceSlot, Price, SpokenPrice } from "../prices.ts";
import {
  defineKind,
  type Fault,
  type Ids,
  listPlaces,
  metadata,
  omitDefaults,
  previously,
  readMark,
  Trial,
  writeTrial,
} from "./kind.ts";

const Recurring = z
  .union([interval, z.strictObject({ interval, count: z.int().min(1).max(999) })])
  .nullable()
  .describe("day, week, month or year; left out for a one-time purchase.");

const ItemFields = z.strictObject({
  name: z.string().min(3).max(64),
  description: z.string().nullable().optional(),
  visibility: z.enum(["draft", "private", "public"]).optional(),
  recurring: Recurring.optional(),
  trial: Trial.optional(),
  price: SpokenPrice.optional(),
  prices: z.array(Price).min(1).optional(),
  benefits: z.array(key).optional().describe("Keys of benefits, in order."),
  custom_fields: z
    .array(z.union([key, z.strictObject({ field: key, required: z.boolean() })]))
    .optional()
    .describe("Keys of custom fields, in order."),
  medias: z.array(z.string()).optional().describe("Names of uploaded pictures, in order."),
  archived: z.boolean().optional(),
  on_price_change: z
    .literal("keep_subscribers")
    .optional()
    .describe("What a changed price means for who pays the old one: they keep it."),
  metadata,
  previously,
});

const isSameInterval = (a: z.output<typeof Recurring>, b: { interval: string; count: number }): boolean =>
  typeof a === "string" ? a === b.interval && b.count === 1 : a?.interval === b.interval && a.count === b.count;

/** A product with all its prices in fields, and how often they are paid, wherever that was said. */
const item = ItemFields.transform(({ price, prices, recurring, ...rest }, context) => {
  if ((price === undefined) === (prices === undefined)) {
    const message = price ? "There is a price already: write price or prices." : "A product has a price or prices.";
    context.addIssue({ code: "custom", path: price ? ["prices"] : [], message });
    return z.NEVER;
  }
  const spoken = prices ?? (price ? [price] : []);
  let often = recurring;
  for (const [index, { interval: every }] of spoken.entries()) {
    if (!every) continue;
    const { recurring_interval, recurring_interval_count: count = 1 } = every;
    const said = { interval: recurring_interval as z.output<typeof interval>, count };
    const path = price ? ["price"] : ["prices", index];
    if (often !== undefined && !isSameInterval(often, said))
      context.addIssue({ code: "custom", path, message: "How often it is paid is said in another way already." });
    often = said;
  }
  return { ...rest, ...(often === undefined ? {} : { recurring: often }), prices: spoken.map((one) => one.price) };
});

type Attached = { field: string; required: boolean };
type Period = { interval: string; count: number } | null;

/** How often and for how much: one price in words holds both. */
function formatPricing(prices: (Fields | string)[], period: Period): Fields {
  const [only, ...others] = prices;
  if (typeof only !== "string" || others.length > 0)
    return { recurring: period?.count === 1 ? period.interval : period, prices };
  if (!period) return { price: only };
  return { price: `${only}/${period.count === 1 ? period.interval : `${period.count}${period.interval}s`}` };
}

/** All but the benefits, which are set by a call of their own. */
function getBody(fields: Fields, ids: Ids, row: Product | undefined): Fields {
  const { recurring, trial, prices, benefits: _, custom_fields, medias, archived, ...plain } = fields;
  const period = recurring as Period | undefined;
  return {
    ...plain,
    ...(period ? { recurring_interval: period.interval, recurring_interval_count: period.count } : {}),
    ...writeTrial(trial),
    ...(prices === undefined ? {} : { prices: writePrices(prices as Fields[], ids, row) }),
    ...(custom_fields === undefined
      ? {}
      : {
          attached_custom_fields: (custom_fields as Attached[]).map(({ field, required }) => ({
            custom_field_id: ids.idOf("custom_fields", field),
            required,
          })),
        }),
    ...(medias === undefined ? {} : { medias: (medias as string[]).map((name) => ids.fileId(name, "product_media")) }),
    ...(archived === undefined ? {} : { is_archived: archived }),
  };
}

/** What stands in a list as a name, or in an object under a name of its own. */
const listNames = (list: unknown, name: string): unknown[] =>
  [list ?? []].flat().map((one) => (typeof one === "object" ? (one as Fields | null)?.[name] : one));

export const productKind = defineKind({
  item,
  update: products.update.body,
  wantedFields: ({ previously: _, on_price_change: __, ...wanted }, ___, standard) => ({
    ...wanted,
    recurring:
      wanted.recurring === undefined
        ? null
        : typeof wanted.recurring === "string"
          ? { interval: wanted.recurring, count: 1 }
          : wanted.recurring,
    prices: wanted.prices.map((price) => readWantedPrice(price, standard)),
    custom_fields: wanted.custom_fields?.map((one) =>
      typeof one === "string" ? { field: one, required: false } : one,
    ),
  }),
  foundFields: (row: Product, names) => ({
    name: row.name,
    description: row.description,
    visibility: row.visibility,
    recurring: row.recurring_interval && { interval: row.recurring_interval, count: row.recurring_interval_count ?? 1 },
    trial: row.trial_interval && { interval: row.trial_interval, count: row.trial_interval_count },
    prices: row.prices.map((price) => readFoundPrice(price, names)),
    benefits: row.benefits.map(({ id }) => names.keyOf("benefits", id)),
    custom_fields: row.attached_custom_fields.map(({ custom_field_id, required }) => ({
      field: names.keyOf("custom_fields", custom_field_id),
      required,
    })),
    medias: row.medias.map(({ id }) => names.fileName(id)),
    archived: row.is_archived,
    metadata: row.metadata,
  }),
  bodyOf: getBody,
  shorten({ recurring, prices, ...rest }) {
    const asked = rest.custom_fields as Attached[];
    return omitDefaults(
      {
        name: rest.name,
        ...formatPricing((prices as Fields[]).map(omitPriceDefaults), recurring as Period),
        ...rest,
        custom_fields: asked.map((one) => (one.required ? one : one.field)),
      },
      { visibility: "public", archived: false },
    );
  },
  isFixed: (field) => field === "recurring",
  nameOf: ({ name }) => name,
  marksOf: ({ name }) => [name],
  likeness: ({ name }) => readMark(name),
  needs: ({ prices, benefits, custom_fields }) => [
    // A price in words names no meter.
    ...listPlaces(
      "meters",
      listNames(
        [prices ?? []].flat().filter((price) => typeof price === "object"),
        "metered",
      ),
    ),
    ...listPlaces("benefits", benefits),
    ...listPlaces("custom_fields", listNames(custom_fields, "field")),
  ],
  findFaults({ prices, benefits = [], custom_fields = [], trial, recurring }, refer) {
    const faults: Fault[] = [];
    const slots = new Set<string>();
    for (const [index, price] of prices.entries()) {
      if ("metered" in price) refer("meters", price.metered, ["prices", index, "metered"]);
      const slot = getPriceSlot(price);
      if (slots.has(slot))
        faults.push({ path: ["prices", index], message: "There is such a price in this currency already." });
      slots.add(slot);
    }
    for (const [index, benefit] of benefits.entries()) refer("benefits", benefit, ["benefits", index]);
    for (const [index, field] of custom_fields.entries())
      refer("custom_fields", typeof field === "string" ? field : field.field, ["custom_fields", index]);
    if (trial && !recurring) faults.push({ path: ["trial"], message: "Only a recurring product has a trial." });
    return faults;
  },
  isArchived: true,
  placeOf([field, ...rest]) {
    if (field === "prices") return ["prices", ...locateInPrices(rest)];
    return field === "attached_custom_fields" ? ["custom_fields", ...rest.slice(0, 1)] : undefined;
  },
});
