/** A shop of its own with a calendar of its own: what happens in it is told as a story, date by date. */
import { and, asc, eq, gt } from "drizzle-orm";
import { findBalance } from "../../server/billing/orders/balances.ts";
import { customerBalances } from "../../server/billing/orders/tables.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentSetups } from "../../server/billing/payments/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { beginSetup, newOrder } from "./attempts.ts";
import type { Floe, Seller } from "./floe.ts";
import { payment } from "./rows.ts";

type Body = Record<string, unknown>;
type Preview = {
  quote: string;
  charge: { due_amount: number; derivation: { lines: { label: string; amount: number }[] } } | null;
  reduced_amount: number;
  later: { label: string; amount: number }[];
  after: Body;
};
type Said = { error?: string; detail: { loc: (string | number)[]; msg: string }[] };

/** What these cards do when they are charged while their owner is away. */
export const cards = { good: "pm_card_visa", other: "pm_card_mastercard", failing: "pm_card_chargeCustomerFail" };

const day = (date: Date | string | null | undefined): string =>
  date ? new Date(date).toISOString().slice(0, 16).replace("T00:00", "") : "-";

let buyers = 0;

/** Open a shop at a date. */
export async function openShop(floe: Floe, at: string, settings: Body = {}) {
  const seller: Seller = await floe.seller("story");
  const { organization_id, client, key } = seller;
  let seen = 0n;
  const accountOf = (customer_id: string) => ({ organization_id, customer_id, currency: "usd" });

  /** Send something as the seller. */
  async function send(method: string, path: string, body?: object) {
    const { status, json } = await floe.request(method, path, { token: key, ...(body ? { body } : {}) });
    return { status, json: json as Body & Said };
  }
  async function accepted(method: string, path: string, body?: object): Promise<Body> {
    const { status, json } = await send(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  }
  /** Set the shop's clock, without doing what falls due. */
  async function set(date: string): Promise<void> {
    const time = new Date(date.length === 10 ? `${date}T00:00:00Z` : date).getTime();
    await floe.deps.db
      .update(organization)
      .set({ clock_offset_ms: time - floe.clock.now().getTime() })
      .where(eq(organization.id, organization_id));
  }
  /** Let it be another day: what falls due until then is done. */
  async function on(date: string): Promise<void> {
    await set(date);
    await floe.runJobs();
  }

  await set(at);
  const own = await client.organizations.get({ params: { id: organization_id } });
  await accepted("PATCH", `/v1/organizations/${organization_id}`, {
    feature_settings: { ...own.feature_settings, seat_based_pricing_enabled: true },
    subscription_settings: {
      ...own.subscription_settings,
      allow_multiple_subscriptions: true,
      proration_behavior: "prorate",
      ...settings,
    },
  });

  const shop = {
    floe,
    seller,
    send,
    accepted,
    set,
    on,
    /** Offer something: a product of one fixed monthly price, unless said otherwise. */
    async sells(name: string, price: number | Body[], more: Body = {}): Promise<string> {
      const prices = typeof price === "number" ? [{ amount_type: "fixed", price_amount: price }] : price;
      const made = await accepted("POST", "/v1/products/", { name, recurring_interval: "month", prices, ...more });
      return String(made.id);
    },
    async gives(discount: Body): Promise<string> {
      return String((await accepted("POST", "/v1/discounts/", { name: "Discount", ...discount })).id);
    },
    /** Somebody subscribes through a checkout; answers the subscription's id. */
    async subscribes(
      product_id: string,
      { card = cards.good, checkout = {}, buyer = {} }: { card?: string | null; checkout?: Body; buyer?: Body } = {},
    ): Promise<string> {
      const made = await accepted("POST", "/v1/checkouts/", { products: [product_id], ...checkout });
      buyers += 1;
      const body = {
        customer_email: `story-${buyers}@example.com`,
        ...(card === null ? {} : { ...payment, confirmation_token_id: card }),
        ...buyer,
      };
      await floe
        .client()
        .checkoutClient.confirm({ params: { client_secret: String(made.client_secret) }, body: body as never });
      await floe.runJobs();
      const [order] = (await client.orders.list({ query: { checkout_id: [String(made.id)] } })).items;
      if (!order?.subscription_id) throw new Error("Nothing was begun.");
      return order.subscription_id;
    },
    /** A customer leaves a card; answers its id. */
    async leaves(customer_id: string, card: string): Promise<string> {
      const order = await newOrder(floe, seller, { customer_id });
      const setup = await beginSetup(floe, order, card);
      await executeSetup(floe.deps, setup);
      const [left] = await floe.deps.db.select().from(paymentSetups).where(eq(paymentSetups.id, setup.id));
      if (!left?.payment_method_id) throw new Error("The card was not kept.");
      return left.payment_method_id;
    },
    get: (id: string) => client.subscriptions.get({ params: { id } }),
    /** Change a subscription; answers it, or the name of the refusal. */
    async changes(id: string, body: Body): Promise<string> {
      const { status, json } = await send("PATCH", `/v1/subscriptions/${id}`, body);
      if (status === 200) return "done";
      const where = Array.isArray(json.detail) ? ` ${json.detail.map(({ loc }) => loc.slice(1).join(".")).join()}` : "";
      return `${status} ${json.error}${where}`;
    },
    /** What a change would do. */
    async previews(id: string, body: Body) {
      return (await accepted("POST", `/v1/subscriptions/${id}/preview`, body)) as unknown as Preview;
    },
    /** How a subscription stands, in a line. */
    async state(id: string): Promise<string> {
      const one = await shop.get(id);
      const until = `${day(one.current_period_start)} to ${day(one.current_period_end)}`;
      return `${one.status} ${one.amount} ${until}${one.cancel_at_period_end ? ", ending" : ""}`;
    },
    /** The orders of a subscription from the first to the last: why, how much is due, and how they stand. */
    async orders(id: string): Promise<string[]> {
      const { items } = await client.orders.list({
        query: { subscription_id: [id], sorting: ["created_at"], limit: 100 } as never,
      });
      return items.map((one) =>
        [
          day(one.created_at),
          one.billing_reason.replace("subscription_", ""),
          one.total_amount,
          ...(one.due_amount === one.total_amount ? [] : [`due ${one.due_amount}`]),
          one.status,
        ].join(" "),
      );
    },
    /** The lines of the last order: what each says and asks. */
    async lines(id: string): Promise<[string, number][]> {
      const { items } = await client.orders.list({ query: { subscription_id: [id], limit: 1 } as never });
      return (items[0]?.items ?? []).map(({ label, amount }) => [label, amount]);
    },
    /** The same as `subtotal - discount = total`. */
    async amounts(id: string): Promise<string[]> {
      const { items } = await client.orders.list({
        query: { subscription_id: [id], sorting: ["created_at"], limit: 100 } as never,
      });
      return items.map((one) => `${one.subtotal_amount} - ${one.discount_amount} = ${one.total_amount}`);
    },
    /** What the customer of a subscription has with the shop, or owes it. */
    async balance(id: string): Promise<number> {
      return findBalance(floe.deps.db, await shop.get(id).then(({ customer_id }) => accountOf(customer_id)));
    },
    /** Let the customer of a subscription have so much, or owe it. */
    async credits(id: string, amount: number): Promise<void> {
      const { customer_id } = await shop.get(id);
      await floe.deps.db.insert(customerBalances).values({ ...accountOf(customer_id), amount });
    },
    /** What the shop was told since it was asked last, but for what is said of customers. */
    async told(): Promise<string[]> {
      const found = await floe.deps.db
        .select({ seq: events.seq, type: events.type, data: events.data })
        .from(events)
        .where(and(eq(events.organization_id, organization_id), gt(events.seq, seen as never)))
        .orderBy(asc(events.seq));
      seen = BigInt(found.at(-1)?.seq ?? seen);
      return found
        .filter(({ type }) => !/^(customer|product|checkout|discount|organization)\./.test(type))
        .map(({ type, data }) => {
          const { status } = data as { status: string };
          return type.startsWith("order.") ? `${type} ${status}` : type;
        });
    },
  };
  return shop;
}
