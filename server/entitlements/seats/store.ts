import { and, asc, desc, eq, inArray, isNotNull, isNull, lte, ne, or } from "drizzle-orm";
import { isPaid } from "../../billing/orders/rules.ts";
import { orders } from "../../billing/orders/tables.ts";
import { active } from "../../billing/subscriptions/rules.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { MemberRow } from "../../customers/members/rules.ts";
import { members } from "../../customers/members/tables.ts";
import { isOneOf } from "../../platform/anonymize.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { listRows, type Paging } from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { Container, SeatRow } from "./rules.ts";
import { customerSeats } from "./tables.ts";

type Named = { subscription_id?: string | null | undefined; order_id?: string | null | undefined };
export type Seat = { row: SeatRow; email: string | null; member: MemberRow | null };

/** That seats are of one subscription or order. */
const matchContainer = ({ organization_id, subscription_id, order_id }: Pick<Container, "organization_id"> & Named) =>
  and(
    eq(customerSeats.organization_id, organization_id),
    subscription_id ? eq(customerSeats.subscription_id, subscription_id) : eq(customerSeats.order_id, order_id ?? ""),
  );

function getContainer(row: typeof subscriptions.$inferSelect): Container {
  const { organization_id, id, customer_id, product_id, status, pending_update } = row;
  // Seats that go with the next period are not given any more.
  const seats = row.seats === null ? null : Math.min(row.seats, pending_update?.seats ?? row.seats);
  const is_live = (active as readonly string[]).includes(status) || status === "past_due";
  return { organization_id, subscription_id: id, order_id: null, customer_id, product_id, seats, is_live };
}

/** What a checkout has become. */
async function findBought(
  db: Database,
  organization_ids: readonly string[],
  checkout_id: string,
): Promise<Named | undefined> {
  const [order] = await db
    .select({ id: orders.id, subscription_id: orders.subscription_id })
    .from(orders)
    .where(
      and(
        inArray(orders.organization_id, [...organization_ids]),
        eq(orders.checkout_id, checkout_id),
        isNotNull(orders.invoice_number),
      ),
    );
  if (!order) return undefined;
  return order.subscription_id ? { subscription_id: order.subscription_id } : { order_id: order.id };
}

/** What seats are of, by one of its ids, in one of these organizations. */
export async function findContainer(
  db: Database,
  organization_ids: readonly string[],
  named: Named & { checkout_id?: string | null | undefined },
): Promise<Container | undefined> {
  const { subscription_id, order_id } = named.checkout_id
    ? ((await findBought(db, organization_ids, named.checkout_id)) ?? {})
    : named;
  if (subscription_id) {
    const [row] = await db
      .select()
      .from(subscriptions)
      .where(and(inArray(subscriptions.organization_id, [...organization_ids]), eq(subscriptions.id, subscription_id)));
    return row && getContainer(row);
  }
  if (!order_id) return undefined;
  const [row] = await db
    .select()
    .from(orders)
    .where(
      and(
        inArray(orders.organization_id, [...organization_ids]),
        eq(orders.id, order_id),
        isNotNull(orders.invoice_number),
        isNull(orders.subscription_id),
      ),
    );
  if (!row) return undefined;
  const { organization_id, id, customer_id, product_id, seats, status, access } = row;
  const is_live = isPaid(status) && status !== "refunded" && access === "granted";
  return { organization_id, subscription_id: null, order_id: id, customer_id, product_id, seats, is_live };
}

type ContainerKey = Pick<Container, "organization_id" | "subscription_id" | "order_id">;

/** Keep what seats are of from changing until the transaction ends. */
export async function loadLockedContainer(
  tx: Tx,
  { organization_id, subscription_id, order_id }: ContainerKey,
): Promise<void> {
  const table = subscription_id === null ? orders : subscriptions;
  const id = subscription_id ?? order_id;
  if (id === null) return;
  await tx.select({ id: table.id }).from(table).where(matchKey(table, { organization_id, id })).for("no key update");
}

/** The same, kept from changing until the transaction ends, so that two do not give the last seat (SEAT-08). */
export async function lockContainer(tx: Tx, container: Container) {
  await loadLockedContainer(tx, container);
  return findContainer(tx, [container.organization_id], container);
}

/** How many seats are given: invited, or taken. */
export const countTaken = (db: Database, container: Pick<Container, "organization_id"> & Named): Promise<number> =>
  db.$count(customerSeats, and(matchContainer(container), ne(customerSeats.status, "revoked")));

const selectSeats = (db: Database) =>
  db
    .select({ row: customerSeats, email: customers.email, member: members })
    .from(customerSeats)
    .leftJoin(customers, joinByKey(customerSeats.customer_id, customers))
    .leftJoin(members, joinByKey(customerSeats.member_id, members));

/** The seats of a subscription or an order, the oldest first; those that were taken back too. */
export const listSeats = (db: Database, container: Container): Promise<Seat[]> =>
  selectSeats(db).where(matchContainer(container)).orderBy(asc(customerSeats.created_at), asc(customerSeats.id));

/** A seat. */
export async function findSeat(db: Database, key: RowKey): Promise<Seat | undefined> {
  const [found] = await selectSeats(db).where(matchKey(customerSeats, key));
  return found;
}

