/** Replays: the events of an endpoint since a time are sent again, some at a time, beside fresh ones (WHK-49). */
import { sql } from "drizzle-orm";
import type { WebhookReplay, webhooks } from "../../../shared/api/webhooks.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { type Ctx, type Deps, requireOrganization } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { lockEndpoint, wakeEndpoints } from "./queue.ts";
import * as store from "./replays-store.ts";
import { rejectSwitchedOff } from "./rules.ts";
import { findEndpoint } from "./store.ts";
import { webhookReplays } from "./tables.ts";

/** The events of one replay. */
const eventsMax = 100_000;
/** So many are put in the queue at a time: a fresh event waits for no more. */
const sliceMax = 200;
/** When it is looked whether the next have their turn, and for an endpoint that gets nothing now. */
const [nextMs, laterMs] = [500, 30_000];

const getStatus = ({ stopped_at, finished_at }: store.ReplayRow): WebhookReplay["status"] =>
  stopped_at ? "stopped" : finished_at ? "finished" : "running";

const serialize = (row: store.ReplayRow): WebhookReplay => ({ ...row, status: getStatus(row) });

type Replays = Pick<Service<typeof webhooks, Ctx>, "startReplay" | "getReplay" | "stopReplay">;
export const replayService: Replays = {
  async startReplay(ctx, { params, body }) {
    const organization_id = requireOrganization(ctx);
    const key = { organization_id, id: params.id };
    const { since, events: types = null, failed_only, preview } = body;
    const chosen = { organization_id, endpoint_id: params.id, since, types, failed_only };
    const endpoint = await findEndpoint(ctx.db, organization_id, params.id);
    if (!endpoint) throw notFound();
    const { total, first, last } = await store.countChosen(ctx.db, chosen);
    if (total > eventsMax)
      throw invalid(
        fault(["since"], `These are ${total} events, and a replay sends at most ${eventsMax}.`, "too_long"),
      );
    const now = ctx.clock.now();
    const planned = {
      ...{ ...chosen, id: createId(now), created_at: now, modified_at: null, total, requeued: 0 },
      ...{ last_seq: first - 1, until_seq: last, stopped_at: null },
      // Nothing to do is done.
      ...{ due_at: total > 0 ? now : null, finished_at: total > 0 ? null : now },
    };
    if (preview) return { ...serialize(planned), id: null, status: "preview" };
    return transact(ctx, async (tx) => {
      const locked = await lockEndpoint(tx, key);
      if (!locked || locked.deleted_at !== null) throw notFound();
      rejectSwitchedOff(locked);
      const open = await store.findOpenReplay(tx, key);
      if (open)
        throw new ApiError(
          "ResourceAlreadyExists",
          `The replay ${open.id} of this endpoint goes on. Stop it, or wait for it.`,
        );
      ctx.jobs.wake(tx, replayWorker.name);
      return serialize(await store.insertReplay(tx, planned));
    });
  },

  async getReplay(ctx, { params }) {
    const row = await store.findReplay(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!row) throw notFound();
    return serialize(row);
  },

  stopReplay: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockReplay(tx, { organization_id: requireOrganization(ctx), id: params.id });
      if (!row) throw notFound();
      if (row.finished_at) return serialize(row);
      const now = ctx.clock.now();
      return serialize(
        await store.updateReplay(tx, row, { stopped_at: now, finished_at: now, due_at: null, modified_at: now }),
      );
    }),
};

/** Put the next events of a replay in the queue, once those before are through. */
async function continueReplay(deps: Deps, key: RowKey): Promise<void> {
  const found = await store.findReplay(deps.db, key);
  if (!found) return;
  await transact(deps, async (tx) => {
    // The endpoint first, as everywhere.
    const endpoint = await lockEndpoint(tx, { organization_id: key.organization_id, id: found.endpoint_id });
    const replay = await store.lockReplay(tx, key);
    const now = deps.clock.now();
    if (!endpoint || !replay?.due_at || replay.due_at > now) return;
    const getLater = (ms: number) => new Date(now.getTime() + ms);
    if (endpoint.deleted_at !== null) {
      await store.updateReplay(tx, replay, { stopped_at: now, finished_at: now, due_at: null, modified_at: now });
      return;
    }
    const isPaused = endpoint.paused_until !== null && endpoint.paused_until > now;
    if (!endpoint.enabled || isPaused) {
      await store.updateReplay(tx, replay, { due_at: getLater(laterMs) });
      return;
    }
    if (await store.isSliceWaiting(tx, replay)) {
      await store.updateReplay(tx, replay, { due_at: getLater(nextMs) });
      return;
    }
    const { count, last_seq } = await store.requeueSome(tx, replay, now, sliceMax);
    const isOver = count < sliceMax;
    await store.updateReplay(tx, replay, {
      ...{ last_seq, requeued: replay.requeued + count, modified_at: now },
      ...(isOver ? { due_at: null, finished_at: now } : { due_at: getLater(nextMs) }),
    });
    if (count === 0) return;
    await wakeEndpoints(tx, key.organization_id, [endpoint.id], now);
    deps.jobs.wake(tx, "webhooks.deliver");
  });
}

export const replayWorker: RowWorker = {
  name: "webhooks.replay",
  pollIntervalMs: 1000,
  due: {
    table: webhookReplays,
    id: webhookReplays.id,
    organization_id: webhookReplays.organization_id,
    where: sql`${webhookReplays.due_at} is not null`,
    at: webhookReplays.due_at,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [row]) => continueReplay(deps, row),
};
