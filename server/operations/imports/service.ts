import { and, inArray } from "drizzle-orm";
import { type ImportRun, importKinds, type imports as operations } from "../../../shared/api/imports.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, type Database, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage, computeOffset, matchOrganizations } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record } from "../../platform/events/audit.ts";
import { createId } from "../../platform/ids.ts";
import { moveState } from "../../platform/states.ts";
import { applySlice, checkSlice, updateSlice } from "./apply.ts";
import { compareImport } from "./compare.ts";
import { hashRow, serializeRecord } from "./rules.ts";
import { importStates } from "./states.ts";
import * as store from "./store.ts";
import { switchSome } from "./switch.ts";
import { type RunRow, importRuns as runs } from "./tables.ts";
import { revertSlice } from "./undo.ts";

/** So many rows are written in one transaction, which stays far below a second (MOV-09). */
const slice = 200;
/** So many rows a reading has at most. */
const rowsMax = 500_000;

const rejectImport = (detail: string): ApiError => new ApiError("ImportRefused", detail);
const getKey = (ctx: Ctx, id: string): RowKey => ({ organization_id: requireOrganization(ctx), id });
const unfinished = new Set<RunRow["status"]>(["checking", "applying", "rolling_back"]);

async function serializeAll(db: Database, rows: readonly RunRow[]): Promise<ImportRun[]> {
  const counts: Awaited<ReturnType<typeof store.countRecords>> = [];
  for (const [organization_id, own] of Map.groupBy(rows, (row) => row.organization_id))
    counts.push(
      ...(await store.countRecords(
        db,
        organization_id,
        own.map(({ id }) => id),
      )),
    );
  return rows.map(({ rows: _, ...row }) => ({
    ...row,
    has_more: unfinished.has(row.status),
    counts: counts
      .filter(({ run_id }) => run_id === row.id)
      .map(({ kind, status, count, changed }) => ({ kind, status, count, changed }))
      .toSorted((a, b) => importKinds.indexOf(a.kind) - importKinds.indexOf(b.kind)),
  }));
}

async function serialize(db: Database, row: RunRow): Promise<ImportRun> {
  const [shown] = await serializeAll(db, [row]);
  if (!shown) throw notFound();
  return shown;
}

/** Take a step of a run that nobody else is at. */
const runStep = (ctx: Ctx, id: string, step: (tx: Tx, row: RunRow) => Promise<RunRow>): Promise<ImportRun> =>
  transact(ctx, async (tx) => {
    const row = await store.lockRun(tx, getKey(ctx, id));
    if (!row) throw notFound();
    return serialize(tx, await step(tx, row));
  });

/** Move a run to another state, or refuse what does not fit its state. */
function changeStatus(
  tx: Tx,
  ctx: Ctx,
  row: RunRow,
  status: RunRow["status"],
  patch: Partial<RunRow> = {},
): Promise<RunRow> {
  return store.updateRun(tx, row, {
    ...patch,
    status: moveState(importStates, row, status),
    modified_at: ctx.clock.now(),
  });
}

/** One entry of the audit log for a step of many requests, in the transaction in which it begins. */
const recordStep = (
  tx: Tx,
  ctx: Ctx,
  { organization_id, id }: RowKey,
  action: "import.applied" | "import.rolled_back",
  details: Record<string, unknown> = {},
): Promise<void> =>
  record(tx, ctx, {
    ...{ action, actor: ctx.actor, subject: { type: "import", id }, organization_id, details },
    ...{ ip_address: ctx.ip, user_agent: null },
  });

function assertStatus(row: RunRow, allowed: readonly RunRow["status"][], message: string): void {
  if (!allowed.includes(row.status)) throw rejectImport(`${message} It is ${row.status.replace("_", " ")}.`);
}

/** Refuse rows that name one thing twice. */
function checkRepeated(
  rows: readonly { line?: number | null | undefined; row: { kind: string; source_id: string } }[],
) {
  const first = new Map<string, number>();
  for (const [index, { row }] of rows.entries()) {
    const key = `${row.kind} ${row.source_id}`;
    const earlier = first.get(key);
    if (earlier !== undefined)
      throw invalid(
        fault(["rows", index, "row", "source_id"], `It stands in row ${earlier} too.`, "value_error", row.source_id),
      );
    first.set(key, index);
  }
}

/** Begin a reading of the source, or go on with the one under way. */
async function beginReading(tx: Tx, ctx: Ctx, row: RunRow, reading: number, rows: number): Promise<RunRow> {
  const isSame = reading === row.reading;
  if (!isSame && reading !== row.reading + 1) throw rejectImport(`The next reading is ${row.reading + 1}.`);
  if (isSame && row.status !== "reading")
    throw rejectImport(`Reading ${reading} is complete. Begin reading ${reading + 1} to send rows again.`);
  assertStatus(row, ["reading", "checking", "planned", "applied"], "Rows cannot be read now.");
  const sent = isSame ? row.rows + rows : rows;
  if (sent > rowsMax) throw rejectImport(`An import has ${rowsMax} rows at most.`);
  if (row.status === "reading") return store.updateRun(tx, row, { reading, rows: sent });
  return changeStatus(tx, ctx, row, "reading", { reading, rows: sent });
}

