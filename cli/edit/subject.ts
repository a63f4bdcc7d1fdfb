/** What is edited: a text, and what becomes of a changed one. */
import type { Fault } from "../fault.ts";

export type Change = {
  /** The text that says it. */
  text: string;
  /** What a person reads before it is written. */
  shown: string;
  /** Write it; a conflict where what was read is no longer what is stored. */
  write(): Promise<void>;
};

export type Subject = {
  /** What it is, as in "product Pro". */
  title: string;
  /** The name of its file, without an ending. */
  name: string;
  text: string;
  /** What a text changes; undefined for nothing. A fault says what is wrong with the text, or that the thing has changed. */
  plan(text: string): Promise<Change | undefined>;
  /** That a text with something wrong in it was left as it is. */
  createRefusal(): Fault;
};
