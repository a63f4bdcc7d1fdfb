/** A shop that sells by Stripe on a PostgreSQL, is backed up, goes on, and is put back to what it was. */
import { sql } from "drizzle-orm";
import { type Floe, type Seller, start } from "./floe.ts";
import { copyPostgresDatabase, createPostgresDatabase } from "./postgres-database.ts";
import { startStripe } from "./stripe-stand-in.ts";

export const webhookSecret = "whsec_of_these_tests";
const keys = {
  STRIPE_SECRET_KEY: "sk_test_1",
  STRIPE_PUBLISHABLE_KEY: "pk_test_1",
  STRIPE_WEBHOOK_SECRET: webhookSecret,
};
const hourMs = 3_600_000;
const monthMs = 31 * 24 * hourMs;

type Row = Record<string, string | number | null>;

export async function openRestoredShop() {
  const standIn = await startStripe();
  const settings = { ...keys, STRIPE_API_URL: standIn.url };
  let databaseUrl = await createPostgresDatabase();
  let floe = await start({ databaseUrl, settings });
  standIn.follow(floe.clock);
  const seller = await floe.seller("restored");
  const create = (body: object) => seller.client.products.create({ body: body as never });
  const prices = [{ amount_type: "fixed", price_amount: 1900 }];
  const plan = (await create({ name: "Plan", recurring_interval: "month", prices })).id;
  const guide = (await create({ name: "Guide", prices })).id;
  let buyers = 0;
  let isOpen = true;

  /** The same database, or another one, from a time on. */
  async function reopen(url: string, time: Date, more: Record<string, string> = {}): Promise<void> {
    if (isOpen) await floe.close();
    databaseUrl = url;
    floe = await start({ databaseUrl, settings: { ...settings, ...more } });
    floe.clock.time = time;
    standIn.follow(floe.clock);
    isOpen = true;
  }
  const shop = {
    standIn,
    seller,
    plan,
    guide,
    floe: (): Floe => floe,
    client: (): Seller["client"] => floe.client(seller.key),
    open: async (product: string) =>
      (await floe.client(seller.key).checkouts.create({ body: { products: [product] } })).client_secret,
    pay(client_secret: string, confirmation_token_id = "ctoken_visa") {
      buyers += 1;
      const body = {
        customer_email: `buyer-${buyers}@example.com`,
        customer_billing_address: { country: "FR" },
        confirmation_token_id,
      };
      return floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
    },
    async sell(product: string, times: number): Promise<void> {
      const rest = Array(times).keys();
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          for (const _ of rest) await shop.pay(await shop.open(product));
        }),
      );
      await floe.runJobs();
    },
    /** Stop, take a backup, and go on. */
    async backUp(): Promise<string> {
      const { time } = floe.clock;
      await floe.close();
      isOpen = false;
      const backup = await copyPostgresDatabase(databaseUrl);
      await reopen(databaseUrl, time);
      return backup;
    },
    settings: () => ({ ...settings, DATABASE_URL: databaseUrl }),
    reopen,
    /** A month later, what is due is done. */
    async renew(): Promise<void> {
      floe.clock.advance(monthMs);
      await floe.runJobs();
    },
    /** The money that Stripe has taken and not given back. */
    countCharges: (): number => [...standIn.intents.values()].filter(({ status }) => status === "succeeded").length,
    read: async (statement: string): Promise<Row[]> => [
      ...((await floe.deps.db.execute(sql.raw(statement))) as unknown as Iterable<Row>),
    ],
    async numbers(): Promise<string[]> {
      const rows = await shop.read("select invoice_number from orders where invoice_number is not null order by 1");
      return rows.map(({ invoice_number }) => String(invoice_number));
    },
    /** What was wrong with the requests, apart from keys that stand for a charge from before the restore. */
    takeFaults: () =>
      standIn.takeFaults().filter((fault) => !/idempotency key .* was used for something else/.test(fault)),
    async close(): Promise<void> {
      await floe.close();
      await standIn.close();
    },
  };
  return shop;
}
