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

/** One thing to pick. */
export type Choice = { value: string; label: string };

/** What came of a question: an answer, or the person left by Escape, or ended the program. */
export type Outcome<T> = { value: T } | "left" | "interrupted";
