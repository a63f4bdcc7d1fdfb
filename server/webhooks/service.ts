import type { z } from "zod";
import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointCreate,
  WebhookEndpointUpdate,
  webhooks,
} from "../../shared/api/webhooks.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound } from "../../shared/errors.ts";
import { type EventType, eventTypesOf } from "../../shared/event-types.ts";
import {
  type Ctx,
  type Database,
  hasScope,
  requireOrganization,
  requireOrganizations,
  type Tx,
} from "../lib/context.ts";
import { createId, createToken } from "../lib/ids.ts";
import { checkAddress, findReach } from "../lib/outbound.ts";
import { buildPage } from "../lib/page.ts";
import { type ApiVersion, type ClientProfile, getVersionedProfile } from "../lib/profiles.ts";
import { matchKey } from "../lib/rows.ts";
import { masked_secret, openTokens, redactTokens, seal, tryUnseal } from "../lib/secrets.ts";
import { transact } from "../lib/unit-of-work.ts";
import { selectKnown } from "./rules.ts";
import * as store from "./store.ts";
import { webhookEndpoints } from "./tables.ts";

const secret_prefix = "polar_whs_";

/**
 * The endpoint as this client can read it: event types that it does not know are left out. A secret that can be opened no
 * more, as the server's own is another, is none: it is to be reset.
 */
function shown(ctx: Ctx, row: store.EndpointRow): WebhookEndpoint {
  const { client, config } = ctx;
  // The signing key is the secret's text itself, not what it decodes to.
  const uses_standard_webhook_signature = false;
  const events = selectKnown(client, selectKnown(store.getEndpointProfile(row), row.events));
  const secret = hasScope(ctx, row.organization_id, "webhooks:write")
    ? (tryUnseal(config.secrets, "webhook-secret", row.id, row.secret) ?? "")
    : secret_prefix + masked_secret;
  return { ...row, secret, events, uses_standard_webhook_signature };
}

/** A version asked for by name counts more than the headers the endpoint is made with. */
function pinned(client: ClientProfile, asked: ApiVersion | undefined) {
  const { generation, release, version } = asked ? getVersionedProfile(asked) : client;
  return { generation, release, api_version: version };
}

/** Refuse an address that will not be called. Looks the name up, so never inside a transaction of its own. */
export async function checkUrl(ctx: Ctx, url: string, at: "url" | "enabled"): Promise<void> {
  const refusal = await checkAddress(url, findReach(ctx.config));
  if (refusal !== undefined) throw invalid(fault([at], refusal, "value_error", at === "url" ? url : undefined));
}

async function changeEndpoint(
  ctx: Ctx,
  id: string,
  change: (tx: Tx, row: store.EndpointRow) => Promise<Partial<typeof webhookEndpoints.$inferInsert>>,
): Promise<WebhookEndpoint> {
  return transact(ctx, async (tx) => {
    const row = await store.lockEndpoint(tx, requireOrganization(ctx), id);
    if (!row) throw notFound();
    const patch = await change(tx, row);
    if (Object.keys(patch).length === 0) return shown(ctx, row);
    const [changed] = await tx
      .update(webhookEndpoints)
      .set({ ...patch, modified_at: ctx.clock.now() })
      .where(matchKey(webhookEndpoints, row))
      .returning();
    return shown(ctx, changed ?? row);
  });
}

/** These endpoints of an organization, as this client can read them. */
export const findShownEndpoints = async (
  db: Database,
  ctx: Ctx,
  organization_id: string,
  ids: readonly string[],
): Promise<WebhookEndpoint[]> =>
  (await store.findEndpointsById(db, organization_id, ids)).map((row) => shown(ctx, row));

type Create = z.output<typeof WebhookEndpointCreate>;
type Update = z.output<typeof WebhookEndpointUpdate>;

/** Add an endpoint whose address was checked. */
export async function insertEndpoint(tx: Tx, ctx: Ctx, body: Create): Promise<WebhookEndpoint> {
  const { url, events, format, enabled } = body;
  const id = createId(ctx.clock.now());
  const row = {
    id,
    organization_id: requireOrganization(ctx),
    created_at: ctx.clock.now(),
    url,
    name: body.name ?? null,
    format,
    events,
    enabled,
    secret: seal(ctx.config.secret, "webhook-secret", id, body.secret ?? createToken(secret_prefix)),
    since_seq: await store.findLatestSeq(tx),
    ...pinned(ctx.client, body.api_version),
  };
  const [made] = await tx.insert(webhookEndpoints).values(row).returning();
  if (!made) throw new Error("An endpoint was inserted and not returned.");
  return shown(ctx, made);
}

