import { createHash } from "node:crypto";
import type { CatalogPlan, catalog } from "../../../shared/api/catalog.ts";
import { comparePrices } from "../../../shared/catalog/compare.ts";
import { type Catalog, findWrongAmounts } from "../../../shared/catalog/document.ts";
import { getKind, type Item, type Rows } from "../../../shared/catalog/kinds/index.ts";
import { type Kind, kinds } from "../../../shared/catalog/kinds/kind.ts";
import {
  type Current,
  type Entry,
  type Plan,
  planCatalog,
  readNames,
  type Step,
} from "../../../shared/catalog/plan.ts";
import { writeDocument } from "../../../shared/catalog/pull.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import type { Scope } from "../../../shared/scopes.ts";
import { type Ctx, type Database, requireOrganization, type Tx } from "../../platform/context.ts";
import { isUniqueViolation } from "../../platform/db/unique.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { mapInParts, runInParts } from "../../platform/jobs/heavy-work.ts";
import { applySteps, checkWithProviders, collectFaults, dryRun, findRefusals, throwFirstFault } from "./changes.ts";
import { type CatalogRequest, loadCurrent, loadEverything } from "./current.ts";
import { compareTerms, loadTerms, type Terms } from "./rehearsal.ts";
import * as store from "./store.ts";

type Asked = CatalogRequest & { prune: boolean };

/** Each kind needs its own scope, whichever of them let the request in. */
function requireScopes(
  ctx: Ctx,
  kindsUsed: readonly Kind[],
  action: "read" | "write",
  more: readonly Scope[] = [],
): void {
  const wanted = [...kindsUsed.map((kind): Scope => `${kind}:${action}`), ...more];
  const needed = wanted.filter((scope) => !ctx.actor.scopes.has(scope));
  if (needed.length > 0) throw new ApiError("insufficient_scope", `This catalogue also needs: ${needed.join(", ")}.`);
}
const listKindsIn = (document: Catalog): Kind[] => kinds.filter((kind) => Object.keys(document[kind] ?? {}).length > 0);
/** Pruning touches what the file does not even name, so what a plan does counts, not only what was asked. */
const getKinds = ({ steps }: Plan): Kind[] => kinds.filter((kind) => steps.some((step) => step.kind === kind));

/**
 * What a plan was made from, in one word: the same file over the same state has the same, so a stale plan has another.
 * The rows' own fields count, since two changes can have the same time.
 */
async function computeFingerprint({ document, prune }: Asked, current: Current, organization_id: string) {
  const names = readNames(current);
  const all = kinds.flatMap((kind) =>
    (current.rows[kind] as Rows[Kind][]).toSorted((a, b) => compareTexts(a.id, b.id)).map((row) => ({ kind, row })),
  );
  const rows = await mapInParts(all, ({ kind, row }) => [
    kind,
    row.id,
    row.modified_at,
    getKind(kind).foundFields(row, names),
  ]);
  const entries = current.entries.toSorted((a, b) => compareTexts(a.kind, b.kind) || compareTexts(a.key, b.key));
  const files = current.files.map(({ id }) => id).sort();
  const made = JSON.stringify([organization_id, document, prune, current.currency, entries, rows, files]);
  return createHash("sha256").update(made).digest("hex");
}
const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const isRepriced = ({ changes }: Step): boolean => {
  const prices = changes.find(({ field }) => field === "prices");
  return comparePrices(prices?.from, prices?.to).removed.length > 0;
};
const hasChanged = ({ changes }: Step, field: string): boolean => changes.some((change) => change.field === field);

/** Write into the steps who else is concerned by them, counted; in as many statements for one step as for a thousand. */
async function countConcerned(db: Database, organization_id: string, steps: readonly Step[]): Promise<void> {
  const getIds = (kind: Kind) => steps.flatMap((step) => (step.kind === kind && step.id !== null ? [step.id] : []));
  const [products, benefits] = [getIds("products"), getIds("benefits")];
  const buyers = await store.countBuyersOfProducts(db, organization_id, products);
  const open = await store.countOpenCheckouts(db, organization_id, products);
  const holders = await store.countBuyersOfBenefits(db, organization_id, benefits);
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
    if (hasChanged(step, "benefits")) note("customers of the product gain or lose benefits", buyers.get(id));
  }
}

/** Keys that a request brings along name one thing each, and leave the catalog as it is. */
function checkKeys({ document, prune }: Asked, keys: Entry[]): void {
  if (prune) throw invalid(fault(["prune"], "Only a whole catalog is pruned, not one with keys of its own."));
  const [named, things] = [new Set<string>(), new Set<string>()];
  for (const [index, { kind, key, id }] of keys.entries()) {
    const isNamedTwice = named.has(`${kind} ${key}`) || things.has(`${kind} ${id}`);
    if (isNamedTwice) throw invalid(fault(["keys", index], "The key or the thing is named twice."));
    named.add(`${kind} ${key}`);
    things.add(`${kind} ${id}`);
  }
  for (const kind of kinds)
    for (const [key, { previously }] of Object.entries((document[kind] ?? {}) as Record<string, Item>))
      if (previously)
        throw invalid(fault(["document", kind, key, "previously"], "With keys of its own, nothing is renamed."));
}

/** With keys of the request's own, a document changes what there is. */
function assertNothingMade(keys: Entry[], { steps }: Plan): void {
  for (const { action, kind, key } of steps) {
    if (action === "update") continue;
    const index = keys.findIndex((one) => one.kind === kind && one.key === key);
    const message = `There is no such thing among your ${kind}.`;
    throw invalid(fault(index < 0 ? ["document", kind, key] : ["keys", index, "id"], message));
  }
}