/** A seat, kept from changing until the transaction ends. */
export async function lockSeat(tx: Tx, key: RowKey): Promise<Seat | undefined> {
  const [found] = await selectSeats(tx).where(matchKey(customerSeats, key)).for("no key update", { of: customerSeats });
  return found;
}

const isInvited = (hashes: readonly string[]) =>
  and(inArray(customerSeats.token_hash, [...hashes]), eq(customerSeats.status, "pending"));

/** The seat of an invitation; the caller checks whether it has expired. */
export async function findInvited(db: Database, hashes: readonly string[]): Promise<Seat | undefined> {
  const [found] = await selectSeats(db).where(isInvited(hashes));
  return found;
}

/** The same, kept until the transaction ends; whoever comes second finds it taken. */
export async function lockInvited(tx: Tx, hashes: readonly string[]): Promise<Seat | undefined> {
  const [found] = await selectSeats(tx).where(isInvited(hashes)).for("no key update", { of: customerSeats });
  return found;
}

/** Whether somebody has a seat of it already. */
export const isSeated = async (
  db: Database,
  container: Container,
  { customer_id, member_id }: { customer_id: string; member_id: string | null },
): Promise<boolean> => {
  const theirs = member_id === null ? isNull(customerSeats.member_id) : eq(customerSeats.member_id, member_id);
  const where = and(matchContainer(container), eq(customerSeats.customer_id, customer_id), theirs);
  return (await db.$count(customerSeats, and(where, ne(customerSeats.status, "revoked")))) > 0;
};

/** A seat that was taken back, to be given again. */
export async function findRevoked(tx: Tx, container: Container): Promise<SeatRow | undefined> {
  const [row] = await tx
    .select()
    .from(customerSeats)
    .where(and(matchContainer(container), eq(customerSeats.status, "revoked")))
    .orderBy(desc(customerSeats.revoked_at), desc(customerSeats.id))
    .limit(1);
  return row;
}

/** The seats that are given of a subscription or an order. */
export const findGiven = (db: Database, container: Pick<Container, "organization_id"> & Named): Promise<SeatRow[]> =>
  db
    .select()
    .from(customerSeats)
    .where(and(matchContainer(container), ne(customerSeats.status, "revoked")))
    .orderBy(asc(customerSeats.id));

/** The seats that somebody has been given. */
export const findSeatsOf = (db: Database, { organization_id, id }: RowKey): Promise<SeatRow[]> =>
  db
    .select()
    .from(customerSeats)
    .where(and(eq(customerSeats.organization_id, organization_id), eq(customerSeats.customer_id, id)))
    .orderBy(asc(customerSeats.id));

/** The seats that a member of a team has been given. */
export const findSeatsOfMember = (db: Database, { organization_id, id }: RowKey): Promise<SeatRow[]> =>
  db
    .select()
    .from(customerSeats)
    .where(and(eq(customerSeats.organization_id, organization_id), eq(customerSeats.member_id, id)))
    .orderBy(asc(customerSeats.id));

/** Add a seat. */
export async function insertSeat(tx: Tx, values: typeof customerSeats.$inferInsert): Promise<SeatRow> {
  const [row] = await tx.insert(customerSeats).values(values).returning();
  if (!row) throw new Error("The seat was not written.");
  return row;
}

/** Change a seat. */
export async function updateSeat(tx: Tx, key: RowKey, patch: Partial<SeatRow>): Promise<SeatRow> {
  const [row] = await tx.update(customerSeats).set(patch).where(matchKey(customerSeats, key)).returning();
  if (!row) throw new Error(`The seat ${key.id} is gone.`);
  return row;
}

/** Take an invitation that is to be mailed; nothing where another server was faster. */
export async function claimInvitation(tx: Tx, key: RowKey, now: Date): Promise<SeatRow | undefined> {
  const [row] = await tx
    .update(customerSeats)
    .set({ mail_due_at: null })
    .where(and(matchKey(customerSeats, key), lte(customerSeats.mail_due_at, now)))
    .returning();
  return row;
}

/** The subscriptions of which somebody has taken a seat, the newest first, and how many there are. */
export async function listHeld(
  db: Database,
  { organization_id, id, member_id }: RowKey & { member_id: string | null },
  paging: Paging,
) {
  const where = and(
    eq(customerSeats.organization_id, organization_id),
    eq(customerSeats.customer_id, id),
    member_id === null ? undefined : eq(customerSeats.member_id, member_id),
    eq(customerSeats.status, "claimed"),
    isNotNull(customerSeats.subscription_id),
  );
  const { items, total } = await listRows(db, customerSeats, {
    where,
    order: [desc(customerSeats.claimed_at), desc(customerSeats.id)],
    paging,
  });
  return { items: items.flatMap(({ subscription_id }) => subscription_id ?? []), total };
}

/** Forget what was noted on the seats of somebody, and their address on those. */
export async function eraseHolder(tx: Tx, { organization_id, id, emails }: Erased): Promise<void> {
  const theirs = or(eq(customerSeats.customer_id, id), isOneOf(customerSeats.email, emails));
  await tx
    .update(customerSeats)
    .set({ email: null, seat_metadata: null })
    .where(and(eq(customerSeats.organization_id, organization_id), theirs));
}
