import { z } from "zod";
import type { apikey } from "../tables.ts";
import { readScopes } from "./identify.ts";

const expiresInSecondsMax = 5 * 365 * 24 * 60 * 60;
const graceSecondsMax = 30 * 24 * 60 * 60;
const graceSecondsStandard = 24 * 60 * 60;
const countMax = 1_000_000_000;
const msMax = 2_147_483_647;
const metadataBytesMax = 10_000;
const listMax = 1000;

const id = z.string().min(1).max(100);
const name = z.string().trim().min(1).max(100);
const count = z.int().min(1).max(countMax);
/** Milliseconds, as the published clients have them. */
const span = z.int().min(1000).max(msMax);
/** Seconds from now. */
const expiresIn = z.int().min(60).max(expiresInSecondsMax);
const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= metadataBytesMax, `At most ${metadataBytesMax} bytes.`);
const scopes = z.array(z.string()).min(1);
/** The same as scopes, by resource. */
const permissions = z.record(z.string(), z.array(z.string()));

const limits = {
  /** How many requests it lets through in all; with a refill, until the next one. Null: without end. */
  remaining: count.nullish(),
  refillAmount: count.nullish(),
  refillInterval: span.nullish(),
  rateLimitEnabled: z.boolean().optional(),
  rateLimitMax: count.nullish(),
  rateLimitTimeWindow: span.nullish(),
};
const configId = z.enum(["organization", "default"]);

/** Strict: a limit that was misspelt must not make a key without one. */
export const Create = z.strictObject({
  configId: configId.optional(),
  /** Absent, as is the kind: the organization that is active, or the only one. */
  organizationId: id.optional(),
  /** Never taken: a key is made for who is signed in. */
  userId: z.unknown().optional(),
  name: name.optional(),
  expiresIn: expiresIn.nullish(),
  scopes: scopes.optional(),
  permissions: permissions.optional(),
  metadata: metadata.nullish(),
  ...limits,
});
export const Update = z.strictObject({
  keyId: id,
  configId: configId.optional(),
  userId: z.unknown().optional(),
  name: name.optional(),
  enabled: z.boolean().optional(),
  expiresIn: expiresIn.nullish(),
  scopes: scopes.optional(),
  permissions: permissions.optional(),
  metadata: metadata.nullish(),
  ...limits,
});
export const Rotate = z.strictObject({
  keyId: id,
  configId: configId.optional(),
  /** For how many seconds the value until now stays good; 0: not at all. */
  expiresPreviousIn: z.int().min(0).max(graceSecondsMax).default(graceSecondsStandard),
});
export const Delete = z.object({ keyId: id, configId: configId.optional() });
export const Get = z.object({ id, configId: configId.optional() });
export const List = z.object({
  configId: configId.optional(),
  organizationId: id.optional(),
  limit: z.coerce.number().int().min(0).max(listMax).optional(),
  offset: z.coerce.number().int().min(0).max(countMax).optional(),
  sortBy: z.enum(["createdAt", "name", "expiresAt", "lastRequest"]).default("createdAt"),
  sortDirection: z.enum(["asc", "desc"]).default("desc"),
});

export type KeyRow = typeof apikey.$inferSelect;

/** A key as it is answered: what published clients read, and its scopes; never its value or its hash. */
export function serializeKey(row: KeyRow) {
  const { key, previousKey, createdBy, rateLimitStartedAt, previousKeyExpiresAt, permissions, metadata, ...open } = row;
  const scopes = readScopes(permissions);
  return {
    ...open,
    referenceId: row.organizationId ?? row.userId,
    createdBy,
    /** Until when the value before the last rotation is good. */
    previousKeyExpiresAt,
    scopes,
    permissions: groupByResource(scopes),
    metadata: metadata === null ? null : (JSON.parse(metadata) as unknown),
  };
}

function groupByResource(scopes: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const scope of scopes) {
    const [resource = "", action = ""] = scope.split(":");
    found[resource] = [...(found[resource] ?? []), action];
  }
  return found;
}

/** The scopes that are asked for, in either way of saying it; undefined when none are named. */
export const readAskedScopes = (body: Pick<z.output<typeof Create>, "scopes" | "permissions">): string[] | undefined =>
  body.scopes ??
  (body.permissions &&
    Object.entries(body.permissions).flatMap(([resource, actions]) =>
      actions.map((action) => `${resource}:${action}`),
    ));
