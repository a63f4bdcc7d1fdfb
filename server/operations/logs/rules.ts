import type { LogEntry } from "../../../shared/api/logs.ts";
import type { failedWork, mails } from "../../platform/db/tables.ts";
import type { DeliveryRow, RequestRow } from "./store.ts";
import type { requestLog } from "./tables.ts";

type Status = LogEntry["status"];
type MailRow = typeof mails.$inferSelect;
type JobRow = typeof failedWork.$inferSelect;

/** The parts that only some kinds have. */
const empty = {
  request_id: null,
  http_status: null,
  duration_ms: null,
  method: null,
  target: null,
  actor: null,
  error: null,
  skipped: 0,
} satisfies Partial<LogEntry>;

/** A refusal of the client is a failure, too: it is what a seller looks for. */
export const getRequestStatus = ({ status }: Pick<typeof requestLog.$inferSelect, "status">): Status =>
  status >= 400 ? "failed" : "ok";

export function describeRequest({ row, user_name, key_name }: RequestRow, withBody: boolean): LogEntry {
  const { id, created_at, request_id, duration_ms, method, error, skipped, actor_kind: kind } = row;
  const actor = { kind, id: row.key_id ?? row.user_id, name: key_name ?? user_name };
  return {
    ...empty,
    ...{ id, kind: "request", created_at, request_id, status: getRequestStatus(row), http_status: row.status },
    ...{ duration_ms, method, target: row.path, name: row.operation, actor, error, skipped },
    ...(withBody && { body: row.body as LogEntry["body"] }),
  };
}

/** The address of a receiver may be a credential, as that of a chat channel is. */
export const describeDelivery = ({ row, type, url, request_id }: DeliveryRow, showsReceiver: boolean): LogEntry => ({
  ...empty,
  ...{ id: row.id, kind: "delivery", created_at: row.created_at, request_id, duration_ms: row.duration_ms },
  ...{ status: row.succeeded ? "ok" : "failed", http_status: row.http_code, method: "POST", name: type },
  target: showsReceiver ? url : null,
});

/** A mail that waits is due at some time; one that was neither sent nor waits was given up, or is shown in an inbox. */
export function getMailStatus({ sent_at, next_attempt_at, attempts }: MailRow): Status {
  if (sent_at !== null) return "ok";
  if (next_attempt_at !== null) return "pending";
  return attempts > 0 ? "failed" : "ok";
}

export const describeMail = (row: MailRow, showsRecipient: boolean): LogEntry => ({
  ...empty,
  ...{ id: row.id, kind: "mail", created_at: row.created_at, request_id: row.request_id, status: getMailStatus(row) },
  // The subject of a mail may name the customer.
  ...{ target: showsRecipient ? row.to : null, name: showsRecipient ? row.subject : "mail" },
  // The answer of a mail server often repeats the address.
  error: showsRecipient ? (row.refusal ?? row.last_answer) : null,
});

/** The text of the error may name internals of the server, which are the operator's alone. */
export const describeJob = (row: JobRow): LogEntry => ({
  ...empty,
  ...{ id: `${row.kind}:${row.row_id}:${row.attempts}`, kind: "job", created_at: row.first_failed_at, name: row.kind },
  status: row.retry_at === null ? "failed" : "pending",
});
