/** What commands for the operator of a server answer with `--json`. */
import { z } from "zod";
import { checkStatuses, Check as WireCheck } from "../api/diagnostics.ts";
import { jobStatuses } from "../job-statuses.ts";

const time = z.string();
const count = z.int();

const status = z.enum(checkStatuses);
export const Checks = z.array(WireCheck);
const Inspection = z.object({
  status,
  server: z.string(),
  version: z.string().nullable(),
  organization_id: z.string().nullable(),
  sandbox: z.boolean().nullable(),
  checks: Checks,
});

const FailedJob = z.object({
  id: z.string().describe("The worker, a colon, and the row."),
  kind: z.string(),
  row_id: z.string(),
  organization_id: z.string().nullable(),
  attempts: count,
  error: z.string(),
  first_failed_at: time,
  retry_at: time.nullable(),
  discarded_at: time.nullable(),
});
const Job = FailedJob.extend({ status: z.enum(jobStatuses) });

const Endpoint = z.object({
  organization_id: z.string(),
  endpoint_id: z.string(),
  url: z.string(),
  enabled: z.boolean(),
  waiting: count,
  oldest_at: time,
});
const RefusedMail = z.object({
  id: z.string(),
  to: z.string(),
  subject: z.string(),
  created_at: time,
  refusal: z.string(),
});
const ServerStatus = z.object({
  restore: z.object({ created_at: time, reason: z.string() }).nullable(),
  left_over: z.record(z.string(), count).nullable(),
  outbox: z.object({ undispatched_at: time.nullable(), undelivered_at: time.nullable() }),
  endpoints: z.array(Endpoint),
  dead_letters: z.object({ count, kinds: z.array(z.string()), oldest_at: time.nullable() }),
  mails: z.object({ waiting: count, oldest_at: time.nullable(), refused: z.array(RefusedMail) }),
});
const Queue = z.object({
  worker: z.string(),
  due: count,
  oldest_at: time.nullable(),
  retrying: count,
  dead: count,
});
const Mail = z.object({
  id: z.string(),
  to: z.string(),
  subject: z.string(),
  seller_id: z.string().nullable(),
  customer_id: z.string().nullable(),
  request_id: z.string().nullable(),
  created_at: time,
  attempts: count,
  next_attempt_at: time.nullable(),
  answer: z.string().nullable(),
});
/** What `--bounced` lists. */
const Bounce = z.object({
  address: z.string(),
  kind: z.enum(["hard", "soft"]),
  code: z.string().nullable(),
  reason: z.string(),
  source: z.enum(["smtp", "notice"]),
  count,
  first_at: time,
  last_at: time,
});
const Backup = z.object({
  folder: z.string(),
  database: z.string(),
  version: z.string(),
  started_at: time,
  finished_at: time,
  files: count,
  bytes: count,
  bucket: z.string().nullable(),
  has_secret: z.boolean(),
});
const Restored = z.object({
  version: z.string(),
  database: z.string(),
  started_at: time,
  secret: z.enum(["unknown", "right", "wrong"]),
  verified: z.boolean().nullable(),
});
const RestoreCheck = z.object({
  processor: z.boolean(),
  since: time,
  unknown: z.string().nullable(),
  open: z.boolean(),
  opened_at: time.nullable(),
});
const Finding = z.object({
  kind: z.enum(["charge", "refund", "dispute"]),
  outcome: z.string(),
  processor_id: z.string(),
  organization_id: z.string(),
  payment_id: z.string(),
  amount: count.nullable(),
  currency: z.string().nullable(),
  value: z.string().nullable(),
  created_at: time.nullable(),
  purpose: z.string().nullable(),
  error: z.string().nullable(),
});
const Breach = z.object({
  organization_id: z.string(),
  rule: z.string(),
  table: z.string(),
  row: z.string(),
  expected: z.string(),
  found: z.string(),
});

const AuditChain = z.object({
  chain: z.string(),
  first: count,
  last: count,
  entries: count,
  removed: count,
  head: z.string(),
});
const AuditFault = z.object({
  chain: z.string(),
  number: count,
  entry_id: z.string().nullable(),
  fault: z.string(),
});

const outcome = z.enum(["created", "repaired", "unchanged"]);
const duplicates = z.array(z.string());
const PaymentsEndpoint = z.object({
  id: z.string(),
  url: z.string(),
  mode: z.enum(["test", "live"]),
  outcome,
  secret: z.string().nullable(),
  duplicates,
});
const PolarEndpoint = z.object({
  organization_id: z.string(),
  polar_id: z.string(),
  endpoint_id: z.string(),
  url: z.string(),
  outcome,
  duplicates,
});
const kindCounts = { equal: count, changed: count, added: count, gone: count };
const PolarStatus = z.object({
  organization_id: z.string(),
  polar_id: z.string(),
  url: z.string(),
  token: z.string(),
  breaker: z.string(),
  endpoint: z
    .object({
      id: z.string(),
      url: z.string(),
      enabled: z.boolean().nullable(),
      missing_events: z.array(z.string()).nullable(),
      connected_at: time.nullable(),
      checked_at: time.nullable(),
      fault: z.string().nullable(),
    })
    .nullable(),
  setting_secrets: count,
  last_event: z
    .object({
      type: z.string(),
      event_at: time,
      received_at: time,
      age_seconds: z.number(),
      lag_seconds: z.number(),
      secret: z.string(),
    })
    .nullable(),
  events: z.array(z.object({ state: z.string(), count, duplicates: count })),
  waiting: z.object({ count, oldest_at: time.nullable() }),
  refused: z.array(z.object({ reason: z.string(), count, last_at: time })),
  mirror: z.record(z.string(), count),
  sync: z
    .object({
      started_at: time,
      finished_at: time.nullable(),
      kind: z.string().nullable(),
      page: count,
      counts: z.record(z.string(), z.object(kindCounts)),
    })
    .nullable(),
});

const MoneyHold = z.object({
  organization_id: z.string(),
  name: z.string(),
  slug: z.string(),
  held_at: time,
  reason: z.string(),
  held: z
    .object({ customers: z.array(z.string()), breaches: z.array(Breach) })
    .nullable()
    .describe("The rows that hold it, which are checked again until they are right."),
});

export const answersForOperators: Record<string, z.ZodType> = {
  status: Inspection,
  doctor: Inspection,
  "jobs list": z.array(Job),
  "jobs show": Job,
  "jobs retry": z.array(Job),
  "jobs discard": Job,
  verify: z.array(Breach),
  "audit verify": z.union([z.array(AuditChain), z.array(AuditFault)]),
  "admin status": ServerStatus,
  "admin queues": z.array(Queue),
  "admin dead-letters": z.array(FailedJob),
  "admin retry": z.array(FailedJob),
  "admin mails": z.union([z.array(Mail), z.array(Bounce)]),
  "admin endpoints": z.array(Endpoint),
  "admin backup": Backup,
  "admin restore": Restored,
  "admin restore-check": RestoreCheck,
  "admin reconcile": z.array(Finding),
  "admin money-holds": z.array(MoneyHold),
  "polar connect": PolarEndpoint,
  "polar status": PolarStatus,
  "polar sync": z.array(z.object({ kind: z.string(), ...kindCounts })),
  "payments connect": PaymentsEndpoint,
};
