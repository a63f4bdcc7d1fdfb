import { and, eq, inArray, isNull, ne, type Placeholder, type SQL, sql } from "drizzle-orm";
import { personalFields } from "../../../shared/system-events.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { formatArray, readArray, writeArray } from "../../platform/db/arrays.ts";
import { isAmong, type RowKey, readRows } from "../../platform/db/rows.ts";
import { writeOnce } from "../../platform/db/statements.ts";
import { readWindows, writeWindows } from "../meters/balances-store.ts";
import { readCounting, writeCounting, writeCountingLock } from "../meters/store.ts";
import type { EventRow } from "./rules.ts";
import { usageEvents, usageKeys, usageNames, usageWaiting } from "./tables.ts";

const selectValues = (values: SQL): SQL => sql`(select * from unnest(${values}))`;

/** A customer whose events come: as they are found by what events name. */
export type NamedCustomer = { id: string; external_id: string | null; first_user_event_at: Date | null };

/** A value of a statement, or where it will stand; a list is the text of one. */
type Asked = string | Placeholder;

const matchLiving = (where: SQL) => and(isNull(customers.deleted_at), where);
/**
 * An organization's own keys, each by both, so that each is looked up by itself, however many rows there are. The list is a query of its
 * own, of whose length nothing is known beforehand: else the database takes a plan for each length to be better than the one
 * that it keeps, and to plan takes longer than to look few up.
 */
const listKeys = (organization_id: Asked, keys: Asked, type: "text" | "uuid"): SQL =>
  sql`(select ${organization_id}::text, unnest((select ${readArray(keys, type)})))`;
const hasExternal = (organization_id: Asked, external_ids: Asked): SQL =>
  sql`(${customers.organization_id}, ${customers.external_id}) in ${listKeys(organization_id, external_ids, "text")}`;
const namedColumns = {
  id: customers.id,
  external_id: customers.external_id,
  first_user_event_at: customers.first_user_event_at,
};

/** The living customers who have these ids of the seller's own. */
export const findNamed = (tx: Tx, organization_id: string, external_ids: readonly string[]): Promise<NamedCustomer[]> =>
  tx
    .select(namedColumns)
    .from(customers)
    .where(matchLiving(hasExternal(organization_id, formatArray(external_ids))));

/** What events name: customers, by our ids or the seller's own, and external ids of events. */
type Names = { ids: readonly string[]; external_ids: readonly string[]; keys: readonly string[] };

const writeStanding = writeOnce(["organization_id", "ids", "external_ids", "keys"], (asked) => {
  const { organization_id, external_ids } = asked;
  const select = (where: SQL) =>
    sql`select ${sql.join(Object.values(namedColumns), sql`, `)} from ${customers} where ${matchLiving(where)}`;
  const byId = sql`(${customers.organization_id}, ${customers.id}) in ${listKeys(organization_id, asked.ids, "uuid")}`;
  const { meters, version } = writeCounting(organization_id);
  return sql`(select named.customers, ${writeWindows(organization_id, sql`named.ids`)} as windows,
    (select coalesce(json_agg(k), '[]') from (select ${sql.join(Object.values(keyColumns), sql`, `)}
      from ${usageKeys} where ${isKnown(organization_id, asked.keys)}) k) as keys, ${meters} as meters, ${version} as version
    from (select coalesce(json_agg(c), '[]') as customers, array_agg(c.id) as ids
      from (${select(byId)} union ${select(hasExternal(organization_id, external_ids))}) c
      where (select ${writeCountingLock(organization_id)}) is not null) named) standing`;
});
const standingColumns = {
  customers: sql`standing.customers`.mapWith((rows): NamedCustomer[] => readRows(customers, rows)),
  windows: sql`standing.windows`.mapWith(readWindows),
  keys: sql<EventKey[]>`standing.keys`,
  meters: sql`standing.meters`.mapWith(readCounting),
  version: sql<string>`standing.version`,
};

/**
 * All that events are held against, by one statement: the living customers that they name, how their meters stand, the meters that
 * count, and which external ids of events are known. What meters count stays as it is from here on; `version` says what it was when
 * they were read, as somebody may have changed it just before.
 */
export async function findStanding(tx: Tx, organization_id: string, { ids, external_ids, keys }: Names) {
  const [row] = await tx.select(standingColumns).from(
    writeStanding({
      organization_id,
      ids: formatArray(ids),
      external_ids: formatArray(external_ids),
      keys: formatArray(keys),
    }),
  );
  if (!row) throw new Error("The database has answered nothing.");
  return row;
}

