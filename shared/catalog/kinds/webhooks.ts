import { z } from "zod";
import { webUrl } from "../../api/fields.ts";
import { type WebhookEndpoint, webhooks } from "../../api/webhooks.ts";
import { eventTypes } from "../../event-types.ts";
import { defineKind, omitDefaults, previously, readMark } from "./kind.ts";

export const webhookKind = defineKind({
  item: z.strictObject({
    url: webUrl,
    events: z.array(z.enum(eventTypes)).min(1),
    name: z.string().nullable().optional(),
    format: z.enum(["raw", "discord", "slack"]).optional(),
    enabled: z.boolean().optional(),
    previously,
  }),
  update: webhooks.updateEndpoint.body,
  wantedFields: ({ previously: _, ...item }) => ({ ...item, events: [...new Set(item.events)].sort() }),
  foundFields: (row: WebhookEndpoint) => ({
    url: row.url,
    events: [...row.events].sort(),
    name: row.name,
    format: row.format,
    enabled: row.enabled,
  }),
  bodyOf: (fields) => fields,
  shorten: (fields) => omitDefaults(fields, { format: "raw", enabled: true }),
  nameOf: ({ url }) => url,
  keyFrom: ({ name, url }) => name ?? url,
  marksOf: ({ url, name }) => [url, name],
  likeness: ({ url, name }) => [...readMark(url), ...readMark(name).map((text) => `name ${text}`)],
});
