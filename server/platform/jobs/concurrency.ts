import type { Database } from "../context.ts";

type Turns = { open: number; waiting: (() => void)[] };
/** Of each database, who is at work for whom, and who waits. */
const turnsOf = new WeakMap<Database, Map<string, Turns>>();

/**
 * Do what needs the database for long when it is one's turn: of what is asked for under one name, so much goes on at once, and the
 * rest waits in its order, without a connection. So who asks for much leaves the other connections to others.
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
    // Who goes next takes the place as it is.
    if (next) next();
    else {
      own.open -= 1;
      if (own.open === 0) all.delete(name);
    }
  }
}
