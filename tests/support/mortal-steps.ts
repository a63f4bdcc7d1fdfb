/** The steps at which a server ends in the tests of what it leaves behind. */
import { eq } from "drizzle-orm";
import { orders } from "../../server/billing/orders/tables.ts";
import { chargePayment, startPayment } from "../../server/billing/payments/settlement.ts";
import { executeSetup, startSetup } from "../../server/billing/payments/setups.ts";
import type { Deps } from "../../server/platform/context.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";

/** Ends the server: whatever it was about to do is not done. */
export type Die = () => never;

/** The parts of a server that dies at this step of a sale, a refund or a catalogue. */
export const saleSteps =
  (step: string, die: Die) =>
  ({ processor, jobs }: Deps): Partial<Deps> => {
    let charged = false;
    let refunded = 0;
    let sent = 0;
    return {
      processor: {
        ...processor,
        async confirm(charge) {
          if (step === "before charging") die();
          const intent = await processor.confirm(charge);
          charged = true;
          if (step === "after charging") die();
          return intent;
        },
        async refund(request) {
          if (step === "before the refund is asked for") die();
          const outcome = await processor.refund(request);
          refunded = 1;
          if (step === "after the refund is made") die();
          return outcome;
        },
      },
      jobs: {
        ...jobs,
        wake(tx, sweep) {
          jobs.wake(tx, sweep);
          if (refunded > 0) refunded += 1;
          if (step === "while the refund is written" && refunded === 2) die();
          if (step === "before the refund is committed" && refunded === 4) die();
          if (step === "before the payment is written" && !charged) die();
          if (charged || step === "while a catalogue is applied") sent += 1;
          if (step === "while a catalogue is applied" && sent === 2) die();
          if (step === "while the order is written" && sent === 2) die();
          if (step === "before the order is committed" && sent === 4) die();
        },
      },
    };
  };

/** The parts of a server that dies at this step of keeping a card. */
export const setupSteps =
  (step: string, die: Die) =>
  ({ processor, jobs }: Deps): Partial<Deps> => {
    let events = 0;
    const around = async <T>(work: () => Promise<T>): Promise<T> => {
      if (step === "before it is asked for") die();
      const outcome = await work();
      if (step === "after it was done") die();
      return outcome;
    };
    return {
      processor: {
        ...processor,
        saveMethod: (setup) => around(() => processor.saveMethod(setup)),
        confirm: (charge) => around(() => processor.confirm(charge)),
      },
      jobs: {
        ...jobs,
        wake(tx, sweep) {
          jobs.wake(tx, sweep);
          events += 1;
          if (step === "while the order is settled" && events === 1) die();
          if (step === "while the customer is changed" && events === 4) die();
        },
      },
    };
  };

/** Leave a card for this order, at a server with these parts. */
export async function leaveCard(deps: Deps, order_id: string, step: string, die: Die): Promise<void> {
  const [order] = await deps.db.select().from(orders).where(eq(orders.id, order_id));
  if (!order) throw new Error("There is no such order.");
  const payer = { email: "buyer@example.com", confirmation_token_id: "pm_card_visa" };
  if (order.subtotal_amount > 0) {
    const payment = await transact(deps, async (tx) => {
      const written = await startPayment(tx, deps, order, { ...payer, keep: true });
      if (step === "before it is written down") die();
      return written;
    });
    await chargePayment(deps, payment, "Guide");
  } else {
    const setup = await transact(deps, async (tx) => {
      const written = await startSetup(tx, deps, order, payer);
      if (step === "before it is written down") die();
      return written;
    });
    await executeSetup(deps, setup);
  }
}
