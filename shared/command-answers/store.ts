/** What commands about the things of a store answer with `--json`, where that is more than the answer of one operation. */
import { z } from "zod";
import { CatalogPlan, RehearsedPlan } from "../api/catalog.ts";
import { api } from "../api/index.ts";
import { MeterQuantities } from "../api/meters.ts";
import { Overview } from "../api/overview.ts";
import { TimelineEntry } from "../api/sandbox.ts";
import { ArchiveEnd } from "../archive.ts";
import { Checks } from "./operator.ts";

const time = z.string();
const count = z.int();
const eventRow = api.events.list.response.shape.items.element;
const refundRow = api.refunds.list.response.shape.items.element;
const logRow = api.logs.list.response.shape.items.element;

const Difference = z.object({
  customer_id: z.string(),
  meter_id: z.string(),
  what: z.string(),
  kept: z.string(),
  recounted: z.string(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
});
const Verified = z.object({ checked: count, skipped: count, differences: z.array(Difference) });
const Receipt = z.object({
  events: count,
  counted: count,
  repeated: count,
  conflicts: z.array(count).describe("Numbers of lines."),
  missing: z.array(count).describe("Numbers of lines."),
  late: z.record(z.string(), count).describe("How many came late, by the start of the period that has them."),
});
/** What `floe events ingest --from-file` answers. */
const SentFile = z.object({
  sent: count,
  inserted: count,
  duplicates: count,
  conflicts: count,
  late: z.record(z.string(), count),
  passed_over: count,
  readable: count.optional(),
});
const Import = z.object({
  rows: count,
  created: count,
  updated: count,
  unchanged: count,
  different: z.array(z.object({ line: count, email: z.string(), fields: z.array(z.string()) })),
  rejected: z.array(z.object({ line: count, column: z.string(), value: z.string(), message: z.string() })),
});

const Purchase = z.object({
  checkout_id: z.string(),
  customer_id: z.string(),
  order: api.checkoutClient.order.response.nullable(),
  subscription: api.portalSubscriptions.list.response.shape.items.element.nullable(),
  benefits: z.array(
    z.object({
      type: z.string(),
      description: z.string(),
      state: z.enum(["granted", "waiting", "failed"]),
      error: z.string().nullable(),
      license_key: z.string().nullable(),
    }),
  ),
  seats: count.nullable(),
});
const Demo = z.object({
  seed: z.number(),
  months: count,
  now: time,
  usage_events: count,
  customers: count,
  orders: count,
  active_subscriptions: count,
  ended_subscriptions: count,
  refunds: count,
  disputes: count,
});
const Trial = z.object({
  url: z.string(),
  organization: z.object({ id: z.string(), slug: z.string() }),
  product: z.string(),
  order: z.string(),
  license_key: z.string(),
  webhook: z.string(),
  portal: z.string(),
  kept: z.string().nullable(),
  took_ms: z.number(),
});

const delivered = { url: z.string(), succeeded: z.boolean(), http_code: count.nullable() };
const Triggered = z.object({
  event: z.string(),
  id: z.string(),
  made: z.array(z.object({ kind: z.string(), id: z.string(), name: z.string().nullable() })),
  delivery: z.object(delivered).nullable(),
  payload: z.object({ type: z.string(), timestamp: time }).loose(),
});
/** What `floe trigger --list` answers. */
const Recipe = z.object({ event: z.string(), about: z.string(), moves_clock: z.boolean() });
const senders = z.enum(["server", "this machine"]);
const Probe = z.object({
  url: z.string(),
  sent_by: senders,
  succeeded: z.boolean(),
  id: z.string(),
  http_code: count.nullable(),
  response: z.string().nullable(),
  error: z.string().nullable(),
  duration_ms: z.number(),
});
const Inspected = z.object({ status: z.string(), url: z.string(), sent_by: senders, checks: Checks });
const HeardEvent = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: time,
  missed: z.boolean(),
  forward_to: z.string().optional(),
  status: count.optional(),
  error: z.string().optional(),
  duration_ms: z.number().optional(),
  attempts: count.optional(),
  body: z.unknown().optional(),
});
const StreamedEvent = z.object({ cursor: z.string(), type: z.string(), timestamp: time }).loose();
/** Of one event, nothing is answered; of a filter, what was found and sent. */
const Redelivered = z.object({
  found: count,
  redelivered: count,
  refused: z.array(z.object({ id: z.string(), reason: z.string() })),
  events: z.array(z.object({ id: z.string(), type: z.string() })),
});

