/**
 * A thing in the one form in which file and server are compared: every field canonical, references as keys. Of a row all
 * fields are there; of the file those that it names, which are those that it manages.
 */
export type Fields = Record<string, unknown>;

/** Whether two values are the same, in whatever order their fields stand. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
  if (typeof a === "object" && a !== null && typeof b === "object" && b !== null) {
    const [left, right] = [a as Fields, b as Fields];
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every((name) => isSame(left[name], right[name]));
  }
  return a === b;
}

/** Whether a price is as it is wanted. A custom price that names no minimum takes whatever the least is. */
export function isSamePrice(wantedPrice: Fields, foundPrice: Fields): boolean {
  const custom = wantedPrice.custom as Fields | undefined;
  const had = foundPrice.custom as Fields | undefined;
  if (!custom || !had || custom.minimum !== undefined) return isSame(wantedPrice, foundPrice);
  return isSame({ ...wantedPrice, custom: { ...custom, minimum: had.minimum } }, foundPrice);
}

/** Whether a field is as it is wanted: properties field by field, prices in whatever order they stand. */
export function isSameField(field: string, want: unknown, have: unknown): boolean {
  if (field === "properties") {
    const [wants, has] = [(want ?? {}) as Fields, (have ?? {}) as Fields];
    // A Discord token is never told, so whether it is another one is not known.
    return Object.entries(wants).every(
      ([name, value]) => name === "guild_token" || isSame(value ?? null, has[name] ?? null),
    );
  }
  if (field === "prices") {
    const left = [...(have as Fields[])];
    const wants = want as Fields[];
    if (left.length !== wants.length) return false;
    return wants.every((price) => {
      const at = left.findIndex((one) => isSamePrice(price, one));
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
  }
  return isSame(want, have);
}

/** Which prices go on sale, and which go off it. */
export function comparePrices(from: unknown, to: unknown): { added: Fields[]; removed: Fields[] } {
  const [had, wants] = [(from ?? []) as Fields[], (to ?? []) as Fields[]];
  return {
    added: wants.filter((price) => !had.some((one) => isSamePrice(price, one))),
    removed: had.filter((price) => !wants.some((one) => isSamePrice(one, price))),
  };
}
