import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { chargePayment, type SettledPayment } from "../../server/billing/payments/settlement.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentMethods, paymentSetups, payments } from "../../server/billing/payments/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testIntents, testSetups } from "../../server/platform/processors/tables.ts";
import { beginPayment, beginSetup, newOrder } from "../support/attempts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";

/**
 * A card that is left, with a first payment or without, broken off at each of the statements in turn, those of the test
 * processor among them: it is kept once and the order settled once, or neither, and then it can be tried again.
 */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ embedded: true });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

type Kind = {
  amount: number;
  run(order: OrderRow, token: string): Promise<SettledPayment>;
  /** What the processor has of an order. */
  there(order: OrderRow): Promise<string[]>;
  /** The attempts that are written down. */
  here(order: OrderRow): Promise<string[]>;
  /** The statement with which the processor does it. */
  does: RegExp;
};
const kinds: Record<string, Kind> = {
  "without a payment": {
    amount: 0,
    run: async (order, token) => executeSetup(floe.deps, await beginSetup(floe, order, token)),
    there: async ({ id }) => {
      const rows = await floe.deps.db
        .select({ status: testSetups.status })
        .from(testSetups)
        .innerJoin(paymentSetups, eq(paymentSetups.id, testSetups.setup_id))
        .where(eq(paymentSetups.order_id, id));
      return rows.map(({ status }) => status);
    },
    here: async ({ id }) =>
      (await floe.deps.db.select().from(paymentSetups).where(eq(paymentSetups.order_id, id))).map(
        ({ status }) => status,
      ),
    does: /^insert into "test_setups"/,
  },
  "with a first payment": {
    amount: 1900,
    run: async (order, token) =>
      chargePayment(floe.deps, await beginPayment(floe, order, { confirmation_token_id: token }), "Guide"),
    there: async ({ id }) => {
      const rows = await floe.deps.db
        .select({ status: testIntents.status })
        .from(testIntents)
        .innerJoin(payments, eq(payments.id, testIntents.payment_id))
        .where(eq(payments.order_id, id));
      return rows.map(({ status }) => status);
    },
    here: async ({ id }) =>
      (await floe.deps.db.select().from(payments).where(eq(payments.order_id, id))).map(({ status }) => status),
    does: /^insert into "test_intents"/,
  },
};

describe.each(Object.keys(kinds))("a card that is left %s", (name) => {
  const { amount, run, there, here, does } = kinds[name] as Kind;
  const stateOf = async (order: OrderRow) => {
    const [row] = await floe.deps.db.select().from(orders).where(eq(orders.id, order.id));
    const kept = await floe.deps.db
      .select()
      .from(paymentMethods)
      .where(eq(paymentMethods.customer_id, order.customer_id));
    const { default_payment_method_id } = await seller.client.customers.get({ params: { id: order.customer_id } });
    return {
      order: row?.status,
      kept: kept.length,
      isDefault: default_payment_method_id !== null && default_payment_method_id === kept[0]?.id,
      here: await here(order),
      there: await there(order),
    };
  };
  const toldOf = async ({ id, customer_id }: OrderRow) => {
    const rows = await floe.deps.db.select().from(events).orderBy(events.seq);
    return rows
      .filter(({ data }) => [id, customer_id].includes((data as { id: string }).id))
      .map(({ type }) => type)
      .filter((type) => type.startsWith("order.") || type === "customer.updated");
  };
  /** Leave a card with the statement of this number failing; 0 lets all of them pass. */
  async function attempt(at: number, token = "pm_card_visa") {
    const order = await newOrder(floe, seller, { amount });
    const statements: string[] = [];
    const watch = watchStatements(floe, (statement, number) => {
      statements.push(statement);
      if (number === at) throw new Error(`broken off at ${number}`);
    });
    const ended = await run(order, token)
      .then(
        ({ status }) => status,
        () => "thrown",
      )
      .finally(watch.stop);
    // Everything works again, and time passes.
    floe.clock.advance(3 * 60_000);
    await floe.runJobs();
    return { order, ended, statements };
  }
  const done = { order: "paid", kept: 1, isDefault: true, here: ["succeeded"], there: ["succeeded"] };
  const said = ["order.created", "order.updated", "order.paid", "customer.updated"];

  test("is kept once, and all of it is said once", async () => {
    const { order, ended } = await attempt(0);
    expect([ended, await stateOf(order), await toldOf(order)]).toEqual(["succeeded", done, said]);
  });

  test("is not kept where it is broken off before the processor has it, and can be left then", async () => {
    const { statements } = await attempt(0);
    const at_processor = statements.findIndex((statement) => does.test(statement)) + 1;
    expect(at_processor).toBeGreaterThan(1);
    for (let at = 1; at <= at_processor; at += 1) {
      const { order, ended } = await attempt(at);
      const tried = ended === "thrown" ? [] : ["failed"];
      const nothing = { order: "pending", kept: 0, isDefault: false, here: tried, there: [] };
      expect([at, await stateOf(order)]).toEqual([at, nothing]);
      expect([at, await toldOf(order)]).toEqual([at, []]);
      await run(order, "pm_card_visa");
      expect([at, await stateOf(order)]).toEqual([at, { ...done, here: [...tried, "succeeded"] }]);
    }
  });

  test("is kept by itself, once, where it is broken off after that", async () => {
    const { statements } = await attempt(0);
    const at_processor = statements.findIndex((statement) => does.test(statement)) + 1;
    expect(statements.length).toBeGreaterThan(at_processor + 5);
    for (let at = at_processor + 1; at <= statements.length; at += 1) {
      const { order, ended } = await attempt(at);
      // Nobody is told that it failed: it has not.
      expect([at, ended]).toEqual([at, "pending"]);
      expect([at, await stateOf(order)]).toEqual([at, done]);
      expect([at, await toldOf(order)]).toEqual([at, said]);
    }
  });

  test("is refused once, wherever that is broken off", async () => {
    const token = "pm_card_chargeDeclined";
    const { statements } = await attempt(0, token);
    for (let at = statements.findIndex((statement) => does.test(statement)) + 2; at <= statements.length; at += 1) {
      const { order } = await attempt(at, token);
      const refused = { order: "pending", kept: 0, isDefault: false, here: ["failed"], there: ["failed"] };
      expect([at, await stateOf(order)]).toEqual([at, refused]);
    }
  });
});
