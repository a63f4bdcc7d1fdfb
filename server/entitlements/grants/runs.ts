import { and, count, desc, eq, inArray, isNotNull, isNull, or, type SQL, sql } from "drizzle-orm";
import type { GrantRun, grantRuns as runsApi } from "../../../shared/api/grant-runs.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import { type Ctx, type Database, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { buildPage, computeOffset, matchOrganizations } from "../../platform/db/page.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { grantRunWorker } from "./jobs.ts";
import type { RunRow } from "./store.ts";
import { grantChecks, grantRuns } from "./tables.ts";

const waiting = sql<number>`(select count(*)::int from ${grantChecks} c where c.organization_id = ${grantRuns}.organization_id)`;

const getStatus = ({ due_at, stopped_at }: RunRow): GrantRun["status"] =>
  stopped_at !== null ? "stopped" : due_at === null ? "done" : "running";

function runOut(row: RunRow, left: number): GrantRun {
  const { fence: _, cursor: __, due_at: ___, stopped_at: ____, ...shown } = row;
  return { ...shown, status: getStatus(row), waiting: left };
}

const whereStatus: Record<GrantRun["status"], SQL | undefined> = {
  running: and(isNull(grantRuns.stopped_at), isNotNull(grantRuns.due_at)),
  stopped: isNotNull(grantRuns.stopped_at),
  done: and(isNull(grantRuns.stopped_at), isNull(grantRuns.due_at)),
};

async function find(db: Database, organizations: readonly string[], id: string): Promise<GrantRun> {
  const [found] = await db
    .select({ row: grantRuns, waiting })
    .from(grantRuns)
    .where(and(inArray(grantRuns.organization_id, [...organizations]), eq(grantRuns.id, id)));
  if (!found) throw notFound();
  return runOut(found.row, found.waiting);
}

/** Change a run with its lock, where the change makes sense; asked for again, nothing happens. */
const change = (ctx: Ctx, id: string, plan: (row: RunRow, now: Date) => Partial<RunRow> | null): Promise<GrantRun> =>
  transact(ctx, async (tx) => {
    const key: RowKey = { organization_id: requireOrganization(ctx), id };
    const [row] = await tx.select().from(grantRuns).where(matchKey(grantRuns, key)).for("update");
    if (!row) throw notFound();
    const now = ctx.clock.now();
    const patch = plan(row, now);
    if (patch)
      await tx
        .update(grantRuns)
        .set({ ...patch, modified_at: now })
        .where(matchKey(grantRuns, key));
    ctx.jobs.wake(tx, grantRunWorker.name);
    return find(tx, [key.organization_id], id);
  });

/** How far changes of products and benefits are, of the API. */
export const grantRunService: Service<typeof runsApi, Ctx> = {
  async list(ctx, { query }) {
    const where = and(
      matchOrganizations(grantRuns.organization_id, requireOrganizations(ctx)),
      query.status && or(...query.status.map((status) => whereStatus[status])),
    );
    const rows = await ctx.db
      .select({ row: grantRuns, waiting })
      .from(grantRuns)
      .where(where)
      .orderBy(desc(grantRuns.created_at), desc(grantRuns.id))
      .limit(query.limit)
      .offset(computeOffset(query));
    const [row] = await ctx.db.select({ total: count() }).from(grantRuns).where(where);
    return buildPage(
      rows.map((one) => runOut(one.row, one.waiting)),
      row?.total ?? 0,
      query,
    );
  },
  get: (ctx, { params }) => find(ctx.db, [requireOrganization(ctx)], params.id),
  // What was found already is looked at still: each is one source, and takes no time.
  stop: (ctx, { params }) =>
    change(ctx, params.id, (row, now) => (getStatus(row) === "running" ? { stopped_at: now, due_at: null } : null)),
  resume: (ctx, { params }) =>
    change(ctx, params.id, (row, now) => (row.stopped_at === null ? null : { stopped_at: null, due_at: now })),
};