/** Change an endpoint whose new address, if it has one, was checked. */
export const patchEndpoint = (ctx: Ctx, id: string, body: Update): Promise<WebhookEndpoint> =>
  changeEndpoint(ctx, id, async (tx, row) => {
    const { api_version, ...given } = body;
    const patch: Partial<typeof webhookEndpoints.$inferInsert> = Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    );
    if (body.secret !== undefined) patch.secret = seal(ctx.config.secret, "webhook-secret", row.id, body.secret);
    // What happened while it was off is not made up for.
    if (body.enabled === true && !row.enabled) patch.since_seq = await store.findLatestSeq(tx);
    return { ...patch, ...(api_version ? pinned(ctx.client, api_version) : {}) };
  });

/** Webhook endpoints, what was sent to them, and sending it again. */
export const webhookService: Service<typeof webhooks, Ctx> = {
  async listEndpoints(ctx, { query }) {
    const { items, total } = await store.listEndpoints(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((row) => shown(ctx, row)),
      total,
      query,
    );
  },

  async createEndpoint(ctx, { body }) {
    await checkUrl(ctx, body.url, "url");
    return transact(ctx, (tx) => insertEndpoint(tx, ctx, body));
  },

  async getEndpoint(ctx, { params }) {
    const row = await store.findEndpoint(ctx.db, requireOrganization(ctx), params.id);
    if (!row) throw notFound();
    return shown(ctx, row);
  },

  async updateEndpoint(ctx, { params, body }) {
    const current = await store.findEndpoint(ctx.db, requireOrganization(ctx), params.id);
    if (!current) throw notFound();
    if (body.url !== undefined) await checkUrl(ctx, body.url, "url");
    else if (body.enabled === true && !current.enabled) await checkUrl(ctx, current.url, "enabled");
    return patchEndpoint(ctx, params.id, body);
  },

  async deleteEndpoint(ctx, { params }) {
    await changeEndpoint(ctx, params.id, async () => ({ deleted_at: ctx.clock.now() }));
  },

  resetSecret: (ctx, { params }) =>
    changeEndpoint(ctx, params.id, async (_, { id }) => ({
      secret: seal(ctx.config.secret, "webhook-secret", id, createToken(secret_prefix)),
    })),

  async listDeliveries(ctx, { query }) {
    // A client with closed value lists cannot read a page that holds a type it does not know.
    const { generation } = ctx.client;
    const readable = generation === "versioned" ? undefined : [...eventTypesOf[generation]];
    const { items, total } = await store.listDeliveries(ctx.db, requireOrganizations(ctx), { ...query, readable });
    return buildPage(
      items.map((row) => deliveryOf(ctx, row)),
      total,
      query,
    );
  },

  async redeliver(ctx, { params }) {
    await transact(ctx, async (tx) => {
      const key = { organization_id: requireOrganization(ctx), id: params.id };
      const found = await store.lockWebhookEvent(tx, key);
      if (!found || found.event.is_archived || found.endpoint.deleted_at !== null) throw notFound();
      const now = ctx.clock.now();
      const again = { skipped: false, attempts: 0, next_attempt_at: now, waits: false, modified_at: now };
      await store.updateWebhookEvent(tx, key, again);
      ctx.jobs.wake(tx, "webhooks.deliver");
    });
  },
};

function deliveryOf(
  ctx: Ctx,
  { delivery, event, api_version }: Awaited<ReturnType<typeof store.listDeliveries>>["items"][number],
): WebhookDelivery {
  const { secrets } = ctx.config;
  const { organization_id } = delivery;
  const isShown = hasScope(ctx, organization_id, "webhooks:write");
  const open = (purpose: "event-tokens" | "webhook-response", row: string, text: string | null) =>
    text && (isShown ? openTokens(secrets, purpose, row, text) : redactTokens(text));
  const payload = open("event-tokens", organization_id, event.payload);
  const webhook_event = { ...event, payload, type: event.type as EventType, api_version };
  return { ...delivery, response: open("webhook-response", delivery.id, delivery.response), webhook_event };
}
