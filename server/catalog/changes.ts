/** Carrying out a plan, in earnest or to see what would be refused. */
import type { z } from "zod";
import { readProperties } from "../../shared/api/benefits.ts";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import { api } from "../../shared/api/index.ts";
import type { Fields } from "../../shared/catalog/compare.ts";
import type { Catalog, Kind } from "../../shared/catalog/document.ts";
import type { Ids, Rows } from "../../shared/catalog/forms.ts";
import { placeInFile } from "../../shared/catalog/places.ts";
import { type Current, type Plan, planCatalog, type Step, stepBody } from "../../shared/catalog/plan.ts";
import type { Operation } from "../../shared/contract.ts";
import { ApiError } from "../../shared/errors.ts";
import { nextSteps } from "../../shared/next-steps.ts";
import { askOutside, benefitService, changeBenefit, createBenefit } from "../benefits/service.ts";
import { checkoutLinkService } from "../checkout-links/service.ts";
import { customFieldService } from "../custom-fields/service.ts";
import { discountService } from "../discounts/service.ts";
import { type Ctx, organizationOf, type Tx } from "../lib/context.ts";
import { faultsOf } from "../lib/faults.ts";
import { transact, within } from "../lib/unit-of-work.ts";
import { meterService } from "../meters/service.ts";
import { productService } from "../products/service.ts";
import { checkUrl, insertEndpoint, patchEndpoint, webhookService } from "../webhooks/service.ts";
import { currentOf } from "./current.ts";
import * as store from "./store.ts";

type Handlers = {
  create(tx: Tx, ctx: Ctx, body: never): Promise<{ id: string }>;
  update(tx: Tx, ctx: Ctx, id: string, body: never): Promise<unknown>;
  remove?(tx: Tx, ctx: Ctx, id: string): Promise<unknown>;
  shapes: { create: Operation; update: Operation };
};
/** How each kind is made, changed and removed: by the operations that everybody uses, within the one transaction. */
const handlers: Record<Kind, Handlers> = {
  meters: {
    create: (_, ctx, body) => meterService.create(ctx, { body }),
    update: (_, ctx, id, body) => meterService.update(ctx, { params: { id }, body }),
    shapes: api.meters,
  },
  benefits: {
    create: (_, ctx, body) => createBenefit(ctx, body),
    update: (_, ctx, id, body) => changeBenefit(ctx, id, body),
    remove: (_, ctx, id) => benefitService.delete(ctx, { params: { id } }),
    shapes: api.benefits,
  },
  custom_fields: {
    create: (_, ctx, body) => customFieldService.create(ctx, { body }),
    update: (_, ctx, id, body) => customFieldService.update(ctx, { params: { id }, body }),
    remove: (_, ctx, id) => customFieldService.delete(ctx, { params: { id } }),
    shapes: api.customFields,
  },
  products: {
    create: (_, ctx, body) => productService.create(ctx, { body }),
    update: (_, ctx, id, body) => productService.update(ctx, { params: { id }, body }),
    shapes: api.products,
  },
  discounts: {
    create: (_, ctx, body) => discountService.create(ctx, { body }),
    update: (_, ctx, id, body) => discountService.update(ctx, { params: { id }, body }),
    remove: (_, ctx, id) => discountService.delete(ctx, { params: { id } }),
    shapes: api.discounts,
  },
  checkout_links: {
    create: (_, ctx, body) => checkoutLinkService.create(ctx, { body }),
    update: (_, ctx, id, body) => checkoutLinkService.update(ctx, { params: { id }, body }),
    remove: (_, ctx, id) => checkoutLinkService.delete(ctx, { params: { id } }),
    shapes: api.checkoutLinks,
  },
  webhooks: {
    create: (tx, ctx, body) => insertEndpoint(tx, ctx, body),
    update: (_, ctx, id, body) => patchEndpoint(ctx, id, body),
    remove: (_, ctx, id) => webhookService.deleteEndpoint(ctx, { params: { id } }),
    shapes: { create: api.webhooks.createEndpoint, update: api.webhooks.updateEndpoint },
  },
};

