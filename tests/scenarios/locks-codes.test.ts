import { afterAll, beforeAll, describe, test } from "vitest";
import { collectDue } from "../../server/billing/invoices/service.ts";
import { countRedemptions } from "../../server/catalog/discounts/store.ts";
import { withdrawKey } from "../../server/entitlements/license-keys/service.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { sendCode } from "../../server/portal/sign-in.ts";
import { soldKey } from "../support/grant-rows.ts";
import { ask, type LockRow, type LockShop, openLockShop, runLockRace } from "../support/held-rows.ts";
import { buyerOf, inviteTo, mailedCode, sellSeats } from "../support/portal-rows.ts";
import { sellOrder } from "../support/rows.ts";
import { openShop } from "../support/story.ts";

/**
 * The locks that protect subscriptions, codes, seats, keys and limits, as those of money are held to by `locks.test.ts`.
 * Tests of several at once see these: `orders/lockBalance` money-races, `discounts/lockDiscounts` discount-races, and
 * `seats/loadLockedContainer` the seats of the API.
 *
 * Unique keys that do the same without a lock: one payment or set-up of an order under way and one that pays it
 * (payments_under_way, payments_succeeded, payment_setups_under_way), one refund of a surplus and of the processor's id
 * (refunds_of_surplus, refunds_at_processor), one dispute of its id (disputes_at_processor), one order of a checkout, a period
 * and an invoice number (orders_of_checkout, orders_of_period, orders_invoice, orders_receipt), one subscription and one
 * redemption of a checkout (subscriptions_of_checkout, discount_redemptions_of_checkout), one code and one address of a seller
 * (discounts_code, customers_email, customers_external_id), one document of an order and a refund (invoices_of_order,
 * invoices_of_refund, invoices_number), one key of a grant (license_keys_of_grant), one seat of a person
 * (customer_seats_once_of_subscription, customer_seats_once_of_order), and one meter of a customer (customer_meters_once).
 */

let shop: Awaited<ReturnType<typeof openLockShop>>;
beforeAll(async () => {
  shop = await openLockShop();
});
afterAll(() => shop?.close());

/** A subscription for 10.00 a month of a shop on 1 January. */
async function subscribe({ floe }: LockShop) {
  const own = await openShop(floe, "2027-01-01");
  const id = await own.subscribes(await own.sells("Small", 1000));
  return { own, id };
}

