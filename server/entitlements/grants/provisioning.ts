import { getServerClock } from "../../platform/clock.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { ExternalBusyError, ExternalRefusedError } from "../../platform/external/external-provider.ts";
import {
  type AccessRow,
  deleteAccess,
  findAccess,
  findGiving,
  findGrantsBy,
  isInOtherwise,
  lockAccess,
  postponeRequests,
  regrantOthers,
  updateAccess,
} from "./accesses.ts";
import { completeGrant, describeFailure, failGrant } from "./engine.ts";
import type { ExternalProvider } from "./kinds/external.ts";
import { getExternalProvider } from "./kinds/index.ts";
import { lockHolders } from "./store.ts";

/** While one server asks no other does; where it was broken off, another goes on after that. */
const leaseMs = 2 * 60 * 1000;
const firstPauseMs = 2000;
const longestPauseMs = 60 * 60 * 1000;
const repairPauseMs = 24 * 60 * 60 * 1000;
const triesMax = 20;
/** So much is done in one go: what changes meanwhile is seen to with the next. */
const stepsMax = 4;

/** What is asked for: to let an account in as something, or to put it out. `before` is what was asked for until then. */
type Step = { access: AccessRow; before: string | null } & ({ form: string } | { form: null; isKicked: boolean });

/** The access, once nobody else is at what its customer has. */
async function lockGrantAccess(tx: Tx, key: RowKey): Promise<AccessRow | undefined> {
  const seen = await findAccess(tx, key);
  if (!seen) return undefined;
  await lockHolders(tx, key.organization_id, [seen.customer_id]);
  return lockAccess(tx, key);
}

/**
 * What another service is to be asked for next, written before it is asked, so that it is known should the answer get lost.
 * Undefined where both sides agree, or somebody else is at it.
 */
const runStep = (deps: Deps, kind: ExternalProvider, key: RowKey): Promise<Step | undefined> =>
  transact(deps, async (tx) => {
    const now = deps.clock.now();
    const access = await lockGrantAccess(tx, key);
    if (!access || access.due_at === null || access.due_at > now) return undefined;
    const own = await findGrantsBy(tx, access);
    const forms = (await findGiving(tx, access)).map((properties) => kind.forms.indexOf(kind.formOf(properties)));
    const wanted = kind.forms[Math.max(-1, ...forms)] ?? null;
    const leased_until = new Date(now.getTime() + leaseMs);
    const leased = { ...access, leased_until, due_at: leased_until };
    if (own.length === 0) {
      // The same account has it by another customer of the seller's: as what, may be another by now.
      if (wanted !== null) await regrantOthers(tx, access, access.place, now);
      if (wanted !== null || access.asked === null) return void (await deleteAccess(tx, access));
      await updateAccess(tx, access, { leased_until, due_at: leased_until });
      const isKicked = access.kicks && !(await isInOtherwise(tx, access, kind.wholeOf(access.place)));
      return { access: leased, before: access.asked, form: null, isKicked };
    }
    if (wanted !== null && access.given === wanted) {
      for (const grant of own.filter(({ row }) => row.telling !== null))
        await completeGrant(tx, deps, grant, kind.properties(grant.benefit, access.account_number));
      return void (await updateAccess(tx, access, { due_at: null }));
    }
    if (wanted === null) throw new Error(`The access ${access.id} is of nothing that there is.`);
    await updateAccess(tx, access, { leased_until, due_at: leased_until, asked: wanted, given: null });
    return { access: leased, before: access.asked, form: wanted };
  });

/** Have another service let an account in or put it out, until both sides agree. */
export async function settleAccess(deps: Deps, key: RowKey): Promise<void> {
  const seen = await findAccess(deps.db, key);
  if (!seen) return;
  const kind = getExternalProvider[seen.platform];
  for (let left = stepsMax; left > 0; left -= 1) {
    const step = await runStep(deps, kind, key);
    if (!step) return;
    const problem = await executeStep(deps, kind, step);
    const goesOn = await transact(deps, (tx) => finishStep(tx, deps, step, problem));
    if (problem instanceof ExternalBusyError && problem.until)
      await postponeRequests(deps.db, step.access, deps.clock.now(), computeRetryTime(deps, problem));
    if (!goesOn) return;
  }
}

async function executeStep(
  deps: Deps,
  kind: ExternalProvider,
  step: Step,
): Promise<ExternalBusyError | ExternalRefusedError | undefined> {
  const { access, form } = step;
  try {
    if (form !== null) await kind.give(deps, { ...access, asked: step.before }, form);
    else {
      await kind.take(deps, access, step.isKicked);
      // What was given to the same account meanwhile may have gone, too.
      const within = step.isKicked ? kind.wholeOf(access.place) : access.place;
      await regrantOthers(deps.db, access, within, deps.clock.now());
    }
    return undefined;
  } catch (error) {
    if (error instanceof ExternalBusyError || error instanceof ExternalRefusedError) return error;
    throw error;
  }
}

/** When a service wants to be asked again, by the seller's clock. */
const computeRetryTime = ({ clock }: Deps, { until }: ExternalBusyError): Date =>
  new Date(clock.now().getTime() + Math.max(0, (until?.getTime() ?? 0) - getServerClock(clock).now().getTime()));

/** Note what has become of it; answers whether there is more to do at once. */
async function finishStep(
  tx: Tx,
  deps: Deps,
  step: Step,
  problem: ExternalBusyError | ExternalRefusedError | undefined,
): Promise<boolean> {
  const now = deps.clock.now();
  const access = await lockGrantAccess(tx, step.access);
  if (!access) return false;
  const isOutdated = access.turn !== step.access.turn;
  const free = { leased_until: null };
  if (problem === undefined) {
    const state = step.form === null ? { asked: null, given: null } : { given: isOutdated ? null : step.form };
    await updateAccess(tx, access, { ...free, ...state, attempts: 0, due_at: now });
    return true;
  }
  // Something else is wanted by now than what was refused.
  if (isOutdated && !(problem instanceof ExternalBusyError)) {
    await updateAccess(tx, access, { ...free, asked: step.before, due_at: now });
    return true;
  }
  if (problem instanceof ExternalBusyError && problem.until) {
    await updateAccess(tx, access, { ...free, due_at: computeRetryTime(deps, problem) });
    return false;
  }
  const attempts = access.attempts + 1;
  if (problem instanceof ExternalBusyError && attempts < triesMax) {
    const pause = Math.min(firstPauseMs * 2 ** (attempts - 1), longestPauseMs);
    await updateAccess(tx, access, { ...free, attempts, due_at: new Date(now.getTime() + pause) });
    return false;
  }
  if (step.form === null) {
    // It is revoked all the same, and repaired when the other side lets it (BEN-09, BEN-14).
    deps.log.warn({ err: problem, access_id: access.id }, "What was revoked could not be taken back yet.");
    await updateAccess(tx, access, { ...free, attempts, due_at: new Date(now.getTime() + repairPauseMs) });
    return false;
  }
  const isRefused = problem instanceof ExternalRefusedError;
  const error = isRefused
    ? describeFailure(problem.message, now)
    : describeFailure(
        `${problem.message} It was tried ${attempts} times; try it again later.`,
        now,
        "BenefitRetriableError",
      );
  for (const grant of await findGrantsBy(tx, access)) await failGrant(tx, deps, grant, error);
  await updateAccess(tx, access, {
    ...free,
    attempts: 0,
    // What is refused leaves what was there before.
    asked: isRefused ? step.before : access.asked,
    due_at: now,
  });
  return true;
}
