import { randomInt } from "node:crypto";
import { eq, inArray } from "drizzle-orm";
import type { Deps, JobHandlers, Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { queueMail } from "../lib/mail.ts";
import { post, type Reply, reachOf } from "../lib/outbound.ts";
import { events } from "../lib/tables.ts";
import { afterCommit, transact } from "../lib/unit-of-work.ts";
import { chatBody, disabledMail, isQuiet } from "./messages.ts";
import {
  headersOf,
  isDead,
  knows,
  type Occurrence,
  planAttempt,
  planOutcome,
  rawBody,
  retention_ms,
  unixSeconds,
} from "./rules.ts";
import * as store from "./store.ts";
import { webhookDeliveries, webhookEvents } from "./tables.ts";

/** A sender that has not reported by then is lost, and the event is sent again under the same id. */
const lease_ms = 60 * 1000;
const requeue_ms = 30 * 1000;
const sweep_rows_max = 200;
const archive_rows_max = 500;

/**
 * Write one copy of every undispatched occurrence of an organization for each endpoint that listens for it, in the order of
 * emission. Running it again adds nothing.
 */
async function dispatch(deps: Deps, { organization_id }: { organization_id: string }): Promise<void> {
  await transact(deps, async (tx) => {
    const waiting = await store.lockUndispatched(tx, organization_id);
    if (waiting.length === 0) return;
    const now = deps.clock.now();
    const endpoints = await store.findListening(tx, organization_id);
    const name = endpoints.some(({ format }) => format !== "raw")
      ? await store.findOrganizationName(tx, organization_id)
      : "";
    const rows = waiting.flatMap((occurrence) =>
      endpoints.flatMap((endpoint) => {
        const payload = occurrence.seq > endpoint.since_seq ? bodyFor(endpoint, occurrence, name) : undefined;
        if (payload === undefined) return [];
        const { seq, type } = occurrence;
        const due = { created_at: now, next_attempt_at: now, queued_at: now };
        return [
          {
            id: newId(now),
            organization_id,
            endpoint_id: endpoint.id,
            event_id: occurrence.id,
            seq,
            type,
            payload,
            ...due,
          },
        ];
      }),
    );
    for (const webhook_event_id of await store.insertWebhookEvents(tx, rows)) {
      await deps.jobs.send(tx, "webhooks.deliver", { webhook_event_id });
    }
    const ids = waiting.map(({ id }) => id);
    await tx.update(events).set({ dispatched_at: now }).where(inArray(events.id, ids));
  });
}

/** What an endpoint is sent of an occurrence; undefined when it does not listen for it or could not read it. */
function bodyFor(endpoint: store.EndpointRow, occurrence: Occurrence, organization: string): string | undefined {
  const profile = store.profileOfEndpoint(endpoint);
  if (!endpoint.events.includes(occurrence.type)) return undefined;
  if (endpoint.format === "raw") return knows(profile, occurrence.type) ? rawBody(profile, occurrence) : undefined;
  return isQuiet(occurrence) ? undefined : chatBody(endpoint.format, occurrence, organization);
}

type Taken = { id: string; leased_until: Date; url: string; secret: string; payload: string };

/** Take an event whose turn it is, for as long as sending may last. */
async function take(tx: Tx, deps: Deps, id: string): Promise<Taken | undefined> {
  const found = await store.lockWebhookEvent(tx, id);
  if (!found) return undefined;
  const { event, endpoint } = found;
  const now = deps.clock.now();
  const plan = planAttempt({ ...event, endpoint }, await store.isBlocked(tx, event, now), now);
  const set = (values: Partial<typeof webhookEvents.$inferInsert>) =>
    tx.update(webhookEvents).set(values).where(eq(webhookEvents.id, id));
  if (plan === "drop") await set({ next_attempt_at: null });
  if (plan === "skip") await set({ next_attempt_at: null, skipped: true, modified_at: now });
  if (plan !== "send" || event.payload === null) return undefined;
  const leased_until = new Date(now.getTime() + lease_ms);
  await set({ next_attempt_at: leased_until });
  return { id, leased_until, url: endpoint.url, secret: endpoint.secret, payload: event.payload };
}

/** Write down what came of an attempt, what follows from it, and let the next event of the endpoint go. */
async function settle(tx: Tx, deps: Deps, taken: Taken, { http_code, text }: Reply): Promise<void> {
  const found = await store.lockWebhookEvent(tx, taken.id);
  if (!found) return;
  const { event, endpoint } = found;
  const now = deps.clock.now();
  const outcome = planOutcome(event, http_code);
  const { organization_id, endpoint_id } = event;
  await tx.insert(webhookDeliveries).values({
    id: newId(now),
    organization_id,
    endpoint_id,
    webhook_event_id: event.id,
    created_at: now,
    succeeded: outcome.delivered,
    http_code,
    response: text,
  });
  // Taken by someone else meanwhile, or asked for again: then the schedule is theirs.
  const mine = event.next_attempt_at?.getTime() === taken.leased_until.getTime();
  const retry_at =
    outcome.retry && new Date(now.getTime() + randomInt(outcome.retry.least_ms, outcome.retry.most_ms + 1));
  const schedule = mine
    ? { attempts: outcome.attempts, succeeded: outcome.succeeded, next_attempt_at: retry_at, queued_at: null }
    : { succeeded: outcome.delivered || event.succeeded };
  await tx
    .update(webhookEvents)
    .set({ last_http_code: http_code, attempted_at: event.attempted_at ?? now, modified_at: now, ...schedule })
    .where(eq(webhookEvents.id, event.id));
  if (mine && !outcome.delivered && !outcome.retry && endpoint.enabled) {
    if (isDead(await store.findLatestOutcomes(tx, endpoint_id))) {
      await store.disableEndpoint(tx, endpoint_id, now);
      const name = await store.findOrganizationName(tx, organization_id);
      for (const to of await store.findMemberEmails(tx, organization_id))
        await queueMail(tx, deps, disabledMail(to, name, endpoint));
      afterCommit(tx, () =>
        deps.log.warn({ endpoint_id, organization_id }, "A webhook endpoint was switched off after ten failed events."),
      );
      return;
    }
  }
  if (event.attempted_at === null) {
    const next = await store.findNextFirst(tx, event, now);
    if (next) await deps.jobs.send(tx, "webhooks.deliver", { webhook_event_id: next });
  }
}

/**
 * Send an event if its turn has come. The call is made outside of any transaction; a crash between the call and its
 * record leads to another attempt with the same webhook-id, which receivers know as a repetition.
 */
async function deliver(deps: Deps, { webhook_event_id }: { webhook_event_id: string }): Promise<void> {
  const taken = await transact(deps, (tx) => take(tx, deps, webhook_event_id));
  if (!taken) return;
  const headers = headersOf(taken.secret, taken.id, unixSeconds(deps.clock.now()), taken.payload);
  const reply = await post(taken.url, headers, taken.payload, reachOf(deps.config));
  await transact(deps, (tx) => settle(tx, deps, taken, reply));
}

export const webhookJobs: Pick<JobHandlers, "events.dispatch" | "webhooks.deliver"> = {
  "events.dispatch": dispatch,
  "webhooks.deliver": deliver,
};

/** Queue what is due and what was lost with its process; empty what is too old. Answers how many rows were touched. */
export async function sweepWebhooks(deps: Deps): Promise<number> {
  const now = deps.clock.now();
  const queued_before = new Date(now.getTime() - requeue_ms);
  const archived = await store.archiveBefore(deps.db, new Date(now.getTime() - retention_ms), now, archive_rows_max);
  if (!(await store.hasDue(deps.db, now, queued_before))) return archived;
  return transact(deps, async (tx) => {
    const due = await store.takeDue(tx, now, queued_before, sweep_rows_max);
    for (const webhook_event_id of due) await deps.jobs.send(tx, "webhooks.deliver", { webhook_event_id });
    return archived + due.length;
  });
}
