import type { z } from "zod";
import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointCreate,
  WebhookEndpointUpdate,
  webhooks,
} from "../../../shared/api/webhooks.ts";
import type { Service } from "../../../shared/contract.ts";
import { type ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { type EventType, eventTypesOf } from "../../../shared/event-types.ts";
import { getServerClock } from "../../platform/clock.ts";
import {
  type Ctx,
  type Database,
  hasScope,
  requireOrganization,
  requireOrganizations,
  type Tx,
} from "../../platform/context.ts";
import { maskedSecret, openTokens, redactTokens, seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import { insertRows } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { checkAddress, findReach } from "../../platform/external/outbound.ts";
import { type ApiVersion, type ClientProfile, getVersionedProfile } from "../../platform/http/profiles.ts";
import { createId, createToken } from "../../platform/ids.ts";
import { checkEndpointCount } from "./endpoint-limits.ts";
import { findHeadersRefusal, openHeaders, sealHeaders } from "./own-headers.ts";
import { sendProbe } from "./probe.ts";
import { wakeEndpoints } from "./queue.ts";
import { replayService } from "./replays.ts";
import { rejectSwitchedOff, selectKnown } from "./rules.ts";
import { findOverlapEnd, planPreviousSecrets } from "./secrets.ts";
import * as store from "./store.ts";
import { webhookEndpoints } from "./tables.ts";

const secretPrefix = "polar_whs_";

/**
 * The endpoint as this client can read it: event types that it does not know are left out. A secret that can be opened no
 * more, as the server's own is another, is none: it is to be reset.
 */
function serializeEndpoint(ctx: Ctx, row: store.EndpointRow): WebhookEndpoint {
  const { client, config } = ctx;
  // The signing key is the secret's text itself, not what it decodes to.
  const uses_standard_webhook_signature = false;
  const events = selectKnown(client, selectKnown(store.getEndpointProfile(row), row.events));
  const secret = hasScope(ctx, row.organization_id, "webhooks:write")
    ? (tryUnseal(config.secrets, "webhook-secret", row.id, row.secret) ?? "")
    : secretPrefix + maskedSecret;
  const previous_secret_expires_at = findOverlapEnd(ctx, row);
  const header_names = Object.keys(openHeaders(ctx, row) ?? {}).sort();
  return { ...row, secret, events, uses_standard_webhook_signature, previous_secret_expires_at, header_names };
}

/** A version asked for by name counts more than the headers the endpoint is made with. */
function resolvePinned(client: ClientProfile, asked: ApiVersion | undefined) {
  const { generation, release, version } = asked ? getVersionedProfile(asked) : client;
  return { generation, release, api_version: version };
}

/** Refuse an address that will not be called. Looks the name up, so never inside a transaction of its own. */
export async function checkUrl(ctx: Ctx, url: string, at: "url" | "enabled"): Promise<void> {
  const refusal = await checkAddress(url, findReach(ctx.config));
  if (refusal !== undefined) throw invalid(fault([at], refusal, "value_error", at === "url" ? url : undefined));
}

/** These endpoints of an organization, as this client can read them. */
export const findShownEndpoints = async (
  db: Database,
  ctx: Ctx,
  organization_id: string,
  ids: readonly string[],
): Promise<WebhookEndpoint[]> =>
  (await store.findEndpointsById(db, organization_id, ids)).map((row) => serializeEndpoint(ctx, row));

type Create = z.output<typeof WebhookEndpointCreate>;
type Update = z.output<typeof WebhookEndpointUpdate>;

/** Create endpoints whose addresses were checked, in as many statements for one as for a hundred. */
export async function createEndpoints(tx: Tx, ctx: Ctx, bodies: readonly Create[]): Promise<WebhookEndpoint[]> {
  await checkEndpointCount(tx, requireOrganization(ctx), bodies.length);
  const created_at = ctx.clock.now();
  const since_seq = await store.findLatestSeq(tx);
  const values = bodies.map(({ url, events, format, enabled, secret, name = null, api_version, headers = {} }) => {
    const id = createId(created_at);
    return {
      ...{ id, organization_id: requireOrganization(ctx), created_at, url, name, format, events, enabled, since_seq },
      secret: seal(ctx.config.secret, "webhook-secret", id, secret ?? createToken(secretPrefix)),
      headers: sealHeaders(ctx.config.secret, id, headers),
      ...resolvePinned(ctx.client, api_version),
    };
  });
  const rows = mapById(await insertRows(tx, webhookEndpoints, values));
  return values.map(({ id }) => {
    const row = rows.get(id);
    if (!row) throw new Error("An endpoint was inserted and not returned.");
    return serializeEndpoint(ctx, row);
  });
}

/** Change endpoints whose new addresses, if they have them, were checked; in as many statements for one as for a thousand. */
export async function updateEndpoints(
  tx: Tx,
  ctx: Ctx,
  changes: readonly { id: string; body: Update }[],
): Promise<Batch<WebhookEndpoint>> {
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockEndpoints(tx, requireOrganization(ctx), ids));
  const isOn = changes.some(({ id, body }) => body.enabled === true && rows.get(id)?.enabled === false);
  const now = ctx.clock.now();
  const since_seq = isOn ? await store.findLatestSeq(tx) : 0;
  const drafts = changes.map(({ id, body }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const refusal = findHeadersRefusal(row, body);
    if (refusal) return refusal;
    const { api_version, headers, ...given } = body;
    const patch: Partial<store.EndpointRow> = Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    );
    if (headers !== undefined) patch.headers = sealHeaders(ctx.config.secret, row.id, headers);
    if (body.secret !== undefined) patch.previous_secrets = [];
    if (body.secret !== undefined) patch.secret = seal(ctx.config.secret, "webhook-secret", row.id, body.secret);
    // The pause was asked for by the receiver that was there.
    if (body.url !== undefined || body.enabled === true)
      Object.assign(patch, { paused_until: null, failures: 0, failing_since: null });
    // What happened while nothing was kept for it is not made up for.
    if (body.enabled === true && !row.enabled && row.off_since === null) patch.since_seq = since_seq;
    if (body.enabled === true) patch.off_since = null;
    if (body.enabled === false && row.enabled) patch.off_since = now;
    return { row, patch: { ...patch, ...(api_version ? resolvePinned(ctx.client, api_version) : {}) } };
  });
  return writeEndpoints(tx, ctx, drafts);
}

