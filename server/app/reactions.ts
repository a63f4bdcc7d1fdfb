import { hearDispute } from "../billing/disputes/service.ts";
import { reprintOrder } from "../billing/invoices/service.ts";
import { orderAccessChanged, orderAmended, orderSettled, orderSettling } from "../billing/orders/service.ts";
import { forgetMethods } from "../billing/payments/methods-store.ts";
import { disputeTold, refundTold } from "../billing/payments/notices.ts";
import { paymentFailed, paymentSurplus, paymentWaiting } from "../billing/payments/settlement.ts";
import { cardLeft } from "../billing/payments/setups.ts";
import { hearRefund, openSurplusRefund, refundCounted, refundTakesBack } from "../billing/refunds/service.ts";
import {
  endOfCustomer,
  followUseOfSeat,
  hearFailure,
  settleForSubscription,
  takeChosenCard,
  takeLeftCard,
  tellHolder,
} from "../billing/subscriptions/reactions.ts";
import { subscriptionGivesOtherwise } from "../billing/subscriptions/serialize.ts";
import { reportRefund, reportSale } from "../billing/tax-reports/service.ts";
import { benefitsChanged, benefitsDeleted } from "../catalog/benefits/service.ts";
import { customFieldsDeleted } from "../catalog/custom-fields/service.ts";
import { productsArchived, productsGiveOtherwise } from "../catalog/products/service.ts";
import { detachBenefits, detachFields } from "../catalog/products/store.ts";
import { reopenCheckout, showIntent, succeedCheckout } from "../checkout/checkouts/reactions.ts";
import { moveToUser } from "../checkout/checkouts/store.ts";
import { dropProducts } from "../checkout/links/store.ts";
import {
  cardChosen,
  customerAddressChanged,
  customerAnonymized,
  customerDeleted,
  customerNamed,
  customerStateChanged,
  customerTeamed,
  mergeCustomers,
} from "../customers/customers/service.ts";
import { accountChanged, forgetAccounts, forgetAccountsOfMember } from "../customers/linked-accounts/service.ts";
import { memberDeleted, ownTeam } from "../customers/members/service.ts";
import { emitCustomerState } from "../entitlements/customer-state/service.ts";
import {
  followAccount,
  followBenefits,
  followKey,
  followOrder,
  followProducts,
  followReplacedKey,
  followSeats,
  followSubscription,
  giveWhatWasBought,
  takeFromCustomer,
} from "../entitlements/grants/reactions.ts";
import { keyReplaced, keyStatusSet } from "../entitlements/license-keys/service.ts";
import { endSeats, revokeSeatsOf, revokeSeatsOfMember, seatsChanged } from "../entitlements/seats/service.ts";
import { userMerged } from "../identity/accounts/sign-in/guests.ts";
import { customerErased, noteErasure } from "../operations/privacy/service.ts";
import { eraseFromSnapshots } from "../operations/sandbox/erasure.ts";
import type { Reactions } from "../platform/context.ts";
import { answer } from "../platform/events/reactions.ts";
import { dropCodesOf } from "../portal/store.ts";
import { callWaiting } from "../usage/events/service.ts";

/**
 * Who answers to what, on one page. They answer in the transaction of what happened: it has not happened where they fail.
 * What is slow or without bound is done by a sweep, for which that transaction leaves a row due.
 */
export const reactions: Reactions = new Map([
  answer(orderAmended, reprintOrder),
  answer(orderSettling, settleForSubscription),
  answer(orderSettled, succeedCheckout, tellHolder, giveWhatWasBought, reportSale),
  answer(orderAccessChanged, followOrder),
  answer(paymentWaiting, showIntent),
  answer(paymentFailed, reopenCheckout, hearFailure),
  answer(cardLeft, takeLeftCard),
  answer(cardChosen, takeChosenCard),
  answer(paymentSurplus, openSurplusRefund),
  answer(
    customerDeleted,
    (tx, { clock }, customer) => forgetMethods(tx, customer, clock.now()),
    endOfCustomer,
    revokeSeatsOf,
    takeFromCustomer,
    forgetAccounts,
  ),
  answer(customerAddressChanged, (tx, _, customer) => dropCodesOf(tx, customer)),
  answer(customerAnonymized, noteErasure),
  answer(customerErased, eraseFromSnapshots),
  answer(accountChanged, followAccount),
  answer(customerStateChanged, emitCustomerState),
  answer(customerTeamed, ownTeam),
  answer(memberDeleted, revokeSeatsOfMember, forgetAccountsOfMember),
  answer(customerNamed, callWaiting),
  answer(refundTold, hearRefund),
  answer(refundCounted, reportRefund),
  answer(refundTakesBack, followOrder),
  answer(subscriptionGivesOtherwise, endSeats, followSubscription),
  answer(seatsChanged, followUseOfSeat, followSeats),
  answer(disputeTold, hearDispute),
  // Checkouts first, as confirming one locks them: who is being confirmed is waited for, and their customer seen.
  answer(userMerged, (tx, { clock }, { from, to }) => moveToUser(tx, from, to, clock.now()), mergeCustomers),
  answer(productsArchived, (tx, _, products) => dropProducts(tx, products)),
  answer(keyStatusSet, followKey),
  answer(keyReplaced, followReplacedKey),
  answer(productsGiveOtherwise, followProducts),
  answer(benefitsChanged, followBenefits),
  answer(benefitsDeleted, (tx, _, benefits) => detachBenefits(tx, benefits), followBenefits),
  answer(customFieldsDeleted, (tx, _, fields) => detachFields(tx, fields)),
]);
