import { index, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";
import type { StreamFilters } from "./reader.ts";

/** What opens one stream of events within a minute, for pages that can send no headers. Of the token there is a keyed hash (STR-10). */
export const eventStreamTokens = pgTable(
  "event_stream_tokens",
  {
    ...owned(),
    token_hash: text().notNull(),
    /** Who the stream is for: their key or session, sealed. It is read once, and deleted with the row. */
    credential: text().notNull(),
    filters: jsonb().$type<StreamFilters>().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    index("event_stream_tokens_by_token").on(table.token_hash),
    index("event_stream_tokens_by_end").on(table.expires_at),
  ],
);
