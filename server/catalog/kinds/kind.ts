/** What the server does with each kind of thing in a catalogue: one file beside this one for each. */
import type { SQL } from "drizzle-orm";
import type { AnyPgColumn, PgTable } from "drizzle-orm/pg-core";
import type { Fields } from "../../../shared/catalog/compare.ts";
import type { Item, Rows } from "../../../shared/catalog/kinds/index.ts";
import type { Ids, Kind } from "../../../shared/catalog/kinds/kind.ts";
import type { Change } from "../../../shared/catalog/plan.ts";
import type { Operation } from "../../../shared/contract.ts";
import type { ApiError } from "../../../shared/errors.ts";
import type { Ctx, Database, Tx } from "../../lib/context.ts";

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
export type ServedKind<K extends Kind = Kind> = {
  source: Source;
  /** These things as the API answers them, in no order. */
  read(db: Database, ctx: Ctx, organization_id: string, ids: string[]): Promise<Rows[K][]>;
  /** The operations that everybody uses, within the one transaction. */
  create(tx: Tx, ctx: Ctx, body: never): Promise<{ id: string }>;
  /** The same for many at once, which name none of each other: each that was made, or what was wrong with it, in their order. */
  createMany?(tx: Tx, ctx: Ctx, bodies: readonly never[]): Promise<({ id: string } | ApiError)[]>;
  update(tx: Tx, ctx: Ctx, id: string, body: never): Promise<unknown>;
  remove?(tx: Tx, ctx: Ctx, id: string): Promise<unknown>;
  shapes: { create: Operation; update: Operation };
  /** What is set by a call of its own, once the thing is there. */
  finish?(ctx: Ctx, id: string, changes: readonly Change[], ids: Ids): Promise<unknown>;
  /** Whether others may have to be asked about such a thing. */
  isAsked?(item: Item<K>): boolean;
  /** What they have to be asked before it is made or changed so; nothing where they need not be. */
  questionFor?(ctx: Ctx, item: Item<K>, changes: readonly Change[], body: Fields): (() => Promise<void>) | undefined;
};
