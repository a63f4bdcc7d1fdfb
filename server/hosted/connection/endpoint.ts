import { api } from "../../../shared/api/index.ts";
import { WebhookEndpoint } from "../../../shared/api/webhooks.ts";
import { isLoopbackUrl } from "../../../shared/loopback.ts";
import type { Deps } from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import type { Relayed } from "../../platform/http/relayed.ts";
import type { Hosted } from "../relay/hosted.ts";
import { standardUrl } from "../relay/polar.ts";
import { PolarConnectionError, sendToPolar } from "./ask.ts";
import { getLeaseMs, withLease } from "./lease.ts";
import { isWholeSecret, planRepair, requestedEvents } from "./rules.ts";
import { endpointPurpose } from "./secrets.ts";
import { type ConnectionRow, findConnection, saveConnection, updateConnection } from "./store.ts";

export type Connected = {
  organization_id: string;
  polar_id: string;
  endpoint_id: string;
  url: string;
  outcome: "created" | "repaired" | "unchanged";
  /** Other endpoints at Polar with the same address: each event comes once more for each. */
  duplicates: string[];
};

/** How often the endpoint is looked at: Polar switches it off after ten refusals in a row. */
export const checkMs = 60 * 60 * 1000;
const endpointPagesMax = 10;
/** So much longer than a lease of a killed process lasts. */
const waitMarginMs = 5000;
const receiverPath = "/v1/integrations/polar/webhook";

/** The fields that are read; Polar publishes the others in some versions only. */
const Endpoint = WebhookEndpoint.pick({ id: true, url: true, format: true, secret: true, enabled: true }).extend({
  events: WebhookEndpoint.shape.events.element.or(WebhookEndpoint.shape.url).array(),
});
type Endpoint = Omit<WebhookEndpoint, "name" | "api_version" | "uses_standard_webhook_signature"> & { id: string };

function readEndpoint(relayed: Relayed): Endpoint {
  const read = Endpoint.safeParse(relayed.json);
  if (!read.success) throw new PolarConnectionError("Polar answered something else than a webhook endpoint.");
  return read.data as Endpoint;
}

async function listEndpoints(deps: Deps, hosted: Hosted, polar_id: string): Promise<Endpoint[]> {
  const found: Endpoint[] = [];
  for (let page = 1; page <= endpointPagesMax; page++) {
    const query = { organization_id: polar_id, page, limit: 100 };
    const { json } = await sendToPolar(deps, hosted, "webhooks.listEndpoints", api.webhooks.listEndpoints, { query });
    const { items = [], pagination } = (json ?? {}) as { items?: unknown[]; pagination?: { max_page?: number } };
    found.push(...items.map((item) => readEndpoint({ json: item } as Relayed)));
    if (page >= (pagination?.max_page ?? 0)) break;
  }
  return found;
}

const updateEndpoint = async (deps: Deps, hosted: Hosted, id: string, body: object): Promise<Endpoint> =>
  readEndpoint(
    await sendToPolar(deps, hosted, "webhooks.updateEndpoint", api.webhooks.updateEndpoint, { params: { id }, body }),
  );

/** The secret of an endpoint: the one that Polar shows, or a new one. */
async function resolveSecret(deps: Deps, hosted: Hosted, { id, secret }: Endpoint): Promise<string> {
  if (isWholeSecret(secret)) return secret;
  const asked = { params: { id } };
  const made = readEndpoint(await sendToPolar(deps, hosted, "webhooks.resetSecret", api.webhooks.resetSecret, asked));
  if (isWholeSecret(made.secret)) return made.secret;
  throw new PolarConnectionError(
    "Polar does not show the secret of the endpoint: POLAR_ACCESS_TOKEN needs the scope webhooks:write.",
  );
}

/** The address to which Polar sends events. */
export function getReceiverUrl({ config }: Deps, origin: string | undefined): string {
  const url = new URL(receiverPath, origin ?? config.url);
  if (isLoopbackUrl(url) && !isLoopbackUrl(config.POLAR_URL ?? standardUrl))
    throw new PolarConnectionError(
      `Polar cannot reach ${url.origin}. Name the public address of this server with --url, or set FLOE_URL.`,
    );
  return url.href;
}

/**
 * Make the endpoint at Polar to which all events are sent, and keep its secret. An endpoint of this address, and the one that was
 * made before, is repaired instead. A run that ends at any step is made up for by the next: it finds the endpoint by its address.
 * Of two runs at once, the later one waits, and finds what the first one made (WHK-45).
 */
