import { eq, type SQL, sql } from "drizzle-orm";
import { getAccountSealRow } from "../customers/linked-accounts/service.ts";
import { getSignInSealRow } from "../identity/accounts/storage.ts";
import { documentNames, snapshotRows, snapshots } from "../operations/sandbox/tables.ts";
import type { Database, Deps } from "../platform/context.ts";
import {
  hashWithEach,
  rotateTokenSeals,
  type SealPurpose,
  seal,
  tryUnseal,
  tryUnsealLegacy,
} from "../platform/crypto/secrets.ts";
import { writeArray } from "../platform/db/arrays.ts";
import { upgrades } from "../platform/db/tables.ts";

/** The name under which `upgrades` records that all stored seals have a purpose. */
const upgradeName = "seals-with-purpose";
const batchSize = 500;

type Values = Record<string, string | null>;
type KeyColumn = readonly [name: string, type: "text" | "uuid" | "int"];
/** A column that holds sealed texts. */
type SealedColumn = {
  table: string;
  column: string;
  purpose: SealPurpose;
  key?: readonly KeyColumn[];
  isDocument?: true;
  /** The field of a JSON document that holds the seal. */
  field?: string;
  /** The text before the seal. */
  prefix?: string;
  /** Whether single tokens are sealed in a longer text. */
  hasTokens?: true;
  /** The columns that name the row of the seal, and the name that they make; without them, `id`. */
  owner?: readonly string[];
  name?: (values: Values) => string;
};

const ofOrganization = { owner: ["organization_id"], name: ({ organization_id }: Values) => organization_id ?? "" };

/** Every column in which the server stores what it sealed. */
const sealedColumns: readonly SealedColumn[] = [
  { table: "webhook_endpoints", column: "secret", purpose: "webhook-secret" },
  { table: "license_keys", column: "key_sealed", purpose: "license-key" },
  {
    ...{ table: "lease_keys", column: "seed_sealed", purpose: "lease-seed", key: [["organization_id", "text"]] },
    ...ofOrganization,
  },
  { table: "customer_seats", column: "token", purpose: "seat-invitation" },
  { table: "payments", column: "confirmation_token_id", purpose: "payment-card" },
  { table: "payment_setups", column: "confirmation_token_id", purpose: "setup-card" },
  { table: "checkouts", column: "client_secret", purpose: "checkout-secret" },
  {
    ...{ table: "checkouts", column: "payment_processor_metadata", purpose: "checkout-challenge" },
    ...{ isDocument: true, field: "intent_client_secret" },
  },
  { table: "event_stream_tokens", column: "credential", purpose: "stream-token" },
  { table: "customer_erasures", column: "words", purpose: "erasure-words" },
  { table: "mails", column: "letter", purpose: "mail", key: [["id", "uuid"]] },
  {
    ...{ table: "customer_accounts", column: "tokens_sealed", purpose: "customer-account" },
    owner: ["organization_id", "customer_id", "member_id", "platform"],
    name: ({ organization_id = null, customer_id = null, member_id = null, platform = null }) =>
      getAccountSealRow({ organization_id, customer_id, member_id, platform }),
  },
  {
    ...{ table: "account", column: "idToken", purpose: "id-token", key: [["id", "text"]], prefix: "sealed:" },
    owner: ["providerId", "accountId"],
    name: getSignInSealRow,
  },
  { table: "events", column: "data", purpose: "event-tokens", isDocument: true, hasTokens: true, ...ofOrganization },
  { table: "webhook_events", column: "payload", purpose: "event-tokens", hasTokens: true, ...ofOrganization },
  { table: "webhook_deliveries", column: "response", purpose: "webhook-response", hasTokens: true },
];

/** Where rows of a table are stored: in the table itself, or in a snapshot of a sandbox. */
type Place = { table: SQL; where: SQL; key: readonly KeyColumn[]; read(column: string): SQL; write(text: string): SQL };

const sellerKey: readonly KeyColumn[] = [
  ["organization_id", "text"],
  ["id", "uuid"],
];
const identify = (column: string): SQL => sql`${sql.identifier(column)}`;
const castText = (text: string, isDocument = false): SQL =>
  isDocument ? sql`${text}::text::jsonb` : sql`${text}::text`;

