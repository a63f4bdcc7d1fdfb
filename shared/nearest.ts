/** What somebody may have meant who wrote a word otherwise. */

/** How many letters one must change to come from one word to another. */
export function measureDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let a = 1; a <= from.length; a++) {
    const next = [a];
    for (let b = 1; b <= to.length; b++) {
      const change = (row[b - 1] ?? 0) + (from[a - 1] === to[b - 1] ? 0 : 1);
      next.push(Math.min(change, (row[b] ?? 0) + 1, (next[b - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** How many letters of a word may be wrong: a third of it, two of a short one. */
export const countMistakes = (word: string): number => Math.max(2, word.length / 3);

/** Those of some words that are meant by another, the nearest first; none where no word is near. Long texts are no words. */
export const findNearest = (word: string, among: readonly string[]): string[] =>
  word.length > 64
    ? []
    : among
        .map((one) => ({ one, away: measureDistance(word.toLowerCase(), one.toLowerCase()) }))
        .filter(({ one, away }) => away < one.length && away <= countMistakes(word))
        .sort((a, b) => a.away - b.away)
        .map(({ one }) => one);
