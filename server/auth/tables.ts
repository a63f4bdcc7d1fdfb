import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, text, timestamp, uniqueIndex } from "drizzle-orm/pg-core";
import { organization } from "../organizations/tables.ts";

/** The tables of the account side, named and shaped as better-auth has them, with the constraints that it leaves out. */
const instant = () => timestamp({ withTimezone: true });
const stamps = { createdAt: instant().notNull(), updatedAt: instant().notNull() };

export const user = pgTable("user", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text().notNull().unique(),
  emailVerified: boolean().notNull().default(false),
  image: text(),
  ...stamps,
});

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
    ...stamps,
  },
  (table) => [index("session_user").on(table.userId)],
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
  (table) => [index("verification_identifier").on(table.identifier)],
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
  },
  (table) => [index("device_code_age").on(table.expiresAt)],
);

/** `key` is a hash; `referenceId` is the organization that owns the key; `permissions` holds its scopes as JSON. */
export const apikey = pgTable(
  "apikey",
  {
    id: text().primaryKey(),
    configId: text().notNull().default("default"),
    name: text(),
    start: text(),
    prefix: text(),
    key: text().notNull().unique(),
    referenceId: text().notNull(),
    refillInterval: integer(),
    refillAmount: integer(),
    lastRefillAt: instant(),
    enabled: boolean().default(true),
    rateLimitEnabled: boolean().default(false),
    rateLimitTimeWindow: integer(),
    rateLimitMax: integer(),
    requestCount: integer().default(0),
    remaining: integer(),
    lastRequest: instant(),
    expiresAt: instant(),
    permissions: text(),
    metadata: text(),
    ...stamps,
  },
  (table) => [index("apikey_reference").on(table.referenceId)],
);
