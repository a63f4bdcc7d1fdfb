/** A floe in a process of its own that is killed while a card is left: `node mortal-setup.ts DATABASE_URL STEP ORDER_ID`. */
import { eq } from "drizzle-orm";
import type { Deps } from "../../server/lib/context.ts";
import { transact } from "../../server/lib/unit-of-work.ts";
import { orders } from "../../server/orders/tables.ts";
import { chargePayment, startPayment } from "../../server/payments/settlement.ts";
import { executeSetup, startSetup } from "../../server/payments/setups.ts";
import { start } from "./floe.ts";

const [databaseUrl = "", step = "", id = ""] = process.argv.slice(2);
// Not an exception, which could be caught: the process is gone, and its connections with it.
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
};

let events = 0;
const mortal = ({ processor, jobs }: Deps): Partial<Deps> => {
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

const { deps } = await start({ databaseUrl, replace: mortal });
const [order] = await deps.db.select().from(orders).where(eq(orders.id, id));
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
