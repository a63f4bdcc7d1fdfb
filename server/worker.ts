import { sweepGuests } from "./auth/guests.ts";
import { sweepDeviceCodes } from "./auth/sweep.ts";
import { sweepCheckouts } from "./checkouts/jobs.ts";
import { renameAnswers as renameCheckoutAnswers } from "./checkouts/store.ts";
import { moveAnswers } from "./custom-fields/jobs.ts";
import { sweepTallies } from "./customers/jobs.ts";
import { sweepFiles } from "./files/jobs.ts";
import { sweepIdempotencyKeys } from "./http/idempotency.ts";
import type { Deps, JobHandlers } from "./lib/context.ts";
import { sendMail, sweepMails, sweepOldMails, warnOfUnsentMail } from "./lib/mail.ts";
import { settleFreeOrder } from "./orders/service.ts";
import { renameAnswers as renameOrderAnswers } from "./orders/store.ts";
import { sweepPayments } from "./payments/jobs.ts";
import { sweepRefunds } from "./refunds/jobs.ts";
import { sweepWebhooks, webhookJobs } from "./webhooks/jobs.ts";

/** What is done later, by job name. */
export const handlers: JobHandlers = {
  ...webhookJobs,
  "orders.settle_free": settleFreeOrder,
  "custom_fields.move_answers": moveAnswers([renameOrderAnswers, renameCheckoutAnswers]),
  "mails.send": sendMail,
};

type Sweep = (deps: Deps) => Promise<number>;
const due: readonly Sweep[] = [sweepPayments, sweepRefunds, sweepCheckouts, sweepWebhooks, sweepMails];
const old: readonly Sweep[] = [
  sweepIdempotencyKeys,
  sweepDeviceCodes,
  sweepGuests,
  sweepOldMails,
  sweepFiles,
  sweepTallies,
];
const due_every_ms = 1000;
const old_every_ms = 10 * 60 * 1000;

/** Do everything that has fallen due by our clock; answers how many rows were touched. */
export async function sweepDue(deps: Deps): Promise<number> {
  let touched = 0;
  for (const sweep of due) touched += await sweep(deps);
  return touched;
}

/** Work until stopped: jobs as they come, rows as they fall due. */
export async function startWorker(deps: Deps): Promise<{ stop(): Promise<void> }> {
  await warnOfUnsentMail(deps);
  await deps.jobs.work(deps, handlers);
  const loops = [
    repeat(deps, due_every_ms, () => sweepDue(deps)),
    repeat(deps, old_every_ms, async () => {
      for (const sweep of old) await sweep(deps);
    }),
  ];
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
      await deps.jobs.stop();
    },
  };
}

/** Run again and again with a pause between, never twice at once; a failure is told and the next round tries again. */
function repeat(deps: Deps, pause_ms: number, round: () => Promise<unknown>): { stop(): Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const next = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      running = round()
        .catch((error: unknown) => deps.log.error({ err: error }, "A sweep failed; it will be tried again."))
        .then(next);
    }, pause_ms);
  };
  next();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
