import { z } from "zod";
import { byId, flag, ids, instant, many, page, paging, type Resource, seller } from "../contract.ts";
import { eventTypes } from "../event-types.ts";
import { auditState, organizationOf, stored, unlessNull, webUrl } from "./fields.ts";

const format = z.enum(["raw", "discord", "slack"]);
const eventType = z.enum(eventTypes);
const apiVersion = z.enum(["2026-04", "2026-10", "2027-01"]);

/** Where a seller is told of events. */
export const WebhookEndpoint = z.object({
  ...stored,
  url: z.string(),
  name: z.string().nullable(),
  format,
  secret: z.string(),
  organization_id: z.uuid(),
  events: z.array(eventType),
  enabled: z.boolean(),
  api_version: z.string(),
  uses_standard_webhook_signature: z.boolean(),
  /** Until then events are also signed with a secret that was replaced; null where none is. */
  previous_secret_expires_at: instant.nullable(),
  /** The names of the seller's own headers, sorted; their values are never shown. */
  header_names: z.array(z.string()),
});
export type WebhookEndpoint = z.output<typeof WebhookEndpoint>;

/** One event on its way to one endpoint. `succeeded` is null until that is settled. */
export const WebhookEvent = z.object({
  ...stored,
  type: eventType,
  api_version: z.string(),
  last_http_code: z.int().nullable(),
  succeeded: z.boolean().nullable(),
  skipped: z.boolean(),
  payload: z.string().nullable(),
  is_archived: z.boolean(),
});
export type WebhookEvent = z.output<typeof WebhookEvent>;

/** One attempt to deliver an event; without a code when the endpoint was not reached. */
export const WebhookDelivery = z.object({
  ...stored,
  succeeded: z.boolean(),
  http_code: z.int().nullable(),
  response: z.string().nullable(),
  /** The address to which the endpoint's events go today. */
  url: z.string(),
  /** Null for attempts from before it was measured. */
  duration_ms: z.int().nullable(),
  webhook_event: WebhookEvent,
});
export type WebhookDelivery = z.output<typeof WebhookDelivery>;

const url = webUrl.describe("Where to send events.");
const name = z.string().max(256).nullish().describe("Your own name for the endpoint.");
const events = z
  .array(eventType)
  .overwrite((types) => [...new Set(types)])
  .describe("The events to send, as order.paid.");
/** Kept as it is given: what counts as enough is the rule of clients that still send their own (WHK-02). */
const secret = z.string().min(32).max(512).describe("Your own signing secret; one is made if not given.");

const headersMax = 10;
const headerName = /^[a-z][a-z0-9_.-]{0,63}$/i;
/** Visible ASCII and single spaces or tabs within it: nothing that ends a header. */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?$/;
/** What the server itself sets, or what decides how HTTP reads the request. */
const reservedHeader =
  /^(?:connection|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|user-agent|x-request-id|traceparent|tracestate|(?:content|proxy|webhook)-.*)$/;

const headers = z
  .record(z.string(), z.string())
  .superRefine((given, issues) => {
    const names = Object.keys(given);
    if (names.length > headersMax) issues.addIssue(`At most ${headersMax} headers.`);
    const seen = new Set<string>();
    for (const [name, value] of Object.entries(given)) {
      const addFault = (message: string) => issues.addIssue({ code: "custom", message, path: [name], input: name });
      const lower = name.toLowerCase();
      if (!headerName.test(name))
        addFault("The name of a header is 1 to 64 letters, digits, -, _ or ., and begins with a letter.");
      else if (reservedHeader.test(lower)) addFault("The server sets this header itself.");
      else if (seen.has(lower)) addFault("This header is given twice.");
      else if (!headerValue.test(value)) addFault("The value of a header is 1 to 1024 visible ASCII characters.");
      seen.add(lower);
    }
  })
  .overwrite((given) => Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value])))
  .describe(
    "Your own headers of the requests, such as the key of a gateway. Their values are stored sealed and never shown.",
  );

export const WebhookEndpointCreate = z.object({
  url,
  events,
  format: format.default("raw").describe("Body of the requests: the event itself, or a message to a chat."),
  name,
  secret: unlessNull(secret),
  enabled: z.boolean().default(true).describe("Whether events are sent."),
  api_version: unlessNull(apiVersion).describe("Contract version of the events; by default the one you call with."),
  headers: unlessNull(headers),
  organization_id: organizationOf,
});

