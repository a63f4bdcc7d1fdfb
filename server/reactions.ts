import { userMerged } from "./accounts/sign-in/guests.ts";
import { benefitsChanged, benefitsDeleted } from "./benefits/service.ts";
import { dropProducts } from "./checkout-links/store.ts";
import { reopenCheckout, showIntent, succeedCheckout } from "./checkouts/reactions.ts";
import { moveToUser } from "./checkouts/store.ts";
import { customFieldsDeleted } from "./custom-fields/service.ts";
import { accountChanged, forgetAccounts, forgetAccountsOfMember } from "./customer-accounts/service.ts";
import {
  cardChosen,
  customerAddressChanged,
  customerAnonymized,
  customerDeleted,
  customerNamed,
  customerTeamed,
  mergeCustomers,
} from "./customers/service.ts";
import { hearDispute } from "./disputes/service.ts";
import { callWaiting } from "./events/service.ts";
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
} from "./grants/reactions.ts";
import { reprintOrder } from "./invoices/service.ts";
import type { Reactions } from "./lib/context.ts";
import { answer } from "./lib/reactions.ts";
import { keyReplaced, keyStatusSet } from "./license-keys/service.ts";
import { memberDeleted, ownTeam } from "./members/service.ts";
import { orderAccessChanged, orderAmended, orderSettled, orderSettling } from "./orders/service.ts";
import { disputeTold, refundTold } from "./payments/notices.ts";
import { paymentFailed, paymentSurplus, paymentWaiting } from "./payments/settlement.ts";
import { cardLeft } from "./payments/setups.ts";
import { forgetMethods } from "./payments/store.ts";
import { dropCodesOf } from "./portal/store.ts";
import { customerErased, noteErasure } from "./privacy/service.ts";
import { productsArchived, productsGiveOtherwise } from "./products/service.ts";
import { detachBenefits, detachFields } from "./products/store.ts";
import { hearRefund, openSurplusRefund, refundCounted, refundTakesBack } from "./refunds/service.ts";
import { eraseFromSnapshots } from "./sandbox/erasure.ts";
import { endSeats, revokeSeatsOf, revokeSeatsOfMember, seatsChanged } from "./seats/service.ts";
import {
  endOfCustomer,
  followUseOfSeat,
  hearFailure,
  settleForSubscription,
  takeChosenCard,
  takeLeftCard,
  tellHolder,
} from "./subscriptions/reactions.ts";
import { subscriptionGivesOtherwise } from "./subscriptions/serialize.ts";
import { reportRefund, reportSale } from "./tax-reports/service.ts";

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
