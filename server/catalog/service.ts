import { createHash } from "node:crypto";
import type { z } from "zod";
import { readProperties } from "../../shared/api/benefits.ts";
import type { CatalogPlan, catalog } from "../../shared/api/catalog.ts";
import { api } from "../../shared/api/index.ts";
import { type Fields, priceChanges } from "../../shared/catalog/compare.ts";
import { type Catalog, type Kind, kinds, wrongAmounts } from "../../shared/catalog/document.ts";
import { foundFields, type Ids, type Rows } from "../../shared/catalog/forms.ts";
import { type Current, namesIn, type Plan, planCatalog, type Step, stepBody } from "../../shared/catalog/plan.ts";
import { documentOf } from "../../shared/catalog/pull.ts";
import type { Operation, Service } from "../../shared/contract.ts";
import { ApiError, fault, invalid } from "../../shared/errors.ts";
import type { Scope } from "../../shared/scopes.ts";
import { askOutside, benefitService, changeBenefit, createBenefit } from "../benefits/service.ts";
import { checkoutLinkService } from "../checkout-links/service.ts";
import { customFieldService } from "../custom-fields/service.ts";
import { discountService } from "../discounts/service.ts";
import { type Ctx, type Database, organizationOf, type Tx } from "../lib/context.ts";
import { transact, within } from "../lib/unit-of-work.ts";
import { meterService } from "../meters/service.ts";
import { productService } from "../products/service.ts";
import { checkUrl, insertEndpoint, patchEndpoint, webhookService } from "../webhooks/service.ts";
import { currentOf, everything } from "./current.ts";
import * as store from "./store.ts";

type Asked = { document: Catalog; prune: boolean };

/** Each kind needs its own scope, whichever of them let the request in. */
function demand(ctx: Ctx, kindsUsed: readonly Kind[], action: "read" | "write"): void {
  const needed = kindsUsed.map((kind): Scope => `${kind}:${action}`).filter((scope) => !ctx.actor.scopes.has(scope));
  if (needed.length > 0) throw new ApiError("insufficient_scope", `This catalogue also needs: ${needed.join(", ")}.`);
}
const kindsIn = (document: Catalog): Kind[] => kinds.filter((kind) => Object.keys(document[kind] ?? {}).length > 0);
/** Pruning touches what the file does not even name, so what a plan does counts, not only what was asked. */
const kindsOf = ({ steps }: Plan): Kind[] => kinds.filter((kind) => steps.some((step) => step.kind === kind));

/**
 * What a plan was made from, in one word: the same file over the same state has the same, so a stale plan has another.
 * The rows' own fields count, since two changes can have the same time.
 */
function fingerprintOf({ document, prune }: Asked, current: Current, organization_id: string): string {
  const names = namesIn(current);
  const rows = kinds.flatMap((kind) =>
    (current.rows[kind] as Rows[Kind][])
      .map((row) => [kind, row.id, row.modified_at, foundFields(kind, row as never, names)])
      .sort((a, b) => String(a[1]).localeCompare(String(b[1]))),
  );
  const entries = [...current.entries].sort(byPlace);
  const files = current.files.map(({ id }) => id).sort();
  const made = JSON.stringify([organization_id, document, prune, current.currency, entries, rows, files]);
  return createHash("sha256").update(made).digest("hex");
}
const byPlace = (a: { kind: string; key: string }, b: { kind: string; key: string }): number =>
  `${a.kind} ${a.key}`.localeCompare(`${b.kind} ${b.key}`);

const isRepriced = ({ changes }: Step): boolean => {
  const prices = changes.find(({ field }) => field === "prices");
  return priceChanges(prices?.from, prices?.to).removed.length > 0;
};
const changed = ({ changes }: Step, field: string): boolean => changes.some((change) => change.field === field);

