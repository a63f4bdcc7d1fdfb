import { type Catalog, type Kind, kinds } from "../../shared/catalog/document.ts";
import type { Rows } from "../../shared/catalog/forms.ts";
import type { Current } from "../../shared/catalog/plan.ts";
import { benefitOut } from "../benefits/rules.ts";
import { findBenefits } from "../benefits/store.ts";
import { linkOut } from "../checkout-links/rules.ts";
import { findLinks } from "../checkout-links/store.ts";
import { customFieldOut } from "../custom-fields/rules.ts";
import { findCustomFields } from "../custom-fields/store.ts";
import { discountOut } from "../discounts/rules.ts";
import { findDiscounts } from "../discounts/store.ts";
import { type Ctx, type Database, organizationOf } from "../lib/context.ts";
import { meterOut } from "../meters/rules.ts";
import { findMeters } from "../meters/store.ts";
import { findOrganization } from "../organizations/store.ts";
import { productOut } from "../products/rules.ts";
import { findProducts } from "../products/store.ts";
import { findShownEndpoints } from "../webhooks/service.ts";
import * as store from "./store.ts";

type Reader<K extends Kind> = (db: Database, ctx: Ctx, organization_id: string, ids: string[]) => Promise<Rows[K][]>;
const readers: { [K in Kind]: Reader<K> } = {
  meters: async (db, _, organization_id, ids) => (await findMeters(db, organization_id, ids)).map(meterOut),
  benefits: async (db, _, organization_id, ids) => (await findBenefits(db, organization_id, ids)).map(benefitOut),
  custom_fields: async (db, _, organization_id, ids) =>
    (await findCustomFields(db, organization_id, ids)).map(customFieldOut),
  products: async (db, ctx, organization_id, ids) =>
    (await findProducts(db, organization_id, ids)).map((row) => productOut(row, ctx.config.media_url)),
  discounts: async (db, _, organization_id, ids) => (await findDiscounts(db, organization_id, ids)).map(discountOut),
  checkout_links: async (db, ctx, organization_id, ids) =>
    (await findLinks(db, organization_id, ids)).map((whole) => linkOut(whole, ctx.config)),
  webhooks: (db, ctx, organization_id, ids) => findShownEndpoints(db, ctx, organization_id, ids),
};

/** The names by which a thing of the file could be known already. */
function marksOf(kind: Kind, items: Record<string, unknown>): string[] {
  return Object.entries(items).flatMap(([key, value]) => {
    const item = value as Record<string, unknown>;
    const fields = {
      meters: ["name"],
      benefits: ["description"],
      custom_fields: ["slug"],
      products: ["name"],
      discounts: ["name", "code"],
      checkout_links: ["label"],
      webhooks: ["url", "name"],
    }[kind];
    const marks = fields.flatMap((field) => (typeof item[field] === "string" ? [item[field]] : []));
    return kind === "custom_fields" && marks.length === 0 ? [key] : marks;
  });
}

/** The names of files anywhere in a document. */
function fileNames(document: Catalog): string[] {
  const pictures = Object.values(document.products ?? {}).flatMap(({ medias }) => medias ?? []);
  const downloads = Object.values(document.benefits ?? {}).flatMap(({ properties = {} }) =>
    [properties.files, properties.archived].flatMap((list) => (Array.isArray(list) ? list.map(String) : [])),
  );
  return [...new Set([...pictures, ...downloads])];
}

/** What of a kind counts besides what has a key of the catalogue, by its ids; `alive` are the keys whose things are there. */
type Others = (kind: Kind, alive: ReadonlySet<string>) => Promise<string[]>;

async function gather(
  db: Database,
  ctx: Ctx,
  catalog: string,
  names: readonly string[] | undefined,
  others: Others,
): Promise<Current> {
  const organization_id = organizationOf(ctx);
  const entries = await store.entriesOf(db, organization_id, catalog);
  const rows = {} as Record<Kind, unknown[]>;
  for (const kind of kinds) {
    const keyed = entries.filter((entry) => entry.kind === kind);
    const found = (ids: string[]) => (ids.length === 0 ? [] : readers[kind](db, ctx, organization_id, ids));
    const here = await found(keyed.map(({ id }) => id));
    const present = new Set(here.map(({ id }) => id));
    const alive = new Set(keyed.filter(({ id }) => present.has(id)).map(({ key }) => key));
    rows[kind] = [...here, ...(await found(await others(kind, alive)))];
  }
  const owner = await findOrganization(db, organization_id);
  return {
    currency: owner?.default_presentment_currency ?? "usd",
    entries,
    rows: rows as Current["rows"],
    files: [...(await store.filesOf(db, organization_id, names))],
  };
}

/** What the server has of a catalogue, and what could be taken for what the file asks for. */
export const currentOf = (db: Database, ctx: Ctx, document: Catalog): Promise<Current> =>
  gather(db, ctx, document.catalog, fileNames(document), (kind, alive) => {
    // What was deleted by hand may have been made anew by hand, so a key without its thing looks around as a new one does.
    const fresh = Object.entries(document[kind] ?? {}).filter(([key]) => !alive.has(key));
    return store.findUnmanaged(db, organizationOf(ctx), kind, marksOf(kind, Object.fromEntries(fresh)));
  });

/** Everything of the catalogue that has a key, and with `all` also what has none. */
export const everything = (db: Database, ctx: Ctx, catalog: string, all: boolean): Promise<Current> =>
  gather(db, ctx, catalog, undefined, async (kind) => (all ? store.findUnmanaged(db, organizationOf(ctx), kind) : []));
