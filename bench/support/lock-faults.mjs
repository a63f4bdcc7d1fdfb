// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Each lock that protects money, limits and codes, taken away. */

const locks = ["tests/scenarios/locks.test.ts"];
const codes = ["tests/scenarios/locks-codes.test.ts"];

// biome-ignore format: a table, one fault in a line
export const lockFaults = {
  locks: [
    ["orders/lockOrder", "server/billing/orders/store.ts", "\n    .where(matchKey(orders, { organization_id, id }))\n    .for(\"no key update\", { of: orders });", "\n    .where(matchKey(orders, { organization_id, id }));", ...locks],
    ["orders/lockReductions", "server/billing/orders/store.ts", "\n    .orderBy(orders.id)\n    .for(\"no key update\", { of: orders });", "\n    .orderBy(orders.id);", ...locks],
    ["orders/lockOrderOrRefuse", "server/billing/orders/store.ts", ".for(\"no key update\", { noWait: true }),", ",", ...locks],
    ["orders/voidPending", "server/billing/orders/store.ts", "\n    .for(\"no key update\", { skipLocked: true });", ";", ...locks],
    ["payments/lockFreeSetup", "server/billing/payments/methods.ts", "\n    .for(\"no key update\");", ";", ...locks],
    ["payments/lockPayments", "server/billing/payments/store.ts", "\n    .for(\"no key update\", { of: [payments, orders] });", ";", ...locks],
    ["payments/lockSetup", "server/billing/payments/store.ts", "\n    .for(\"no key update\", { of: [paymentSetups, orders] });", ";", ...locks],
    ["refunds/lockRefund", "server/billing/refunds/store.ts", ".for(\"no key update\");", ";", ...locks],
    ["disputes/lockDispute", "server/billing/disputes/store.ts", ".for(\"no key update\");", ";", ...locks],
    ["checkouts/lockBySecret", "server/checkout/checkouts/store.ts", ".for(\"update\", { of: checkouts, noWait: true }))", ")", ...locks],
    ["checkouts/lockOrRefuse", "server/checkout/checkouts/store.ts", ".for(\"update\", { noWait: true }),", ",", ...locks],
    ["checkouts/lockCheckout", "server/checkout/checkouts/store.ts", ".for(\"update\");", ";", ...locks],
    ["checkouts/lockExpired", "server/checkout/checkouts/store.ts", "\n    .for(\"update\", { skipLocked: true });", ";", ...locks],
    ["customers/lockCustomer", "server/customers/customers/store.ts", "\n    .where(and(eq(customers.organization_id, organization_id), matchCustomerKey(key)))\n    .for(\"update\");", "\n    .where(and(eq(customers.organization_id, organization_id), matchCustomerKey(key)));", ...locks],
    ["customers/lockCustomerByEmail", "server/customers/customers/store.ts", "\n    .where(and(matchLiving(organization_id), matchEmail(email)))\n    .for(\"update\");", "\n    .where(and(matchLiving(organization_id), matchEmail(email)));", ...locks],
    ["customers/lockCustomersOfUser", "server/customers/customers/store.ts", "\n    .where(and(eq(customers.external_id, user_id), isNull(customers.deleted_at)))\n    .for(\"update\");", "\n    .where(and(eq(customers.external_id, user_id), isNull(customers.deleted_at)));", ...locks],
    ["subscriptions/lockSubscriptions", "server/billing/subscriptions/store.ts", "\n    .for(\"no key update\");", ";", ...codes],
    ["subscriptions/loadSold", "server/billing/subscriptions/sold-lines.ts", ".for(\"no key update\", { of: orders }) ", " ", ...codes],
    ["discounts/countRedemptions", "server/catalog/discounts/store.ts", " for update skip locked)", ")", ...codes],
    ["seats/lockSeat", "server/entitlements/seats/store.ts", "\n  const [found] = await selectSeats(tx).where(matchKey(customerSeats, key)).for(\"no key update\", { of: customerSeats });", "\n  const [found] = await selectSeats(tx).where(matchKey(customerSeats, key));", ...codes],
    ["seats/lockInvited", "server/entitlements/seats/store.ts", "\n  const [found] = await selectSeats(tx).where(isInvited(hashes)).for(\"no key update\", { of: customerSeats });", "\n  const [found] = await selectSeats(tx).where(isInvited(hashes));", ...codes],
    ["license-keys/lockKey", "server/entitlements/license-keys/store.ts", "\n  (await findKeys(tx, matchKey(licenseKeys, key)).for(\"update\", { of: licenseKeys }))", "\n  (await findKeys(tx, matchKey(licenseKeys, key)))", ...codes],
    ["license-keys/lockKeyByHash", "server/entitlements/license-keys/store.ts", "\n  (await findKeys(tx, matchHashes(organization_id, formatList(hashes))).for(\"update\", { of: licenseKeys }))", "\n  (await findKeys(tx, matchHashes(organization_id, formatList(hashes))))", ...codes],
    ["license-keys/lockKeyOfGrant", "server/entitlements/license-keys/store.ts", "\n    .for(\"update\");", ";", ...codes],
    ["portal/lockAsked", "server/portal/store.ts", "\n    .for(\"update\", { skipLocked: true });", ";", ...codes],
    ["portal/claimGuessedCode", "server/portal/store.ts", "\n    .for(\"update\");", ";", ...codes],
    ["invoices/lockQueues", "server/billing/invoices/store.ts", "pg_advisory_xact_lock(hashtextextended('invoice exports', 0))`", "null`", ...codes],
    ["invoices/lockDueExport", "server/billing/invoices/store.ts", "\n    .for(\"update\");", ";", ...codes],
    ["orders/lockBalance", "server/billing/orders/balances.ts", ".for(\"no key update\"))", ")", "tests/scenarios/money-races.test.ts"],
    ["discounts/lockDiscounts", "server/catalog/discounts/store.ts", "\n    .for(\"no key update\");", ";", "tests/api/discount-races.test.ts"],
    ["seats/loadLockedContainer", "server/entitlements/seats/store.ts", ".for(\"no key update\");", ";", "tests/api/seats.test.ts"],
  ],
};
