/** Carrying out a plan, in earnest or to see what would be refused. */

import type { z } from "zod";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import type { Fields } from "../../shared/catalog/compare.ts";
import type { Catalog } from "../../shared/catalog/document.ts";
import type { Item, Rows } from "../../shared/catalog/kinds/index.ts";
import { type Ids, type Kind, kinds } from "../../shared/catalog/kinds/kind.ts";
import { placeInFile } from "../../shared/catalog/places.ts";
import { type Current, type Plan, planCatalog, type Step, stepBody } from "../../shared/catalog/plan.ts";
import type { Operation } from "../../shared/contract.ts";
import { ApiError } from "../../shared/errors.ts";
import { findNextStep } from "../../shared/next-steps.ts";
import { type Ctx, requireOrganization, type Tx } from "../lib/context.ts";
import { joinTransaction, transact } from "../lib/unit-of-work.ts";
import { readFaults } from "../lib/validation-errors.ts";
import { loadCurrent } from "./current.ts";
import { servedKinds } from "./kinds/index.ts";
import * as store from "./store.ts";

/** A body as the operation reads it. */
function read(op: Operation, body: Fields): never {
  const result = (op.body as z.ZodType).safeParse(body);
  if (result.success) return result.data as never;
  throw new ApiError("PolarRequestValidationError", readFaults(["body"], result.error.issues, body));
}

/** The faults of an operation are told at the place of the file that they come from. */
async function atPlace<T>(kind: Kind, key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || !Array.isArray(error.detail)) throw error;
    const located = error.detail.map(({ loc, ...rest }) => ({
      ...rest,
      loc: ["body", "document", kind, key, ...placeInFile(kind, loc.slice(1))],
    }));
    throw new ApiError("PolarRequestValidationError", located);
  }
}

type Issue = CatalogPlan["issues"][number];
/** How a step is taken: in earnest, where the first fault ends all, or only to collect the faults. */
export type Attempt = {
  step(tx: Tx, ctx: Ctx, work: (tx: Tx, ctx: Ctx) => Promise<void>): Promise<Issue[]>;
  /** Of what asks the database nothing. */
  check(work: () => Promise<void>): Promise<Issue[]>;
};

/** In earnest. */
export const passFaults: Attempt = {
  async step(tx, ctx, work) {
    await work(tx, ctx);
    return [];
  },
  async check(work) {
    await work();
    return [];
  },
};

/** Each step in a savepoint of its own, so that the next finds the transaction whole. */
export const collectFaults: Attempt = {
  step: (_, ctx, work) => issuesOf(() => transact(ctx, (inner) => work(inner, joinTransaction(ctx, inner)))),
  check: (work) => issuesOf(work),
};

/** Another thing of the file is missing, which was refused before. */
class Unmade extends ApiError {
  constructor(what: string) {
    super("CatalogRefused", `${what} is not there.`);
  }
}

async function issuesOf(work: () => Promise<void>): Promise<Issue[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (error instanceof Unmade) return [];
    if (!(error instanceof ApiError)) throw error;
    const { detail } = error;
    if (typeof detail === "string") return [{ code: "refused", path: "", message: detail }];
    return detail.map(({ loc, msg, type }) => {
      const hint = findNextStep(type);
      return { code: "refused", path: loc.slice(2).join("."), message: msg, ...(hint && { hint }) };
    });
  }
}

/** What was done only to see whether it can be. */
class Undone extends Error {}

