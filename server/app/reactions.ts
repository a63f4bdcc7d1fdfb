import { recordDisputeNotice } from "../billing/disputes/service.ts";
import { queueReprint } from "../billing/invoices/service.ts";
import { orderAccessChanged, orderAmended, orderSettled, orderSettling } from "../billing/orders/service.ts";
import { deleteMethods } from "../billing/payments/methods-store.ts";
import { disputeNotified, refundNotified } from "../billing/payments/notices.ts";
import { paymentFailed, paymentUnapplied, paymentWaiting } from "../billing/payments/settlement.ts";
import { paymentMethodSaved } from "../billing/payments/setups.ts";
import { expediteOfProcesses } from "../billing/payments/store.ts";
import {
  openUnappliedRefund,
  recordRefundNotice,
  refundCounted,
  refundRevokesAccess,
} from "../billing/refunds/service.ts";
import {
  adoptDefaultMethod,
  adoptSavedMethod,
  endOfCustomer,
  notifyHolder,
  onPaymentFailed,
  reassignSeatUsage,
  settleForSubscription,
} from "../billing/subscriptions/reactions.ts";
import { subscriptionEntitlementsChanged } from "../billing/subscriptions/serialize.ts";
import { reportRefund, reportSale } from "../billing/tax-reports/service.ts";
import { benefitsChanged, benefitsDeleted } from "../catalog/benefits/service.ts";
import { customFieldsDeleted } from "../catalog/custom-fields/service.ts";
import { productBenefitsChanged, productsArchived } from "../catalog/products/service.ts";
import { detachBenefits, detachFields } from "../catalog/products/store.ts";
import { completeCheckout, recordIntent, reopenCheckout } from "../checkout/checkouts/reactions.ts";
import { reassignToUser } from "../checkout/checkouts/store.ts";
import { removeProducts } from "../checkout/links/store.ts";
import {
  customerAddressChanged,
  customerAnonymized,
  customerDeleted,
  customerNamed,
  customerStateChanged,
  customerTeamed,
  defaultMethodChosen,
  mergeCustomers,
} from "../customers/customers/service.ts";
import { accountChanged, deleteAccounts, deleteAccountsOfMember } from "../customers/linked-accounts/service.ts";
import { assignTeamOwner, memberDeleted } from "../customers/members/service.ts";
import { emitCustomerState } from "../entitlements/customer-state/service.ts";
import {
  grantPurchase,
  onAccountChanged,
  onBenefitsChanged,
  onKeyReplaced,
  onKeyStatusSet,
  onOrderAccessChanged,
  onProductsChanged,
  onSeatsChanged,
  onSubscriptionChanged,
  revokeFromCustomer,
} from "../entitlements/grants/reactions.ts";
import { keyReplaced, keyStatusChanged } from "../entitlements/license-keys/service.ts";
import { endSeats, revokeSeatsOf, revokeSeatsOfMember, seatsChanged } from "../entitlements/seats/service.ts";
import { userMerged } from "../identity/accounts/sign-in/guests.ts";
import { releaseQueues } from "../messaging/webhooks/queue.ts";
import { customerErased, recordErasure } from "../operations/privacy/service.ts";
import { eraseFromSnapshots } from "../operations/sandbox/erasure.ts";
import type { Reactions } from "../platform/context.ts";
import { processesGone } from "../platform/db/processes.ts";
import { bindReactions } from "../platform/events/signals.ts";
import { deleteCodesOf } from "../portal/store.ts";
import { attachWaitingEvents } from "../usage/events/service.ts";

/**
 * All reactions to signals. They run in the transaction of the change: if one fails, the change is rolled back. Slow or
 * unbounded work is left to a worker, for which the transaction stores a due row.
 */
export const reactions: Reactions = new Map([
  bindReactions(orderAmended, queueReprint),
  bindReactions(orderSettling, settleForSubscription),
  bindReactions(orderSettled, completeCheckout, notifyHolder, grantPurchase, reportSale),
  bindReactions(orderAccessChanged, onOrderAccessChanged),
  bindReactions(paymentWaiting, recordIntent),
  bindReactions(processesGone, (tx, _ctx, { process_ids }) => expediteOfProcesses(tx, process_ids), releaseQueues),
  bindReactions(paymentFailed, reopenCheckout, onPaymentFailed),
  bindReactions(paymentMethodSaved, adoptSavedMethod),
  bindReactions(defaultMethodChosen, adoptDefaultMethod),
  bindReactions(paymentUnapplied, openUnappliedRefund),
  bindReactions(
    customerDeleted,
    (tx, { clock }, customer) => deleteMethods(tx, customer, clock.now()),
    endOfCustomer,
    revokeSeatsOf,
    revokeFromCustomer,
    deleteAccounts,
  ),
  bindReactions(customerAddressChanged, (tx, _, customer) => deleteCodesOf(tx, customer)),
  bindReactions(customerAnonymized, recordErasure),
  bindReactions(customerErased, eraseFromSnapshots),
  bindReactions(accountChanged, onAccountChanged),
  bindReactions(customerStateChanged, emitCustomerState),
  bindReactions(customerTeamed, assignTeamOwner),
  bindReactions(memberDeleted, revokeSeatsOfMember, deleteAccountsOfMember),
  bindReactions(customerNamed, attachWaitingEvents),
  bindReactions(refundNotified, recordRefundNotice),
  bindReactions(refundCounted, reportRefund),
  bindReactions(refundRevokesAccess, onOrderAccessChanged),
  bindReactions(subscriptionEntitlementsChanged, endSeats, onSubscriptionChanged),
  bindReactions(seatsChanged, reassignSeatUsage, onSeatsChanged),
  bindReactions(disputeNotified, recordDisputeNotice),
  // Checkouts first, as confirming one locks them: who is being confirmed is waited for, and their customer seen.
  bindReactions(userMerged, (tx, { clock }, { from, to }) => reassignToUser(tx, from, to, clock.now()), mergeCustomers),
  bindReactions(productsArchived, (tx, _, products) => removeProducts(tx, products)),
  bindReactions(keyStatusChanged, onKeyStatusSet),
  bindReactions(keyReplaced, onKeyReplaced),
  bindReactions(productBenefitsChanged, onProductsChanged),
  bindReactions(benefitsChanged, onBenefitsChanged),
  bindReactions(benefitsDeleted, (tx, _, benefits) => detachBenefits(tx, benefits), onBenefitsChanged),
  bindReactions(customFieldsDeleted, (tx, _, fields) => detachFields(tx, fields)),
]);
