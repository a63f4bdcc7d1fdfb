import type { Database } from "../context.ts";

type Turns = { open: number; waiting: (() => void)[] };
/** For each database, the running and waiting work by name. */
const turnsOf = new WeakMap<Database, Map<string, Turns>>();

/**
 * Run long database work with a concurrency limit per name. The rest waits in order, without a connection, so that one name
 * cannot use up all connections.
 */
export async function withConcurrencyLimit<T>(
  db: Database,
  name: string,
  most: number,
  work: () => Promise<T>,
): Promise<T> {
  const all = turnsOf.get(db) ?? new Map<string, Turns>();
  turnsOf.set(db, all);
  const own = all.get(name) ?? { open: 0, waiting: [] };
  all.set(name, own);
  if (own.open >= most) await new Promise<void>((go) => own.waiting.push(go));
  else own.open += 1;
  try {
    return await work();
  } finally {
    const next = own.waiting.shift();
    // The next waiting work takes over the slot.
    if (next) next();
    else {
      own.open -= 1;
      if (own.open === 0) all.delete(name);
    }
  }
}
