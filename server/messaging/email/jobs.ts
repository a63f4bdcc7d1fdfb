import { sql } from "drizzle-orm";
import { orderConfirmations } from "../../billing/orders/tables.ts";
import { paymentMethods } from "../../billing/payments/tables.ts";
import { letters_due } from "../../billing/subscriptions/serialize.ts";
import { subscriptionLetters, subscriptions } from "../../billing/subscriptions/tables.ts";
import { invitations } from "../../entitlements/seats/service.ts";
import { customerSeats } from "../../entitlements/seats/tables.ts";
import { moveToTime, type Sweep } from "../../platform/jobs/sweeps.ts";
import { inviteDue } from "./seats.ts";
import { confirmDue, remindDue, tellDue, warnDue } from "./service.ts";

/** Sales whose buyers are to be told that they are paid. One seller's are told of together, as each waits for a moment anyhow. */
export const confirmations: Sweep = {
  name: "orders.confirm",
  every_ms: 1500,
  due: {
    table: orderConfirmations,
    id: orderConfirmations.order_id,
    organization_id: orderConfirmations.organization_id,
    at: orderConfirmations.due_at,
  },
  together: 10,
  parallel: 2,
  share: 10,
  dated: true,
  work: confirmDue,
};

/** Customers who are to be told what has become of their subscription. */
export const subscriptionTelling: Sweep = {
  name: letters_due,
  every_ms: 1500,
  due: {
    table: subscriptionLetters,
    id: subscriptionLetters.id,
    organization_id: subscriptionLetters.organization_id,
    at: subscriptionLetters.due_at,
  },
  parallel: 4,
  share: 2,
  dated: true,
  work: async (deps, rows) => {
    for (const row of rows) await tellDue(moveToTime(deps, row), row);
  },
};

/** People who are to be invited to a seat. */
export const seatInviting: Sweep = {
  name: invitations,
  every_ms: 1500,
  due: {
    table: customerSeats,
    id: customerSeats.id,
    organization_id: customerSeats.organization_id,
    at: customerSeats.mail_due_at,
    where: sql`${customerSeats.mail_due_at} is not null`,
  },
  parallel: 4,
  share: 2,
  work: (deps, [key]) => inviteDue(deps, key),
};

/** Customers who are to be told of a charge that comes. */
export const subscriptionReminding: Sweep = {
  name: "subscriptions.remind",
  every_ms: 5000,
  due: {
    table: subscriptions,
    id: subscriptions.id,
    organization_id: subscriptions.organization_id,
    at: subscriptions.reminder_due_at,
    where: sql`${subscriptions.reminder_due_at} is not null`,
  },
  parallel: 4,
  share: 2,
  work: (deps, [key]) => remindDue(deps, key),
};

/** Customers who are to be told that the card expires that they pay with. */
export const cardWarning: Sweep = {
  name: "cards.warn",
  every_ms: 5000,
  due: {
    table: paymentMethods,
    id: paymentMethods.id,
    organization_id: paymentMethods.organization_id,
    at: paymentMethods.expiry_due_at,
    where: sql`${paymentMethods.expiry_due_at} is not null`,
  },
  parallel: 4,
  share: 2,
  work: (deps, [key]) => warnDue(deps, key),
};