/** Do some work in a transaction that is undone in any case, and answer what came of it. */
export async function rehearse<T>(ctx: Ctx, work: (tx: Tx, ctx: Ctx) => Promise<T>): Promise<T> {
  const undone = new Undone();
  let made: { result: T } | undefined;
  try {
    await transact({ ...ctx, alongside: [] }, async (tx) => {
      made = { result: await work(tx, joinTransaction(ctx, tx)) };
      throw undone;
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
  if (!made) throw undone;
  return made.result;
}

/** The id behind a name; what the file does not know is called by its id. */
function found(name: string, id: string | undefined): string {
  if (name.startsWith("#")) return name.slice(1);
  if (id === undefined) throw new Unmade(name);
  return id;
}

/** What the names of a file stand for by now. */
const resolveIn = (ids: ReadonlyMap<string, string>, current: Current): Ids => ({
  idOf: (of, name) => found(name, ids.get(`${of} ${name}`)),
  fileId: (name, service) =>
    found(name, current.files.find((file) => file.name === name && file.service === service)?.id),
});

type Taking = { document: Catalog; ids: Map<string, string>; current: Current; attempt: Attempt };

/** Take steps that make things of one kind, in as many statements for one as for a thousand; answers what was refused. */
async function createTogether(tx: Tx, ctx: Ctx, steps: readonly Step[], taking: Taking): Promise<Issue[]> {
  const { document, ids, current, attempt } = taking;
  const kind = steps[0]?.kind ?? "products";
  const { shapes, createMany, finish } = servedKinds[kind];
  const resolve = resolveIn(ids, current);
  const issues = new Map<Step, Issue[]>();
  const refuse = async (step: Step, work: () => Promise<void>): Promise<void> => {
    const refused = await attempt.check(() => atPlace(kind, step.key, work));
    if (refused.length > 0)
      issues.set(
        step,
        refused.map((issue) => withPath(issue, step)),
      );
  };
  const bodies: { step: Step; body: never }[] = [];
  for (const step of steps)
    await refuse(step, async () => {
      bodies.push({ step, body: read(shapes.create, stepBody(step, undefined, resolve)) });
    });
  const results =
    (await createMany?.(
      tx,
      ctx,
      bodies.map(({ body }) => body),
    )) ?? [];
  const created_at = ctx.clock.now();
  const organization_id = requireOrganization(ctx);
  const entries: Parameters<typeof store.putEntries>[1] = [];
  for (const [index, { step }] of bodies.entries()) {
    const result = results[index];
    if (result === undefined || result instanceof ApiError) {
      await refuse(step, async () => {
        throw result ?? new Error(`The ${kind} ${step.key} was not made.`);
      });
      continue;
    }
    step.id = result.id;
    ids.set(`${kind} ${step.key}`, result.id);
    entries.push({
      organization_id,
      catalog: document.catalog,
      kind,
      key: step.key,
      subject_id: result.id,
      created_at,
    });
  }
  await store.putEntries(tx, entries);
  for (const step of steps) {
    const { id, changes } = step;
    if (id === null || !finish || !changes.some(({ field }) => field === "benefits")) continue;
    const finishIt = async (_: Tx, its: Ctx) =>
      void (await atPlace(kind, step.key, () => finish(its, id, changes, resolve)));
    const refused = await attempt.step(tx, ctx, finishIt);
    if (refused.length > 0)
      issues.set(
        step,
        refused.map((issue) => withPath(issue, step)),
      );
  }
  return steps.flatMap((step) => issues.get(step) ?? []);
}

const withPath = (issue: Issue, { kind, key }: Step): Issue => ({ ...issue, path: issue.path || `${kind}.${key}` });

/** Steps in their order, those together that are taken together. */
function groupSteps(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  const isMany = (step: Step) => step.action === "create" && servedKinds[step.kind].createMany !== undefined;
  for (const step of steps) {
    const [last] = groups.at(-1) ?? [];
    if (last && isMany(last) && isMany(step) && last.kind === step.kind) groups.at(-1)?.push(step);
    else groups.push([step]);
  }
  return groups;
}

/** Run one step. */
async function run(
  tx: Tx,
  ctx: Ctx,
  document: Catalog,
  step: Step,
  row: Rows[Kind] | undefined,
  ids: Map<string, string>,
  current: Current,
): Promise<void> {
  const { kind, key } = step;
  const organization_id = requireOrganization(ctx);
  const place = { organization_id, catalog: document.catalog, kind, key };
  const resolve = resolveIn(ids, current);
  const { shapes, create, update, remove, finish } = servedKinds[kind];
  if (step.action === "rename") {
    const from = String(step.changes[0]?.from);
    await store.renameEntry(tx, { ...place, key: from }, key);
    return;
  }
  if (step.action === "delete" && step.id !== null) {
    await remove?.(tx, ctx, step.id);
    await store.deleteEntry(tx, place);
    return;
  }
  const body = stepBody(step, row, resolve);
  if (step.action === "create") {
    const made = await create(tx, ctx, read(shapes.create, body));
    step.id = made.id;
    ids.set(`${kind} ${key}`, made.id);
    await store.putEntries(tx, [{ ...place, subject_id: made.id, created_at: ctx.clock.now() }]);
  } else if (step.id !== null && Object.keys(body).length > 0) {
    await update(tx, ctx, step.id, read(shapes.update, body));
  }
  if (step.id !== null) await finish?.(ctx, step.id, step.changes, resolve);
}

const putAway = (tx: Tx, ctx: Ctx, kind: Kind, id: string) =>
  servedKinds[kind].update(tx, ctx, id, { is_archived: true } as never);

/** Take the steps of a plan, one after the other; answers what was refused, where that does not end it. */
export async function takeSteps(
  tx: Tx,
  ctx: Ctx,
  document: Catalog,
  { plan, current }: { plan: Plan; current: Current },
  attempt: Attempt,
): Promise<Issue[]> {
  const ids = new Map(current.entries.map(({ kind, key, id }) => [`${kind} ${key}`, id]));
  for (const step of plan.steps.filter(({ action }) => action === "rename"))
    if (step.id !== null) ids.set(`${step.kind} ${step.key}`, step.id);
  const issues: Issue[] = [];
  const take = async (step: Step, work: (tx: Tx, ctx: Ctx) => Promise<unknown>): Promise<void> => {
    const at = (inner: Tx, its: Ctx) => atPlace(step.kind, step.key, () => work(inner, its));
    const refused = await attempt.step(tx, ctx, async (inner, its) => void (await at(inner, its)));
    issues.push(...refused.map((issue) => withPath(issue, step)));
  };
  for (const steps of groupSteps(plan.steps)) {
    const [step] = steps;
    if (!step) continue;
    if (steps.length > 1) {
      issues.push(...(await createTogether(tx, ctx, steps, { document, ids, current, attempt })));
      continue;
    }
    const row = (current.rows[step.kind] as Rows[Kind][]).find(({ id }) => id === step.id);
    await take(step, (inner, its) => run(inner, its, document, step, row, ids, current));
  }
  // Everything is made for use, and others in the file may use it. What the file has put away is put away in the end, and
  // what needs it before it.
  for (const step of plan.steps.filter(({ action }) => action === "create").reverse()) {
    const { kind, id, changes } = step;
    if (id !== null && changes.some(({ field, to }) => field === "archived" && to === true))
      await take(step, (inner, its) => putAway(inner, its, kind, id));
  }
  return issues;
}

/** Nothing that is asked outside names another thing of the file. */
const unnamed: Ids = { idOf: (_, name) => name, fileId: (name) => name };

/**
 * What others have to be asked is asked before the transaction, which waits for nobody: where the addresses of webhooks
 * lead, and whether a service lets a benefit be given.
 */
export async function askOthers(ctx: Ctx, document: Catalog): Promise<void> {
  for (const { kind, key, ask } of await questionsFor(ctx, document)) await atPlace(kind, key, ask);
}

/** The same to see what would be refused. */
export async function findRefusals(ctx: Ctx, document: Catalog): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const { kind, key, ask } of await questionsFor(ctx, document))
    issues.push(...(await issuesOf(() => atPlace(kind, key, ask))));
  return issues;
}

type Asked = { kind: Kind; key: string; ask: () => Promise<void> };

async function questionsFor(ctx: Ctx, { version, catalog, ...document }: Catalog): Promise<Asked[]> {
  const only: Catalog = { version, catalog };
  for (const kind of kinds) {
    const items: Record<string, Item> = document[kind] ?? {};
    const asked = Object.entries(items).filter(([, item]) => servedKinds[kind].isAsked?.(item));
    if (asked.length > 0) Object.assign(only, { [kind]: Object.fromEntries(asked) });
  }
  if (kinds.every((kind) => only[kind] === undefined)) return [];
  const current = await loadCurrent(ctx.db, ctx, only);
  return planCatalog(only, current, false).steps.flatMap((step): Asked[] => {
    const { kind, key, changes } = step;
    const item: Item | undefined = only[kind]?.[key];
    const row = (current.rows[kind] as Rows[Kind][]).find(({ id }) => id === step.id);
    const ask = item && servedKinds[kind].questionFor?.(ctx, item, changes, stepBody(step, row, unnamed));
    return ask ? [{ kind, key, ask }] : [];
  });
}
