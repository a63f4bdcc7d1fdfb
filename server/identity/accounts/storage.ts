import { createHash } from "node:crypto";
import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter } from "better-auth/adapters";
import { APIError, isAPIError } from "better-auth/api";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;
type Row = Record<string, unknown>;

/** What a bearer could use, kept as a hash: by model, the field. */
const hashed: Readonly<Record<string, string>> = { session: "token" };
/** What the server itself must read again, and better-auth would keep in clear. */
const sealed: Readonly<Record<string, string>> = { account: "idToken" };
const hashPrefix = "sha256:";
const sealPrefix = "sealed:";

/** The row that a text of an account at another service is sealed for. */
export const getSignInSealRow = (row: Row): string => JSON.stringify([row.providerId, row.accountId]);

/** What is stored of a session's token or a device code. Both are long and random, so a plain hash hides them. */
export const hashSecret = (secret: string): string => hashPrefix + createHash("sha256").update(secret).digest("hex");

/** Whoever could not be signed in is told so, and the log why. */
function rejectFailedCreate(model: string, error: unknown): never {
  if (model !== "session" || isAPIError(error)) throw error;
  const told = new APIError("INTERNAL_SERVER_ERROR", { message: "Failed to create session" });
  throw Object.assign(told, { cause: error });
}

/**
 * A row is looked at before it is ended, so that hooks get to know it: a list of at most one, by its secret. Nobody is let
 * in by a list.
 */
const isLookBeforeEnd = ({ where, limit }: { where?: Where | undefined; limit?: number }): boolean =>
  limit === 1 && (where?.every(({ operator }) => operator === undefined || operator === "eq") ?? false);

/**
 * The account side's storage, with secrets hashed or sealed on their way in. Whoever asks by a secret gets the row with
 * it; whoever asks otherwise (a list of sessions) gets the hash in its place. That names the row, to end it, and lets
 * nobody in: reading never takes a hash for what it hides.
 */
export function wrapProtectedStorage(adapter: Adapter, secrets: readonly string[]): Adapter {
  /** The stored form of a row. */
  const sealRow = (model: string, row: Row, owner: Row = row): Row => {
    const [hides, seals] = [hashed[model], sealed[model]];
    const stored = { ...row };
    if (hides && typeof row[hides] === "string") stored[hides] = hashSecret(row[hides]);
    if (seals && typeof row[seals] === "string")
      stored[seals] = sealPrefix + seal(secrets[0] ?? "", "id-token", getSignInSealRow(owner), row[seals]);
    return stored;
  };
  /** A stored row as callers know it; `known` is the secret it was found by. */
  const serializeRow = <T>(model: string, row: T, known?: unknown): T => {
    if (typeof row !== "object" || row === null) return row;
    const [hides, seals] = [hashed[model], sealed[model]];
    const shown = { ...row } as Row;
    if (hides && typeof known === "string" && shown[hides] === hashSecret(known)) shown[hides] = known;
    const kept = seals ? shown[seals] : undefined;
    // Nothing when it was sealed with a secret that is gone, which must not keep its person from signing in.
    if (seals && typeof kept === "string" && kept.startsWith(sealPrefix))
      shown[seals] = tryUnseal(secrets, "id-token", getSignInSealRow(shown), kept.slice(sealPrefix.length));
    return shown as T;
  };
  /** The row that an update of a sealed field is about, which names what it is sealed for. */
  const findOwner = async (model: string, where: Where, update: Row): Promise<Row> => {
    if (typeof update[sealed[model] ?? ""] !== "string") return update;
    return (await adapter.findOne<Row>({ model, where })) ?? update;
  };
  /** Conditions on the stored form. To end or change a row its hash is as good as what it hides. */
  const encodeWhere = <W extends Where | undefined>(model: string, where: W, handles = false): W => {
    const field = hashed[model];
    const hide = (value: unknown) =>
      typeof value !== "string" || (handles && value.startsWith(hashPrefix)) ? value : hashSecret(value);
    return where?.map((one) =>
      one.field === field ? { ...one, value: Array.isArray(one.value) ? one.value.map(hide) : hide(one.value) } : one,
    ) as W;
  };
  const findSecret = (model: string, where: Where | undefined): unknown =>
    where?.find(({ field }) => field === hashed[model])?.value;

  return {
    ...adapter,
    create: async (given) =>
      serializeRow(
        given.model,
        await adapter
          .create({ ...given, data: sealRow(given.model, given.data) as never })
          .catch((error: unknown) => rejectFailedCreate(given.model, error)),
        given.data[hashed[given.model] ?? ""],
      ) as never,
    findOne: async (given) =>
      serializeRow(
        given.model,
        await adapter.findOne({ ...given, where: encodeWhere(given.model, given.where) }),
        findSecret(given.model, given.where),
      ) as never,
    findMany: async (given) =>
      (await adapter.findMany({ ...given, where: encodeWhere(given.model, given.where, isLookBeforeEnd(given)) })).map(
        (row) => serializeRow(given.model, row),
      ) as never,
    count: (given) => adapter.count({ ...given, where: encodeWhere(given.model, given.where) }),
    update: async (given) =>
      serializeRow(
        given.model,
        await adapter.update({
          ...given,
          where: encodeWhere(given.model, given.where, true),
          update: sealRow(given.model, given.update, await findOwner(given.model, given.where, given.update)),
        }),
        findSecret(given.model, given.where),
      ) as never,
    updateMany: async (given) => {
      const sealed_field = sealed[given.model];
      if (sealed_field && typeof given.update[sealed_field] === "string")
        throw new Error(`${given.model}.${sealed_field} is sealed for one row, and cannot be set for several.`);
      const where = encodeWhere(given.model, given.where, true);
      return adapter.updateMany({ ...given, where, update: sealRow(given.model, given.update) });
    },
    delete: (given) => adapter.delete({ ...given, where: encodeWhere(given.model, given.where, true) }),
    deleteMany: (given) => adapter.deleteMany({ ...given, where: encodeWhere(given.model, given.where, true) }),
    consumeOne: async (given) =>
      serializeRow(
        given.model,
        await adapter.consumeOne({ ...given, where: encodeWhere(given.model, given.where) }),
      ) as never,
    incrementOne: async (given) =>
      serializeRow(
        given.model,
        await adapter.incrementOne({ ...given, where: encodeWhere(given.model, given.where) }),
      ) as never,
  };
}
