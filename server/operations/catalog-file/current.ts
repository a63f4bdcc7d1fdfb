import type { Catalog } from "../../../shared/catalog/document.ts";
import { getKind, type Item } from "../../../shared/catalog/kinds/index.ts";
import { type Kind, kinds } from "../../../shared/catalog/kinds/kind.ts";
import type { Current, Entry } from "../../../shared/catalog/plan.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, type Database, requireOrganization } from "../../platform/context.ts";
import { servedKinds } from "./kinds/index.ts";
import * as store from "./store.ts";

/** The names by which a thing of the file could be known already. */
const getMarks = (kind: Kind, items: Record<string, Item>): string[] =>
  Object.entries(items).flatMap(([key, item]) =>
    getKind(kind)
      .marksOf(item, key)
      .filter((mark) => typeof mark === "string"),
  );

/** The names of files anywhere in a document. */
function listFileNames(document: Catalog): string[] {
  const pictures = Object.values(document.products ?? {}).flatMap(({ medias }) => medias ?? []);
  const downloads = Object.values(document.benefits ?? {}).flatMap(({ properties = {} }) =>
    [properties.files, properties.archived].flatMap((list) => (Array.isArray(list) ? list.map(String) : [])),
  );
  return [...new Set([...pictures, ...downloads])];
}

/** What of a kind counts besides what has a key of the catalogue, by its ids; `alive` are the keys whose things are there. */
type Others = (kind: Kind, alive: ReadonlySet<string>) => Promise<string[]>;

async function loadCurrentRows(
  db: Database,
  ctx: Ctx,
  entries: Entry[],
  names: readonly string[] | undefined,
  others: Others,
): Promise<Current> {
  const organization_id = requireOrganization(ctx);
  const rows = {} as Record<Kind, unknown[]>;
  for (const kind of kinds) {
    const keyed = entries.filter((entry) => entry.kind === kind);
    const readRows = (ids: string[]) => (ids.length === 0 ? [] : servedKinds[kind].read(db, ctx, organization_id, ids));
    const here = await readRows(keyed.map(({ id }) => id));
    const present = new Set(here.map(({ id }) => id));
    const alive = new Set(keyed.filter(({ id }) => present.has(id)).map(({ key }) => key));
    rows[kind] = [...here, ...(await readRows(await others(kind, alive)))];
  }
  const owner = await findOrganization(db, organization_id);
  return {
    currency: owner?.default_presentment_currency ?? "usd",
    entries,
    rows: rows as Current["rows"],
    files: [...(await store.findFiles(db, organization_id, names))],
  };
}

/** A catalog, and the things that its keys mean where the request says it. */
export type CatalogRequest = { document: Catalog; keys?: Entry[] | undefined };

/** What the server has of a catalogue, and what could be taken for what the file asks for. */
export async function loadCurrent(db: Database, ctx: Ctx, { document, keys }: CatalogRequest): Promise<Current> {
  const organization_id = requireOrganization(ctx);
  const entries = keys ?? (await store.findEntries(db, organization_id, document.catalog));
  return loadCurrentRows(db, ctx, entries, listFileNames(document), async (kind, alive) => {
    if (keys) return [];
    // What was deleted by hand may have been made anew by hand, so a key without its thing looks around as a new one does.
    const fresh = Object.entries(document[kind] ?? {}).filter(([key]) => !alive.has(key));
    return store.findUnmanaged(db, organization_id, kind, getMarks(kind, Object.fromEntries(fresh)));
  });
}

/** Everything of the catalogue that has a key, and with `all` also what has none. */
export async function loadEverything(db: Database, ctx: Ctx, catalog: string, all: boolean): Promise<Current> {
  const organization_id = requireOrganization(ctx);
  const entries = await store.findEntries(db, organization_id, catalog);
  return loadCurrentRows(db, ctx, entries, undefined, async (kind) =>
    all ? store.findUnmanaged(db, organization_id, kind) : [],
  );
}
