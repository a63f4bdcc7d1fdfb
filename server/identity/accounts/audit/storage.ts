import { tryGetCurrentAuthEndpointContext } from "@better-auth/core/context";
import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter, DBTransactionAdapter } from "better-auth/adapters";
import type { Database, Deps, Tx } from "../../../platform/context.ts";
import { findOutage } from "../../../platform/db/unreachable.ts";
import { type AuditEntry, record } from "../../../platform/events/audit.ts";
import { endGivenOut, isCredentialChange } from "../people/credentials.ts";
import { sendSecurityMail } from "../people/security-mails.ts";
import type { AccountWork } from "../work.ts";
import { type CallDescription, type DescribedChange, describeCall, isTold, type Row } from "./describe.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type Store = DBTransactionAdapter<BetterAuthOptions>;
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;

/** More than anybody has sessions; what is deleted at once is read before. */
const rowsMax = 10_000;

/**
 * The account side's storage, in which every change that people need to know of is written down in the transaction that
 * makes it. `open` gives the storage on a connection or a transaction; each call goes to the transaction that is open, and what
 * cannot be reached fails the request.
 */
export function wrapAuditedStorage(deps: Deps, work: AccountWork, open: (db: Database) => Adapter): Adapter {
  const outside = open(deps.db);

  async function queryStore<T>(question: (store: Store) => Promise<T>): Promise<T> {
    try {
      return await question(work.storage() ?? outside);
    } catch (error) {
      if (findOutage(error)) work.note(error);
      else work.noteFault(error);
      throw error;
    }
  }

  /** Make a change and write it down; `happened` says of what it answers whether it was one. */
  const recordChange = <T>(
    kind: DescribedChange["kind"],
    model: string,
    given: Row,
    where: Where,
    change: (store: Store) => Promise<T>,
    happened: (result: T) => boolean,
  ): Promise<T> =>
    queryStore((store) => {
      if (!isTold(model, kind, given)) return change(store);
      return work.transaction(open, async (store, tx) => {
        const before =
          kind === "create" ? [] : await store.findMany<Row>({ model, where, limit: kind === "delete" ? rowsMax : 1 });
        const result = await change(store);
        if (!happened(result)) return result;
        const place = { model, kind, path: getCurrentPath(), now: deps.clock.now() };
        const changes =
          kind === "create"
            ? [{ ...place, before: {}, given: { ...given, ...(result as Row) } }]
            : before.map((row) => ({ ...place, before: row, given }));
        const entries: { entry: AuditEntry; change: DescribedChange }[] = [];
        for (const change of changes) {
          const said = describeCall(model === "teamMember" ? await locateFault(store, change) : change);
          if (said) entries.push({ entry: buildEntry(said), change });
        }
        await record(tx, deps, ...entries.map(({ entry }) => entry));
        const current = tryGetCurrentAuthEndpointContext()?.context.session?.session.id ?? null;
        for (const { entry, change } of entries) {
          const { action, subject } = entry;
          if (subject?.id && isCredentialChange(action)) await endGivenOut(tx, deps, subject.id, current);
          await sendSecurityMail(tx, deps, entry, change.before.email);
        }
        return result;
      });
    });
  const isChange = (result: unknown): boolean => result !== null && result !== 0;

  const runTransaction: Adapter["transaction"] = (inner) =>
    queryStore(() => work.transaction(open, () => inner(storage)));
  const storage: Adapter = {
    ...outside,
    // What better-auth does after a transaction it would otherwise do also after one that failed.
    ...(outside.options && {
      options: { ...outside.options, adapterConfig: { ...outside.options.adapterConfig, transaction: runTransaction } },
    }),
    findOne: (given) => queryStore((store) => store.findOne(given)),
    findMany: (given) => queryStore((store) => store.findMany(given)),
    count: (given) => queryStore((store) => store.count(given)),
    consumeOne: (given) => queryStore((store) => store.consumeOne(given)),
    create: (given) =>
      recordChange("create", given.model, given.data, [], (store) => store.create(given), isChange) as never,
    update: (given) =>
      recordChange("update", given.model, given.update, given.where, (store) => store.update(given), isChange) as never,
    updateMany: (given) =>
      recordChange("update", given.model, given.update, given.where, (store) => store.updateMany(given), isChange),
    incrementOne: (given) =>
      recordChange(
        "update",
        given.model,
        given.set ?? {},
        given.where,
        (store) => store.incrementOne(given),
        isChange,
      ) as never,
    // Counted, because of two who delete the same at once only one has deleted it.
    delete: async ({ model, where }) => {
      await recordChange("delete", model, {}, where, (store) => store.deleteMany({ model, where }), isChange);
    },
    deleteMany: (given) =>
      recordChange("delete", given.model, {}, given.where, (store) => store.deleteMany(given), isChange),
    transaction: runTransaction,
  };
  return storage;
}

/** A team's member knows the team; the log wants the organization. */
async function locateFault(store: Store, change: DescribedChange): Promise<DescribedChange> {
  const teamId = change.kind === "create" ? change.given.teamId : change.before.teamId;
  if (typeof teamId !== "string") return change;
  const team = await store.findOne<Row>({ model: "team", where: [{ field: "id", value: teamId }] });
  const organizationId = team?.organizationId;
  return { ...change, before: { ...change.before, organizationId }, given: { ...change.given, organizationId } };
}

const getCurrentPath = (): string => tryGetCurrentAuthEndpointContext()?.path ?? "";

/** An entry of the account side: by who is signed in, from where the call that is being answered came. */
export function buildEntry({ self = null, onlySelf, ...said }: CallDescription): AuditEntry {
  const ctx = tryGetCurrentAuthEndpointContext();
  const signedIn = onlySelf ? null : (ctx?.context.session ?? null);
  const impersonated_by: unknown = signedIn?.session.impersonatedBy;
  const user_id = signedIn?.user.id ?? self;
  return {
    action: said.action,
    actor: {
      kind: user_id !== null ? "user" : ctx?.request ? "anonymous" : "system",
      user_id,
      key_id: null,
      impersonated_by: typeof impersonated_by === "string" ? impersonated_by : null,
    },
    subject: said.subject,
    organization_id: said.organization_id ?? null,
    details: said.details ?? {},
    ip_address: ctx?.headers?.get("x-client-ip") ?? null,
    user_agent: ctx?.headers?.get("user-agent") ?? null,
  };
}

/** Write down a change of the account side that is made past its storage. */
export const recordTold = (tx: Tx, deps: Pick<Deps, "clock">, told: CallDescription): Promise<void> =>
  record(tx, deps, buildEntry(told));
