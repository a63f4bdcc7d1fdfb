/** A floe in a process of its own that is killed in the middle of its work: `node mortal.ts DATABASE_URL STEP`. */
import type { Deps } from "../../server/lib/context.ts";
import { start } from "./floe.ts";

const [databaseUrl = "", step = ""] = process.argv.slice(2);
// Not an exception, which could be caught: the process is gone, and its connections with it.
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
};

const mortal = ({ processor, jobs }: Deps): Partial<Deps> => {
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

const floe = await start({ databaseUrl, listen: true, replace: mortal });
process.stdout.write(`${floe.url}\n`);
