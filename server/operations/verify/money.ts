import { type SQL, sql } from "drizzle-orm";
import { type StatementRule, selectBreach } from "./rules.ts";

const paid = sql`('paid', 'partially_refunded', 'refunded')`;
const total = sql`(o.subtotal_amount - o.discount_amount + case when o.tax_behavior = 'inclusive' then 0 else o.tax_amount end)`;
const due = sql`greatest(0, ${total} + o.applied_balance_amount - o.reduced_amount - o.reduced_tax_amount)`;

/** Succeeded payments and refunds of each order, without money that no order waited for. */
const sumPayments = (of: string): SQL =>
  sql`(select order_id, sum(amount) as amount from payments where organization_id = ${of} and status = 'succeeded'
    and not is_surplus group by order_id)`;
const sumRefunds = (of: string): SQL =>
  sql`(select order_id, sum(amount) as amount, sum(tax_amount) as tax_amount from refunds where organization_id = ${of}
    and status = 'succeeded' and not is_surplus group by order_id)`;

/** Sold orders: those that have a number. */
const orderRules: StatementRule[] = [
  {
    rule: "order_items",
    table: "orders",
    says: "The items of an order add up to its subtotal.",
    select: (of) => sql`${selectBreach(sql`o.id`, sql`coalesce(i.amount, 0)`, sql`o.subtotal_amount`)} from orders o
      left join (select order_id, sum(amount) as amount from order_items where organization_id = ${of} group by order_id) i
        on i.order_id = o.id
      where o.organization_id = ${of} and o.invoice_number is not null and coalesce(i.amount, 0) <> o.subtotal_amount`,
  },
  {
    rule: "order_amounts",
    table: "orders",
    says: "Subtotal, discount and tax of an order are those that it was computed with.",
    select: (of) => {
      const computed = sql`concat_ws(', ', derivation ->> 'subtotal_amount', derivation ->> 'discount_amount', derivation ->> 'tax_amount')`;
      const stored = sql`concat_ws(', ', subtotal_amount, discount_amount, tax_amount)`;
      return sql`${selectBreach(sql`id`, computed, stored)} from orders
        where organization_id = ${of} and invoice_number is not null and ${computed} <> ${stored}`;
    },
  },
  {
    rule: "order_payment",
    table: "orders",
    says: "A paid order has payments of what was due. An unpaid one has none.",
    select: (of) => {
      const asked = sql`case when o.status in ${paid} then ${due} else 0 end`;
      return sql`${selectBreach(sql`o.id`, asked, sql`coalesce(p.amount, 0)`)} from orders o
        left join ${sumPayments(of)} p on p.order_id = o.id
        where o.organization_id = ${of} and ${asked} <> coalesce(p.amount, 0)`;
    },
  },
  {
    rule: "payment_currency",
    table: "payments",
    says: "A payment has the currency of its order.",
    select: (of) => sql`${selectBreach(sql`p.id`, sql`o.currency`, sql`p.currency`)} from payments p
      join orders o on o.organization_id = p.organization_id and o.id = p.order_id
      where p.organization_id = ${of} and o.currency <> p.currency`,
  },
  {
    rule: "order_refunds",
    table: "orders",
    says: "An order says how much of it was refunded, without tax and of its tax.",
    select: (of) => {
      const made = sql`coalesce(r.amount, 0) || ' + ' || coalesce(r.tax_amount, 0)`;
      const said = sql`o.refunded_amount || ' + ' || o.refunded_tax_amount`;
      return sql`${selectBreach(sql`o.id`, made, said)} from orders o left join ${sumRefunds(of)} r on r.order_id = o.id
        where o.organization_id = ${of} and ${made} <> ${said}`;
    },
  },
  {
    rule: "refund_limit",
    table: "orders",
    says: "Refunds of an order are at most its payments.",
    select: (
      of,
    ) => sql`${selectBreach(sql`r.order_id`, sql`'at most ' || coalesce(p.amount, 0)`, sql`r.amount + r.tax_amount`)}
      from ${sumRefunds(of)} r left join ${sumPayments(of)} p on p.order_id = r.order_id
      where r.amount + r.tax_amount > coalesce(p.amount, 0)`,
  },
  {
    rule: "order_status",
    table: "orders",
    says: "The status of a paid order says how much of it was refunded.",
    select: (of) => {
      const whole = sql`o.subtotal_amount - o.discount_amount - case when o.tax_behavior = 'inclusive' then o.tax_amount else 0 end
        - o.reduced_amount + o.applied_balance_amount`;
      const status = sql`case when o.refunded_amount + o.refunded_tax_amount = 0 then 'paid'
        when o.refunded_amount >= ${whole} then 'refunded' else 'partially_refunded' end`;
      return sql`${selectBreach(sql`o.id`, status, sql`o.status`)} from orders o
        where o.organization_id = ${of} and o.status in ${paid} and o.status <> ${status}`;
    },
  },
  {
    rule: "surplus",
    table: "payments",
    says: "A payment that no order waited for goes back.",
    select: (
      of,
    ) => sql`${selectBreach(sql`p.id`, sql`p.amount`, sql`coalesce(sum(r.amount + r.tax_amount), 0)`)} from payments p
      left join refunds r on r.organization_id = p.organization_id and r.payment_id = p.id and r.is_surplus
      where p.organization_id = ${of} and p.status = 'succeeded' and p.is_surplus
      group by p.id, p.amount having coalesce(sum(r.amount + r.tax_amount), 0) <> p.amount`,
  },
  {
    rule: "order_reductions",
    table: "orders",
    says: "An unpaid order is reduced by the documents that reduce it.",
    select: (
      of,
    ) => sql`${selectBreach(sql`d.id`, sql`coalesce(r.amount, 0)`, sql`d.reduced_amount + d.reduced_tax_amount`)} from orders d
      left join (select o.reduces_order_id as id, 0 - sum(${total}) as amount from orders o
        where o.organization_id = ${of} and o.reduces_order_id is not null group by o.reduces_order_id) r on r.id = d.id
      where d.organization_id = ${of} and coalesce(r.amount, 0) <> d.reduced_amount + d.reduced_tax_amount`,
  },
  {
    rule: "reduction_status",
    table: "orders",
    says: "A document that reduces an order is paid, pending or void with it.",
    select: (of) => {
      const standing = sql`case when d.status in ${paid} then 'paid' else d.status end`;
      return sql`${selectBreach(sql`o.id`, standing, sql`o.status`)} from orders o
        join orders d on d.organization_id = o.organization_id and d.id = o.reduces_order_id
        where o.organization_id = ${of} and o.status <> ${standing}`;
    },
  },
];

