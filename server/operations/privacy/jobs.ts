import { sql } from "drizzle-orm";
import { eraseBuyer as eraseOrders } from "../../billing/orders/store.ts";
import { deleteAtProcessor, erasePayer } from "../../billing/payments/methods.ts";
import { erasePayee } from "../../billing/refunds/store.ts";
import { eraseSubscriber } from "../../billing/subscriptions/trials.ts";
import { eraseTaker } from "../../catalog/discounts/store.ts";
import { eraseBuyer as eraseCheckouts } from "../../checkout/checkouts/store.ts";
import type { CustomerRow, Erased } from "../../customers/customers/rules.ts";
import { removeCustomer } from "../../customers/customers/service.ts";
import { lockCustomer } from "../../customers/customers/store.ts";
import { eraseTeam } from "../../customers/members/store.ts";
import { deleteSessions } from "../../customers/sessions/store.ts";
import { eraseAccounts } from "../../entitlements/grants/store.ts";
import { eraseActivations } from "../../entitlements/license-keys/store.ts";
import { eraseHolder } from "../../entitlements/seats/store.ts";
import { rewriteCopies } from "../../messaging/webhooks/store.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { tryUnseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { barrierPauseMs, checkBarrier } from "../../platform/events/barrier.ts";
import { rewriteEvent, searchEvents } from "../../platform/events/events.ts";
import { sendSignal } from "../../platform/events/signals.ts";
import { eraseKeptAnswers } from "../../platform/http/kept-answers.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { deleteBounce } from "../../platform/mail-transport/bounces.ts";
import { deleteMailsTo } from "../../platform/mail-transport/mail.ts";
import { eraseNotices } from "../../portal/cancellations/store.ts";
import { eraseCodes } from "../../portal/store.ts";
import { eraseUse } from "../../usage/events/store.ts";
import { listProperties } from "../../usage/meters/matching.ts";
import { findCounting } from "../../usage/meters/store.ts";
import { eraseImported } from "../imports/store.ts";
import { writeLog } from "./log.ts";
import {
  createTextScrubber,
  describeErased,
  type ErasureRow,
  getWords,
  type PersonWords,
  redactWords,
} from "./rules.ts";
import { customerErased, type ErasedCustomer, erasures } from "./service.ts";
import * as store from "./store.ts";
import { customerErasures } from "./tables.ts";

/** Erases customers in stages; an interrupted erasure resumes at its stage. */
export const erasureWorker: RowWorker = {
  name: erasures,
  pollIntervalMs: 5000,
  due: {
    table: customerErasures,
    id: customerErasures.id,
    organization_id: customerErasures.organization_id,
    at: customerErasures.due_at,
    where: sql`${customerErasures.due_at} is not null`,
  },
  async run(deps, [key]) {
    while (await runStep(deps, key));
    const erasure = await store.findErasure(deps.db, key);
    if (erasure?.stage !== null || erasure.due_at === null) return;
    await deleteAtProcessor(deps, key);
    // Outside of a transaction, because the storage may be slow. Writing the log twice does no harm.
    await writeLog(deps);
    const now = deps.clock.now();
    await transact(deps, (tx) => store.updateErasure(tx, key, { words: null, due_at: null, finished_at: now }));
  },
};

/**
 * The functions that erase a customer's data, each run in a transaction of its own, so that none waits while it holds
 * another's locks.
 */
const forgetting: ((tx: Tx, person: Erased, deps: Deps) => Promise<void>)[] = [
  deleteSessions,
  eraseCodes,
  eraseNotices,
  (tx, { id }) => deleteMailsTo(tx, id),
  async (tx, { emails }) => {
    for (const email of emails) await deleteBounce(tx, email);
  },
  eraseActivations,
  eraseAccounts,
  eraseHolder,
  eraseTeam,
  eraseTaker,
  eraseOrders,
  eraseSubscriber,
  erasePayer,
  erasePayee,
  eraseCheckouts,
  eraseImported,
  (tx, person, { config }) => eraseKeptAnswers(tx, config, person),
];

