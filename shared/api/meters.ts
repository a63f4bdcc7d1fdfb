import { z } from "zod";
import {
  byId,
  flag,
  ids,
  instant,
  many,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  showAs,
  sorting,
} from "../contract.ts";
import { filterOperators } from "../meter-operators.ts";
import { auditArchiving, blankToNull, organizationOf, stored, timezone, unlessNull } from "./fields.ts";

/** One condition on an event: on a built-in property, or on one of its metadata by a dotted path (MTR-14). */
export type FilterClause = {
  property: string;
  operator: (typeof filterOperators)[number];
  value: string | number | boolean;
};
/** Which events count: conditions and further filters, all of them or any of them. None at all match everything. */
export type Filter = { conjunction: "and" | "or"; clauses: (FilterClause | Filter)[] };

const clausesMax = 100;
/** Deeper filters are nobody's intent, and would cost the database a long thought. */
const depthMax = 8;

export const FilterClause: z.ZodType<FilterClause, FilterClause> = z.object({
  property: z.string().min(1).max(200).describe("What is compared: name, source, timestamp, or a key of the metadata."),
  operator: z.enum(filterOperators),
  value: z.union([z.string().max(1000), z.int().min(-2_147_483_648).max(2_147_483_647), z.boolean()]),
});
const filterOf = (depth: number): z.ZodType<Filter, Filter> =>
  z.object({
    conjunction: z.enum(["and", "or"]),
    clauses: z
      .array(depth > 1 ? z.union([FilterClause, filterOf(depth - 1)]) : FilterClause)
      .max(clausesMax)
      .describe("Conditions, or filters of their own."),
  });
/** The same however deep it goes, for the document. */
export const FilterShown = z.object({
  conjunction: z.enum(["and", "or"]),
  get clauses(): z.ZodType {
    return z.array(z.union([FilterClause, FilterShown])).max(clausesMax);
  },
});
const Filter = showAs(filterOf(depthMax), FilterShown);

/** A filter as a query has it: in JSON. */
export const filterText = z
  .string()
  .max(100_000)
  .transform((text, ctx): Filter => {
    try {
      const read = Filter.safeParse(JSON.parse(text));
      if (read.success) return read.data;
      const [first] = read.error.issues;
      ctx.addIssue({ code: "custom", message: `${first?.path.join(".") ?? ""}: ${first?.message ?? "Not a filter."}` });
    } catch {
      ctx.addIssue({ code: "custom", message: "Must be a filter in JSON." });
    }
    return z.NEVER;
  });

const property = z.string().min(1).max(200).describe("Number in the metadata of the event.");
export const Aggregation = z.discriminatedUnion("func", [
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

const functions = ["count", "sum", "max", "min", "avg", "unique"] as const;
export type AggregationFunction = (typeof functions)[number];

/** How many days may be asked for at once, by the length of their pieces (MTR-21). */
const daysMax = { hour: 7, day: 366, week: 371, month: 1460, year: 3650 } as const;
const pieces = ["hour", "day", "week", "month", "year"] as const;
const dayMs = 24 * 60 * 60 * 1000;
/** Before that, nobody counted anything. */
const firstStart = "2023-01-01T00:00:00.000Z";

/** The stretch of time that quantities are asked of. */
export const stretch = {
  start_timestamp: instant.describe("From when on."),
  end_timestamp: instant.describe("Until when."),
  interval: z.enum(pieces).describe("Length of the pieces."),
  timezone: timezone
    // What is written as an offset, the database reads the other way round.
    .refine((zone) => /^[A-Za-z]/.test(zone), "There is no such time zone.")
    .describe("Time zone in which they begin, as Europe/Paris."),
};
type Stretch = z.output<z.ZodObject<typeof stretch>>;

/** Refuse a stretch of time that ends before it begins, or is too long for its pieces. */
export function checkStretch({ start_timestamp, end_timestamp, interval }: Stretch, ctx: z.RefinementCtx): void {
  const reject = (path: string, message: string) => ctx.addIssue({ code: "custom", path: [path], message });
  const days = (end_timestamp.getTime() - start_timestamp.getTime()) / dayMs;
  if (start_timestamp.toISOString() < firstStart) reject("start_timestamp", "Must be in 2023 or later.");
  if (days < 0) reject("end_timestamp", "Must not be before the start.");
  if (days > daysMax[interval])
    reject("end_timestamp", `By the ${interval}, at most ${daysMax[interval]} days can be asked for.`);
}

const quantitiesQuery = z
  .object({
    ...stretch,
    customer_id: ids.describe("Only of these customers."),
    external_customer_id: many(z.string()).describe("The same by your own ids."),
    customer_aggregation_function: z
      .enum(functions)
      .optional()
      .describe("How the customers' own quantities become one; without it, all events count together."),
    metadata: metadataFilter,
  })
  .superRefine(checkStretch);

export const MeterQuantities = z.object({
  quantities: z.array(z.object({ timestamp: instant, quantity: z.number() })),
  total: z.number(),
});
export type MeterQuantities = z.output<typeof MeterQuantities>;

export const meters = {
  list: {
    method: "GET",
    path: "/v1/meters/",
    summary: "List meters",
    access: seller("meters:read"),
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
    access: seller("meters:read"),
    params: byId,
    response: Meter,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/meters/",
    summary: "Create a meter",
    access: seller("meters:write"),
    body: MeterCreate,
    response: Meter,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/meters/:id",
    summary: "Update a meter",
    access: seller("meters:write"),
    params: byId,
    body: MeterUpdate,
    response: Meter,
    audit: auditArchiving("meter"),
    errors: ["ResourceNotFound"],
  },
  quantities: {
    method: "GET",
    path: "/v1/meters/:id/quantities",
    heavy: "cancel",
    summary: "Get quantities of a meter",
    access: seller("meters:read"),
    params: byId,
    query: quantitiesQuery,
    response: MeterQuantities,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
