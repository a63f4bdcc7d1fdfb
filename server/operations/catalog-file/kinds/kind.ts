/** What the server does with each kind of thing in a catalogue: one file beside this one for each. */
import type { SQL } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Fields } from "../../../../shared/catalog/compare.ts";
import type { Item, Rows } from "../../../../shared/catalog/kinds/index.ts";
import type { Ids, Kind } from "../../../../shared/catalog/kinds/kind.ts";
import type { Change } from "../../../../shared/catalog/plan.ts";
import type { Operation } from "../../../../shared/contract.ts";
import type { Ctx, Database, Tx } from "../../../platform/context.ts";
import type { Batch } from "../../../platform/db/batches.ts";

/** Where its things are kept. */
export type Source = {
  table: PgTable;
  id: AnyPgColumn;
  organization_id: AnyPgColumn;
  /** What is true of those that were not deleted. */
  alive?: SQL;
  /** The names by which a thing of the file may be known already. */
  marks: AnyPgColumn[];
};
/** What a product gives. */
export type KindRest = { benefits: string[] };
export type ServedKind<K extends Kind = Kind> = {
  source: Source;
  /** These things as the API answers them, in no order. */
  read(db: Database, ctx: Ctx, organization_id: string, ids: string[]): Promise<Rows[K][]>;
  /** What the API's own operations do, for many at once, in as many statements for one as for a thousand. */
  create(tx: Tx, ctx: Ctx, bodies: readonly never[]): Promise<Batch<{ id: string }>>;
  update(tx: Tx, ctx: Ctx, changes: readonly { id: string; body: never }[]): Promise<Batch<unknown>>;
  remove?(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<unknown>>;
  shapes: { create: Operation; update: Operation };
  /** What of these changes is set by a call of its own, once the thing is there. */
  readRest?(changes: readonly Change[], ids: Ids): KindRest | undefined;
  setRest?(tx: Tx, ctx: Ctx, wanted: readonly { id: string; rest: KindRest }[]): Promise<Batch<unknown>>;
  /** Whether others may have to be asked about such a thing. */
  isAsked?(item: Item<K>): boolean;
  /** What they have to be asked before it is made or changed so; nothing where they need not be. */
  questionFor?(ctx: Ctx, item: Item<K>, changes: readonly Change[], body: Fields): (() => Promise<void>) | undefined;
};
