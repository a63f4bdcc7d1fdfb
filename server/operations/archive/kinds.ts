import { type SQL, sql } from "drizzle-orm";
import { getAccountSealRow } from "../../customers/linked-accounts/service.ts";
import type { Database } from "../../platform/context.ts";
import type { SealPurpose } from "../../platform/crypto/secrets.ts";
import { findTables } from "../sandbox/snapshots.ts";

/** A table of an archive. `columns` are in its rows as they are; `sealed` are secrets, sealed for the passphrase. */
export type ArchiveKind = { kind: string; columns: string[]; sealed: string[]; key: string[]; required: string[] };

/** Tables of sellers that no archive has, besides those that no snapshot has, and why. */
export const leftOut: Record<string, string> = {
  customer_state_notices: "waits to be sent by the server where it waits",
  failed_work: "fails at the server where it failed",
  incoming_events: "came to this server alone",
  invoice_export_orders: "is a file that is made and fetched once",
  invoice_exports: "is a file that is made and fetched once",
  list_tallies: "follows from the rows",
  mails: "are sent by the server where they wait",
  metric_tallies: "follows from the rows",
  order_confirmations: "waits to be mailed by the server where it waits",
  polar_connections: "is the connection of this server",
  polar_leases: "is the connection of this server",
  polar_objects: "is a mirror, which is read again",
  polar_refusals: "is the connection of this server",
  polar_syncs: "is the connection of this server",
  processor_events: "came to this server alone",
  product_sellers: "follows from the products",
  checkout_link_secrets: "follows from the links",
  checkout_secrets: "follows from the checkouts",
  subscription_letters: "waits to be mailed by the server where it waits",
  test_events: "came to this server alone",
  webhook_deliveries: "were sent already",
  webhook_events: "were sent already, or are by the server where they wait",
  webhook_replays: "sends events, which are left out",
};

/** Columns that no archive has: they are about a process, a place or a number of this server. */
export const omitted: Record<string, readonly string[]> = {
  checkouts: ["payment_processor_metadata"],
  customer_accounts: ["renewing_until"],
  customer_erasures: ["words", "fence"],
  customer_seats: ["token_hash", "mail_due_at"],
  events: ["seq", "xid", "dispatched_at"],
  files: ["path", "storage_version", "upload_id", "upload_parts"],
  grant_accesses: ["leased_until"],
  grant_runs: ["fence"],
  license_keys: ["key_hash"],
  payment_setups: ["process_id", "confirmation_token_id"],
  payments: ["process_id", "confirmation_token_id"],
  usage_names: ["id"],
  webhook_endpoints: [
    ...["previous_secrets", "enabled", "since_seq", "paused_until", "failures", "failing_since"],
    ...["due_at", "lease", "process_id", "off_since"],
  ],
};

/** What such a column is set to where its default would be wrong. An endpoint is off, and is sent nothing of before. */
export const fixed: Record<string, Record<string, SQL>> = {
  // Streams begin after them, and no endpoint is sent them: they were emitted by the server that they come from.
  events: { xid: sql`0`, dispatched_at: sql`now()` },
  payment_setups: { confirmation_token_id: sql`''` },
  webhook_endpoints: { enabled: sql`false`, since_seq: sql`coalesce((select max(seq) from events), 0)` },
};

type Row = Record<string, unknown>;
type SealedColumn = { column: string; purpose: SealPurpose; findRow(row: Row, organization_id: string): string };
const findId = (row: Row): string => String(row.id);

/** Columns that are sealed with the secret of the server, for which row. */
export const sealedColumns: Record<string, readonly SealedColumn[]> = {
  checkouts: [{ column: "client_secret", purpose: "checkout-secret", findRow: findId }],
  customer_accounts: [
    {
      column: "tokens_sealed",
      purpose: "customer-account",
      findRow: (row, organization_id) => getAccountSealRow({ ...row, organization_id } as never),
    },
  ],
  customer_seats: [{ column: "token", purpose: "seat-invitation", findRow: findId }],
  lease_keys: [{ column: "seed_sealed", purpose: "lease-seed", findRow: (_, organization_id) => organization_id }],
  license_keys: [{ column: "key_sealed", purpose: "license-key", findRow: findId }],
  webhook_endpoints: [
    { column: "secret", purpose: "webhook-secret", findRow: findId },
    { column: "headers", purpose: "webhook-headers", findRow: findId },
  ],
};

/** The place of a secret in an archive, by the row that it was sealed for at its server: it opens there alone. */
export const getSecretPlace = (kind: string, column: string, row: string): string => `${kind} ${column} ${row}`;

/** Tables whose rows are the test processor's, which knows no organizations: one that is here already becomes the organization's. */
export const isOfTestProcessor = (kind: string): boolean => kind.startsWith("test_");

/** The tables of an archive, each after the tables it refers to. */
export async function listKinds(db: Database): Promise<ArchiveKind[]> {
  const tables = await findTables(db);
  return tables
    .filter(({ name }) => !Object.hasOwn(leftOut, name))
    .map(({ name: kind, columns, key, required }) => {
      const sealed = (sealedColumns[kind] ?? []).map(({ column }) => column);
      const without = new Set(["organization_id", ...(omitted[kind] ?? []), ...sealed]);
      const names = columns.map(({ name }) => name).filter((name) => !without.has(name));
      const isKnown = (name: string) => names.includes(name);
      const order = key.filter(isKnown);
      return {
        kind,
        columns: names,
        sealed,
        key: order.length > 0 ? order : names.filter((name) => ["name", "source", "first_seen"].includes(name)),
        required: required.filter((name) => isKnown(name) || sealed.includes(name)),
      };
    });
}
