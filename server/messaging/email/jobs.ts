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

/** Sends the confirmations of paid orders, in batches per seller. */
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

/** Sends mails about changes of subscriptions. */
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

/** Sends invitations to seats. */
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

/** Sends reminders of upcoming charges. */
export const subscriptionReminderWorker: Worker = {
  name: "subscriptions.remind",
  pollIntervalMs: 5000,
  due: {
    table: subscriptions,
    id: subscriptions.id,
    organization_id: subscriptions.organization_id,
    at: subscriptions.reminder_due_at,
    isIndexedByTime: true,
    where: sql`${subscriptions.reminder_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => sendDueReminder(deps, key),
};

/** Sends warnings that a customer's saved card expires. */
export const cardExpiryWorker: Worker = {
  name: "cards.warn",
  pollIntervalMs: 5000,
  due: {
    table: paymentMethods,
    id: paymentMethods.id,
    organization_id: paymentMethods.organization_id,
    at: paymentMethods.expiry_due_at,
    isIndexedByTime: true,
    where: sql`${paymentMethods.expiry_due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => warnDue(deps, key),
};