type EndpointDraft = { row: store.EndpointRow; patch: Partial<store.EndpointRow> };

async function writeEndpoints(
  tx: Tx,
  ctx: Ctx,
  drafts: readonly (EndpointDraft | ApiError)[],
): Promise<Batch<WebhookEndpoint>> {
  const changed = listAccepted(drafts).filter(({ patch }) => Object.keys(patch).length > 0);
  const modified_at = ctx.clock.now();
  for (const { row, patch } of changed) {
    const { enabled, deleted_at, paused_until } = { ...row, ...patch };
    if (!enabled || deleted_at !== null) {
      if (row.enabled) Object.assign(patch, { due_at: null, lease: null, process_id: null });
    } else if (!row.enabled || paused_until !== row.paused_until) {
      // It is found out then whether anything waits. A sender that has the queue finds it out by itself.
      if (row.lease === null) patch.due_at = modified_at;
      ctx.jobs.wake(tx, "webhooks.deliver");
    }
  }
  const updated = mapById(
    await store.updateEndpoints(
      tx,
      changed.map(({ row, patch }) => ({ row, patch: { ...patch, modified_at } })),
    ),
  );
  return mapAccepted(drafts, ({ row }) => serializeEndpoint(ctx, updated.get(row.id) ?? row));
}

/** Delete endpoints, in as many statements for one as for a thousand. */
export async function deleteEndpoints(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<unknown>> {
  const rows = mapById(await store.lockEndpoints(tx, requireOrganization(ctx), ids));
  const patch = { deleted_at: ctx.clock.now(), off_since: null };
  const drafts = ids.map((id) => {
    const row = rows.get(id);
    return row ? { row, patch } : notFound();
  });
  return writeEndpoints(tx, ctx, drafts);
}

/** Webhook endpoints, what was sent to them, and sending it again. */
export const webhookService: Service<typeof webhooks, Ctx> = {
  async listEndpoints(ctx, { query }) {
    const { items, total } = await store.listEndpoints(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((row) => serializeEndpoint(ctx, row)),
      total,
      query,
    );
  },

  async createEndpoint(ctx, { body }) {
    await checkUrl(ctx, body.url, "url");
    return transact(ctx, async (tx) => getOnly(await createEndpoints(tx, ctx, [body])));
  },

  async getEndpoint(ctx, { params }) {
    const row = await store.findEndpoint(ctx.db, requireOrganization(ctx), params.id);
    if (!row) throw notFound();
    return serializeEndpoint(ctx, row);
  },

  async updateEndpoint(ctx, { params, body }) {
    const current = await store.findEndpoint(ctx.db, requireOrganization(ctx), params.id);
    if (!current) throw notFound();
    if (body.url !== undefined) await checkUrl(ctx, body.url, "url");
    else if (body.enabled === true && !current.enabled) await checkUrl(ctx, current.url, "enabled");
    return transact(ctx, async (tx) => getOnly(await updateEndpoints(tx, ctx, [{ id: params.id, body }])));
  },

  async deleteEndpoint(ctx, { params }) {
    await transact(ctx, async (tx) => getOnly(await deleteEndpoints(tx, ctx, [params.id])));
  },

  resetSecret: (ctx, { params, query }) =>
    transact(ctx, async (tx) => {
      const [row] = await store.lockEndpoints(tx, requireOrganization(ctx), [params.id]);
      if (!row) throw notFound();
      const secret = seal(ctx.config.secret, "webhook-secret", row.id, createToken(secretPrefix));
      const previous_secrets = planPreviousSecrets(row, query.overlap ?? 0, getServerClock(ctx.clock).now());
      return getOnly(await writeEndpoints(tx, ctx, [{ row, patch: { secret, previous_secrets } }]));
    }),

  async listDeliveries(ctx, { query }) {
    // A client with closed value lists cannot read a page that holds a type it does not know.
    const { generation } = ctx.client;
    const readable = generation === "versioned" ? undefined : [...eventTypesOf[generation]];
    const { items, total } = await store.listDeliveries(ctx.db, requireOrganizations(ctx), { ...query, readable });
    return buildPage(
      items.map((row) => getDelivery(ctx, row)),
      total,
      query,
    );
  },

  probe: (ctx, { body }) => sendProbe(ctx, body),

  ...replayService,

  async redeliver(ctx, { params }) {
    await transact(ctx, async (tx) => {
      const key = { organization_id: requireOrganization(ctx), id: params.id };
      const found = await store.lockWebhookEvent(tx, key);
      if (!found || found.event.is_archived || found.endpoint.deleted_at !== null) throw notFound();
      rejectSwitchedOff(found.endpoint);
      const now = ctx.clock.now();
      await store.updateWebhookEvent(tx, key, {
        ...{ skipped: false, attempts: 0, attempted_at: null, waits: false },
        ...{ next_attempt_at: now, requeued_at: now, round: found.event.round + 1, modified_at: now },
      });
      // What a person asks for is tried, also while the endpoint rests.
      if (found.endpoint.paused_until)
        await store.updateEndpoints(tx, [{ row: found.endpoint, patch: { paused_until: null, failures: 0 } }]);
      await wakeEndpoints(tx, key.organization_id, [found.endpoint.id], now);
      ctx.jobs.wake(tx, "webhooks.deliver");
    });
  },
};

function getDelivery(
  ctx: Ctx,
  { delivery, event, api_version, url }: Awaited<ReturnType<typeof store.listDeliveries>>["items"][number],
): WebhookDelivery {
  const { secrets } = ctx.config;
  const { organization_id } = delivery;
  const isShown = hasScope(ctx, organization_id, "webhooks:write");
  const open = (purpose: "event-tokens" | "webhook-response", row: string, text: string | null) =>
    text && (isShown ? openTokens(secrets, purpose, row, text) : redactTokens(text));
  const payload = open("event-tokens", organization_id, event.payload);
  const webhook_event = { ...event, payload, type: event.type as EventType, api_version };
  return { ...delivery, url, response: open("webhook-response", delivery.id, delivery.response), webhook_event };
}