const bookRules: StatementRule[] = [
  {
    rule: "balance",
    table: "customer_balances",
    says: "A customer's balance is what their orders, refunds and lost disputes make it.",
    select: (
      of,
    ) => sql`${selectBreach(sql`coalesce(b.customer_id, c.customer_id) || ' ' || coalesce(b.currency, c.currency)`, sql`coalesce(c.amount, 0)`, sql`coalesce(b.amount, 0)`)}
      from (select * from customer_balances where organization_id = ${of}) b
      full join (select customer_id, currency, sum(amount) as amount from (
          select o.customer_id, o.currency, case when ${total} < 0 then 0 - ${total} else o.applied_balance_amount end as amount
          from orders o where o.organization_id = ${of} and o.invoice_number is not null and o.status <> 'void' and o.reduces_order_id is null
          union all select customer_id, currency, 0 - balance_amount from refunds
          where organization_id = ${of} and status = 'succeeded' and not is_surplus
          union all select customer_id, currency, 0 - balance_amount from disputes where organization_id = ${of}) moved
        group by customer_id, currency) c on c.customer_id = b.customer_id and c.currency = b.currency
      where coalesce(b.amount, 0) <> coalesce(c.amount, 0)`,
  },
  {
    rule: "invoice_numbers",
    table: "orders",
    says: "Invoice numbers follow one another from 1 to the counter, without a gap.",
    select: (
      of,
    ) => sql`with numbered as (select id::text as row, substring(invoice_number from '[0-9]+$')::bigint as number from orders
        where organization_id = ${of} and invoice_number is not null
        union all select 'the next number', coalesce((select next_number from invoice_counters where organization_id = ${of}), 1)),
      skipped as (select row, number, coalesce(lag(number) over (order by number, row), 0) + 1 as expected from numbered)
      ${selectBreach(sql`row`, sql`expected`, sql`number`)} from skipped where number <> expected`,
  },
  {
    rule: "document_numbers",
    table: "invoices",
    says: "A document has the number of its order.",
    select: (of) => {
      const number = sql`case i.kind when 'invoice' then o.invoice_number else o.receipt_number end`;
      return sql`${selectBreach(sql`i.id`, sql`coalesce(${number}, 'none')`, sql`i.number`)} from invoices i
        join orders o on o.organization_id = i.organization_id and o.id = i.order_id
        where i.organization_id = ${of} and i.kind in ('invoice', 'receipt') and i.number is distinct from ${number}`;
    },
  },
  {
    rule: "receipt_numbers",
    table: "receipt_counters",
    says: "A customer's receipt numbers are as many as the counter says.",
    select: (
      of,
    ) => sql`${selectBreach(sql`c.customer_id`, sql`count(o.id) + 1`, sql`c.next_number`)} from receipt_counters c
      left join orders o on o.organization_id = c.organization_id and o.customer_id = c.customer_id and o.receipt_number is not null
      where c.organization_id = ${of} group by c.customer_id, c.next_number having count(o.id) + 1 <> c.next_number`,
  },
  {
    rule: "redemptions",
    table: "discounts",
    says: "A discount counts its redemptions.",
    select: (of) => sql`${selectBreach(sql`d.id`, sql`count(r.id)`, sql`d.redemptions_count`)} from discounts d
      left join discount_redemptions r on r.organization_id = d.organization_id and r.discount_id = d.id and r.is_counted
      where d.organization_id = ${of} group by d.id, d.redemptions_count having count(r.id) <> d.redemptions_count`,
  },
  {
    rule: "redemption_limit",
    table: "discounts",
    says: "A discount is redeemed at most as often as it may be.",
    select: (
      of,
    ) => sql`${selectBreach(sql`d.id`, sql`'at most ' || d.max_redemptions`, sql`count(r.id)`)} from discounts d
      join discount_redemptions r on r.organization_id = d.organization_id and r.discount_id = d.id
      where d.organization_id = ${of} and d.max_redemptions is not null
      group by d.id, d.max_redemptions having count(r.id) > d.max_redemptions`,
  },
  {
    rule: "payment_due",
    table: "payments",
    says: "A pending payment is due, so that the processor is asked what became of it.",
    select: (of) => sql`${selectBreach(sql`id`, sql`'a time'`, sql`'none'`)} from payments
      where organization_id = ${of} and status = 'pending' and reconcile_due_at is null`,
  },
  {
    rule: "subscription_due",
    table: "subscriptions",
    says: "A subscription that goes on, and is not held, has a time at which it is looked at.",
    select: (of) => sql`${selectBreach(sql`id`, sql`current_period_end`, sql`'none'`)} from subscriptions
      where organization_id = ${of} and due_at is null and billing_held_at is null and status in ('active', 'trialing')`,
  },
];

/** The rules about money, and about what is to be done for it. */
export const moneyRules: readonly StatementRule[] = [...orderRules, ...bookRules];
