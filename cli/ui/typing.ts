/** A text that is being typed, and how many of its characters stand before the cursor. */
export type Typing = { text: string; at: number };

/** The text with the cursor at its end, where typing goes on. */
export const beginTyping = (text: string): Typing => ({ text, at: [...text].length });

/** The cursor so many characters further, within the text. */
export const moveCursor = ({ text, at }: Typing, by: number): Typing => ({
  text,
  at: Math.min(Math.max(at + by, 0), [...text].length),
});

/** What a piece of input does at the cursor. A terminal may hand over several keys at once: a fast typist, or a paste. */
export function applyInput({ text, at }: Typing, input: string): Typing & { entered: boolean } {
  let before = [...text].slice(0, at);
  const after = [...text].slice(at);
  let entered = false;
  for (const key of input) {
    // What follows a line end in a paste belongs to no question that the person has seen.
    entered = key === "\r" || key === "\n";
    if (entered) break;
    if (key === "\u007f" || key === "\b") before.pop();
    else if (key === "\u0015") before = [];
    else if (key >= " ") before.push(key);
  }
  return { text: [...before, ...after].join(""), at: before.length, entered };
}
