import { sql } from "drizzle-orm";
import { orderConfirmations } from "../../billing/orders/tables.ts";
import { paymentMethods } from "../../billing/payments/tables.ts";
import { subscriptionEmailWorkerName } from "../../billing/subscriptions/serialize.ts";
import { subscriptionLetters, subscriptions } from "../../billing/subscriptions/tables.ts";
import { invitations } from "../../entitlements/seats/service.ts";
import { customerSeats } from "../../entitlements/seats/tables.ts";
import { type Worker, withRowTime } from "../../platform/jobs/workers.ts";
import { inviteDue } from "./seats.ts";
import { confirmDue, sendDueEmail, sendDueReminder, warnDue } from "./service.ts";

/** Sales whose buyers are to be told that they are paid. One seller's are told of together, as each waits for a moment anyhow. */
export const confirmationWorker: Worker = {
  name: "orders.confirm",
  pollIntervalMs: 1500,
  due: {
    table: orderConfirmations,
    id: orderConfirmations.order_id,
    organization_id: orderConfirmations.organization_id,
    at: orderConfirmations.due_at,
  },
  batchSize: 10,
  concurrency: 2,
  maxPerTenant: 10,
  atRowTime: true,
  run: confirmDue,
};

/** Customers who are to be told what has become of their subscription. */
export const subscriptionEmailWorker: Worker = {
  name: subscriptionEmailWorkerName,
  pollIntervalMs: 1500,
  due: {
    table: subscriptionLetters,
    id: subscriptionLetters.id,
    organization_id: subscriptionLetters.organization_id,
    at: subscriptionLetters.due_at,
  },
  concurrency: 4,
  maxPerTenant: 2,
  atRowTime: true,
  run: async (deps, rows) => {
    for (const row of rows) await sendDueEmail(withRowTime(deps, row), row);
  },
};

/** People who are to be invited to a seat. */
export const seatInvitationWorker: Worker = {
  name: invitations,
  pollIntervalMs: 1500,
  due: {
    table: customerSeats,
    id: customerSeats.id,
    organization_id: customerSeats.organization_id,
    at: customerSeats.mail_due_at,
    where: sql`${customerSeats.mail_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => inviteDue(deps, key),
};

/** Customers who are to be told of a charge that comes. */
export const subscriptionReminderWorker: Worker = {
  name: "subscriptions.remind",
  pollIntervalMs: 5000,
  due: {
    table: subscriptions,
    id: subscriptions.id,
    organization_id: subscriptions.organization_id,
    at: subscriptions.reminder_due_at,
    where: sql`${subscriptions.reminder_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => sendDueReminder(deps, key),
};

/** Customers who are to be told that the card expires that they pay with. */
export const cardExpiryWorker: Worker = {
  name: "cards.warn",
  pollIntervalMs: 5000,
  due: {
    table: paymentMethods,
    id: paymentMethods.id,
    organization_id: paymentMethods.organization_id,
    at: paymentMethods.expiry_due_at,
    where: sql`${paymentMethods.expiry_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => warnDue(deps, key),
};
