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
    },
    jobs: {
      ...jobs,
      wake(tx, sweep) {
        jobs.wake(tx, sweep);
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
