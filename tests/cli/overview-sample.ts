/** What `GET /v1/overview` answers, for the dashboard: a store with every section. */
import type { Look } from "../../cli/top/compose.ts";

const dayMs = 86_400_000;
export const now = Date.parse("2026-11-27T12:00:00Z");
export const idOf = (number: number): string => `0193a000-0000-7000-8000-${String(number).padStart(12, "0")}`;
const customer = { customer_id: idOf(900), customer_name: "Ada", customer_email: "ada@example.com" };

export const buildOrder = (number: number, more: object = {}) => ({
  id: idOf(number),
  created_at: new Date(now - number * 60_000).toISOString(),
  invoice_number: `ACME-${number}`,
  status: "paid" as const,
  total_amount: 1900 + number,
  currency: "usd",
  product_name: `Guide ${number}`,
  ...customer,
  ...more,
});

export const buildLook = (more: Partial<Look> = {}): Look => ({
  organization_id: idOf(1000),
  name: "Acme",
  slug: "acme",
  sandbox: true,
  currency: "usd",
  now: new Date(now).toISOString(),
  scopes: [],
  figures: {
    today_revenue: 15_000,
    month_revenue: 230_000,
    monthly_recurring_revenue: 190_000,
    days: Array.from({ length: 30 }, (_, index) => ({
      date: new Date(now - (29 - index) * dayMs).toISOString().slice(0, 10),
      revenue: index === 22 ? 10_000 : 777,
      monthly_recurring_revenue: index * 1000,
    })),
  },
  orders: Array.from({ length: 10 }, (_, index) => buildOrder(index + 1)),
  failed_payments: [
    {
      ...{ id: idOf(50), created_at: new Date(now - 7_200_000).toISOString(), amount: 900, currency: "usd" },
      ...{ decline_reason: "card_declined", order_id: idOf(3), invoice_number: null, next_payment_attempt_at: null },
      ...{ customer_id: idOf(901), customer_name: null, customer_email: "eve@example.com" },
    },
  ],
  dead_letters: { count: 2, kinds: ["mail", "grants"] },
  failing_endpoints: [
    { id: idOf(60), url: "https://hooks.example.com/a", enabled: true, failed: 3, recent: 20, pending: 1 },
  ],
  meters: [{ id: idOf(70), name: "Tokens", consumed_units: 1000, customers: 3, partial: false }],
  renewals: [],
  has_products: true,
  has_checkout_links: true,
  missing_legal: [],
  ...more,
});
