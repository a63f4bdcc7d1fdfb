import { jsonb, timestamp } from "drizzle-orm/pg-core";
import type { Metadata } from "../../shared/contract.ts";

/** A moment in time, whatever the zone of who asks. */
export const instant = () => timestamp({ withTimezone: true });

/** When a row was made, and when it was last changed: null until then. */
export const stamps = () => ({ created_at: instant().notNull(), modified_at: instant() });

/** What sellers note on a row for themselves. */
export const metadata = () => jsonb().$type<Metadata>().notNull().default({});
