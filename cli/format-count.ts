/** A number with its noun: `1,000 rows`, `1 row`. */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
