/** The objects that a recipe makes in the sandbox, each by the public API, as a seller and a buyer would. */
import { type Route, splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { applyOverrides, type Override, selectOverrides } from "./overrides.ts";

type Row = Record<string, unknown> & { id: string };
type Params = Record<string, string>;
type Kind =
  | "checkout"
  | "customer"
  | "product"
  | "benefit"
  | "discount"
  | "refund"
  | "member"
  | "seat"
  | "organization"
  | "license_key"
  | "order"
  | "subscription";
export type Made = { kind: Kind; id: string; name: string | null };

/** What people call a thing that was made: none of its fields is long. */
function findName(row: Row): string | null {
  const names = [row.email, row.invoice_number, row.display_key, row.code, row.name, row.description, row.slug];
  return names.find((one): one is string => typeof one === "string" && one !== "") ?? null;
}

const pollMs = 250;
const waitMsMax = 60_000;
/** The sandbox takes several requests to go far; so many steps are a year. */
const stepsMax = 500;

export type Objects = ReturnType<typeof createObjects>;

/** `own` is what the event is about: overrides such as `data.name` are of its body. */
export function createObjects(context: Context, organization_id: string, own: Kind, overrides: readonly Override[]) {
  const made: Made[] = [];
  const mark = process.getBuiltinModule("node:crypto").randomUUID().slice(0, 8);
  /** Bodies are not typed: overrides may write any field of them. */
  const call = async (
    route: Route,
    input: { params?: Params; query?: Record<string, unknown>; body?: object } = {},
  ): Promise<Row> => (await context.call({ ...splitRoute(route), ...input })) as Row;
  const list = async (
    route: Route,
    input: { params?: Params; query?: Record<string, unknown> } = {},
  ): Promise<Row[]> => {
    const { items } = await call(route, input);
    return items as Row[];
  };
  const note = (kind: Kind, row: Row): Row => {
    const known = made.find(({ id }) => id === row.id);
    // An order gets its number, and a key its text, while what was made is changed.
    if (known) known.name = findName(row) ?? known.name;
    else made.push({ kind, id: row.id, name: findName(row) });
    return row;
  };
  const fill = (kind: Kind, body: object): object => {
    const others = overrides.filter(({ path: [first = "", ...rest] }) => rest.length === 0 || !kinds.has(first));
    const ofEvent = kind === own ? others : [];
    return applyOverrides({ ...body }, [...ofEvent, ...selectOverrides(overrides, kind)]);
  };
  const create = async (kind: Kind, route: Route, body: object, params: Params = {}): Promise<Row> =>
    note(kind, await call(route, { params, body: fill(kind, body) }));
  const patch = (kind: Kind, route: Route, id: string, body: object): Promise<Row> =>
    call(route, { params: { id }, body: fill(kind, body) });
  /** Ask again until the server's jobs have done it. */
  const await_ = async <T>(what: string, find: () => Promise<T | undefined>): Promise<T> => {
    const ends = Date.now() + waitMsMax;
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      if (context.io.signal.aborted) throw new Fault("interrupted", "stopped");
      if (Date.now() > ends)
        throw new Fault("error", `${what} did not come within ${waitMsMax / 1000} s`, {
          hint: "Background jobs may not run. Run: `floe doctor`",
        });
      await pause(pollMs, context.io.signal);
    }
  };
  return {
    made,
    mark,
    organization_id,
    call,
    list,
    note,
    fill,
    create,
    patch,
    await: await_,
    /** Let time pass in the sandbox. */
    async advance(by: string): Promise<void> {
      context.say(`Moving the clock of the sandbox by ${by} …\n`);
      for (let step = 0; step < stepsMax && !context.io.signal.aborted; step += 1)
        if ((await call(routes.sandbox.advance, { body: { by } })).done === true) return;
      throw new Fault("interrupted", "time stands where it was; run `floe advance` to go on");
    },
    createCustomer: (body: object = {}): Promise<Row> =>
      create("customer", routes.customers.create, { email: `trigger-${mark}@example.com`, name: "Trigger", ...body }),
    createProduct: (body: object = {}): Promise<Row> =>
      create("product", routes.products.create, {
        name: `Trigger ${mark}`,
        prices: [{ amount_type: "fixed", price_amount: 1900 }],
        ...body,
      }),
    createBenefit: (body: object = {}): Promise<Row> =>
      create("benefit", routes.benefits.create, {
        type: "custom",
        description: `Trigger ${mark}`,
        properties: {},
        ...body,
      }),
    createCheckout: (product: Row, customer: Row | undefined, body: object = {}): Promise<Row> =>
      create("checkout", routes.checkouts.create, {
        products: [product.id],
        ...(customer && { customer_id: customer.id }),
        ...body,
      }),
  };
}
const kinds: ReadonlySet<string> = new Set(["customer", "product", "benefit", "discount", "checkout"]);

/** Pay for a checkout, as the buyer does on its page. */
export const confirmCheckout = (objects: Objects, client_secret: unknown, name: string, card: string) =>
  objects.call(routes.checkoutClient.confirm, {
    params: { client_secret: String(client_secret) },
    body: { confirmation_token_id: card, customer_name: name, customer_billing_address: { country: "FR" } },
  });

/** Buy a product with a test card, and wait until the sale is complete. */
export async function completeSale(
  objects: Objects,
  { product = {}, card = "pm_card_visa", checkout = {} }: { product?: object; card?: string; checkout?: object } = {},
): Promise<{ order: Row | undefined; subscription: Row | undefined; customer: Row; product: Row }> {
  const bought = await objects.createProduct(product);
  const customer = await objects.createCustomer();
  const { id, client_secret } = await objects.createCheckout(bought, customer, checkout);
  await confirmCheckout(objects, client_secret, "Trigger", card);
  const { order, subscription } = await objects.await("The sale", async () => {
    const [made] = await objects.list(routes.orders.list, { query: { checkout_id: id } });
    const [begun] = await objects.list(routes.subscriptions.list, { query: { customer_id: customer.id } });
    return made || begun ? { order: made, subscription: begun } : undefined;
  });
  if (order) objects.note("order", order);
  if (subscription) objects.note("subscription", subscription);
  return { order, subscription, customer, product: bought };
}

/** The same with a product that renews each month. */
export async function subscribe(objects: Objects, product: object = {}, card = "pm_card_visa") {
  const { subscription, ...sale } = await completeSale(objects, {
    product: { recurring_interval: "month", ...product },
    card,
  });
  if (!subscription) throw new Fault("error", "the sale made no subscription");
  return { ...sale, subscription };
}