/**
 * Note external ids for which events will wait. Whoever makes a customer with one of them meanwhile waits for the end of the
 * transaction, and finds them; whoever has made one just now is waited for.
 */
export async function insertWaiting(
  tx: Tx,
  organization_id: string,
  rows: readonly { id: string; external_customer_id: string }[],
): Promise<void> {
  const sorted = rows.toSorted((a, b) => (a.external_customer_id < b.external_customer_id ? -1 : 1));
  await tx.execute(sql`
    insert into ${usageWaiting} (id, organization_id, external_customer_id)
    select waiting.id, ${organization_id}, waiting.external_customer_id
    from unnest(${writeArray(
      sorted.map(({ id }) => id),
      "uuid",
    )}, ${writeArray(
      sorted.map(({ external_customer_id }) => external_customer_id),
      "text",
    )}) with ordinality as waiting (id, external_customer_id, place) order by place
    on conflict (organization_id, external_customer_id) do update set external_customer_id = excluded.external_customer_id`);
}

/** Note that there is a customer now for whom events may wait. */
export const markWaitingAttachable = (
  tx: Tx,
  values: { id: string; organization_id: string; external_customer_id: string; due_at: Date },
): Promise<unknown> =>
  tx
    .insert(usageWaiting)
    .values(values)
    .onConflictDoUpdate({
      target: [usageWaiting.organization_id, usageWaiting.external_customer_id],
      set: { due_at: values.due_at },
    });

/** What is noted of an external id, kept until the transaction ends. */
export async function lockWaiting(tx: Tx, organization_id: string, id: string) {
  const [row] = await tx
    .select()
    .from(usageWaiting)
    .where(and(eq(usageWaiting.organization_id, organization_id), eq(usageWaiting.id, id)))
    .for("update");
  return row;
}

type WaitingRow = typeof usageWaiting.$inferSelect;
const isSameWaiting = ({ organization_id, id }: WaitingRow) =>
  and(eq(usageWaiting.organization_id, organization_id), eq(usageWaiting.id, id));
/** Nothing waits any more. */
export const deleteWaiting = (tx: Tx, row: WaitingRow): Promise<unknown> =>
  tx.delete(usageWaiting).where(isSameWaiting(row));
/** There is nobody with that external id after all. */
export const putOffWaiting = (tx: Tx, row: WaitingRow): Promise<unknown> =>
  tx.update(usageWaiting).set({ due_at: null }).where(isSameWaiting(row));

/** Give so many of the events that wait for an external id to the customer who has it now. */
export const attachEvents = (
  tx: Tx,
  { organization_id, external_customer_id }: WaitingRow,
  { customer_id, attached_key }: { customer_id: string; attached_key: string },
  limit: number,
): Promise<EventRow[]> =>
  tx
    .update(usageEvents)
    .set({ customer_id, attached_key })
    .where(
      and(
        eq(usageEvents.organization_id, organization_id),
        inArray(
          usageEvents.id,
          tx
            .select({ id: usageEvents.id })
            .from(usageEvents)
            .where(
              and(
                eq(usageEvents.organization_id, organization_id),
                eq(usageEvents.external_customer_id, external_customer_id),
                isNull(usageEvents.customer_id),
              ),
            )
            .limit(limit),
        ),
      ),
    )
    .returning();

export type EventKey = { external_id: string; event_id: string; digest: string };
const keyColumns = { external_id: usageKeys.external_id, event_id: usageKeys.event_id, digest: usageKeys.digest };

const isKnown = (organization_id: Asked, external_ids: Asked): SQL =>
  sql`(${usageKeys.organization_id}, ${usageKeys.external_id}) in ${listKeys(organization_id, external_ids, "text")}`;

/** What is known of these external ids of events. */
export const findKeys = (db: Database, organization_id: string, external_ids: readonly string[]): Promise<EventKey[]> =>
  db
    .select(keyColumns)
    .from(usageKeys)
    .where(isKnown(organization_id, formatArray(external_ids)));

