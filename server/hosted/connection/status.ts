import { truncateToWhole } from "../../../shared/money.ts";
import type { Deps } from "../../platform/context.ts";
import { countObjects } from "../mirror/sync-store.ts";
import type { Hosted } from "../relay/hosted.ts";
import { PolarConnectionError } from "./ask.ts";
import { readConnected } from "./endpoint.ts";
import { requestedEvents } from "./rules.ts";
import { storedIndex } from "./secrets.ts";
import { countRefusals, findConnection, findSync, readArrivals } from "./store.ts";

const dayMs = 24 * 60 * 60 * 1000;
const shownDays = 7;

const describeSecret = (index: number): string =>
  index === storedIndex ? "that of floe polar connect" : `POLAR_WEBHOOK_SECRET, number ${index + 1}`;

/** The endpoint as Polar has it now, or why that is not known. */
async function readEndpointState(deps: Deps, hosted: Hosted, organization_id: string) {
  const connection = await findConnection(deps.db, organization_id);
  if (!connection) return null;
  const { endpoint_id, url, connected_at, checked_at, fault } = connection;
  const kept = { id: endpoint_id, url, connected_at, checked_at, fault };
  const unknown = { ...kept, enabled: null, missing_events: null };
  try {
    const found = await readConnected(deps, hosted, connection);
    if (!found)
      return { ...unknown, enabled: false, fault: "The endpoint was deleted at Polar: run floe polar connect." };
    const missing_events = requestedEvents.filter((type) => !found.events.includes(type));
    return { ...kept, enabled: found.enabled, missing_events };
  } catch (error) {
    if (!(error instanceof PolarConnectionError)) throw error;
    return { ...unknown, fault: error.message };
  }
}

/** How the connection with Polar stands. Times of events are of the last week. */
export async function readPolarStatus(deps: Deps, hosted: Hosted) {
  const { organization_id, polar_id } = hosted.requireLink();
  await hosted.refusals.flush();
  const since = new Date(deps.clock.now().getTime() - shownDays * dayMs);
  const endpoint = await readEndpointState(deps, hosted, organization_id);
  const { last, states, waiting } = await readArrivals(deps.db, organization_id, since);
  const sync = await findSync(deps.db, organization_id);
  const computeSeconds = (from: Date, to: Date) => Math.max(truncateToWhole((to.getTime() - from.getTime()) / 1000), 0);
  return {
    organization_id,
    polar_id,
    url: hosted.polar.url,
    token: hosted.polar.getState().token,
    breaker: hosted.polar.getState().breaker,
    endpoint,
    setting_secrets: deps.config.POLAR_WEBHOOK_SECRET.length,
    last_event: last
      ? {
          type: last.type,
          event_at: last.event_at,
          received_at: last.received_at,
          age_seconds: computeSeconds(last.received_at, deps.clock.now()),
          lag_seconds: computeSeconds(last.event_at, last.received_at),
          secret: describeSecret(last.secret_index),
        }
      : null,
    events: states,
    waiting,
    refused: await countRefusals(deps.db, organization_id, since),
    mirror: await countObjects(deps.db, organization_id),
    sync: sync
      ? {
          started_at: sync.started_at,
          finished_at: sync.finished_at,
          kind: sync.kinds[sync.position] ?? null,
          page: sync.page,
          counts: sync.counts,
        }
      : null,
  };
}
export type PolarStatus = Awaited<ReturnType<typeof readPolarStatus>>;