/** Run the next step of an erasure; returns whether another step is due immediately. */
async function runStep(deps: Deps, key: RowKey): Promise<boolean> {
  const next = await transact(deps, async (tx): Promise<boolean | { customer: CustomerRow; words: PersonWords }> => {
    // In the order in which whoever erases has them.
    const customer = await lockCustomer(tx, key.organization_id, key);
    const erasure = await store.lockErasure(tx, key, deps.clock.now());
    if (!customer || !erasure?.stage) return false;
    if (customer.anonymized_at === null) {
      await removeCustomer(tx, deps, customer, true);
      return true;
    }
    const { fence, isPassed } = await checkBarrier(tx, erasure.fence);
    if (erasure.fence === null) {
      await store.updateErasure(tx, key, { fence });
      return true;
    }
    // A transaction that read the customer before the removal may still write what it has read.
    if (!isPassed) {
      await store.updateErasure(tx, key, { due_at: new Date(deps.clock.now().getTime() + barrierPauseMs) });
      return false;
    }
    const words = readWords(deps, erasure);
    if (erasure.stage === "told") return claimNotified(tx, erasure, customer, words);
    if (erasure.stage === "used") return claimUsed(tx, erasure);
    return { customer, words };
  });
  if (typeof next === "boolean") return next;
  const { customer, words } = next;
  for (const forget of forgetting) await transact(deps, (tx) => forget(tx, describeErased(customer, words), deps));
  await transact(deps, (tx) => sendSignal(tx, deps, customerErased, describeCopies(customer, words)));
  await transact(deps, (tx) => store.updateErasure(tx, key, { stage: "told", cursor: null }));
  return true;
}

/** Describe to the holders of copies what to search for, and how to redact it. */
const describeCopies = (customer: CustomerRow, words: PersonWords): ErasedCustomer => ({
  organization_id: customer.organization_id,
  id: customer.id,
  words: [customer.id, ...words.emails, ...words.names.map((name) => name.toLowerCase())],
  scrub: (value) => redactWords(value, customer, words),
});

/**
 * Repeat the erasure of customers whom a restored snapshot made readable, in the caller's transaction. The worker redacts
 * events and usage afterwards.
 */
export async function applyErasures(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  ids: readonly string[],
): Promise<void> {
  for (const id of ids) {
    const before = await lockCustomer(tx, organization_id, { id });
    if (!before || before.anonymized_at !== null) continue;
    await removeCustomer(tx, ctx, before, true);
    const after = await lockCustomer(tx, organization_id, { id });
    if (after) for (const forget of forgetting) await forget(tx, describeErased(after, getWords(before)), ctx);
  }
}

const readWords = ({ config }: Deps, { id, words }: ErasureRow): PersonWords => {
  const text = words === null ? null : tryUnseal(config.secrets, "erasure-words", id, words);
  return text === null ? { emails: [], names: [] } : JSON.parse(text);
};

/** Go through a slice of what was told, with the copies that wait for receivers. */
async function claimNotified(tx: Tx, erasure: ErasureRow, customer: CustomerRow, words: PersonWords): Promise<true> {
  const { organization_id, id, cursor } = erasure;
  const known = [id, ...words.emails, ...words.names.map((name) => name.toLowerCase())];
  const { found, next } = await searchEvents(tx, organization_id, cursor, known);
  const forgetIn = createTextScrubber(customer, words);
  for (const told of found) {
    const key = { organization_id, id: told.id };
    await rewriteEvent(tx, key, redactWords(told.data, customer, words));
    await rewriteCopies(tx, key, (payload) =>
      payload.startsWith("{") ? JSON.stringify(redactWords(JSON.parse(payload), customer, words)) : forgetIn(payload),
    );
  }
  await store.updateErasure(tx, erasure, { cursor: next, ...(next === null && { stage: "used" }) });
  return true;
}

/** Go through a slice of what was used. */
async function claimUsed(tx: Tx, erasure: ErasureRow): Promise<boolean> {
  const kept = listProperties(await findCounting(tx, erasure.organization_id));
  const cursor = await eraseUse(tx, erasure, erasure.cursor, kept);
  await store.updateErasure(tx, erasure, { cursor, ...(cursor === null && { stage: null }) });
  return cursor !== null;
}