/** Write into the steps who else is concerned by them, counted; in as many statements for one step as for a thousand. */
async function countConcerned(db: Database, organization_id: string, steps: readonly Step[]): Promise<void> {
  const idsOf = (kind: Kind) => steps.flatMap((step) => (step.kind === kind && step.id !== null ? [step.id] : []));
  const [products, benefits] = [idsOf("products"), idsOf("benefits")];
  const buyers = await store.buyersOfProducts(db, organization_id, products);
  const open = await store.openCheckouts(db, organization_id, products);
  const holders = await store.buyersOfBenefits(db, organization_id, benefits);
  for (const step of steps) {
    const { kind, id } = step;
    if (id === null) continue;
    const note = (what: string, count = 0) => {
      if (count > 0) step.impact.push({ what, count });
    };
    const gone = step.action === "archive" || step.changes.some(({ field, to }) => field === "archived" && to === true);
    if (kind === "benefits") note("customers have this benefit through a product", holders.get(id));
    if (kind !== "products") continue;
    if (isRepriced(step)) note("customers keep what they bought at the old price", buyers.get(id));
    if (gone || isRepriced(step)) note("open checkouts were made before this", open.get(id));
    if (changed(step, "benefits")) note("customers of the product gain or lose benefits", buyers.get(id));
  }
}

async function planned(
  db: Database,
  ctx: Ctx,
  asked: Asked,
): Promise<{ plan: Plan; current: Current; fingerprint: string }> {
  const current = await currentOf(db, ctx, asked.document);
  const wrong = wrongAmounts(asked.document, current.currency);
  if (wrong.length > 0) throw invalid(...wrong.map(({ path, message }) => fault(["document", ...path], message)));
  const plan = planCatalog(asked.document, current, asked.prune);
  await countConcerned(db, organizationOf(ctx), plan.steps);
  return { plan, current, fingerprint: fingerprintOf(asked, current, organizationOf(ctx)) };
}

const shown = (ctx: Ctx, { document }: Asked, plan: Plan, fingerprint: string): CatalogPlan => ({
  schema_version: 1,
  catalog: document.catalog,
  organization_id: organizationOf(ctx),
  fingerprint,
  ...plan,
  // Whoever may not read a kind is not told what there is of it.
  missing: plan.missing.filter(({ kind }) => ctx.actor.scopes.has(`${kind}:read`)),
});

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

/** A body as the operation reads it; its faults are told at the place in the file that they come from. */
function read(op: Operation, body: Fields, { kind, key }: Step): never {
  const result = (op.body as z.ZodType).safeParse(body);
  if (result.success) return result.data as never;
  throw invalid(
    ...result.error.issues.map((issue) =>
      fault(
        ["document", kind, key, ...issue.path.map((part) => (typeof part === "number" ? part : String(part)))],
        issue.message,
        issue.code,
      ),
    ),
  );
}

/** The faults that a rule finds are told at the thing of the file that they concern. */
async function atPlace<T>(kind: Kind, key: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || !Array.isArray(error.detail)) throw error;
    const located = error.detail.map(({ loc, ...rest }) => ({
      ...rest,
      loc: loc[1] === "document" ? loc : ["body", "document", kind, key, ...loc.slice(1)],
    }));
    throw new ApiError("PolarRequestValidationError", located);
  }
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
    idOf: (of, name) => (name.startsWith("#") ? name.slice(1) : (ids.get(`${of} ${name}`) ?? name)),
    fileId: (name) =>
      name.startsWith("#") ? name.slice(1) : (current.files.find((file) => file.name === name)?.id ?? name),
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
    const made = await create(tx, ctx, read(shapes.create, body, step));
    step.id = made.id;
    ids.set(`${kind} ${key}`, made.id);
    await store.putEntry(tx, { ...place, subject_id: made.id, created_at: ctx.clock.now() });
  } else if (step.id !== null && Object.keys(body).length > 0) {
    await update(tx, ctx, step.id, read(shapes.update, body, step));
  }
  const given = step.changes.find(({ field }) => field === "benefits")?.to;
  if (kind === "products" && Array.isArray(given) && step.id !== null)
    await productService.setBenefits(ctx, {
      params: { id: step.id },
      body: { benefits: given.map((one) => resolve.idOf("benefits", String(one))) },
    });
}

const putAway = (tx: Tx, ctx: Ctx, kind: Kind, key: string, id: string) =>
  atPlace(kind, key, () => handlers[kind].update(tx, ctx, id, { is_archived: true } as never));

const outside = new Set<string>(["discord", "github_repository"]);
/** Nothing that is asked outside names another thing of the file. */
const unnamed: Ids = { idOf: (_, name) => name, fileId: (name) => name };

/**
 * What others have to be asked is asked before the transaction, which waits for nobody: where the addresses of webhooks
 * lead, and whether a service lets a benefit be given.
 */
