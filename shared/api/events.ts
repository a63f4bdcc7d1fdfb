import { z } from "zod";
import {
  byId,
  flag,
  ids,
  instant,
  many,
  metadataFilter,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { Customer } from "./customers.ts";
import { id, organizationOf } from "./fields.ts";
import { filterText } from "./meters.ts";

/** An event's own id at the seller, and its customer's: bounded because they stand in unique indexes. */
const externalId = z.string().min(1).max(512);

/** An amount of cents with at most 17 digits, as a number or written out. */
const cents = z
  .union([z.number(), z.string().regex(/^[+-]?(?=\d|\.\d)\d{0,5}(?:\.\d{0,12})?$/, "Must be a decimal number.")])
  .transform(Number);
const tokens = z.int().min(0);
const prompt = z.string().max(100_000).nullish();
const own = {
  _cost: z
    .object({ amount: cents, currency: z.string().toLowerCase().pipe(z.literal("usd")) })
    .optional()
    .describe("What it cost you, in cents."),
  _llm: z
    .object({
      vendor: z.string().max(500),
      model: z.string().max(500),
      prompt,
      response: prompt,
      input_tokens: tokens,
      cached_input_tokens: tokens.optional(),
      output_tokens: tokens,
      total_tokens: tokens,
    })
    .optional()
    .describe("Which language model was used, and how much."),
};

const scalar = z.union([z.string().min(1).max(500), z.number(), z.boolean()]);
const [keys_max, key_length_max] = [50, 40];
/** At most 50 keys of 1–40 characters; values are texts of 1–500 characters, numbers or booleans, but for `_cost` and `_llm`. */
const eventMetadata = z
  .object(own)
  .catchall(scalar)
  .superRefine((map, ctx) => {
    const keys = Object.keys(map);
    if (keys.length > keys_max)
      ctx.addIssue({ code: "custom", message: `Metadata can have at most ${keys_max} keys.` });
    const odd = keys.find((key) => key.length === 0 || key.length > key_length_max);
    if (odd !== undefined)
      ctx.addIssue({ code: "custom", path: [odd], message: `A key has 1 to ${key_length_max} characters.` });
  });
export type EventMetadata = z.output<typeof eventMetadata>;

const EventCreate = z
  .object({
    name: z.string().min(1).max(128).describe("What happened, as meters know it."),
    customer_id: id.optional().describe("Whose it is."),
    external_customer_id: externalId.optional().describe("Whose it is, by your own id, which may become known later."),
    external_id: externalId
      .nullish()
      .describe("Your own id of the event: it is counted once, however often it is sent."),
    timestamp: instant.optional().describe("When it happened, not in the future; now where nothing is said."),
    parent_id: z
      .string()
      .min(1)
      .max(512)
      .nullish()
      .describe("The event of which it is a part, by its id or your own, there already or in this batch."),
    member_id: id.nullish().describe("Who of the customer's people did it."),
    external_member_id: externalId.nullish().describe("The same by your own id."),
    metadata: eventMetadata.default(() => ({})).describe("What meters filter by and add up."),
    organization_id: organizationOf,
  })
  .superRefine((event, ctx) => {
    if ((event.customer_id === undefined) === (event.external_customer_id === undefined))
      ctx.addIssue({
        code: "custom",
        path: ["customer_id"],
        message: "Say whose it is: by customer_id or by external_customer_id, not both.",
      });
  });
export type EventCreate = z.output<typeof EventCreate>;

const outcomes = ["counted", "duplicate", "conflict", "no_meter", "no_customer", "late"] as const;
const IngestedEvent = z.object({
  id: z.uuid(),
  external_id: z.string().nullable(),
  /**
   * `duplicate`: its external id was counted before. `conflict`: with other content. `no_customer`: it waits until there is
   * one. `no_meter`: no meter counts it. `late`: counted, but of a time whose period was over when it came.
   */
  status: z.enum(outcomes),
  /** Whether it came after the period that it is of was over: also of one that was counted before. */
  is_late: z.boolean(),
  /** The stretch of time with whose end it is invoiced, as the server expects now; null where it never is. */
  period: z.object({ start: instant, end: instant }).nullable(),
});
export type IngestedEvent = z.output<typeof IngestedEvent>;

/** Who recorded an event: the seller (`user`), a customer in their own session, or floe itself. */
const sources = ["user", "customer", "system"] as const;
const said = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** What happened, as it was ingested. */
export const Event = z.object({
  id: z.uuid(),
  timestamp: instant,
  organization_id: z.uuid(),
  customer_id: z.uuid().nullable(),
  customer: Customer.nullable(),
  external_customer_id: z.string().nullable(),
  external_id: z.string().nullable(),
  member_id: z.uuid().nullable(),
  external_member_id: z.string().nullable(),
  child_count: z.int(),
  parent_id: z.uuid().nullable(),
  label: z.string(),
  name: z.string(),
  source: z.enum(sources),
  /** What was sent, or what floe says of what it noted itself. */
  metadata: z.record(z.string(), z.union([said, z.record(z.string(), z.union([said, z.record(z.string(), said)]))])),
});
export type Event = z.output<typeof Event>;

const EventName = z.object({
  name: z.string(),
  label: z.string(),
  source: z.enum(sources),
  occurrences: z.int(),
  first_seen: instant,
  last_seen: instant,
});
export type EventName = z.output<typeof EventName>;

const customerId = ids.describe("Only of these customers.");
const externalCustomerId = many(z.string()).describe("The same by your own ids.");
const organizationId = ids.describe("Only of these organizations.");
const source = many(z.enum(sources)).describe(
  "Only what you sent (user), what customers sent (customer), or what floe noted (system).",
);

export const events = {
  list: {
    method: "GET",
    path: "/v1/events/",
    summary: "List events",
    access: seller("events:read"),
    query: z.object({
      ...paging.shape,
      filter: filterText.optional().describe("Only what this filter matches, in JSON as a meter has it."),
      start_timestamp: instant.optional().describe("Only from then on."),
      end_timestamp: instant.optional().describe("Only until then."),
      organization_id: organizationId,
      customer_id: customerId,
      external_customer_id: externalCustomerId,
      meter_id: z.uuid().optional().describe("Only what this meter counts."),
      name: many(z.string()).describe("Only of these names."),
      source,
      query: z.string().optional().describe("Part of the name."),
      parent_id: z.uuid().optional().describe("Only parts of this event; with depth, and of those down to it."),
      depth: z.coerce.number().int().min(0).max(5).optional().describe("Only events so many levels down: 0 is on top."),
      metadata: metadataFilter,
      sorting: sorting(["timestamp"], ["-timestamp"]),
    }),
    response: page(Event),
  },
  names: {
    method: "GET",
    path: "/v1/events/names",
    id: "events:list_names",
    summary: "List names of events",
    access: seller("events:read"),
    query: z.object({
      ...paging.shape,
      organization_id: organizationId,
      customer_id: customerId,
      external_customer_id: externalCustomerId,
      source,
      query: z.string().optional().describe("Part of the name."),
      sorting: sorting(["name", "occurrences", "first_seen", "last_seen"], ["-last_seen"]),
    }),
    response: page(EventName),
  },
  get: {
    method: "GET",
    path: "/v1/events/:id",
    summary: "Get an event",
    access: seller("events:read"),
    params: byId,
    response: Event,
    errors: ["ResourceNotFound"],
  },
  ingest: {
    method: "POST",
    path: "/v1/events/ingest",
    summary: "Ingest events",
    access: seller("events:write"),
    query: z.object({
      representation: flag.describe(
        "Answer what became of each event, as the header Prefer: return=representation does.",
      ),
      receipt: flag.describe("Sign what became of them: /.well-known/floe-receipts.json has the keys."),
      preview: flag.describe("Say what would become of them, and take none."),
    }),
    body: z.object({
      events: z.array(EventCreate).describe("What happened, in any order; all of it is taken, or nothing."),
      organization_id: organizationOf,
    }),
    response: z.object({
      inserted: z.int(),
      duplicates: z.int(),
      events: z.array(IngestedEvent).optional(),
      receipt: z.string().optional(),
    }),
    bulk: true,
  },
} as const satisfies Resource;
