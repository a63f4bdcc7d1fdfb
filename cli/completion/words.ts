/** Words as shells read and write them: what was typed of the last one, and how the rest of a value is added to it. */

/** How a word is quoted where it ends. */
type Quote = "" | "'" | '"';
/** The last word of a line: as it was typed, what it means, and the quotation that is still open. */
type OpenWord = { raw: string; text: string; quote: Quote; quoteAt: number };

const escapedInDouble = new Set(["$", "`", '"', "\\", "\n"]);

/** Read a line of bash as far as the cursor: the words before the last one, and the last one. */
export function parseBashLine(line: string): { words: string[]; last: OpenWord } {
  const words: string[] = [];
  let word: OpenWord = { raw: "", text: "", quote: "", quoteAt: -1 };
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    const next = line[at + 1];
    if (word.quote === "" && /\s/.test(char)) {
      if (word.raw !== "") words.push(word.text);
      word = { raw: "", text: "", quote: "", quoteAt: -1 };
      continue;
    }
    const isEscape = char === "\\" && (word.quote === "" || (word.quote === '"' && escapedInDouble.has(next ?? "")));
    if (isEscape) {
      word.raw += char + (next ?? "");
      word.text += next ?? "";
      at++;
      continue;
    }
    if ((char === "'" || char === '"') && (word.quote === "" || word.quote === char)) {
      word.quote = word.quote === "" ? char : "";
      word.quoteAt = word.raw.length;
      word.raw += char;
      continue;
    }
    word.raw += char;
    word.text += char;
  }
  return { words, last: word };
}

/** A text so that bash reads it as it is, where a quotation may be open. Undefined where it cannot be said there. */
export function quoteForBash(text: string, quote: Quote): string | undefined {
  if (quote === "'") return text.replaceAll("'", String.raw`'\''`);
  if (quote === '"') {
    // Within double quotes an exclamation mark stands for an earlier line, and a backslash before it stays.
    return text.includes("!") ? undefined : text.replace(/[$`"\\]/g, "\\$&");
  }
  return text.replace(/[^\p{L}\p{N}_@%+=:,./-]/gu, "\\$&");
}

/**
 * What bash puts in place of the last word: readline replaces what stands after the last of its break characters, or after an
 * open quote. What was typed stays as it was.
 */
export function replaceBashWord(last: OpenWord, value: string, breaks: string): string | undefined {
  if (!value.startsWith(last.text)) return undefined;
  const rest = quoteForBash(value.slice(last.text.length), last.quote);
  if (rest === undefined) return undefined;
  return last.raw.slice(findBreak(last, breaks)) + rest;
}

function findBreak({ raw, quote, quoteAt }: OpenWord, breaks: string): number {
  if (quote !== "") return quoteAt + 1;
  let found = 0;
  for (let at = 0; at < raw.length; at++) {
    const char = raw[at] ?? "";
    if (char === "\\") at++;
    else if (breaks.includes(char) && char !== "'" && char !== '"') found = at + 1;
  }
  return found;
}

/** A text as PowerShell reads it as it is. It takes typographic quotes for plain ones. */
export const quoteForPowerShell = (text: string): string =>
  /^[\p{L}\p{N}_./:-]+$/u.test(text) ? text : `'${text.replace(/['‘’‚‛]/g, "$&$&")}'`;
