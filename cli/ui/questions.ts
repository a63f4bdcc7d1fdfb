/** What is asked, and what comes of it: plain data on both sides of the door to Ink. */

/** One text to ask for. */
export type Question = {
  name: string;
  label: string;
  hint: string;
  choices?: string[];
  /** What was answered before, and what is wrong with it. */
  before?: { text: string; fault: string };
  /** What is wrong with a text, or undefined. */
  check(text: string): string | undefined;
};

/** One thing to pick; `detail` is what is shown of it, in lines of at most so many columns, while it is the current one. */
export type Choice = { value: string; label: string; detail?(width: number): string[] };

/** How many choices stand on the screen at once. */
export const choiceRows = 10;
const [widthBeside, leastWidth, leastDetailRows, otherRows] = [100, 40, 4, 4];

/** Where a terminal has room for the detail of a choice: beside the list, below it, or nowhere; and how much of it. */
export function arrangeDetail(
  columns: number,
  rows: number,
): { list: number; detail: number; lines: number; beside: boolean } {
  if (columns >= widthBeside) {
    const list = Math.floor((columns - 3) / 2);
    return {
      list,
      detail: columns - 3 - list,
      lines: Math.max(0, Math.min(choiceRows + 1, rows - otherRows)),
      beside: true,
    };
  }
  const lines = Math.min(choiceRows, rows - choiceRows - otherRows);
  const fits = columns >= leastWidth && lines >= leastDetailRows;
  return { list: columns, detail: columns, lines: fits ? lines : 0, beside: false };
}

/** What came of a question: an answer, or the person left by Escape, or ended the program. */
export type Outcome<T> = { value: T } | "left" | "interrupted";
