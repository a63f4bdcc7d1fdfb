import { z } from "zod";
import {
  byId,
  flag,
  ids,
  instant,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  sorting,
} from "../contract.ts";
import { filterOperators } from "../meter-operators.ts";
import { blankToNull, organizationOf, stored, unlessNull } from "./fields.ts";

/** One condition on an event: on a built-in property, or on one of its metadata by a dotted path (MTR-14). */
export type FilterClause = {
  property: string;
  operator: (typeof filterOperators)[number];
  value: string | number | boolean;
};
/** Which events count: conditions and further filters, all of them or any of them. None at all match everything. */
export type Filter = { conjunction: "and" | "or"; clauses: (FilterClause | Filter)[] };

const clauses_max = 100;
/** Deeper filters are nobody's intent, and would cost the database a long thought. */
const depth_max = 8;

const FilterClause: z.ZodType<FilterClause, FilterClause> = z.object({
  property: z.string().min(1).max(200).describe("What is compared: name, source, timestamp, or a key of the metadata."),
  operator: z.enum(filterOperators),
  value: z.union([z.string().max(1000), z.int().min(-2_147_483_648).max(2_147_483_647), z.boolean()]),
});
const filterOf = (depth: number): z.ZodType<Filter, Filter> =>
  z.object({
    conjunction: z.enum(["and", "or"]),
    clauses: z
      .array(depth > 1 ? z.union([FilterClause, filterOf(depth - 1)]) : FilterClause)
      .max(clauses_max)
      .describe("Conditions, or filters of their own."),
  });
const Filter = filterOf(depth_max);

const property = z.string().min(1).max(200).describe("Number in the metadata of the event.");
const Aggregation = z.discriminatedUnion("func", [
  z.object({ func: z.literal("count") }),
  z.object({ func: z.enum(["sum", "max", "min", "avg"]), property }),
  z.object({ func: z.literal("unique"), property }),
]);
export type Aggregation = z.output<typeof Aggregation>;

const unit = z.enum(["scalar", "token", "custom"]);
const multiplier = z.int().min(1).max(2_147_483_647);

/** What is counted: which events, and how they become a number. */
export const Meter = z.object({
  ...stored,
  metadata: metadataOut,
  name: z.string(),
  unit,
  custom_label: z.string().nullable(),
  custom_multiplier: z.int().nullable(),
  filter: Filter,
  aggregation: Aggregation,
  organization_id: z.uuid(),
  archived_at: instant.nullable(),
});
export type Meter = z.output<typeof Meter>;

const name = z.string().min(3).max(255).trim().min(1).describe("Name of the meter, as it stands on invoices.");
const label = blankToNull(64).nullish().describe("What a unit is called, where the unit is custom.");

export const MeterCreate = z
  .object({
    name,
    unit: unit.default("scalar").describe("What is counted, as it is shown."),
    custom_label: label,
    custom_multiplier: multiplier.nullish().describe("How many units are shown as one."),
    filter: Filter.describe("Which events count."),
    aggregation: Aggregation.describe("How they become a number."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    organization_id: organizationOf,
  })
  .refine((body) => body.unit !== "custom" || Boolean(body.custom_label), {
    path: ["custom_label"],
    message: "A custom unit needs a label.",
  });

export const MeterUpdate = z.object({
  name: unlessNull(name),
  unit: unlessNull(unit).describe("What is counted, as it is shown."),
  custom_label: label,
  custom_multiplier: multiplier.nullish().describe("How many units are shown as one."),
  filter: unlessNull(Filter).describe("Which events count; fixed once events were counted."),
  aggregation: unlessNull(Aggregation).describe("How they become a number; fixed once events were counted."),
  is_archived: unlessNull(z.boolean()).describe("Whether it is put away: it then counts nothing."),
  metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
});

export const meters = {
  list: {
    method: "GET",
    path: "/v1/meters/",
    summary: "List meters",
    scopes: ["meters:read"],
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      query: z.string().optional().describe("Part of the name."),
      is_archived: flag.describe("Only archived ones, or only those in use."),
      metadata: metadataFilter,
      sorting: sorting(["created_at", "name"], ["name"]),
    }),
    response: page(Meter),
  },
  get: {
    method: "GET",
    path: "/v1/meters/:id",
    summary: "Get a meter",
    scopes: ["meters:read"],
    params: byId,
    response: Meter,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/meters/",
    summary: "Create a meter",
    scopes: ["meters:write"],
    body: MeterCreate,
    response: Meter,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/meters/:id",
    summary: "Update a meter",
    scopes: ["meters:write"],
    params: byId,
    body: MeterUpdate,
    response: Meter,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
