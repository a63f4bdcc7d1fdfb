import { z } from "zod";
import { type Filter, type Meter, MeterCreate, meters } from "../../api/meters.ts";
import { FilterError, normalizeFilter, parseFilter, printFilter } from "../../meter-filter.ts";
import type { Fields } from "../compare.ts";
import { defineKind, metadata, omitDefaults, previously, readMark } from "./kind.ts";

/** `name eq "completion" and tokens gt 100`, or the same as an object. */
const filter = z
  .union([
    z.string().transform((text, context) => {
      try {
        return parseFilter(text);
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        context.addIssue({ code: "custom", message: `${error.message} (at character ${error.at + 1})` });
        return z.NEVER;
      }
    }),
    MeterCreate.shape.filter,
  ])
  .describe('Which events count: name eq "completion" and tokens gt 100');

const aggregation = z
  .union(
    [
      z.literal("count").transform(() => ({ func: "count" as const })),
      z
        .string()
        .regex(/^(sum|max|min|avg|unique)\s+\S+$/, "Written as count, or as sum tokens.")
        .transform((text) => {
          const [func = "", property = ""] = text.split(/\s+/);
          return { func: func as "sum", property };
        }),
      MeterCreate.shape.aggregation,
    ],
    {
      error: "Written as count, or as sum tokens: sum, max, min, avg or unique of a key of the metadata.",
    },
  )
  .describe("How they become a number: count, sum tokens, max seats, unique user.");

const formatAggregation = (one: Fields): string =>
  one.func === "count" ? "count" : `${String(one.func)} ${String(one.property)}`;

export const meterKind = defineKind({
  item: z.strictObject({
    name: MeterCreate.shape.name,
    filter,
    aggregation,
    unit: z.enum(["scalar", "token", "custom"]).optional(),
    custom_label: z.string().nullable().optional(),
    custom_multiplier: z.int().min(1).nullable().optional(),
    archived: z.boolean().optional(),
    metadata,
    previously,
  }),
  update: meters.update.body,
  wantedFields: ({ previously: _, ...item }) => item,
  foundFields: (row: Meter) => ({
    name: row.name,
    filter: normalizeFilter(row.filter),
    aggregation: row.aggregation,
    unit: row.unit,
    custom_label: row.custom_label,
    custom_multiplier: row.custom_multiplier,
    archived: row.archived_at !== null,
    metadata: row.metadata,
  }),
  bodyOf: ({ archived, ...rest }) => ({ ...rest, ...(archived === undefined ? {} : { is_archived: archived }) }),
  shorten: (fields) =>
    omitDefaults(
      {
        ...fields,
        filter: printFilter(fields.filter as Filter),
        aggregation: formatAggregation(fields.aggregation as Fields),
      },
      { unit: "scalar", archived: false },
    ),
  nameOf: ({ name }) => name,
  marksOf: ({ name }) => [name],
  likeness: ({ name }) => readMark(name),
  isArchived: true,
});