/** Take these external ids for ever, a row for each that was free. They are taken in one order, so that none waits in a ring. */
function writeKeys(organization_id: string, keys: readonly EventKey[]): SQL {
  const sorted = keys.toSorted((a, b) => (a.external_id < b.external_id ? -1 : 1));
  const pick = (key: keyof EventKey) => formatArray(sorted.map((one) => one[key]));
  const [external_ids, event_ids, digests] = [pick("external_id"), pick("event_id"), pick("digest")];
  return writeTaken({ organization_id, external_ids, event_ids, digests });
}
const writeTaken = writeOnce(
  ["organization_id", "external_ids", "event_ids", "digests"],
  (asked) => sql`insert into ${usageKeys} (organization_id, external_id, event_id, digest)
    select ${asked.organization_id}, taken.external_id, taken.event_id, taken.digest
    from unnest(${readArray(asked.external_ids, "text")}, ${readArray(asked.event_ids, "uuid")},
      ${readArray(asked.digests, "uuid")}) with ordinality as taken (external_id, event_id, digest, place) order by place
    on conflict do nothing returning 1`,
);

/** Events by their ids, as parents of others: how deep they are. */
export const findParents = (db: Database, organization_id: string, ids: readonly string[]) =>
  ids.length === 0
    ? Promise.resolve([])
    : db
        .select({ id: usageEvents.id, depth: usageEvents.depth })
        .from(usageEvents)
        .where(
          and(
            eq(usageEvents.organization_id, organization_id),
            sql`${usageEvents.id} in ${selectValues(writeArray(ids, "uuid"))}`,
          ),
        );

/** How often a name came, and when. */
export type SeenName = Omit<typeof usageNames.$inferSelect, "id" | "organization_id">;

/** How often each name is among these events, and when. */
const listSeenNames = (rows: readonly EventRow[]): SeenName[] =>
  [...Map.groupBy(rows, ({ name, source }) => `${source} ${name}`).values()].flatMap((some): SeenName[] => {
    const [one] = some;
    if (!one) return [];
    const times = some.map(({ timestamp }) => timestamp.getTime());
    const [first, last] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
    const { name, source } = one;
    return [{ name, source, occurrences: some.length, first_seen: new Date(first), last_seen: new Date(last) }];
  });

const writeSeen = writeOnce(
  ["organization_id", "seen"],
  (asked) => sql`
  insert into ${usageNames} (organization_id, name, source, occurrences, first_seen, last_seen)
  select ${asked.organization_id}, n.name, n.source, n.occurrences, n.first_seen, n.last_seen
  from json_to_recordset(${asked.seen}::json)
    as n (name text, source text, occurrences bigint, first_seen timestamptz, last_seen timestamptz)`,
);
const writeNames = (organization_id: string, rows: readonly EventRow[]): SQL =>
  writeSeen({ organization_id, seen: JSON.stringify(listSeenNames(rows)) });

/** The columns of events that are written, and what each is. */
const eventTypes = {
  depth: "smallint",
  id: "uuid",
  source: "text",
  timestamp: "timestamptz",
  name: "text",
  customer_id: "uuid",
  external_customer_id: "text",
  external_id: "text",
  parent_id: "uuid",
  member_id: "uuid",
  external_member_id: "text",
  metadata: "jsonb",
} as const;
type EventColumn = keyof typeof eventTypes;
const eventColumns = Object.keys(eventTypes) as EventColumn[];
const writeLists = writeOnce(["organization_id", ...eventColumns], (asked) => {
  const named = sql.raw(eventColumns.join(", "));
  const lists = eventColumns.map((name) => readArray(asked[name], eventTypes[name]));
  const values = eventColumns.map((name) => sql.raw(name === "depth" ? "coalesce(e.depth, 0)" : `e.${name}`));
  return sql`insert into ${usageEvents} (organization_id, ${named})
    select ${asked.organization_id}, ${sql.join(values, sql`, `)}
    from unnest(${sql.join(lists, sql`, `)}) as e (${named})`;
});

/** The text is the same for any number. What none of the events has is a list of nothing, which the database makes as long as the others. */
function writeEvents(organization_id: string, rows: readonly EventRow[]): SQL {
  const pick = <K extends EventColumn>(key: K, format: (value: NonNullable<EventRow[K]>) => string | number = String) =>
    formatArray(
      rows.some((row) => row[key] !== null)
        ? rows.map(({ [key]: value }) => (value === null ? null : format(value)))
        : [],
    );
  return writeLists({
    organization_id,
    depth: formatArray(rows.some(({ depth }) => depth > 0) ? rows.map(({ depth }) => depth) : []),
    id: pick("id"),
    source: pick("source"),
    timestamp: pick("timestamp", (at) => at.toISOString()),
    name: pick("name"),
    customer_id: pick("customer_id"),
    external_customer_id: pick("external_customer_id"),
    external_id: pick("external_id"),
    parent_id: pick("parent_id"),
    member_id: pick("member_id"),
    external_member_id: pick("external_member_id"),
    metadata: pick("metadata", (data) => JSON.stringify(data)),
  });
}