async function buildPlan(
  db: Database,
  ctx: Ctx,
  asked: Asked,
): Promise<{ plan: Plan; current: Current; fingerprint: string }> {
  if (asked.keys) checkKeys(asked, asked.keys);
  const current = await loadCurrent(db, ctx, asked);
  const wrong = findWrongAmounts(asked.document, current.currency);
  if (wrong.length > 0) throw invalid(...wrong.map(({ path, message }) => fault(["document", ...path], message)));
  const plan = await runInParts(planCatalog(asked.document, current, asked.prune));
  if (asked.keys) assertNothingMade(asked.keys, plan);
  await countConcerned(db, requireOrganization(ctx), plan.steps);
  return { plan, current, fingerprint: await computeFingerprint(asked, current, requireOrganization(ctx)) };
}

const serializePlan = (ctx: Ctx, { document }: Asked, plan: Plan, fingerprint: string): CatalogPlan => ({
  schema_version: 1,
  catalog: document.catalog,
  organization_id: requireOrganization(ctx),
  fingerprint,
  ...plan,
  // Whoever may not read a kind is not told what there is of it.
  missing: plan.missing.filter(({ kind }) => ctx.actor.scopes.has(`${kind}:read`)),
});

const rejectStale = () => new ApiError("CatalogPlanStale", "Something changed since this plan was made. Plan again.");

/** Take steps; a name that a parallel transaction has just taken makes the plan stale. */
async function applyPlanned(...given: Parameters<typeof applySteps>): ReturnType<typeof applySteps> {
  try {
    return await applySteps(...given);
  } catch (error) {
    throw isUniqueViolation(error) ? rejectStale() : error;
  }
}

/** Looks at what a plan concerns: before its steps are taken, and once they are. */
type Look = (tx: Tx, steps: readonly Step[]) => Promise<void>;

/** What would be done, and what of it refused: each step is taken and taken back. */
async function tryOut(ctx: Ctx, asked: Asked, look: Look = async () => {}): Promise<CatalogPlan> {
  requireScopes(ctx, listKindsIn(asked.document), "read");
  const refused = await findRefusals(ctx, asked);
  return dryRun(ctx, async (tx, inner) => {
    await store.lockCatalog(tx, requireOrganization(ctx), asked.document.catalog, asked.keys);
    const { plan, current, fingerprint } = await buildPlan(tx, inner, asked);
    requireScopes(ctx, getKinds(plan), "read");
    if (plan.steps.length === 0) return serializePlan(ctx, asked, plan, fingerprint);
    await look(tx, plan.steps);
    // The steps are shown as they were planned: what is made on the way has ids that nobody will see again.
    const tried = { ...plan, steps: plan.steps.map((step) => ({ ...step })) };
    const found = await applyPlanned(tx, inner, asked.document, { plan: tried, current }, collectFaults);
    await look(tx, plan.steps);
    return serializePlan(ctx, asked, { ...plan, issues: [...plan.issues, ...refused, ...found] }, fingerprint);
  });
}

/** The whole catalogue at once. */
export const catalogService: Service<typeof catalog, Ctx> = {
  async pull(ctx, { query }) {
    requireScopes(ctx, kinds, "read");
    const everything = await loadEverything(ctx.db, ctx, query.catalog, query.all === true);
    const others = await store.countOtherCatalogs(ctx.db, requireOrganization(ctx), query.catalog);
    return { ...writeDocument(query.catalog, everything), others };
  },

  plan: (ctx, { body }) => tryOut(ctx, body),

  async rehearse(ctx, { body }) {
    requireScopes(ctx, [], "read", ["subscriptions:read"]);
    const looks: Terms[] = [];
    const plan = await tryOut(ctx, body, async (tx, steps) => {
      looks.push(await loadTerms(tx, requireOrganization(ctx), steps, looks[0]));
    });
    const [before, after = before] = looks;
    return { ...plan, rehearsal: await compareTerms(ctx, plan, before, after) };
  },

  async apply(ctx, { body }) {
    // A document with keys of its own holds what its changes refer to, too, which nobody has to be allowed to change.
    requireScopes(ctx, listKindsIn(body.document), body.keys ? "read" : "write");
    await checkWithProviders(ctx, body);
    return transact(ctx, async (tx) => {
      const inner = joinTransaction(ctx, tx);
      await store.lockCatalog(tx, requireOrganization(ctx), body.document.catalog, body.keys);
      const { plan, current, fingerprint } = await buildPlan(tx, inner, body);
      if (body.fingerprint && body.fingerprint !== fingerprint) throw rejectStale();
      requireScopes(ctx, getKinds(plan), "write");
      if (plan.issues.length > 0)
        throw new ApiError("CatalogRefused", plan.issues.map(({ path, message }) => `${path}: ${message}`).join(" "));
      await applyPlanned(tx, inner, body.document, { plan, current }, throwFirstFault);
      return serializePlan(ctx, body, plan, fingerprint);
    });
  },

  import: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      requireScopes(ctx, [body.kind], "write");
      const organization_id = requireOrganization(ctx);
      const { catalog: name, kind, key, id } = body;
      await store.lockCatalog(tx, organization_id, name);
      if (!(await store.isThere(tx, organization_id, kind, id)))
        throw invalid(fault(["id"], `There is no such thing among your ${kind}.`, "value_error", id));
      // A key whose thing was deleted by hand is free again.
      const place = { organization_id, catalog: name, kind };
      const before = (await store.findEntries(tx, organization_id, name)).find(
        (entry) => entry.kind === kind && entry.key === key,
      );
      if (before && !(await store.isThere(tx, organization_id, kind, before.id)))
        await store.deleteEntries(tx, place, [key]);
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