async function askOthers(ctx: Ctx, { version, catalog: name, webhooks = {}, benefits = {} }: Catalog): Promise<void> {
  const given = Object.fromEntries(Object.entries(benefits).filter(([, { type }]) => outside.has(type)));
  if (Object.keys(webhooks).length + Object.keys(given).length === 0) return;
  const only: Catalog = { version, catalog: name, webhooks, benefits: given };
  const current = await currentOf(ctx.db, ctx, only);
  for (const step of planCatalog(only, current, false).steps) {
    const { kind, key, changes } = step;
    if (kind === "webhooks" && changes.some(({ field }) => field === "url" || field === "enabled"))
      await atPlace(kind, key, () => checkUrl(ctx, webhooks[key]?.url ?? "", "url"));
    const type = given[key]?.type;
    if (kind !== "benefits" || !type) continue;
    const row = current.rows.benefits.find(({ id }) => id === step.id);
    const { properties } = stepBody(step, row, unnamed);
    const read = properties === undefined ? undefined : readProperties(type, properties);
    if (read?.success) await atPlace(kind, key, () => askOutside(ctx, type, read.data));
  }
}

/** The whole catalogue at once. */
export const catalogService: Service<typeof catalog, Ctx> = {
  async pull(ctx, { query }) {
    demand(ctx, kinds, "read");
    return documentOf(query.catalog, await everything(ctx.db, ctx, query.catalog, query.all === true));
  },

  async plan(ctx, { body }) {
    demand(ctx, kindsIn(body.document), "read");
    const { plan, fingerprint } = await planned(ctx.db, ctx, body);
    demand(ctx, kindsOf(plan), "read");
    return shown(ctx, body, plan, fingerprint);
  },

  async apply(ctx, { body }) {
    demand(ctx, kindsIn(body.document), "write");
    await askOthers(ctx, body.document);
    return transact(ctx, async (tx) => {
      const inner = within(ctx, tx);
      await store.lockCatalog(tx, organizationOf(ctx), body.document.catalog);
      const { plan, current, fingerprint } = await planned(tx, inner, body);
      if (body.fingerprint && body.fingerprint !== fingerprint)
        throw new ApiError("CatalogPlanStale", "Something changed since this plan was made. Plan again.");
      demand(ctx, kindsOf(plan), "write");
      if (plan.issues.length > 0)
        throw new ApiError("CatalogRefused", plan.issues.map(({ path, message }) => `${path}: ${message}`).join(" "));
      const ids = new Map(current.entries.map(({ kind, key, id }) => [`${kind} ${key}`, id]));
      for (const step of plan.steps.filter(({ action }) => action === "rename"))
        if (step.id !== null) ids.set(`${step.kind} ${step.key}`, step.id);
      for (const step of plan.steps) {
        const row = (current.rows[step.kind] as Rows[Kind][]).find(({ id }) => id === step.id);
        await atPlace(step.kind, step.key, () => run(tx, inner, body.document, step, row, ids, current));
      }
      // Everything is made for use, and others in the file may use it. What the file has put away is put away in the end,
      // and what needs it before it.
      for (const step of plan.steps.filter(({ action }) => action === "create").reverse())
        if (step.id !== null && step.changes.some(({ field, to }) => field === "archived" && to === true))
          await putAway(tx, inner, step.kind, step.key, step.id);
      return shown(ctx, body, plan, fingerprint);
    });
  },

  import: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      demand(ctx, [body.kind], "write");
      const organization_id = organizationOf(ctx);
      const { catalog: name, kind, key, id } = body;
      await store.lockCatalog(tx, organization_id, name);
      if (!(await store.isThere(tx, organization_id, kind, id)))
        throw invalid(fault(["id"], `There is no such thing among your ${kind}.`, "value_error", id));
      // A key whose thing was deleted by hand is free again.
      const place = { organization_id, catalog: name, kind, key };
      const before = (await store.entriesOf(tx, organization_id, name)).find(
        (entry) => entry.kind === kind && entry.key === key,
      );
      if (before && !(await store.isThere(tx, organization_id, kind, before.id))) await store.deleteEntry(tx, place);
      const made = await store.insertEntry(tx, {
        organization_id,
        catalog: name,
        kind,
        key,
        subject_id: id,
        created_at: ctx.clock.now(),
      });
      if (!made) throw new ApiError("ResourceAlreadyExists", "The key or the thing is taken already.");
      return { kind, key, id };
    }),
};
