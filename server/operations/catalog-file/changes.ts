/** Carrying out a plan, in earnest or to see what would be refused. */

import type { z } from "zod";
import type { CatalogPlan } from "../../../shared/api/catalog.ts";
import type { Fields } from "../../../shared/catalog/compare.ts";
import type { Catalog } from "../../../shared/catalog/document.ts";
import type { Item, Rows } from "../../../shared/catalog/kinds/index.ts";
import { type Ids, type Kind, kinds } from "../../../shared/catalog/kinds/kind.ts";
import { locateInFile } from "../../../shared/catalog/places.ts";
import { buildStepBody, type Current, type Plan, planCatalog, type Step } from "../../../shared/catalog/plan.ts";
import type { Operation } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import { findNextStep } from "../../../shared/next-steps.ts";
import { type Ctx, requireOrganization, type Tx } from "../../platform/context.ts";
import type { Batch } from "../../platform/db/batches.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { mapInParts, runInParts } from "../../platform/jobs/heavy-work.ts";
import { type CatalogRequest, loadCurrent } from "./current.ts";
import { servedKinds } from "./kinds/index.ts";
import * as store from "./store.ts";

/** A body as the operation reads it. */
function read(op: Operation, body: Fields): never {
  const result = (op.body as z.ZodType).safeParse(body);
  if (result.success) return result.data as never;
  throw new ApiError("PolarRequestValidationError", readFaults(["body"], result.error.issues, body));
}

/** The faults of an operation are told at the place of the file that they come from. */
function locate(kind: Kind, key: string, error: ApiError): ApiError {
  if (!Array.isArray(error.detail)) return error;
  const located = error.detail.map(({ loc, ...rest }) => ({
    ...rest,
    loc: ["body", "document", kind, key, ...locateInFile(kind, loc.slice(1))],
  }));
  return new ApiError("PolarRequestValidationError", located);
}

type Issue = CatalogPlan["issues"][number];
type Refusals = ReadonlyMap<Step, ApiError>;
/** What becomes of steps that were refused. */
export type RefusalHandler = (refusals: Refusals) => void;

/** In earnest the first fault ends all. */
export const throwFirstFault: RefusalHandler = (refusals) => {
  for (const error of refusals.values()) throw error;
};

/** To see what would be refused, the other steps are taken. */
export const collectFaults: RefusalHandler = () => {};

/** Another thing of the file is missing, which was refused before. */
class Unmade extends ApiError {
  constructor(what: string) {
    super("CatalogRefused", `${what} is not there.`);
  }
}

function listIssues(error: ApiError): Issue[] {
  if (error instanceof Unmade) return [];
  const { detail } = error;
  if (typeof detail === "string") return [{ code: "refused", path: "", message: detail }];
  return detail.map(({ loc, msg, type }) => {
    const hint = findNextStep(type);
    return { code: "refused", path: loc.slice(2).join("."), message: msg, ...(hint && { hint }) };
  });
}

/** What was done only to see whether it can be. */
class Undone extends Error {}