const writeVersion = writeOnce(["organization_id"], ({ organization_id }) => writeCounting(organization_id).version);

/**
 * Write events, add to how often their names came, take their external ids, and note what was used, so that it is one question. Answers how many ids
 * were free, whether a meter was reset meanwhile, and what meters count by now (`version`): where these are not as they were
 * thought to be, the transaction is to be undone.
 */
export async function insertUse(
  tx: Tx,
  organization_id: string,
  rows: readonly EventRow[],
  { keys, used }: { keys: readonly EventKey[]; used: SQL },
) {
  const defineStep = (name: string, written: SQL) => tx.$with(name, {}).as(written);
  const [row] = await tx
    .with(
      defineStep("taken", writeKeys(organization_id, keys)),
      defineStep("used", used),
      defineStep("named", writeNames(organization_id, rows)),
      defineStep("written", writeEvents(organization_id, rows)),
    )
    // The ids are taken first, then the rows of meters.
    .select({
      taken: sql`(select count(*) from taken)`.mapWith(Number),
      moved: sql<boolean>`(select coalesce(bool_or(moved), false) from used)`,
      version: sql<string>`${writeVersion({ organization_id })}`,
    })
    .from(sql`(select) one`);
  if (!row) throw new Error("The database has answered nothing.");
  return row;
}

/** Add up how often names came to one row for each; answers of how many. */
export async function addUpNames(db: Database, limit: number): Promise<number> {
  const { organization_id, name, source } = usageNames;
  const loose = await db
    .select({ organization_id, name, source })
    .from(usageNames)
    .groupBy(organization_id, name, source)
    .having(sql`count(*) > 1`)
    .limit(limit);
  // In one statement, so that at no moment there are more or fewer.
  for (const one of loose)
    await db.execute(sql`
      with gone as (delete from ${usageNames} where organization_id = ${one.organization_id} and name = ${one.name}
        and source = ${one.source} returning occurrences, first_seen, last_seen)
      insert into ${usageNames} (organization_id, name, source, occurrences, first_seen, last_seen)
      select ${one.organization_id}, ${one.name}, ${one.source}, sum(occurrences), min(first_seen), max(last_seen)
      from gone having count(*) > 0`);
  return loose.length;
}

/** So many events of a customer's are gone through at once. */
const erasedTogether = 1000;

/**
 * Take texts out of what a customer has used, but those that a meter reads: numbers are what is billed. A slice, after the cursor;
 * answers the next one, or null where that was all.
 */
export async function eraseUse(
  tx: Tx,
  { organization_id, id }: RowKey,
  cursor: string | null,
  kept: readonly string[],
): Promise<string | null> {
  const e = usageEvents;
  const [after, at] = cursor === null ? [] : [cursor.slice(0, uuidLength), cursor.slice(uuidLength)];
  const rows = await tx
    .select({ id: e.id, at: sql<string>`${e.timestamp}::text` })
    .from(e)
    .where(
      and(
        eq(e.organization_id, organization_id),
        eq(e.customer_id, id),
        after ? sql`(${e.timestamp}, ${e.id}) > (${at}::timestamptz, ${after}::uuid)` : undefined,
      ),
    )
    .orderBy(e.timestamp, e.id)
    .limit(erasedTogether);
  const personal = writeArray(personalFields, "text");
  const isForgotten = sql`jsonb_typeof(m.value) = 'string' and not m.key = any(${writeArray(kept, "text")})`;
  const those = isAmong(
    organization_id,
    e.id,
    rows.map((row) => row.id),
  );
  // What floe notes itself says who they are in fields of its own.
  await tx
    .update(e)
    .set({
      metadata: sql`(select jsonb_object_agg(m.key, case when m.key = any(${personal}) then 'null' else m.value end)
        from jsonb_each(${e.metadata}) m)`,
    })
    .where(and(eq(e.source, "system"), those, sql`${e.metadata} ?| ${personal}`));
  await tx
    .update(e)
    .set({
      metadata: sql`(select coalesce(jsonb_object_agg(m.key, m.value) filter (where not (${isForgotten})), '{}')
        from jsonb_each(${e.metadata}) m)`,
    })
    .where(
      and(ne(e.source, "system"), those, sql`exists (select 1 from jsonb_each(${e.metadata}) m where ${isForgotten})`),
    );
  const last = rows.length === erasedTogether ? rows.at(-1) : undefined;
  return last ? `${last.id}${last.at}` : null;
}
const uuidLength = 36;