/** A null leaves a field as it is (WHK-03). */
export const WebhookEndpointUpdate = z.object({
  url: unlessNull(url),
  events: unlessNull(events),
  format: unlessNull(format).describe("Body of the requests: the event itself, or a message to a chat."),
  name: unlessNull(z.string().max(256)).describe("Your own name for the endpoint."),
  secret: unlessNull(secret),
  enabled: unlessNull(z.boolean()).describe("Whether events are sent."),
  api_version: unlessNull(apiVersion).describe("Contract version of the events."),
  headers: unlessNull(headers).describe(
    "Your own headers of the requests, in place of all earlier ones; {} for none. An address on another server needs them again.",
  ),
});

export const probeSignatures = ["valid", "wrong", "missing"] as const;
export const probeBodies = ["event", "unknown_type", "malformed"] as const;

/** A test event to an address: how it is signed, and what stands in it. */
export const WebhookProbe = z.object({
  url: url.describe("The address; that of an endpoint of yours is signed with the endpoint's secret."),
  signature: z.enum(probeSignatures).default("valid").describe("How it is signed."),
  content: z
    .enum(probeBodies)
    .default("event")
    .describe("The event organization.updated, an event of a type that does not exist, or text that is not JSON."),
  id: z.uuid().optional().describe("The webhook-id, to send the same event again."),
  age_seconds: z.int().min(0).max(86_400).default(0).describe("How long ago the signature and the event are dated."),
  organization_id: organizationOf,
});

export const WebhookProbeResult = z.object({
  id: z.uuid(),
  /** Null where no answer came; then `error` says why. */
  http_code: z.int().nullable(),
  response: z.string().nullable(),
  error: z.string().nullable(),
  duration_ms: z.int(),
});

/** Which events of an endpoint to send again. */
export const WebhookReplayCreate = z.object({
  since: instant.describe("Events from this time on."),
  events: z.array(eventType).min(1).optional().describe("Only of these types, as order.paid."),
  failed_only: z.boolean().default(false).describe("Only events that were not delivered."),
  preview: z.boolean().default(false).describe("Only count them."),
});

/** Sending the events of an endpoint again, and how far that is. `id` is null for a preview. */
export const WebhookReplay = z.object({
  id: z.uuid().nullable(),
  created_at: instant,
  endpoint_id: z.uuid(),
  since: instant,
  types: z.array(z.string()).nullable(),
  failed_only: z.boolean(),
  status: z.enum(["preview", "running", "stopped", "finished"]),
  total: z.int(),
  /** How many of them have had their turn in the queue. */
  requeued: z.int(),
  finished_at: instant.nullable(),
});
export type WebhookReplay = z.output<typeof WebhookReplay>;

const overlapUnitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** How long a replaced secret stays valid, in milliseconds; undefined where that is not said as `24h`. */
const parseOverlap = (text: string): number | undefined => {
  const [, count, unit = ""] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (overlapUnitsMs[unit] ?? 0);
};
const overlapMsMax = 30 * 86_400_000;
const overlap = z
  .string()
  .refine(
    (text) => (parseOverlap(text) ?? overlapMsMax + 1) <= overlapMsMax,
    "Must be a time of at most 30 days, as 24h.",
  )
  .transform((text) => parseOverlap(text) ?? 0);

const auditEnabling = auditState(
  "enabled",
  new Map([
    [true, "webhook_endpoint.enabled" as const],
    [false, "webhook_endpoint.disabled" as const],
  ]),
  true,
);

