import { randomBytes } from "node:crypto";
import { and, asc, eq, isNull } from "drizzle-orm";
import { z } from "zod";
import { Organization } from "../../../shared/api/organizations.ts";
import type { WebhookProbe, WebhookProbeResult } from "../../../shared/api/webhooks.ts";
import { fault, invalid, notFound } from "../../../shared/errors.ts";
import { truncateToWhole } from "../../../shared/money.ts";
import { serializeOrganization } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock, toUnixSeconds } from "../../platform/clock.ts";
import { type Ctx, requireOrganization } from "../../platform/context.ts";
import { checkAddress, findReach } from "../../platform/external/outbound.ts";
import { rejectRateLimited } from "../../platform/http/limits.ts";
import { apiVersions, type ClientProfile, getVersionedProfile } from "../../platform/http/profiles.ts";
import { createId } from "../../platform/ids.ts";
import { createLimiter } from "../../platform/limits/attempts.ts";
import { writeChatBody } from "./messages.ts";
import { openHeaders, redactHeaders } from "./own-headers.ts";
import { buildHeaders, deriveListenSecret, writeRawBody } from "./rules.ts";
import { openSigningSecrets } from "./secrets.ts";
import { openSender } from "./sender.ts";
import * as store from "./store.ts";
import { webhookEndpoints } from "./tables.ts";

type Probe = z.output<typeof WebhookProbe>;
type Result = z.output<typeof WebhookProbeResult>;

/** A check of a receiver sends about twenty. */
const probes = { max: 200, window_seconds: 600 };
const newest = getVersionedProfile(apiVersions[apiVersions.length - 1] ?? "2026-04");

/** Send a test event to an address that the server may call, and answer what came back. Nothing is stored. */
export async function sendProbe(ctx: Ctx, probe: Probe): Promise<Result> {
  const organization_id = requireOrganization(ctx);
  const reach = findReach(ctx.config);
  const refusal = await checkAddress(probe.url, reach);
  if (refusal !== undefined) throw invalid(fault(["url"], refusal, "value_error", probe.url));
  const clock = getServerClock(ctx.clock);
  const wait = await createLimiter({ ...ctx, clock }).hit(`webhook-probe:${organization_id}`, probes);
  rejectRateLimited(wait, "Too many test events.");
  const endpoint = await findEndpointByUrl(ctx.db, organization_id, probe.url);
  const now = clock.now();
  const at = new Date(now.getTime() - probe.age_seconds * 1000);
  const id = probe.id ?? createId(now);
  const body = await writeBody(ctx, organization_id, endpoint, probe.content, at);
  const headers = writeHeaders(
    probe.signature,
    findSecrets(ctx, organization_id, endpoint),
    id,
    toUnixSeconds(at),
    body,
  );
  const sender = openSender(probe.url, reach);
  try {
    const began = performance.now();
    const own = (endpoint && openHeaders(ctx, endpoint)) ?? {};
    const reply = await sender.post({ ...own, ...headers }, body);
    const { http_code } = reply;
    const text = redactHeaders(reply.text, own);
    const duration_ms = truncateToWhole(performance.now() - began);
    return http_code === null
      ? { id, http_code, response: null, error: text, duration_ms }
      : { id, http_code, response: text, error: null, duration_ms };
  } finally {
    await sender.close();
  }
}

/** Find the endpoint of an organization that has an address; the first of several. */
async function findEndpointByUrl(
  db: Ctx["db"],
  organization_id: string,
  url: string,
): Promise<store.EndpointRow | undefined> {
  const [row] = await db
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eq(webhookEndpoints.organization_id, organization_id),
        eq(webhookEndpoints.url, url),
        isNull(webhookEndpoints.deleted_at),
      ),
    )
    .orderBy(asc(webhookEndpoints.created_at), asc(webhookEndpoints.id))
    .limit(1);
  return row;
}

/** The secrets of the endpoint, or for another address the one of `floe listen`. */
function findSecrets(ctx: Ctx, organization_id: string, endpoint: store.EndpointRow | undefined): string[] {
  if (!endpoint) return [deriveListenSecret(ctx.config.secret, organization_id)];
  const secrets = openSigningSecrets(ctx, endpoint);
  if (secrets) return secrets;
  throw invalid(fault(["url"], "The secret of this endpoint was sealed with a FLOE_SECRET that is gone. Reset it."));
}

/** The organization itself is told of, as it is: an event that changes nothing at a receiver that believes it. */
async function writeBody(
  ctx: Ctx,
  organization_id: string,
  endpoint: store.EndpointRow | undefined,
  content: Probe["content"],
  created_at: Date,
): Promise<string> {
  if (content === "malformed") return '{"type": "organization.updated", "data": {';
  if (content === "unknown_type") return JSON.stringify({ type: "floe.test", timestamp: created_at, data: {} });
  const row = await findOrganization(ctx.db, organization_id);
  if (!row) throw notFound();
  const profile: ClientProfile = endpoint ? store.getEndpointProfile(endpoint) : newest;
  const data = z.encode(Organization, serializeOrganization(row));
  const event = { type: "organization.updated", created_at, data };
  if (endpoint && endpoint.format !== "raw") return writeChatBody(endpoint.format, event, row.name);
  return writeRawBody(profile, event);
}

function writeHeaders(
  signature: Probe["signature"],
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: string,
): Record<string, string> {
  const used = signature === "wrong" ? [randomBytes(32).toString("hex")] : secrets;
  const { "webhook-signature": signed = "", ...headers } = buildHeaders(used, id, timestamp, body);
  return signature === "missing" ? headers : { ...headers, "webhook-signature": signed };
}
