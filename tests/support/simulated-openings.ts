/**
 * How the story of some seeds begins, so that the first day has what else takes weeks: what every law about money and usage is
 * about, a step at a time.
 */
import type { Mortal } from "./simulated-world.ts";

type Body = Record<string, unknown>;
type Answer = { status: number; json: Body };
type Product = { id: string; kind: string };
type Deed = { name: string; work: (server: Mortal) => Promise<string>; isQueued?: boolean };

/** What is done next. All but the first kind is about whoever bought last in this opening, and their newest subscription or order. */
export type Step =
  | { does: "buy"; kind: string; card: string; code: string | null }
  | { does: "pay"; card: string; isLate: boolean }
  | { does: "refund"; share?: number }
  | { does: "change"; body: Body; kind?: string; nth?: number }
  | { does: "move"; country: string }
  | { does: "decide"; status: "won" | "lost" }
  | { does: "use"; units: number; minutes_ago: number };

const buy = (kind: string, card = "pm_card_visa", code: string | null = null): Step => ({
  ...{ does: "buy", kind, card, code },
});
const turnTo = (kind: string, nth = 0): Step => ({
  ...{ does: "change", kind, nth, body: { proration_behavior: "invoice" } },
});
const use = (units: number, minutes_ago = 0): Step => ({ does: "use", units, minutes_ago });

/** A discount that leaves parts of a cent, an order that a charge pays that comes to light when another has, and one given back in parts. */
const charges: Step[] = [
  buy("daily", "pm_card_visa", "THIRD"),
  buy("once", "pm_card_chargeDeclined"),
  { does: "pay", card: "pm_card_visa", isLate: true },
  { does: "pay", card: "pm_card_visa", isLate: false },
  { does: "refund" },
  { does: "refund" },
];

/** Less is had of what was not paid, of what was refunded, of what was lost to a dispute, and of what was sold in another country. */
const credits: Step[] = [
  buy("trial", "pm_card_chargeCustomerFail"),
  { does: "change", body: { trial_end: "now" } },
  turnTo("weekly"),
  buy("monthly"),
  { does: "refund", share: 2 / 3 },
  turnTo("free"),
  buy("monthly", "pm_card_createDisputeInquiry"),
  { does: "decide", status: "lost" },
  turnTo("free"),
  buy("yearly"),
  { does: "move", country: "DE" },
  turnTo("free"),
];

/** To and fro between two prices of one meter, with usage that comes late for the one before, and after the end. */
const stretches: Step[] = [
  buy("metered"),
  use(40),
  turnTo("metered", 1),
  use(30),
  use(20, 14),
  turnTo("metered"),
  use(10, 14),
  use(15),
  { does: "change", body: { revoke: true } },
  use(50),
];

/**
 * Of which seeds, by what is left of them over five, a story begins so. `isCalm`: nothing else happens, no server ends and no answer
 * is lost until it is told, as one step follows from the other.
 */
export const openings: Record<number, { steps: readonly Step[]; isCalm: boolean }> = {
  0: { steps: charges, isCalm: false },
  1: { steps: [...credits, ...stretches], isCalm: true },
};

/** Whose opening it is: what a shop has, and the deeds that anybody does. */
export type Stage = {
  products: readonly Product[];
  email: () => string;
  now: () => Date;
  buy: (wish: { product: Product; card: string; code: string | null }) => Deed;
  pay: (step: { card: string; isLate: boolean }) => Deed | null;
  refund: () => Promise<Deed | null>;
  decide: (order_id: string, status: "won" | "lost") => Deed;
  list: (path: string) => Promise<Body[]>;
  send: (server: Mortal, method: string, path: string, body: Body) => Promise<Answer>;
};

const findOwn = async ({ list, email }: Stage, path: string): Promise<Body | undefined> =>
  (await list(`${path}?limit=100`)).find(({ customer }) => (customer as Body | undefined)?.email === email());

/** The deed of a step, prepared from how the shop stands; null where what it is about did not come about. */
export async function planStep(stage: Stage, step: Step, number: number): Promise<Deed | null> {
  const { products, send } = stage;
  const findProduct = (kind: string, nth = 0) => products.filter((one) => one.kind === kind)[nth] as Product;
  const call = (name: string, method: string, path: string, body: Body): Deed => ({
    name: `begin: ${name}`,
    async work(server) {
      const { status, json } = await send(server, method, path, body);
      return status < 300 ? String(status) : `${status} ${String(json.error ?? "")}`;
    },
  });
  if (step.does === "buy") return stage.buy({ ...step, product: findProduct(step.kind) });
  if (step.does === "pay") return stage.pay(step);
  if (step.does === "refund" && step.share === undefined) return stage.refund();
  if (step.does === "refund" || step.does === "decide") {
    const order = await findOwn(stage, "/v1/orders/");
    if (!order) return null;
    if (step.does === "decide") return stage.decide(String(order.id), step.status);
    const amount = Math.ceil(Number(order.refundable_amount) * (step.share ?? 1));
    return call(`refund ${amount}`, "POST", "/v1/refunds/", { order_id: order.id, amount, reason: "other" });
  }
  const subscription = await findOwn(stage, "/v1/subscriptions/");
  if (!subscription) return null;
  const customer_id = String(subscription.customer_id);
  if (step.does === "move")
    return call(`move to ${step.country}`, "PATCH", `/v1/customers/${customer_id}`, {
      billing_address: { country: step.country },
    });
  if (step.does === "change") {
    const product = step.kind === undefined ? {} : { product_id: findProduct(step.kind, step.nth).id };
    const name = `change to ${step.kind ?? JSON.stringify(step.body)}`;
    return call(name, "PATCH", `/v1/subscriptions/${String(subscription.id)}`, { ...product, ...step.body });
  }
  const timestamp = new Date(stage.now().getTime() - step.minutes_ago * 60_000).toISOString();
  const event = { name: "use", customer_id, timestamp, external_id: `begin-${number}`, metadata: { n: step.units } };
  return { ...call(`use ${step.units}`, "POST", "/v1/events/ingest", { events: [event] }), isQueued: true };
}