/** Imports in the API (MOV-08 to MOV-13). */
export const importService: Service<typeof operations, Ctx> = {
  async list(ctx, { query }) {
    const where = and(
      matchOrganizations(runs.organization_id, requireOrganizations(ctx)),
      query.status && inArray(runs.status, query.status),
    );
    const { rows, total } = await store.listRuns(ctx.db, where, { limit: query.limit, offset: computeOffset(query) });
    return buildPage(await serializeAll(ctx.db, rows), total, query);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const now = ctx.clock.now();
      const organization_id = requireOrganization(ctx);
      if (body.is_live_data === false && !(await findOrganization(tx, organization_id))?.sandbox)
        throw rejectImport(
          "The key is of test data: import it into a sandbox, which floe orgs create --sandbox makes.",
        );
      const row = await store.insertRun(tx, {
        id: createId(now),
        organization_id,
        created_at: now,
        source: body.source,
      });
      if (!row) throw rejectImport("An import is under way. Finish it, or roll it back.");
      return serialize(tx, row);
    }),
  async get(ctx, { params }) {
    const row = await store.findRun(ctx.db, getKey(ctx, params.id));
    if (!row) throw notFound();
    return serialize(ctx.db, row);
  },
  async records(ctx, { params, query }) {
    const key = getKey(ctx, params.id);
    if (!(await store.findRun(ctx.db, key))) throw notFound();
    const page = { limit: query.limit, offset: computeOffset(query) };
    const { rows, total } = await store.listRecords(ctx.db, key, query, page);
    return buildPage(rows.map(serializeRecord), total, query);
  },
  read(ctx, { params, body }) {
    checkRepeated(body.rows);
    return runStep(ctx, params.id, async (tx, row) => {
      const run = await beginReading(tx, ctx, row, body.reading, body.rows.length);
      const now = ctx.clock.now();
      await store.upsertRecords(
        tx,
        body.rows.map(({ line = null, row: data }) => ({
          id: createId(now),
          organization_id: run.organization_id,
          created_at: now,
          source: run.source,
          kind: data.kind,
          source_id: data.source_id,
          run_id: run.id,
          reading: run.reading,
          line,
          status: "read" as const,
          data,
          hash: hashRow(data),
        })),
      );
      return run;
    });
  },
  check: (ctx, { params }) =>
    runStep(ctx, params.id, async (tx, row) => {
      if (row.status === "planned") return row;
      assertStatus(row, ["reading", "checking"], "There is nothing to check.");
      let run = row;
      if (row.status === "reading") {
        await store.deleteUnread(tx, row);
        run = await changeStatus(tx, ctx, row, "checking");
      }
      const records = await store.findNext(tx, run, "read", slice);
      if (records.length === 0) return changeStatus(tx, ctx, run, "planned");
      await checkSlice(tx, ctx, run, records);
      return run;
    }),
  apply: (ctx, { params, body }) =>
    runStep(ctx, params.id, async (tx, row) => {
      if (row.status === "applied") return row;
      assertStatus(row, ["planned", "applying"], "Check the import first.");
      const run = row.status === "planned" ? await changeStatus(tx, ctx, row, "applying") : row;
      if (run !== row) await recordStep(tx, ctx, run, "import.applied", { update: body.update });
      const records = await store.findNext(tx, run, "ready", slice);
      if (records.length > 0) {
        await applySlice(tx, ctx, run, records);
        return run;
      }
      if (body.update && (await updateSlice(tx, ctx, run, slice))) return run;
      return changeStatus(tx, ctx, run, "applied", { applied_at: ctx.clock.now() });
    }),
  switch: (ctx, { params, body }) => switchSome(ctx, getKey(ctx, params.id), body),
  async compare(ctx, { params }) {
    const run = await store.findRun(ctx.db, getKey(ctx, params.id));
    if (!run) throw notFound();
    return compareImport(ctx, run);
  },
  finish: (ctx, { params }) =>
    runStep(ctx, params.id, async (tx, row) => {
      if (row.status === "finished") return row;
      assertStatus(row, ["applied"], "Apply the import first, or roll it back.");
      if (await store.hasRecords(tx, row, ["held"]))
        throw rejectImport("Subscriptions are held: floe would never bill them. Switch them, or roll the import back.");
      await store.discardRead(tx, row);
      return changeStatus(tx, ctx, row, "finished", { finished_at: ctx.clock.now() });
    }),
  rollback: (ctx, { params }) =>
    runStep(ctx, params.id, async (tx, row) => {
      if (row.status === "rolled_back") return row;
      if (row.status === "finished") throw rejectImport("The import is finished.");
      const run = row.status === "rolling_back" ? row : await changeStatus(tx, ctx, row, "rolling_back");
      if (run !== row) await recordStep(tx, ctx, run, "import.rolled_back");
      if (await revertSlice(tx, ctx, run, slice)) return run;
      await store.discardRead(tx, run);
      return changeStatus(tx, ctx, run, "rolled_back", { finished_at: ctx.clock.now() });
    }),
};
