import { sql } from "drizzle-orm";
import { check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { LicenseKey } from "../../../shared/api/license-keys.ts";
import type { Metadata } from "../../../shared/contract.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { members } from "../../customers/members/tables.ts";
import { organization, owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, references, stamps } from "../../platform/db/columns.ts";
import { benefitGrants } from "../grants/tables.ts";

/** License keys, one for each grant (BEN-33). A key is found by its digest, and sealed, as its owner is shown it again. */
export const licenseKeys = pgTable(
  "license_keys",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    member_id: uuid(),
    benefit_id: uuid().notNull(),
    grant_id: uuid().notNull(),
    key_hash: text().notNull(),
    key_sealed: text().notNull(),
    display_key: text().notNull(),
    status: text().$type<LicenseKey["status"]>().notNull().default("granted"),
    limit_activations: integer(),
    usage: integer().notNull().default(0),
    limit_usage: integer(),
    validations: integer().notNull().default(0),
    last_validated_at: instant(),
    expires_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.member_id, members),
    references(table.benefit_id, benefits),
    references(table.grant_id, benefitGrants),
    uniqueIndex("license_keys_once").on(table.organization_id, table.key_hash),
    uniqueIndex("license_keys_of_grant").on(table.organization_id, table.grant_id),
    index("license_keys_by_creation").on(table.organization_id, table.created_at, table.id),
    index("license_keys_by_customer").on(table.organization_id, table.customer_id),
    index("license_keys_by_benefit").on(table.organization_id, table.benefit_id),
    check("license_keys_usage", sql`${table.usage} >= 0`),
  ],
);

/** Where keys are in use. What is deactivated stays as a row, and takes no place. */
export const licenseKeyActivations = pgTable(
  "license_key_activations",
  {
    ...owned(),
    license_key_id: uuid().notNull(),
    label: text().notNull(),
    conditions: jsonb().$type<Metadata>().notNull().default({}),
    meta: metadata(),
    deactivated_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.license_key_id, licenseKeys, "cascade"),
    index("license_key_activations_live")
      .on(table.organization_id, table.license_key_id)
      .where(sql`${table.deactivated_at} is null`),
  ],
);

/** What an organization's leases are signed with: programs keep its public half, so it is the same for good. */
export const leaseKeys = pgTable("lease_keys", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  ...stamps(),
  /** The 32 bytes that the private key is made from, sealed. */
  seed_sealed: text().notNull(),
});
