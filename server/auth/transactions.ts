import { getCurrentAdapter, runWithTransaction } from "@better-auth/core/context";
import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter } from "better-auth/adapters";

type Called = { context: { adapter: DBAdapter<BetterAuthOptions> } };

/**
 * An endpoint of better-auth's whose writes are one transaction, where it makes them one after the other. What it calls
 * must write to that transaction too, as its storage and the outbox do: an embedded database has one connection alone.
 */
export function inTransaction<E extends (given: never) => unknown>(endpoint: E): E {
  const call = (given: never) => {
    const { context, ...rest } = given as Called;
    return runWithTransaction(context.adapter, async () => {
      // Some of its look-ups ask the storage that they were given, and not for the transaction that is open.
      const adapter = await getCurrentAdapter(context.adapter);
      return endpoint({ ...rest, context: { ...context, adapter } } as never);
    });
  };
  // An endpoint carries its path and options with it.
  return Object.assign(call, endpoint) as never;
}
