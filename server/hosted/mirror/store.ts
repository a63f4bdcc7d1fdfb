import { and, eq, isNull, sql } from "drizzle-orm";
import type { Database, Deps } from "../../platform/context.ts";
import { openTokens, sealTokens } from "../../platform/crypto/secrets.ts";
import type { MirroredKind, MirroredObject } from "./rules.ts";
import { polarObjects } from "./tables.ts";

export type MirrorRow = typeof polarObjects.$inferSelect;
type Keys = Pick<Deps["config"], "secret" | "secrets">;
export const mirrorPurpose = "mirror-tokens";

/**
 * Keep an object, unless a newer form of it is there; answers whether it was written. The statement itself compares, so that two
 * workers at once end with the newer one. Equal times are decided by the id of the event, whatever the order of arrival.
 * The tokens in it, such as the secret of a checkout, are sealed.
 */
export async function storeObject(
  db: Database,
  keys: Keys,
  organization_id: string,
  object: MirroredObject,
): Promise<boolean> {
  const { modified_at, event_at, source, via, deleted_at, customer_id, external_id } = object;
  const data = JSON.parse(
    sealTokens(keys.secret, mirrorPurpose, organization_id, JSON.stringify(object.data)),
  ) as unknown;
  const values = { data, modified_at, event_at, source, via, deleted_at, customer_id, external_id };
  const { modified_at: stored, event_at: told, source: by } = polarObjects;
  const written = await db
    .insert(polarObjects)
    .values({ organization_id, kind: object.kind, id: object.id, ...values })
    .onConflictDoUpdate({
      target: [polarObjects.organization_id, polarObjects.kind, polarObjects.id],
      set: values,
      setWhere: sql`(excluded.modified_at, excluded.event_at, excluded.source) > (${stored}, ${told}, ${by})`,
    })
    .returning({ id: polarObjects.id });
  return written.length > 0;
}

/** In one order, so that two events of the same objects never wait for each other. Answers whether the first was written. */
export async function storeObjects(
  db: Database,
  keys: Keys,
  organization_id: string,
  objects: readonly MirroredObject[],
): Promise<boolean> {
  const [main] = objects;
  const getKey = ({ kind, id }: MirroredObject) => `${kind} ${id}`;
  let isWritten = false;
  for (const object of objects.toSorted((a, b) => (getKey(a) < getKey(b) ? -1 : 1))) {
    const kept = await storeObject(db, keys, organization_id, object);
    if (object === main) isWritten = kept;
  }
  return isWritten;
}

const matchObject = (organization_id: string, kind: MirroredKind) =>
  and(eq(polarObjects.organization_id, organization_id), eq(polarObjects.kind, kind));

export type KnownState = {
  row: MirrorRow;
  isCustomerDeleted: boolean;
  /** When something that the state is made of was last told. */
  newest_part_at: Date | null;
};

/** The state of a customer, and what tells whether it is current, by one statement. */
export async function findState(
  db: Database,
  keys: Keys,
  organization_id: string,
  customer_id: string,
): Promise<KnownState | undefined> {
  const ofCustomer = sql`from ${polarObjects} as part where part.organization_id = ${organization_id}
    and part.customer_id = ${customer_id}`;
  const [found] = await db
    .select({
      row: polarObjects,
      isCustomerDeleted: sql<boolean>`exists (select 1 ${ofCustomer} and part.kind = 'customer' and part.deleted_at is not null)`,
      newest_part_at: sql<Date | null>`(select max(part.event_at) ${ofCustomer}
        and part.kind in ('subscription', 'benefit_grant', 'customer'))`.mapWith(polarObjects.event_at),
    })
    .from(polarObjects)
    .where(and(matchObject(organization_id, "customer_state"), eq(polarObjects.id, customer_id)));
  if (!found) return undefined;
  const opened = openTokens(keys.secrets, mirrorPurpose, organization_id, JSON.stringify(found.row.data));
  return { ...found, row: { ...found.row, data: JSON.parse(opened) } };
}

/** The customer of the seller's own id; undefined where it is unknown here, or where two have it. */
export async function findCustomerByExternalId(db: Database, organization_id: string, external_id: string) {
  const rows = await db
    .select({ id: polarObjects.id })
    .from(polarObjects)
    .where(
      and(
        matchObject(organization_id, "customer"),
        eq(polarObjects.external_id, external_id),
        isNull(polarObjects.deleted_at),
      ),
    )
    .limit(2);
  return rows.length === 1 ? rows[0] : undefined;
}