const findTablePlace = ({ table, column, key = sellerKey, isDocument }: SealedColumn): Place => ({
  table: identify(table),
  where: sql`true`,
  key,
  read: (name) => sql`${identify(name)}::text`,
  write: (text) => sql`${identify(column)} = ${castText(text, isDocument)}`,
});

/** The places of a column in the snapshots of sandboxes. */
async function findSnapshotPlaces(db: Database, { table, column, isDocument }: SealedColumn): Promise<Place[]> {
  const saved = await db
    .select({ organization_id: snapshots.organization_id, id: snapshots.id, columns: snapshots.columns })
    .from(snapshots);
  return saved.flatMap(({ organization_id, id, columns: { [table]: columns } }) => {
    if (!columns || ![...columns.texts, ...columns.documents].includes(column)) return [];
    const { texts, documents } = columns;
    const read = (name: string) =>
      texts.includes(name)
        ? sql`texts[${sql.raw(String(texts.indexOf(name) + 1))}]`
        : sql`${identify(documentNames[documents.indexOf(name)] ?? "")}::text`;
    const target = isDocument
      ? identify(documentNames[documents.indexOf(column)] ?? "")
      : sql`texts[${sql.raw(String(texts.indexOf(column) + 1))}]`;
    return {
      table: sql`${snapshotRows}`,
      where: sql`organization_id = ${organization_id} and snapshot_id = ${id}::uuid and kind = ${table}`,
      key: [["place", "int"] as const],
      read,
      write: (text: string) => sql`${target} = ${castText(text, isDocument)}`,
    };
  });
}

/** A stored value that may hold a seal, and the row that the seal is for. */
type Stored = { key: readonly string[]; organization_id: string; name: string; value: string };

/** The next rows of a place that may hold a seal, in the order of its key. */
async function findBatch(db: Database, place: Place, column: SealedColumn, after: Stored | undefined) {
  const owner = column.owner ?? ["id"];
  const value = place.read(column.column);
  const key = sql.join(
    place.key.map(([name]) => identify(name)),
    sql`, `,
  );
  const cursor = after?.key.map((text, index) => sql`${text}::text::${sql.raw(place.key[index]?.[1] ?? "text")}`) ?? [];
  const rows = await db
    .select({
      key: sql<string>`json_build_array(${sql.join(
        place.key.map(([name]) => sql`${identify(name)}::text`),
        sql`, `,
      )})::text`,
      owner: sql<string>`json_build_array(${sql.join(owner.map(place.read), sql`, `)})::text`,
      organization_id: column.hasTokens ? place.read("organization_id") : sql<string>`''`,
      value: sql<string>`${value}`,
    })
    .from(place.table)
    .where(
      sql`${place.where} and ${value} ${column.hasTokens ? sql`like '%{sealed:%'` : sql`<> ''`}
        ${after ? sql`and (${key}) > (${sql.join(cursor, sql`, `)})` : sql``}`,
    )
    .orderBy(...place.key.map(([name]) => identify(name)))
    .limit(batchSize);
  return rows.map((row): Stored => {
    const named = JSON.parse(row.owner) as (string | null)[];
    const values = Object.fromEntries(owner.map((name, index) => [name, named[index] ?? null]));
    const name = column.name ? column.name(values) : (values.id ?? "");
    return {
      key: JSON.parse(row.key) as string[],
      organization_id: String(row.organization_id),
      name,
      value: row.value,
    };
  });
}

type Keys = { secret: string; secrets: readonly string[] };

/** A value with its seal bound to purpose and row; unchanged where it is bound already, or its secret is gone. */
function resealValue({ secret, secrets }: Keys, { purpose, prefix = "", field }: SealedColumn, stored: Stored): string {
  const document = field === undefined ? undefined : (JSON.parse(stored.value) as Values);
  const text = field === undefined ? stored.value : (document?.[field] ?? "");
  if (text === "" || !text.startsWith(prefix)) return stored.value;
  const sealed = text.slice(prefix.length);
  if (tryUnseal(secrets, purpose, stored.name, sealed) !== null) return stored.value;
  const opened = tryUnsealLegacy(secrets, sealed);
  if (opened === null) return stored.value;
  const resealed = prefix + seal(secret, purpose, stored.name, opened);
  return field === undefined ? resealed : JSON.stringify({ ...document, [field]: resealed });
}

