import { isNull } from "drizzle-orm";
import { api } from "../../../shared/api/index.ts";
import { checkUrl, findShownEndpoints, insertEndpoint, patchEndpoint, webhookService } from "../../webhooks/service.ts";
import { webhookEndpoints } from "../../webhooks/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedWebhooks: ServedKind<"webhooks"> = {
  source: {
    table: webhookEndpoints,
    id: webhookEndpoints.id,
    organization_id: webhookEndpoints.organization_id,
    alive: isNull(webhookEndpoints.deleted_at),
    marks: [webhookEndpoints.url, webhookEndpoints.name],
  },
  read: (db, ctx, organization_id, ids) => findShownEndpoints(db, ctx, organization_id, ids),
  create: (tx, ctx, body) => insertEndpoint(tx, ctx, body),
  update: (_, ctx, id, body) => patchEndpoint(ctx, id, body),
  remove: (_, ctx, id) => webhookService.deleteEndpoint(ctx, { params: { id } }),
  shapes: { create: api.webhooks.createEndpoint, update: api.webhooks.updateEndpoint },
  isAsked: () => true,
  questionFor: (ctx, { url }, changes) =>
    changes.some(({ field }) => field === "url" || field === "enabled") ? () => checkUrl(ctx, url, "url") : undefined,
};
