/** Random choices that a seed determines. */
export type Chance = {
  /** A whole number from 0 to below `limit`. */
  pickNumber(limit: number): number;
  /** Whether something happens that has this probability. */
  decide(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** One of the names, each as often as its weight says. */
  pickWeighted<K extends string>(weights: Readonly<Record<K, number>>): K;
};

/** Create the choices of a seed, by the generator mulberry32. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const drawNumber = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const pickNumber = (limit: number): number => Math.floor(drawNumber() * limit);
  return {
    pickNumber,
    decide: (probability) => drawNumber() < probability,
    pick: (list) => list[pickNumber(list.length)] ?? list[0],
    pickWeighted<K extends string>(weights: Readonly<Record<K, number>>): K {
      const entries = Object.entries<number>(weights) as [K, number][];
      let rest = drawNumber() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        rest -= weight;
        if (rest < 0) return name;
      }
      return (entries.at(-1) as [K, number])[0];
    },
  };
}