/**
 * Find which of these tokens belong to an organization: secrets of its checkouts and of its payments at the processor. A legacy seal
 * opened for everybody who wrote it into a text of their own, so the tokens of others stay sealed.
 */
async function findOwnTokens(db: Database, { secrets }: Keys, organization_id: string, tokens: readonly string[]) {
  const hashes = tokens.flatMap((token) => hashWithEach(secrets, token).map((hash) => ({ token, hash })));
  const intents = tokens.flatMap((token) => {
    const end = token.indexOf("_secret_");
    return end === -1 ? [] : [{ token, processor_id: token.slice(0, end) }];
  });
  const found = await db.select({ name: sql<string>`name` }).from(sql`(
      select secret_hash as name from checkout_secrets where organization_id = ${organization_id}
        and secret_hash in (select unnest(${writeArray(
          hashes.map(({ hash }) => hash),
          "text",
        )}))
      union all select processor_id from payments where organization_id = ${organization_id}
        and processor_id in (select unnest(${writeArray(
          intents.map((one) => one.processor_id),
          "text",
        )}))
      union all select processor_id from payment_setups where organization_id = ${organization_id}
        and processor_id in (select unnest(${writeArray(
          intents.map((one) => one.processor_id),
          "text",
        )}))
    ) as own`);
  const names = new Set(found.map(({ name }) => name));
  return new Set([
    ...hashes.filter(({ hash }) => names.has(hash)).map(({ token }) => token),
    ...intents.filter(({ processor_id }) => names.has(processor_id)).map(({ token }) => token),
  ]);
}

/** Texts with their tokens sealed for the organization that they belong to, and everything else escaped. */
async function resealTexts(db: Database, keys: Keys, { purpose }: SealedColumn, batch: readonly Stored[]) {
  const own = new Map<string, Set<string>>();
  for (const [organization_id, rows] of Map.groupBy(batch, (row) => row.organization_id)) {
    const tokens = new Set<string>();
    for (const { name, value } of rows)
      rotateTokenSeals(keys, purpose, name, value, (token) => {
        tokens.add(token);
        return false;
      });
    own.set(organization_id, await findOwnTokens(db, keys, organization_id, [...tokens]));
  }
  return batch.map(({ organization_id, name, value }) =>
    rotateTokenSeals(keys, purpose, name, value, (token) => own.get(organization_id)?.has(token) ?? false),
  );
}

async function resealPlace(db: Database, keys: Keys, column: SealedColumn, place: Place): Promise<void> {
  for (let after: Stored | undefined, isMore = true; isMore; ) {
    const batch = await findBatch(db, place, column, after);
    const values = column.hasTokens
      ? await resealTexts(db, keys, column, batch)
      : batch.map((stored) => resealValue(keys, column, stored));
    for (const [index, { key, value }] of batch.entries()) {
      const resealed = values[index];
      if (resealed === undefined || resealed === value) continue;
      const isRow = place.key.map(
        ([name, type], part) => sql`${identify(name)} = ${key[part] ?? ""}::text::${sql.raw(type)}`,
      );
      // Another server may have changed it meanwhile.
      await db.execute(sql`update ${place.table} set ${place.write(resealed)}
        where ${place.where} and ${sql.join(isRow, sql` and `)} and ${place.read(column.column)} = ${value}`);
    }
    after = batch.at(-1);
    isMore = batch.length === batchSize;
  }
}

/**
 * Bind every stored seal to its purpose and its row, once: seals of earlier versions were good for every purpose. It may end at any
 * line, and the next start continues.
 */
export async function resealStoredValues({
  db,
  config,
  clock,
  log,
}: Pick<Deps, "db" | "config" | "clock" | "log">): Promise<void> {
  const [done] = await db.select().from(upgrades).where(eq(upgrades.name, upgradeName));
  if (done) return;
  for (const column of sealedColumns)
    for (const place of [findTablePlace(column), ...(await findSnapshotPlaces(db, column))])
      await resealPlace(db, config, column, place);
  await db.insert(upgrades).values({ name: upgradeName, finished_at: clock.now() }).onConflictDoNothing();
  log.info({ upgrade: upgradeName }, "All stored secrets are sealed for their purpose and their row.");
}