/** What a line of the sealed audit log is hashed from: nothing but these fields. */
const SealedEntry = z.strictObject({
  id: z.uuid(),
  organization_id: z.string().nullable(),
  actor_kind: z.enum(["user", "key", "customer", "system", "anonymous"]),
  user_id: z.string().nullable(),
  key_id: z.string().nullable(),
  impersonated_by: z.string().nullable(),
  action: z.string(),
  subject_type: z.string().nullable(),
  subject_id: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  request_id: z.string().nullable(),
  created_at: time,
});
const Seal = z.strictObject({
  kind: z.literal("seal"),
  chain: z.string().describe("The id of an organization, or `accounts`."),
  number: count,
  previous_hash: z.string(),
  entries: count,
  first_id: z.string(),
  last_id: z.string(),
  entries_hash: z.string(),
  sealed_at: time,
  hash: z.string(),
  removed_at: time.nullable(),
});
const AuditLine = z.union([
  z.strictObject({
    kind: z.literal("entry"),
    chain: z.string(),
    number: count.describe("The number of the seal that follows the entry."),
    hash: z.string(),
    entry: SealedEntry,
  }),
  Seal,
]);

const endpoint = api.webhooks.updateEndpoint.response;

const ImportPlan = z.object({
  run: api.imports.get.response,
  comparison: api.imports.compare.response,
  blocked: z.array(api.imports.records.response.shape.items.element),
});

export const answersAboutStores: Record<string, z.ZodType> = {
  try: Trial,
  plan: z.union([RehearsedPlan, CatalogPlan]),
  apply: CatalogPlan,
  drift: CatalogPlan,
  promote: CatalogPlan,
  diff: CatalogPlan,
  export: ArchiveEnd.extend({ file: z.string() }),
  restore: api.archives.restorePart.response,
  "files upload": z.array(api.files.uploaded.response),
  "customers import": Import,
  "import csv": z.union([ImportPlan, z.object({ files: z.array(z.string()) })]),
  "import stripe": ImportPlan.extend({
    left_out: z
      .array(z.object({ kind: z.string(), source_id: z.string(), reason: z.string() }))
      .describe("What of the account is in no row, and why."),
  }),
  "import apply": api.imports.apply.response,
  "import finish": api.imports.finish.response,
  "import rollback": api.imports.rollback.response,
  "import status": api.imports.compare.response,
  "import switch": api.imports.switch.response.omit({ has_more: true }),
  "events ingest": z.union([SentFile, api.events.ingest.response]),
  "products migrate": z.union([
    api.subscriptionMigrations.create.response,
    api.subscriptionMigrations.preview.response,
  ]),
  "refunds get": z.union([refundRow, z.array(refundRow)]),
  "usage receipt": Receipt,
  "usage verify": Verified,
  "demo seed": Demo,
  "sandbox buy": Purchase,
  trigger: z.union([Triggered, z.array(Recipe)]),
  "webhooks test": Probe,
  "webhooks doctor": Inspected,
  "webhooks enable": endpoint,
  "webhooks disable": endpoint,
  "webhooks redeliver": Redelivered,
};

/** Of these, each line is one answer: they tell what happens while it happens. */
export const answersByLine: Record<string, z.ZodType> = {
  "audit export": AuditLine,
  top: Overview,
  advance: z.union([TimelineEntry, z.object({ now: time, done: z.literal(true) })]),
  listen: HeardEvent,
  "events stream": StreamedEvent,
  "events tail": eventRow,
  "logs tail": logRow,
  "meters watch": MeterQuantities.extend({ at: time }),
};