export const webhooks = {
  listEndpoints: {
    method: "GET",
    id: "webhooks:list_webhook_endpoints",
    path: "/v1/webhooks/endpoints",
    summary: "List webhook endpoints",
    access: seller("webhooks:read"),
    query: z.object({ ...paging.shape, organization_id: ids.describe("Only of these organizations.") }),
    response: page(WebhookEndpoint),
  },
  createEndpoint: {
    method: "POST",
    id: "webhooks:create_webhook_endpoint",
    path: "/v1/webhooks/endpoints",
    audit: "webhook_endpoint.created",
    summary: "Create a webhook endpoint",
    access: seller("webhooks:write"),
    body: WebhookEndpointCreate,
    response: WebhookEndpoint,
    status: 201,
    // The host name is looked up.
    external: true,
  },
  getEndpoint: {
    method: "GET",
    id: "webhooks:get_webhook_endpoint",
    path: "/v1/webhooks/endpoints/:id",
    summary: "Get a webhook endpoint",
    access: seller("webhooks:read"),
    params: byId,
    response: WebhookEndpoint,
    errors: ["ResourceNotFound"],
  },
  updateEndpoint: {
    method: "PATCH",
    id: "webhooks:update_webhook_endpoint",
    path: "/v1/webhooks/endpoints/:id",
    audit: (body) => auditEnabling(body) ?? "webhook_endpoint.updated",
    summary: "Update a webhook endpoint",
    access: seller("webhooks:write"),
    params: byId,
    body: WebhookEndpointUpdate,
    response: WebhookEndpoint,
    errors: ["ResourceNotFound"],
  },
  deleteEndpoint: {
    method: "DELETE",
    id: "webhooks:delete_webhook_endpoint",
    path: "/v1/webhooks/endpoints/:id",
    audit: "webhook_endpoint.deleted",
    summary: "Delete a webhook endpoint",
    access: seller("webhooks:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this webhook endpoint? Events that were not delivered yet are dropped.",
  },
  resetSecret: {
    method: "PATCH",
    id: "webhooks:reset_webhook_endpoint_secret",
    path: "/v1/webhooks/endpoints/:id/secret",
    audit: "webhook_endpoint.secret_reset",
    summary: "Make a new signing secret for a webhook endpoint",
    access: seller("webhooks:write"),
    params: byId,
    query: z.object({
      overlap: overlap
        .optional()
        .describe("How long events are also signed with the present secret, as 30m, 24h or 7d."),
    }),
    response: WebhookEndpoint,
    errors: ["ResourceNotFound"],
    confirm:
      "Replace the signing secret? Without an overlap, receivers that check with the old one will refuse events.",
  },
  listDeliveries: {
    method: "GET",
    id: "webhooks:list_webhook_deliveries",
    path: "/v1/webhooks/deliveries",
    summary: "List webhook deliveries",
    access: seller("webhooks:read"),
    query: z.object({
      ...paging.shape,
      endpoint_id: ids.describe("Only to these endpoints."),
      start_timestamp: instant.optional().describe("Only at or after this time."),
      end_timestamp: instant.optional().describe("Only at or before this time."),
      succeeded: flag.describe("Only those that succeeded, or only those that failed."),
      query: z.string().optional().describe("Part of the event's content."),
      http_code_class: z.enum(["2xx", "3xx", "4xx", "5xx"]).optional().describe("Only answered with such a code."),
      event_type: many(eventType).describe("Only of these event types."),
    }),
    response: page(WebhookDelivery),
  },
  startReplay: {
    method: "POST",
    id: "webhooks:start_replay",
    path: "/v1/webhooks/endpoints/:id/replays",
    audit: "webhook_replay.started",
    summary: "Send the events of an endpoint again",
    access: seller("webhooks:write", "webhook_deliveries:write"),
    params: byId,
    body: WebhookReplayCreate,
    response: WebhookReplay,
    status: 202,
    errors: ["ResourceNotFound", "ResourceAlreadyExists"],
  },
  getReplay: {
    method: "GET",
    id: "webhooks:get_replay",
    path: "/v1/webhooks/replays/:id",
    summary: "Get a replay",
    access: seller("webhooks:read"),
    params: byId,
    response: WebhookReplay,
    errors: ["ResourceNotFound"],
  },
  stopReplay: {
    method: "POST",
    id: "webhooks:stop_replay",
    path: "/v1/webhooks/replays/:id/stop",
    audit: "webhook_replay.stopped",
    summary: "Stop a replay",
    access: seller("webhooks:write", "webhook_deliveries:write"),
    params: byId,
    response: WebhookReplay,
    errors: ["ResourceNotFound"],
  },
  redeliver: {
    method: "POST",
    id: "webhooks:redeliver_webhook_event",
    path: "/v1/webhooks/events/:id/redeliver",
    audit: "webhook_event.redelivered",
    summary: "Send an event again",
    access: seller("webhooks:write", "webhook_deliveries:write"),
    params: byId,
    status: 202,
    errors: ["ResourceNotFound"],
  },
  probe: {
    method: "POST",
    path: "/v1/webhooks/probes",
    audit: "webhook_endpoint.tested",
    summary: "Send a test event to an address",
    access: seller("webhooks:write"),
    body: WebhookProbe,
    response: WebhookProbeResult,
    external: true,
  },
} as const satisfies Resource;
