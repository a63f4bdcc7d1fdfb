import { z } from "zod";
import { flag, instant, many, type Resource, seller } from "../contract.ts";
import { orderStatuses } from "./orders.ts";
import { paymentStatuses } from "./payments.ts";

export const logKinds = ["request", "delivery", "mail", "job"] as const;
export type LogKind = (typeof logKinds)[number];

/** One line of the log. `status` is `ok`, `failed` or, for what is retried or was not tried yet, `pending`. */
export const LogEntry = z.object({
  id: z.string(),
  kind: z.enum(logKinds),
  created_at: instant,
  /** What it belongs to; null for the work of a job. */
  request_id: z.string().nullable(),
  status: z.enum(["ok", "failed", "pending"]),
  /** HTTP status of a request or of a delivery. */
  http_status: z.int().nullable(),
  duration_ms: z.int().nullable(),
  method: z.string().nullable(),
  /** Path of a request, URL of an endpoint, recipient of a mail. Null for a mail if the caller may not read customers. */
  target: z.string().nullable(),
  /** Name of the operation, type of the event, subject of the mail, name of the worker. */
  name: z.string(),
  /** Who made a request. */
  actor: z
    .object({
      kind: z.enum(["user", "key", "customer", "anonymous"]),
      id: z.string().nullable(),
      name: z.string().nullable(),
    })
    .nullable(),
  /** Code of the error of a request. */
  error: z.string().nullable(),
  /** How many requests before this one were too many to be kept. */
  skipped: z.int(),
  /** What was sent, without its texts. Only with `bodies`. */
  body: z.unknown().optional(),
});
export type LogEntry = z.output<typeof LogEntry>;

const reference = z.object({ id: z.string(), created_at: instant });
export const RequestTrace = z.object({
  request_id: z.string(),
  requests: z.array(LogEntry),
  events: z.array(reference.extend({ type: z.string(), subject_id: z.string().nullable() })),
  /** Null if the caller may not read orders. */
  orders: z
    .array(
      reference.extend({
        invoice_number: z.string().nullable(),
        status: z.enum(orderStatuses),
        total_amount: z.int(),
        currency: z.string(),
      }),
    )
    .nullable(),
  /** Null if the caller may not read payments. */
  payments: z
    .array(
      reference.extend({
        order_id: z.uuid().nullable(),
        status: z.enum(paymentStatuses),
        amount: z.int(),
        currency: z.string(),
      }),
    )
    .nullable(),
  mails: z.array(LogEntry),
  deliveries: z.array(LogEntry),
});
export type RequestTrace = z.output<typeof RequestTrace>;

const bodies = flag.describe("Also what was sent: numbers, ids and names of fields, never texts.");

/** What a store was asked, and what it sent. */
export const logs = {
  list: {
    method: "GET",
    path: "/v1/logs",
    summary: "List requests, webhook deliveries, mails and failed jobs, the newest first",
    access: seller("logs:read"),
    query: z.object({
      kind: many(z.enum(logKinds)).describe("Only these kinds."),
      status: many(z.enum(["ok", "failed", "pending"])).describe("Only what came out so."),
      method: z.enum(["GET", "POST", "PATCH", "DELETE"]).optional().describe("Only requests of this method."),
      path: z.string().min(1).max(200).optional().describe("Only requests whose path begins so."),
      request_id: z.string().min(1).max(64).optional().describe("Only what belongs to this request."),
      since: instant.optional().describe("Not before this time; without it, the last 24 hours."),
      until: instant.optional().describe("Not after this time."),
      limit: z.coerce.number().int().min(1).max(100).default(50).describe("At most so many lines."),
      bodies,
    }),
    response: z.object({ items: z.array(LogEntry) }),
  },
  get: {
    method: "GET",
    path: "/v1/logs/:request_id",
    summary: "Get what one request did: events, orders, payments, mails and deliveries",
    access: seller("logs:read"),
    params: z.object({ request_id: z.string().min(1).max(64) }),
    query: z.object({ bodies }),
    errors: ["ResourceNotFound"],
    response: RequestTrace,
  },
} as const satisfies Resource;
