import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";

/** PostgreSQL through either driver. A transaction is one too, so reads take either. */
export type Database = PgDatabase<PgQueryResultHKT>;
/** A transaction, and only a transaction: a pool cannot be passed where one is asked for. */
export type Tx = Parameters<Parameters<Database["transaction"]>[0]>[0];
