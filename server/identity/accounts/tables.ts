import { sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { CiRule } from "../../../shared/api/ci-rules.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";
import { organization, owned } from "../organizations/tables.ts";

/** The tables of the account side, named and shaped as better-auth has them, with the constraints that it leaves out. */
const stamps = { createdAt: instant().notNull(), updatedAt: instant().notNull() };

export const user = pgTable(
  "user",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    email: text().notNull().unique(),
    emailVerified: boolean().notNull().default(false),
    image: text(),
    username: text().unique(),
    displayUsername: text(),
    isAnonymous: boolean().default(false),
    role: text().default("user"),
    banned: boolean().default(false),
    banReason: text(),
    banExpires: instant(),
    /** Counts changes after which nothing that was given out before may work (people/credentials.ts). */
    credentialsVersion: integer().notNull().default(0),
    /** The fields that are configured for all users, by their names (people/fields.ts). */
    extra: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    ...stamps,
  },
  // Few, and looked for among all.
  (table) => [index("user_guests").on(table.createdAt).where(sql`${table.isAnonymous}`)],
);

/**
 * `token` is kept as a hash. A session that a device was given names its client, and the scopes it is limited to. One
 * that is not `remembered` ends when it was said to, however much it is used.
 * An impersonation names the session of the administrator, and ends with it. `provenAt` is when the person last showed who
 * they are; null: when the session was made.
 */
export const session = pgTable(
  "session",
  {
    id: text().primaryKey(),
    token: text().notNull().unique(),
    userId: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    expiresAt: instant().notNull(),
    ipAddress: text(),
    userAgent: text(),
    activeOrganizationId: text(),
    activeTeamId: text(),
    impersonatedBy: text(),
    impersonatorSessionId: text().references((): AnyPgColumn => session.id, { onDelete: "cascade" }),
    provenAt: instant(),
    clientId: text(),
    scope: text(),
    remembered: boolean().notNull().default(true),
    ...stamps,
  },
  (table) => [
    index("session_user").on(table.userId),
    index("session_age").on(table.expiresAt),
    index("session_impersonator")
      .on(table.impersonatorSessionId)
      .where(sql`${table.impersonatorSessionId} is not null`),
    index("session_impersonated_by").on(table.impersonatedBy).where(sql`${table.impersonatedBy} is not null`),
  ],
);

export const account = pgTable(
  "account",
  {
    id: text().primaryKey(),
    accountId: text().notNull(),
    providerId: text().notNull(),
    userId: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    accessToken: text(),
    refreshToken: text(),
    idToken: text(),
    accessTokenExpiresAt: instant(),
    refreshTokenExpiresAt: instant(),
    scope: text(),
    password: text(),
    ...stamps,
  },
  (table) => [
    uniqueIndex("account_provider").on(table.providerId, table.accountId),
    index("account_user").on(table.userId),
  ],
);

export const verification = pgTable(
  "verification",
  {
    id: text().primaryKey(),
    identifier: text().notNull(),
    value: text().notNull(),
    expiresAt: instant().notNull(),
    ...stamps,
  },
  (table) => [index("verification_identifier").on(table.identifier), index("verification_age").on(table.expiresAt)],
);

export const member = pgTable(
  "member",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    userId: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    role: text().notNull().default("member"),
    createdAt: instant().notNull(),
  },
  (table) => [uniqueIndex("member_once").on(table.organizationId, table.userId), index("member_user").on(table.userId)],
);

export const invitation = pgTable(
  "invitation",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    email: text().notNull(),
    role: text(),
    status: text().notNull().default("pending"),
    /** Several teams by commas. */
    teamId: text(),
    expiresAt: instant().notNull(),
    inviterId: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    createdAt: instant().notNull(),
  },
  (table) => [
    index("invitation_organization").on(table.organizationId),
    index("invitation_email").on(sql`lower(${table.email})`),
  ],
);

export const team = pgTable(
  "team",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    memberCount: integer().notNull().default(0),
    organizationId: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    createdAt: instant().notNull(),
    updatedAt: instant(),
  },
  (table) => [index("team_organization").on(table.organizationId)],
);

export const teamMember = pgTable(
  "team_member",
  {
    id: text().primaryKey(),
    teamId: text()
      .notNull()
      .references(() => team.id, { onDelete: "cascade" }),
    userId: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    membershipKey: text().unique(),
    createdAt: instant(),
  },
  (table) => [
    uniqueIndex("team_member_once").on(table.teamId, table.userId),
    index("team_member_user").on(table.userId),
  ],
);