/** Do some work in a transaction that is undone in any case, and answer what came of it. */
export async function dryRun<T>(ctx: Ctx, work: (tx: Tx, ctx: Ctx) => Promise<T>): Promise<T> {
  const undone = new Undone();
  let made: { result: T } | undefined;
  try {
    await transact({ ...ctx, extraWrites: [] }, async (tx) => {
      // Set before the work, so that no events are built for a transaction that is rolled back.
      tx.unit.isUndone = true;
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
function requireId(name: string, id: string | undefined): string {
  if (name.startsWith("#")) return name.slice(1);
  if (id === undefined) throw new Unmade(name);
  return id;
}

/** What the names of a file stand for by now. */
function resolveIn(ids: ReadonlyMap<string, string>, { files }: Current): Ids {
  const fileIds = new Map(files.map(({ id, name, service }) => [`${service} ${name}`, id]));
  return {
    idOf: (of, name) => requireId(name, ids.get(`${of} ${name}`)),
    fileId: (name, service) => requireId(name, fileIds.get(`${service} ${name}`)),
  };
}

type Taking = {
  catalog: string;
  ids: Map<string, string>;
  current: Current;
  rowsById: ReadonlyMap<string, Rows[Kind]>;
};

/** Steps of one kind and one action, and which of them were refused. */
class Round {
  readonly kind: Kind;
  readonly steps: readonly Step[];
  readonly #refusals = new Map<Step, ApiError>();
  constructor(kind: Kind, steps: readonly Step[]) {
    this.kind = kind;
    this.steps = steps;
  }
  refuse(step: Step, error: ApiError): void {
    this.#refusals.set(step, locate(this.kind, step.key, error));
  }
  /** What is made of each step, without those for which it is refused or nothing. */
  async read<T>(steps: readonly Step[], make: (step: Step) => T | undefined): Promise<{ step: Step; made: T }[]> {
    const made = await mapInParts(steps, (step) => {
      try {
        return make(step);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.refuse(step, error);
        return undefined;
      }
    });
    return steps.flatMap((step, index) => {
      const one = made[index];
      return one === undefined ? [] : [{ step, made: one }];
    });
  }
  /** Note what of a batch was refused; answers the other results. */
  settle<T>(wanted: readonly { step: Step }[], results: Batch<T>): { step: Step; result: T }[] {
    return wanted.flatMap(({ step }, index) => {
      const result = results[index] as T | ApiError;
      if (!(result instanceof ApiError)) return [{ step, result }];
      this.refuse(step, result);
      return [];
    });
  }
  /** In the order of the steps. */
  get refusals(): Refusals {
    return new Map(
      this.steps.flatMap((step) => {
        const error = this.#refusals.get(step);
        return error ? [[step, error] as const] : [];
      }),
    );
  }
}

async function removeThings(tx: Tx, ctx: Ctx, round: Round, { catalog }: Taking): Promise<void> {
  const { kind, steps } = round;
  const wanted = steps.flatMap((step) => (step.id === null ? [] : [{ step, id: step.id }]));
  const ids = wanted.map(({ id }) => id);
  const removed = round.settle(wanted, (await servedKinds[kind].remove?.(tx, ctx, ids)) ?? ids.map(() => undefined));
  const keys = removed.map(({ step }) => step.key);
  await store.deleteEntries(tx, { organization_id: requireOrganization(ctx), catalog, kind }, keys);
}

async function createThings(tx: Tx, ctx: Ctx, round: Round, taking: Taking): Promise<Step[]> {
  const { kind, steps } = round;
  const { shapes, create } = servedKinds[kind];
  const resolve = resolveIn(taking.ids, taking.current);
  const wanted = await round.read(steps, (step) => read(shapes.create, buildStepBody(step, undefined, resolve)));
  const bodies = wanted.map(({ made }) => made);
  const created = round.settle(wanted, await create(tx, ctx, bodies));
  for (const { step, result } of created) {
    step.id = result.id;
    taking.ids.set(`${kind} ${step.key}`, result.id);
  }
  const place = {
    organization_id: requireOrganization(ctx),
    catalog: taking.catalog,
    kind,
    created_at: ctx.clock.now(),
  };
  await store.putEntries(
    tx,
    created.map(({ step: { key }, result: { id } }) => ({ ...place, key, subject_id: id })),
  );
  return created.map(({ step }) => step);
}

async function updateThings(tx: Tx, ctx: Ctx, round: Round, taking: Taking): Promise<Step[]> {
  const { kind, steps } = round;
  const { shapes, update } = servedKinds[kind];
  const resolve = resolveIn(taking.ids, taking.current);
  const wanted = await round.read(steps, (step) => {
    const { id } = step;
    if (id === null) return undefined;
    const body = buildStepBody(step, taking.rowsById.get(`${kind} ${id}`), resolve);
    return { id, body: Object.keys(body).length > 0 ? read(shapes.update, body) : undefined };
  });
  const changes = wanted.flatMap(({ step, made: { id, body } }) => (body === undefined ? [] : [{ step, id, body }]));
  const updated = new Set(round.settle(changes, await update(tx, ctx, changes)).map(({ step }) => step));
  return wanted.filter(({ step, made: { body } }) => body === undefined || updated.has(step)).map(({ step }) => step);
}

/** What is set by a call of its own. */
async function setRest(tx: Tx, ctx: Ctx, round: Round, done: readonly Step[], taking: Taking): Promise<void> {
  const served = servedKinds[round.kind];
  const resolve = resolveIn(taking.ids, taking.current);
  const wanted = await round.read(done, ({ id, changes }) => {
    const rest = served.readRest?.(changes, resolve);
    return rest && id !== null ? { id, rest } : undefined;
  });
  const changes = wanted.map(({ made }) => made);
  if (served.setRest && changes.length > 0) round.settle(wanted, await served.setRest(tx, ctx, changes));
}

/** Take steps of one kind and one action, in as many statements for one as for a thousand. */
async function applyRound(tx: Tx, ctx: Ctx, steps: readonly Step[], taking: Taking): Promise<Refusals> {
  const [{ kind, action }] = steps as readonly [Step];
  const round = new Round(kind, steps);
  if (action === "rename") {
    const renamed = steps.map(({ key, changes }) => ({ from: String(changes[0]?.from), to: key }));
    await store.renameEntries(
      tx,
      { organization_id: requireOrganization(ctx), catalog: taking.catalog, kind },
      renamed,
    );
  } else if (action === "delete") await removeThings(tx, ctx, round, taking);
  else {
    const take = action === "create" ? createThings : updateThings;
    await setRest(tx, ctx, round, await take(tx, ctx, round, taking), taking);
  }
  return round.refusals;
}

const indexRows = ({ rows }: Current): ReadonlyMap<string, Rows[Kind]> =>
  new Map(kinds.flatMap((kind) => (rows[kind] as Rows[Kind][]).map((row) => [`${kind} ${row.id}`, row] as const)));

const actionsInOrder = ["delete", "rename", "update", "create", "archive"] as const;

/**
 * Steps as they are taken together, in the order in which one needs the other. Within a kind what there is is changed first, so
 * that what comes can have a code or key that was given up.
 */
function groupSteps(steps: readonly Step[]): Step[][] {
  const isRemoval = ({ action }: Step) => action === "delete" || action === "archive";
  const sections = Map.groupBy(steps, (step) => `${step.kind} ${isRemoval(step) ? step.action : ""}`);
  return [...sections.values()]
    .flatMap((section) => actionsInOrder.map((action) => section.filter((step) => step.action === action)))
    .filter((group) => group.length > 0);
}

/** Take the steps of a plan; answers what was refused, where that does not end it. */
export async function applySteps(
  tx: Tx,
  ctx: Ctx,
  document: Catalog,
  { plan, current }: { plan: Plan; current: Current },
  attempt: RefusalHandler,
): Promise<Issue[]> {
  const ids = new Map(current.entries.map(({ kind, key, id }) => [`${kind} ${key}`, id]));
  for (const step of plan.steps.filter(({ action }) => action === "rename"))
    if (step.id !== null) ids.set(`${step.kind} ${step.key}`, step.id);
  const taking: Taking = { catalog: document.catalog, ids, current, rowsById: indexRows(current) };
  const refusals = new Map<Step, ApiError>();
  for (const steps of groupSteps(plan.steps)) {
    const refused = await applyRound(tx, ctx, steps, taking);
    attempt(refused);
    for (const [step, error] of refused) refusals.set(step, error);
  }
  const notPutAway = await putAway(tx, ctx, plan.steps, attempt);
  return [...plan.steps.flatMap((step) => listIssuesOfStep(step, refusals)), ...notPutAway];
}

const listIssuesOfStep = (step: Step, refusals: Refusals): Issue[] => {
  const error = refusals.get(step);
  return error ? listIssues(error).map((issue) => ({ ...issue, path: issue.path || `${step.kind}.${step.key}` })) : [];
};

/**
 * Everything is made for use, and others in the file may use it. What the file has put away is put away in the end, and what
 * needs it before it.
 */
async function putAway(tx: Tx, ctx: Ctx, steps: readonly Step[], attempt: RefusalHandler): Promise<Issue[]> {
  const isPutAway = ({ action, changes }: Step) =>
    action === "create" && changes.some(({ field, to }) => field === "archived" && to === true);
  const issues: Issue[] = [];
  for (const [kind, wanted] of Map.groupBy(steps.filter(isPutAway).reverse(), (step) => step.kind)) {
    const round = new Round(kind, wanted);
    const changes = await round.read(wanted, ({ id }) => id ?? undefined);
    const bodies = changes.map(({ made: id }) => ({ id, body: { is_archived: true } as never }));
    round.settle(changes, await servedKinds[kind].update(tx, ctx, bodies));
    attempt(round.refusals);
    issues.push(...wanted.flatMap((step) => listIssuesOfStep(step, round.refusals)));
  }
  return issues;
}

/** Nothing that is asked outside names another thing of the file. */
const unnamed: Ids = { idOf: (_, name) => name, fileId: (name) => name };

/**
 * What others have to be asked is asked before the transaction, which waits for nobody: where the addresses of webhooks
 * lead, and whether a service lets a benefit be given.
 */
export async function checkWithProviders(ctx: Ctx, asked: CatalogRequest): Promise<void> {
  for await (const refusal of requestEach(ctx, asked)) throw refusal;
}

/** The same to see what would be refused. */
export async function findRefusals(ctx: Ctx, asked: CatalogRequest): Promise<Issue[]> {
  const issues: Issue[] = [];
  for await (const refusal of requestEach(ctx, asked)) issues.push(...listIssues(refusal));
  return issues;
}

async function* requestEach(ctx: Ctx, asked: CatalogRequest): AsyncIterable<ApiError> {
  for (const { kind, key, ask } of await collectQuestions(ctx, asked)) {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      yield locate(kind, key, error);
    }
  }
}

type Asked = { kind: Kind; key: string; ask: () => Promise<void> };

async function collectQuestions(ctx: Ctx, { document: whole, keys }: CatalogRequest): Promise<Asked[]> {
  const { version, catalog, ...document } = whole;
  const only: Catalog = { version, catalog };
  for (const kind of kinds) {
    const items: Record<string, Item> = document[kind] ?? {};
    const asked = Object.entries(items).filter(([, item]) => servedKinds[kind].isAsked?.(item));
    if (asked.length > 0) Object.assign(only, { [kind]: Object.fromEntries(asked) });
  }
  if (kinds.every((kind) => only[kind] === undefined)) return [];
  const current = await loadCurrent(ctx.db, ctx, { document: only, keys });
  const rowsById = indexRows(current);
  const { steps } = await runInParts(planCatalog(only, current, false));
  return steps.flatMap((step): Asked[] => {
    const { kind, key, changes } = step;
    const item: Item | undefined = only[kind]?.[key];
    const row = rowsById.get(`${kind} ${step.id}`);
    const ask = item && servedKinds[kind].questionFor?.(ctx, item, changes, buildStepBody(step, row, unnamed));
    return ask ? [{ kind, key, ask }] : [];
  });
}
