/** Whether a server has the secret of its database (RST-06). */
import { desc, sql } from "drizzle-orm";
import { type Config, ConfigError } from "../config.ts";
import type { Database, Deps, Tx } from "../context.ts";
import { hashToken } from "../crypto/secrets.ts";
import { secretChecks } from "./tables.ts";
import { transact } from "./unit-of-work.ts";

const hashSecretName = (secret: string): string => hashToken(secret, "floe secret check");

/** The hash of the secret that a server was started with last. */
async function findCurrentHash(db: Database | Tx): Promise<string | undefined> {
  const [row] = await db
    .select({ hash: secretChecks.hash })
    .from(secretChecks)
    .orderBy(desc(secretChecks.used_at))
    .limit(1);
  return row?.hash;
}

const isNamed = ({ secrets }: Pick<Config, "secrets">, hash: string | undefined): boolean =>
  hash === undefined || secrets.some((secret) => hashSecretName(secret) === hash);

/** Whether the database works with one of these secrets. A new database works with any. */
export const hasItsSecret = async (db: Database, config: Pick<Config, "secrets">): Promise<boolean> =>
  isNamed(config, await findCurrentHash(db));

async function recordSecret(tx: Tx, { config, clock }: Pick<Deps, "config" | "clock">): Promise<void> {
  // Later than the one before, whatever the clock of this machine says.
  const used_at = sql`greatest(${clock.now().toISOString()}::timestamptz,
    (select max(${secretChecks.used_at}) + interval '1 millisecond' from ${secretChecks}))`;
  await tx
    .insert(secretChecks)
    .values({ hash: hashSecretName(config.secret), used_at })
    .onConflictDoUpdate({ target: secretChecks.hash, set: { used_at } });
}

/**
 * Refuse to start with another secret than that of the database: every key, session and sealed value would be invalid, without a
 * word. The first start writes down a hash of its secret, and a start with a new one that also names the old one replaces it.
 */
export async function checkSecret(deps: Pick<Deps, "db" | "config" | "clock" | "log">): Promise<void> {
  const { db, config } = deps;
  if ((await findCurrentHash(db)) === hashSecretName(config.secret)) return;
  await transact(deps, async (tx) => {
    // Servers that start side by side with different secrets: the second one is refused.
    await tx.execute(sql`lock table ${secretChecks} in exclusive mode`);
    if (!isNamed(config, await findCurrentHash(tx)))
      throw new ConfigError(
        `${config.embedded && !config.FLOE_SECRET ? "The file secret of the data folder" : "FLOE_SECRET"} is not the secret of this database, so every API key, session and sealed value in it would be invalid. Set the right one. If you changed it, name the old one in FLOE_SECRET_PREVIOUS. If it is lost or has leaked: floe admin replace-secret`,
      );
    await recordSecret(tx, deps);
  });
}

/** Make the secret of the settings that of the database. What another one has made is invalid from then on. */
export const replaceSecret = (deps: Pick<Deps, "db" | "config" | "clock" | "log">): Promise<void> =>
  transact(deps, (tx) => recordSecret(tx, deps));
