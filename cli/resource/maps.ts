/** Values with keys. Apart from flags and their parser, so that the catalogue can use them too. */

/** Whether a value has keys. */
export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Two objects, the second over the first at every depth. */
export function mergeDeep(below: unknown, above: unknown): unknown {
  if (!isMap(below) || !isMap(above)) return above;
  const whole: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) whole[key] = mergeDeep(whole[key], value);
  return whole;
}

/** A value at a place, from the inside out: `subscription.pause` is `{ subscription: { pause } }`. */
export const nestEntries = (place: string[], value: unknown): Record<string, unknown> =>
  place.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
