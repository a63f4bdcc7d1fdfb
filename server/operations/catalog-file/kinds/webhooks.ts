import { isNull } from "drizzle-orm";
import { api } from "../../../../shared/api/index.ts";
import {
  checkUrl,
  createEndpoints,
  deleteEndpoints,
  findShownEndpoints,
  updateEndpoints,
} from "../../../messaging/webhooks/service.ts";
import { webhookEndpoints } from "../../../messaging/webhooks/tables.ts";
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
  create: createEndpoints,
  update: updateEndpoints,
  remove: deleteEndpoints,
  shapes: { create: api.webhooks.createEndpoint, update: api.webhooks.updateEndpoint },
  isAsked: () => true,
  questionFor: (ctx, { url }, changes) =>
    changes.some(({ field }) => field === "url" || field === "enabled") ? () => checkUrl(ctx, url, "url") : undefined,
};
