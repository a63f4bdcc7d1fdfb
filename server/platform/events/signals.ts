import type { Ctx, Deps, Reaction, Tx } from "../context.ts";

/**
 * Something that happens in one domain and to which later domains react. The domain where it happens declares the signal;
 * `server/app/reactions.ts` binds the reactions. Unlike an event, it never leaves the server.
 */
export type Signal<T> = { readonly name: string; readonly payload?: T };

/** Declare a signal. */
export const defineSignal = <T>(name: string): Signal<T> => ({ name });

/** Bind reactions to a signal, in this order. */
export const bindReactions = <T>(
  { name }: Signal<T>,
  ...reactions: Reaction<T>[]
): [string, readonly Reaction<never>[]] => [name, reactions];

/** Send a signal, and await its reactions one after the other, in the same transaction. */
export async function sendSignal<T>(tx: Tx, ctx: Deps | Ctx, { name }: Signal<T>, payload: T): Promise<void> {
  for (const react of ctx.reactions.get(name) ?? []) await react(tx, ctx, payload as never);
}
