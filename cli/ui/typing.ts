/** What a piece of input does to a text. A terminal may hand over several keys at once: a fast typist, or a paste. */
export function type(text: string, input: string): { text: string; entered: boolean } {
  let typed = text;
  for (const key of input) {
    // What follows a line end in a paste belongs to no question that the person has seen.
    if (key === "\r" || key === "\n") return { text: typed, entered: true };
    if (key === "\u007f" || key === "\b") typed = [...typed].slice(0, -1).join("");
    else if (key === "\u0015") typed = "";
    else if (key >= " ") typed += key;
  }
  return { text: typed, entered: false };
}