export function connectEndpoint(deps: Deps, hosted: Hosted, url: string): Promise<Connected> {
  const { organization_id, polar_id } = hosted.requireLink();
  return withLease(deps, organization_id, getLeaseMs(deps) + waitMarginMs, async (lease) => {
    const stored = await findConnection(deps.db, organization_id);
    const endpoints = await listEndpoints(deps, hosted, polar_id);
    const known = endpoints.find(({ id }) => id === stored?.endpoint_id) ?? endpoints.find((one) => one.url === url);
    const patch = known ? planRepair(known, url) : undefined;
    await lease.extend();
    const endpoint = known
      ? patch
        ? await updateEndpoint(deps, hosted, known.id, patch)
        : known
      : readEndpoint(
          await sendToPolar(deps, hosted, "webhooks.createEndpoint", api.webhooks.createEndpoint, {
            body: { url, name: "floe", format: "raw", events: requestedEvents },
          }),
        );
    await lease.extend();
    const secret = await resolveSecret(deps, hosted, endpoint);
    const now = deps.clock.now();
    const isKept = stored?.endpoint_id === endpoint.id && stored.fault === null && openSecret(deps, stored) === secret;
    const row = { organization_id, endpoint_id: endpoint.id, url, connected_at: now, checked_at: now, fault: null };
    const due_at = new Date(now.getTime() + checkMs);
    const sealed = sealSecret(deps, organization_id, secret);
    await lease.finish((tx) => saveConnection(tx, { ...row, due_at, secret: sealed }));
    return {
      ...{ organization_id, polar_id, endpoint_id: endpoint.id, url },
      outcome: !known ? "created" : patch || !isKept ? "repaired" : "unchanged",
      duplicates: endpoints.filter((one) => one.url === url && one.id !== endpoint.id).map(({ id }) => id),
    };
  });
}

const sealSecret = ({ config }: Deps, organization_id: string, secret: string): string =>
  seal(config.secret, endpointPurpose, organization_id, secret);
const openSecret = ({ config }: Deps, { organization_id, secret }: ConnectionRow): string | null =>
  tryUnseal(config.secrets, endpointPurpose, organization_id, secret);

/** The endpoint as Polar has it now; undefined where it is deleted there. */
export async function readConnected(deps: Deps, hosted: Hosted, { endpoint_id }: ConnectionRow) {
  const asked = { params: { id: endpoint_id } };
  const relayed = await sendToPolar(deps, hosted, "webhooks.getEndpoint", api.webhooks.getEndpoint, asked);
  return relayed.status === 404 ? undefined : readEndpoint(relayed);
}

/**
 * Look at the endpoint, and repair it: one that Polar switched off is switched on again. One that was deleted there is not made
 * again, because a person did that. Answers whether events may have been missed.
 */
export async function checkEndpoint(deps: Deps, hosted: Hosted, stored: ConnectionRow): Promise<boolean> {
  const { organization_id, url } = stored;
  const found = await readConnected(deps, hosted, stored);
  const checked_at = deps.clock.now();
  if (!found) {
    deps.log.error({ url }, "The webhook endpoint at Polar was deleted: run floe polar connect.");
    const fault = "The endpoint was deleted at Polar: run floe polar connect.";
    await updateConnection(deps.db, organization_id, { checked_at, fault });
    return false;
  }
  const patch = planRepair(found, url);
  if (patch) deps.log.warn({ changed: Object.keys(patch) }, "The webhook endpoint at Polar was repaired.");
  if (!patch && isWholeSecret(found.secret)) {
    // Nothing is changed at Polar. The secret is sealed again where an earlier secret of this server sealed it.
    const sealed = sealSecret(deps, organization_id, found.secret);
    await updateConnection(deps.db, organization_id, { checked_at, fault: null, secret: sealed });
    return openSecret(deps, stored) !== found.secret;
  }
  // `floe polar connect` does the like: it goes first, and the check is repeated.
  return withLease(deps, organization_id, 0, async (lease) => {
    const endpoint = patch ? await updateEndpoint(deps, hosted, found.id, patch) : found;
    await lease.extend();
    const secret = await resolveSecret(deps, hosted, endpoint);
    const sealed = sealSecret(deps, organization_id, secret);
    await lease.finish((tx) => updateConnection(tx, organization_id, { checked_at, fault: null, secret: sealed }));
    return true;
  });
}