/** A body as the operation reads it. */
function read(op: Operation, body: Fields): never {
  const result = (op.body as z.ZodType).safeParse(body);
  if (result.success) return result.data as never;
  throw new ApiError("PolarRequestValidationError", faultsOf(["body"], result.error.issues, body));
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
export type Attempt = (tx: Tx, ctx: Ctx, work: (tx: Tx, ctx: Ctx) => Promise<void>) => Promise<Issue[]>;

/** In earnest. */
export const passing: Attempt = async (tx, ctx, work) => {
  await work(tx, ctx);
  return [];
};

/** Each step in a savepoint of its own, so that the next finds the transaction whole. */
export const collecting: Attempt = (_, ctx, work) =>
  issuesOf(() => transact(ctx, (inner) => work(inner, within(ctx, inner))));

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
      const hint = nextSteps[type];
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
      made = { result: await work(tx, within(ctx, tx)) };
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
  const organization_id = organizationOf(ctx);
  const place = { organization_id, catalog: document.catalog, kind, key };
  const resolve: Ids = {
    idOf: (of, name) => found(name, ids.get(`${of} ${name}`)),
    fileId: (name, service) =>
      found(name, current.files.find((file) => file.name === name && file.service === service)?.id),
  };
  const { shapes, create, update, remove } = handlers[kind];
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
    await store.putEntry(tx, { ...place, subject_id: made.id, created_at: ctx.clock.now() });
  } else if (step.id !== null && Object.keys(body).length > 0) {
    await update(tx, ctx, step.id, read(shapes.update, body));
  }
  const given = step.changes.find(({ field }) => field === "benefits")?.to;
  if (kind === "products" && Array.isArray(given) && step.id !== null)
    await productService.setBenefits(ctx, {
      params: { id: step.id },
      body: { benefits: given.map((one) => resolve.idOf("benefits", String(one))) },
    });
}

const putAway = (tx: Tx, ctx: Ctx, kind: Kind, id: string) =>
  handlers[kind].update(tx, ctx, id, { is_archived: true } as never);

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
  const take = async ({ kind, key }: Step, work: (tx: Tx, ctx: Ctx) => Promise<unknown>): Promise<void> => {
    const at = (inner: Tx, its: Ctx) => atPlace(kind, key, () => work(inner, its));
    const refused = await attempt(tx, ctx, async (inner, its) => void (await at(inner, its)));
    issues.push(...refused.map((issue) => ({ ...issue, path: issue.path || `${kind}.${key}` })));
  };
  for (const step of plan.steps) {
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

const outside = new Set<string>(["discord", "github_repository"]);
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
export async function refusedByOthers(ctx: Ctx, document: Catalog): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const { kind, key, ask } of await questionsFor(ctx, document))
    issues.push(...(await issuesOf(() => atPlace(kind, key, ask))));
  return issues;
}

type Asked = { kind: Kind; key: string; ask: () => Promise<void> };

async function questionsFor(
  ctx: Ctx,
  { version, catalog: name, webhooks = {}, benefits = {} }: Catalog,
): Promise<Asked[]> {
  const given = Object.fromEntries(Object.entries(benefits).filter(([, { type }]) => outside.has(type)));
  if (Object.keys(webhooks).length + Object.keys(given).length === 0) return [];
  const only: Catalog = { version, catalog: name, webhooks, benefits: given };
  const current = await currentOf(ctx.db, ctx, only);
  const asked: Asked[] = [];
  for (const step of planCatalog(only, current, false).steps) {
    const { kind, key, changes } = step;
    if (kind === "webhooks" && changes.some(({ field }) => field === "url" || field === "enabled"))
      asked.push({ kind, key, ask: () => checkUrl(ctx, webhooks[key]?.url ?? "", "url") });
    const type = given[key]?.type;
    if (kind !== "benefits" || !type) continue;
    const row = current.rows.benefits.find(({ id }) => id === step.id);
    const { properties } = stepBody(step, row, unnamed);
    const read = properties === undefined ? undefined : readProperties(type, properties);
    if (read?.success) asked.push({ kind, key, ask: async () => void (await askOutside(ctx, type, read.data)) });
  }
  return asked;
}
