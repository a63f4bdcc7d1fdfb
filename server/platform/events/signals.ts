import type { Ctx, Deps, Reaction, Tx } from "../context.ts";

/**
 * Something that happens in one domain and that domains after it answer to. The domain where it happens declares it; who
 * answers stands in `server/app/reactions.ts`. Unlike the events that sellers are sent, it never leaves the server.
 */
export type Signal<T> = { readonly name: string; readonly payload?: T };

/** Name something that others may answer to. */
export const defineSignal = <T>(name: string): Signal<T> => ({ name });

/** Have these answer to a signal, in this order. */
export const bindReactions = <T>(
  { name }: Signal<T>,
  ...reactions: Reaction<T>[]
): [string, readonly Reaction<never>[]] => [name, reactions];

/** Say that something happened, and wait until everybody has answered who does so at once. */
export async function sendSignal<T>(tx: Tx, ctx: Deps | Ctx, { name }: Signal<T>, payload: T): Promise<void> {
  for (const react of ctx.reactions.get(name) ?? []) await react(tx, ctx, payload as never);
}
