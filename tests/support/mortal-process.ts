/**
 * A floe in a process of its own that is killed in the middle of its work: `node mortal-process.ts DATABASE_URL STEP`. With
 * an order's id behind it, it leaves a card for that order; otherwise it says where it listens.
 */
import { start } from "./floe.ts";
import { leaveCard, saleSteps, setupSteps } from "./mortal-steps.ts";

const [databaseUrl = "", step = "", order_id] = process.argv.slice(2);
// Not an exception, which could be caught: the process is gone, and its connections with it.
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
};

if (order_id) {
  const { deps } = await start({ databaseUrl, replace: setupSteps(step, die) });
  await leaveCard(deps, order_id, step, die);
} else {
  const floe = await start({ databaseUrl, listen: true, replace: saleSteps(step, die) });
  process.stdout.write(`${floe.url}\n`);
}