/** A role that an organization made; `permission` maps resources to actions, as JSON. */
export const organizationRole = pgTable(
  "organization_role",
  {
    id: text().primaryKey(),
    organizationId: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    role: text().notNull(),
    permission: text().notNull(),
    createdAt: instant().notNull(),
    updatedAt: instant(),
  },
  (table) => [uniqueIndex("organization_role_once").on(table.organizationId, table.role)],
);

/**
 * A request of a device to be signed in. Both codes are kept as hashes. `sessionId` is the session that opened the code on the device page, the only
 * one that may answer; `confirmation` is the hash of the number that the terminal alone shows.
 */
export const deviceCode = pgTable(
  "device_code",
  {
    id: text().primaryKey(),
    deviceCode: text().notNull().unique(),
    userCode: text().notNull().unique(),
    userId: text(),
    expiresAt: instant().notNull(),
    status: text().notNull(),
    lastPolledAt: instant(),
    pollingInterval: integer(),
    clientId: text(),
    scope: text(),
    sessionId: text(),
    confirmation: text(),
    ipAddress: text(),
    userAgent: text(),
    createdAt: instant().notNull().defaultNow(),
  },
  (table) => [index("device_code_age").on(table.expiresAt)],
);

/** Jobs of a repository that get keys of an organization without a stored secret. A rule goes with the person who made it. */
export const ciRules = pgTable(
  "ci_rules",
  {
    ...owned(),
    user_id: text()
      .notNull()
      .references(() => user.id, { onDelete: "cascade" }),
    provider: text().$type<CiRule["provider"]>().notNull(),
    issuer: text().notNull(),
    audience: text().notNull(),
    repository: text().notNull(),
    /** Of the first job that was let in; null until then, or where the service names none. */
    repository_id: text(),
    branch: text(),
    environment: text(),
    scopes: jsonb().$type<string[]>().notNull(),
    lasts_seconds: integer().notNull(),
    last_used_at: instant(),
  },
  (table) => [ownedKey(table.id), index("ci_rules_user").on(table.user_id)],
);

/** Tokens of jobs that were exchanged for a key, so that none is exchanged twice. Kept until they end by themselves. */
export const ciExchanges = pgTable(
  "ci_exchanges",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    token_hash: text().notNull(),
    expires_at: instant().notNull(),
  },
  (table) => [ownedKey(table.token_hash), index("ci_exchanges_by_end").on(table.expires_at)],
);

/**
 * A key of an organization (`configId` is "organization") or of a person ("default"); it goes with its owner. `key` is a
 * hash; `permissions` holds its scopes as JSON; `previousKey` is the one before a rotation, while it is still good.
 * `remaining` counts down to a key that is used up; absent: without end. A key of a CI job goes with its rule.
 */
export const apikey = pgTable(
  "apikey",
  {
    id: text().primaryKey(),
    configId: text().notNull().default("default"),
    organizationId: text().references(() => organization.id, { onDelete: "cascade" }),
    userId: text().references(() => user.id, { onDelete: "cascade" }),
    createdBy: text().references(() => user.id, { onDelete: "set null" }),
    name: text(),
    start: text(),
    prefix: text(),
    key: text().notNull().unique(),
    previousKey: text().unique(),
    previousKeyExpiresAt: instant(),
    enabled: boolean().notNull().default(true),
    remaining: integer(),
    refillInterval: integer(),
    refillAmount: integer(),
    lastRefillAt: instant(),
    rateLimitEnabled: boolean().notNull().default(false),
    rateLimitTimeWindow: integer(),
    rateLimitMax: integer(),
    requestCount: integer().notNull().default(0),
    /** When the window began in which `requestCount` counts. */
    rateLimitStartedAt: instant(),
    lastRequest: instant(),
    expiresAt: instant(),
    permissions: text(),
    metadata: text(),
    ciRuleId: uuid(),
    ...stamps,
  },
  (table) => [
    index("apikey_organization").on(table.organizationId),
    index("apikey_ci_rule").on(table.organizationId, table.ciRuleId).where(sql`${table.ciRuleId} is not null`),
    foreignKey({
      name: "apikey_ci_rule_fkey",
      columns: [table.organizationId, table.ciRuleId],
      foreignColumns: [ciRules.organization_id, ciRules.id],
    }).onDelete("cascade"),
    index("apikey_user").on(table.userId),
    check("apikey_owner", sql`num_nonnulls(${table.organizationId}, ${table.userId}) = 1`),
  ],
);