const table: LockRow[] = [
  {
    lock: "subscriptions/holdSubscriptions",
    rule: "a subscription that was ended meanwhile is not changed",
    waits: true,
    async arrange(at) {
      const { own, id } = await subscribe(at);
      return {
        change: (tx) => tx`update subscriptions set status = 'canceled', ended_at = now() where id = ${id}`,
        operate: () => own.changes(id, { cancel_at_period_end: true }),
        read: async () =>
          (await at.sql`select cancel_at_period_end from subscriptions where id = ${id}`)[0]?.cancel_at_period_end,
      };
    },
    answer: "403 AlreadyCanceledSubscription",
    left: false,
  },
  {
    lock: "subscriptions/loadSold",
    rule: "what was refunded meanwhile is not given back once more by a change",
    waits: true,
    async arrange(at) {
      const { own, id } = await subscribe(at);
      const big = await own.sells("Big", 3000);
      return {
        change: (tx) => tx`update orders set status = 'refunded', refunded_amount = 1000 where subscription_id = ${id}`,
        operate: () => own.changes(id, { product_id: big, proration_behavior: "invoice" }),
        read: async () => own.orders(id),
      };
    },
    answer: "done",
    left: ["2027-01-01 create 1000 refunded", "2027-01-01 update 3000 paid"],
  },
  {
    lock: "webhooks/checkEndpointCount",
    rule: "WHK-02: the hundredth endpoint that another server adds is the last one",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const add = (n: number) =>
        ask(floe, "POST", "/v1/webhooks/endpoints", seller.key, {
          ...{ url: `https://1.1.1.1/${n}`, format: "raw", events: ["order.paid"] },
        });
      for (let n = 0; n < 100; n += 1) await add(n);
      const { organization_id } = seller;
      await sql`update webhook_endpoints set deleted_at = now() where organization_id = ${organization_id} and url like '%/99'`;
      return {
        change: async (tx) => {
          await tx`select id from organization where id = ${organization_id} for no key update`;
          return tx`update webhook_endpoints set deleted_at = null where organization_id = ${organization_id}`;
        },
        operate: () => add(100),
        read: async () =>
          (await sql`select count(*)::int as n from webhook_endpoints where organization_id = ${organization_id}`)[0]
            ?.n,
      };
    },
    answer: "422 PolarRequestValidationError",
    left: 100,
  },
  {
    lock: "discounts/countRedemptions",
    rule: "what another server counts is passed over",
    waits: false,
    async arrange({ floe, seller, sql }) {
      const { client, organization_id } = seller;
      const discount = await client.discounts.create({
        body: { name: "Free", type: "percentage", basis_points: 1000, duration: "once", code: "TEN" },
      });
      const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
      const { id } = await client.products.create({ body: { name: "Book", prices } });
      const { client_secret } = await client.checkouts.create({
        body: { products: [id], customer_email: "ten@example.com", discount_id: discount.id },
      });
      await ask(floe, "POST", `/v1/checkouts/client/${client_secret}/confirm`, undefined, {
        ...{ confirmation_token_id: "pm_card_visa", customer_name: "Ten", customer_billing_address: { country: "FR" } },
      });
      const count = async () => transact(floe.deps, (tx) => countRedemptions(tx, 100));
      const mine = sql`organization_id = ${organization_id}`;
      return {
        change: (tx) => tx`select 1 from discount_redemptions where ${mine} for update`,
        operate: count,
        read: count,
      };
    },
    answer: 0,
    left: 1,
  },
  {
    lock: "seats/lockSeat",
    rule: "SEAT-12: an invitation that was claimed meanwhile is not sent again",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { subscription_id } = await sellSeats(floe, seller, 3);
      const { seat } = await inviteTo(floe, seller, subscription_id);
      return {
        change: (tx) =>
          tx`update customer_seats set status = 'revoked', token_hash = null, token = null where id = ${seat.id}`,
        operate: () => ask(floe, "POST", `/v1/customer-seats/${seat.id}/resend`, seller.key),
        read: async () => (await sql`select mail_due_at from customer_seats where id = ${seat.id}`)[0]?.mail_due_at,
      };
    },
    answer: "400 BadRequest",
    left: null,
  },
  {
    lock: "seats/lockInvited",
    rule: "SEAT-10: an invitation that was taken back meanwhile gives no seat",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { subscription_id } = await sellSeats(floe, seller, 3);
      const { seat, token } = await inviteTo(floe, seller, subscription_id);
      return {
        change: (tx) =>
          tx`update customer_seats set status = 'revoked', token_hash = null, token = null where id = ${seat.id}`,
        operate: () => ask(floe, "POST", "/v1/customer-seats/claim", undefined, { invitation_token: token }),
        read: async () => (await sql`select status from customer_seats where id = ${seat.id}`)[0]?.status,
      };
    },
    answer: "400 InvalidInvitationToken",
    left: "revoked",
  },
  {
    lock: "license-keys/lockKey",
    rule: "a key that was taken back meanwhile is not replaced",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { id } = await soldKey(floe, seller);
      const read = async () => (await sql`select display_key from license_keys where id = ${id}`)[0]?.display_key;
      const before = await read();
      return {
        change: (tx) => tx`update license_keys set status = 'revoked' where id = ${id}`,
        operate: () => ask(floe, "POST", `/v1/license-keys/${id}/rotate`, seller.key),
        read: async () => (await read()) === before,
      };
    },
    answer: "400 RotateNotPermitted",
    left: true,
  },
  {
    lock: "license-keys/lockKeyByHash",
    rule: "BEN-37: a key whose limit was lowered meanwhile is not activated beyond it",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { id, key, organization_id } = await soldKey(floe, seller);
      return {
        change: (tx) => tx`update license_keys set limit_activations = 1 where id = ${id}`,
        operate: () =>
          ask(floe, "POST", "/v1/license-keys/activate", seller.key, { key, organization_id, label: "Two" }),
        read: async () => (await sql`select 1 from license_key_activations where license_key_id = ${id}`).length,
      };
    },
    answer: "403 NotPermitted",
    left: 1,
  },
  {
    lock: "license-keys/lockKeyOfGrant",
    rule: "BEN-33: a key that its seller has disabled meanwhile stays disabled",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { id, organization_id } = await soldKey(floe, seller);
      const read = async () => (await sql`select status, grant_id from license_keys where id = ${id}`)[0];
      const grant_id = String((await read())?.grant_id);
      return {
        change: (tx) => tx`update license_keys set status = 'disabled' where id = ${id}`,
        operate: () => transact(floe.deps, (tx) => withdrawKey(tx, floe.deps, organization_id, grant_id)),
        read: async () => (await read())?.status,
      };
    },
    answer: undefined,
    left: "disabled",
  },
  {
    lock: "portal/lockAsked",
    rule: "CUP-08: a code that another server mails is not mailed twice",
    waits: false,
    async arrange({ floe, seller, sql }) {
      const { organization_id } = seller;
      await buyerOf(seller);
      await floe.client().customerPortal.requestCode({ body: { email: "row@example.com", organization_id } });
      const [asked] = await sql`select id from portal_codes where organization_id = ${organization_id}`;
      const key = { organization_id, id: String(asked?.id) };
      const send = async () => {
        await sendCode(floe.deps, key);
        return (await sql`select 1 from portal_codes where id = ${key.id} and due_at is null`).length;
      };
      return {
        change: (tx) => tx`select 1 from portal_codes where id = ${key.id} for update`,
        operate: send,
        read: send,
      };
    },
    answer: 0,
    left: 1,
  },
  {
    lock: "portal/takeGuessedCode",
    rule: "CUP-10: a code that was used meanwhile opens nothing",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { organization_id } = seller;
      const code = await mailedCode(floe, seller);
      return {
        change: (tx) => tx`delete from portal_codes where organization_id = ${organization_id}`,
        operate: () =>
          ask(floe, "POST", "/v1/customer-portal/customer-session/authenticate", undefined, {
            ...{ code, email: "row@example.com", organization_id },
          }),
        read: async () =>
          (await sql`select 1 from customer_sessions where organization_id = ${organization_id}`).length,
      };
    },
    answer: "401 CustomerSessionCodeInvalidOrExpired",
    left: 0,
  },
  {
    lock: "invoices/lockQueues",
    rule: "exports that were begun meanwhile count for the limit of them",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { organization_id, key } = seller;
      const begin = () => ask(floe, "POST", "/v1/invoice-exports/", key, {});
      return {
        change: async (tx) => {
          await tx`select pg_advisory_xact_lock(hashtextextended('invoice exports', 0))`;
          await tx`insert into invoice_exports (id, organization_id, created_at, due_at)
            select gen_random_uuid(), ${organization_id}, now(), now() from generate_series(1, 10)`;
        },
        operate: begin,
        read: async () => (await sql`select 1 from invoice_exports where organization_id = ${organization_id}`).length,
      };
    },
    answer: "429 TooManyRequests",
    left: 10,
  },
  {
    lock: "invoices/lockDueExport",
    rule: "an export that another server has collected is not collected twice",
    waits: true,
    async arrange({ floe, seller, sql }) {
      const { organization_id } = seller;
      await sellOrder(floe, seller);
      const [made] = await sql`insert into invoice_exports (id, organization_id, created_at, due_at)
        values (gen_random_uuid(), ${organization_id}, now() + interval '1 day', now()) returning id`;
      const key = { organization_id, id: String(made?.id) };
      return {
        change: (tx) => tx`update invoice_exports set due_at = null where id = ${key.id}`,
        operate: () => collectDue(floe.deps, key),
        read: async () => (await sql`select 1 from invoice_export_orders where export_id = ${key.id}`).length,
      };
    },
    answer: undefined,
    left: 0,
  },
];

describe("a lock", () => {
  test.each(table)("$lock: $rule", (row) => runLockRace(shop, row));
});
