import type { SandboxClock, sandbox, TimelineEntry } from "../../../shared/api/sandbox.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound, notPermitted } from "../../../shared/errors.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { formatEventText } from "../../messaging/webhooks/messages.ts";
import { getServerClock, withSellerClock } from "../../platform/clock.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { openMail } from "../../platform/mail-transport/mail.ts";
import { applyErasures } from "../privacy/jobs.ts";
import { listErasedOf } from "../privacy/store.ts";
import { listKinds, planTarget } from "./rules.ts";
import { compareRows, insertSnapshot, restoreRows } from "./snapshots.ts";
import * as store from "./store.ts";
import { advanceClock, type HeldClock, runWithClock } from "./time-travel.ts";

/** How long one request moves a clock. */
const walkMs = 4000;
/** What happened last, as the clock shows it. */
const lastEvents = 100;

/** The operations of sandboxes; what falls due in one is done by the sweeps that are named. */
export const createSandboxService = (sweeps: readonly RowWorker[]): Service<typeof sandbox, Ctx> => ({
  async getClock(ctx) {
    const organization_id = requireOrganization(ctx);
    const row = await findOrganization(ctx.db, organization_id);
    if (!row) throw notFound();
    const told = await store.findLast(ctx.db, organization_id, lastEvents);
    return serializeClock(ctx.clock.now(), row.clock_target, canSeeTimeline(ctx) ? told.map(getEntry) : []);
  },
  advance: (ctx, { body }) =>
    lock(ctx, async (row, clock) => {
      const now = ctx.clock.now();
      const plan = planTarget(now, row.clock_target, body);
      if ("fault" in plan) throw invalid(plan.fault);
      const { target: to } = plan;
      const deps = getDeps(ctx);
      const before = await store.findBeginning(ctx.db, row.id, now, deps.clock.now());
      await clock.set(now, to);
      const over = performance.now() + walkMs;
      const isDone = await advanceClock(deps, sweeps, row.id, clock, {
        now,
        to,
        isOver: () => performance.now() > over,
      });
      const after = isDone ? to : await getCurrentTime(ctx, row.id);
      if (!canSeeTimeline(ctx)) return serializeClock(after, isDone ? null : to, []);
      return serializeClock(
        after,
        isDone ? null : to,
        getTimeline(after, await store.findSince(ctx.db, row.id, before)),
      );
    }),
  async listMails(ctx, { query }) {
    const { items, total } = await store.listKept(ctx.db, requireOrganizations(ctx), query);
    // Where a secret of the server's is gone, so are the words that it sealed.
    const opened = items.map(async (mail) => (await openMail(ctx.config, mail)) ?? { ...mail, text: "", html: "" });
    return buildPage(await Promise.all(opened), total, query);
  },
  async listSnapshots(ctx, { query }) {
    const { items, total } = await store.listSnapshots(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items, total, query);
  },
  saveSnapshot: (ctx, { body: { name } }) =>
    lock(ctx, ({ id: organization_id }) =>
      transact(ctx, async (tx) => {
        // Whoever adds rows of it points to the organization: none are half there.
        const settings = await store.lockSettings(tx, organization_id);
        if (name === present)
          throw invalid(fault(["name"], "This is what the sandbox as it is, is called.", "value_error", name));
        if ((await store.countSnapshots(tx, organization_id)) >= snapshotsMax)
          throw notPermitted(`A sandbox can be saved ${snapshotsMax} times. Delete what you need no more.`);
        const now = ctx.clock.now();
        const times = { created_at: now, saved_at: getServerClock(ctx.clock).now() };
        const made = await insertSnapshot(tx, { id: createId(now), organization_id, name, settings, ...times });
        if (!made) throw new ApiError("ResourceAlreadyExists", `There is a snapshot ${name} already. Delete it first.`);
        return made;
      }),
    ),
  restoreSnapshot: (ctx, { params }) =>
    lock(ctx, async ({ id: organization_id }, clock) => {
      const row = await store.findSnapshot(ctx.db, organization_id, params.name);
      if (!row) throw notFound();
      const restore = (afresh: boolean) =>
        transact(ctx, async (tx) => {
          await store.lockSettings(tx, organization_id);
          const erased = await listErasedOf(tx, organization_id);
          await restoreRows(tx, row, { afresh });
          await applyErasures(tx, ctx, organization_id, erased);
          await clock.setWithin(tx, row.created_at);
          return row;
        });
      for (let tries = 1; ; tries += 1) {
        try {
          return await restore(tries > 1);
        } catch (error) {
          if (!isCrossed(error)) throw error;
          if (tries === triesMax)
            throw new ApiError("SandboxBusy", "Something in this sandbox is being changed all the time. Try again.");
        }
      }
    }),
  deleteSnapshot: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      if (!(await store.deleteSnapshot(tx, requireOrganization(ctx), params.name))) throw notFound();
    }),
  diffSnapshots: (ctx, { params, query }) =>
    transact(ctx, async (tx) => {
      const find = async (name: string) => {
        const row = await store.findSnapshot(tx, requireOrganization(ctx), name);
        if (!row) throw notFound();
        return row;
      };
      const from = await find(params.name);
      const to = query.to === present ? null : await find(query.to);
      return { from: from.name, to: query.to, kinds: listKinds(await compareRows(tx, from, to)) };
    }),
});

