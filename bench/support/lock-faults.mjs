// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Each lock that protects money, limits and codes, taken away. */

const locks = ["tests/scenarios/locks.test.ts"];

// biome-ignore format: a table, one fault in a line
export const lockFaults = {
  locks: [
    ["orders/lockOrder", "server/orders/store.ts", "\n    .where(matchKey(orders, { organization_id, id }))\n    .for(\"no key update\", { of: orders });", "\n    .where(matchKey(orders, { organization_id, id }));", ...locks],
    ["orders/lockReductions", "server/orders/store.ts", "\n    .orderBy(orders.id)\n    .for(\"no key update\", { of: orders });", "\n    .orderBy(orders.id);", ...locks],
    ["orders/lockOrderOrRefuse", "server/orders/store.ts", ".for(\"no key update\", { noWait: true }),", ",", ...locks],
    ["orders/voidPending", "server/orders/store.ts", "\n    .for(\"no key update\", { skipLocked: true });", ";", ...locks],
    ["payments/lockFreeSetup", "server/payments/methods.ts", "\n    .for(\"no key update\");", ";", ...locks],
    ["payments/lockPayments", "server/payments/store.ts", "\n    .for(\"no key update\", { of: [payments, orders] });", ";", ...locks],
    ["payments/lockSetup", "server/payments/store.ts", "\n    .for(\"no key update\", { of: [paymentSetups, orders] });", ";", ...locks],
    ["refunds/lockRefund", "server/refunds/store.ts", ".for(\"no key update\");", ";", ...locks],
    ["disputes/lockDispute", "server/disputes/store.ts", ".for(\"no key update\");", ";", ...locks],
    ["checkouts/lockBySecret", "server/checkouts/store.ts", ".for(\"update\", { of: checkouts, noWait: true }))", ")", ...locks],
    ["checkouts/lockOrRefuse", "server/checkouts/store.ts", ".for(\"update\", { noWait: true }),", ",", ...locks],
    ["checkouts/lockCheckout", "server/checkouts/store.ts", ".for(\"update\");", ";", ...locks],
    ["checkouts/lockExpired", "server/checkouts/store.ts", "\n    .for(\"update\", { skipLocked: true });", ";", ...locks],
    ["customers/lockCustomer", "server/customers/store.ts", "\n    .where(and(eq(customers.organization_id, organization_id), keyed(key)))\n    .for(\"update\");", "\n    .where(and(eq(customers.organization_id, organization_id), keyed(key)));", ...locks],
    ["customers/lockCustomerByEmail", "server/customers/store.ts", "\n    .where(and(living(organization_id), sameEmail(email)))\n    .for(\"update\");", "\n    .where(and(living(organization_id), sameEmail(email)));", ...locks],
    ["customers/lockCustomersOfUser", "server/customers/store.ts", "\n    .where(and(eq(customers.external_id, user_id), isNull(customers.deleted_at)))\n    .for(\"update\");", "\n    .where(and(eq(customers.external_id, user_id), isNull(customers.deleted_at)));", ...locks],
  ],
};