/** The scopes of what a timeline names: customers, and what they buy. */
const timelineScopes = ["customers:read", "orders:read", "subscriptions:read"] as const;
const canSeeTimeline = ({ actor }: Ctx): boolean => timelineScopes.every((scope) => actor.scopes.has(scope));

/** What the sandbox as it is, is called where something is compared with it. */
const present = "now";
const snapshotsMax = 20;
const triesMax = 3;

/** Whether somebody who was writing at the same time stood in the way: a row that points to one that is gone, or a ring of locks. */
const isCrossed = (error: unknown): boolean =>
  ["23503", "23505", "40P01"].some((code) =>
    [error, error instanceof Error && error.cause].some((one) => hasCode(one, code)),
  );
const hasCode = (error: unknown, code: string): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === code;

/** Do something with a sandbox while nobody else moves it. What takes real money is refused. */
async function lock<T>(ctx: Ctx, work: (row: OrganizationRow, clock: HeldClock) => Promise<T>): Promise<T> {
  const organization_id = requireOrganization(ctx);
  if (!ctx.processor.test)
    throw notPermitted("This organization takes real money, so its time cannot be moved. Make a sandbox for that.");
  const made = await runWithClock(getDeps(ctx), organization_id, async (clock) => {
    const row = await findOrganization(ctx.db, organization_id);
    if (!row) throw notFound();
    return { value: await work(row, clock) };
  });
  if (!made) throw new ApiError("SandboxBusy", "Another request is moving this sandbox. Try again when it is done.");
  return made.value;
}

/** The server's own parts, for work that is not the request's. */
const getDeps = ({ actor: _, client: __, ip: ___, extraWrites: ____, ...deps }: Ctx): Deps =>
  withSellerClock(deps, { clock_offset_ms: 0, sandbox: false });

async function getCurrentTime(ctx: Ctx, organization_id: string): Promise<Date> {
  const row = await findOrganization(ctx.db, organization_id);
  return new Date(getServerClock(ctx.clock).now().getTime() + (row?.clock_offset_ms ?? 0));
}

const serializeClock = (now: Date, to: Date | null, timeline: TimelineEntry[]): SandboxClock => ({
  now,
  to,
  done: to === null,
  timeline,
});

function getEntry({ type, data, created_at }: Awaited<ReturnType<typeof store.findLast>>[number]): TimelineEntry {
  const id = data.id === null ? null : String(data.id);
  return { at: created_at, type, id, text: formatEventText({ type, data }) };
}

/** What happened, in the order of its time. */
function getTimeline(now: Date, { told, kept, failed }: Awaited<ReturnType<typeof store.findSince>>): TimelineEntry[] {
  const mailed = kept.map(({ id, to, subject, created_at }) => ({
    at: created_at,
    type: "mail.kept",
    id,
    text: `Mail to ${to}: ${subject}`,
  }));
  const broken = failed.map(({ kind, id, error }) => ({ at: now, type: "work.failed", id, text: `${kind}: ${error}` }));
  return [...told.map(getEntry), ...mailed, ...broken].sort((a, b) => a.at.getTime() - b.at.getTime());
}
