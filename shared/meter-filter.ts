import type { Filter, FilterClause } from "./api/meters.ts";
import { filterOperators } from "./meter-operators.ts";

/** A filter that cannot be read: what is wrong, and at which character. */
export class FilterError extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.name = "FilterError";
    this.at = at;
  }
}

type Token = { kind: "word" | "text" | "number" | "open" | "close" | "end"; value: string; at: number };
const lexeme = /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(-?\d+(?![\w.-]))|([A-Za-z_][\w.-]*)|(\()|(\)))/y;
const signs: Record<string, FilterClause["operator"]> = {
  "=": "eq",
  "==": "eq",
  "!=": "ne",
  ">=": "gte",
  "<=": "lte",
  ">": "gt",
  "<": "lt",
};

/** A filter that a person writes has a few brackets; each more would be a call more on the stack that reads it. */
const bracketDepthMax = 32;
const textLengthMax = 100_000;

function tokenizeText(text: string): Token[] {
  if (text.length > textLengthMax)
    throw new FilterError(`A filter has at most ${textLengthMax} characters.`, textLengthMax);
  const found: Token[] = [];
  let at = 0;
  while (at < text.trimEnd().length) {
    lexeme.lastIndex = at;
    const match = lexeme.exec(text);
    const sign = /^\s*(==|!=|>=|<=|=|>|<)/.exec(text.slice(at));
    if (match) {
      const [whole, quoted, number, word, open, close] = match;
      const start = at + whole.length - whole.trimStart().length;
      if (quoted !== undefined)
        found.push({ kind: "text", value: quoted.slice(1, -1).replace(/\\(.)/g, "$1"), at: start });
      else if (number !== undefined) found.push({ kind: "number", value: number, at: start });
      else if (word !== undefined) found.push({ kind: "word", value: word, at: start });
      else found.push({ kind: open ? "open" : "close", value: open ?? close ?? "", at: start });
      at += whole.length;
    } else if (sign) {
      found.push({ kind: "word", value: signs[sign[1] ?? ""] ?? "", at });
      at += sign[0].length;
    } else throw new FilterError(`"${text.slice(at).trim().slice(0, 12)}" cannot stand here.`, at);
  }
  return [...found, { kind: "end", value: "", at: text.length }];
}

const isOperator = (word: string): word is FilterClause["operator"] =>
  (filterOperators as readonly string[]).includes(word);

/**
 * A filter as people type it: `name eq "completion" and (tokens gt 100 or model like "gpt")`. `and` binds tighter than
 * `or`; a word without quotes after an operator is a text. An empty text matches every event.
 */
export function parseFilter(text: string): Filter {
  const list = tokenizeText(text);
  let position = 0;
  let depth = 0;
  const peek = (): Token => list[position] ?? { kind: "end", value: "", at: text.length };
  const readNext = (): Token => {
    const token = peek();
    position += 1;
    return token;
  };
  const isWord = (word: string): boolean => peek().kind === "word" && peek().value.toLowerCase() === word;

  function parseJoined(conjunction: Filter["conjunction"], part: () => FilterClause | Filter): FilterClause | Filter {
    const parts = [part()];
    while (isWord(conjunction)) {
      readNext();
      parts.push(part());
    }
    const [only] = parts;
    return parts.length === 1 && only ? only : { conjunction, clauses: parts };
  }
  const parseEither = (): FilterClause | Filter => parseJoined("or", () => parseJoined("and", parseOne));

  function parseOne(): FilterClause | Filter {
    const token = readNext();
    if (token.kind === "open") {
      if (peek().kind === "close") {
        readNext();
        return { conjunction: "and", clauses: [] };
      }
      depth += 1;
      if (depth > bracketDepthMax)
        throw new FilterError(`Brackets are nested more than ${bracketDepthMax} deep.`, token.at);
      const inner = parseEither();
      depth -= 1;
      const end = readNext();
      if (end.kind !== "close") throw new FilterError("A ) is missing.", end.at);
      return inner;
    }
    if (token.kind !== "word" && token.kind !== "text")
      throw new FilterError("A property is missing, such as name or tokens.", token.at);
    return { property: token.value, operator: readOperator(), value: readValue() };
  }

  function readOperator(): FilterClause["operator"] {
    const token = readNext();
    const word = token.value.toLowerCase();
    if (token.kind === "word" && word === "not" && isWord("like")) {
      readNext();
      return "not_like";
    }
    if (token.kind === "word" && isOperator(word)) return word;
    throw new FilterError(`An operator is missing: one of ${filterOperators.join(", ")}.`, token.at);
  }

  function readValue(): FilterClause["value"] {
    const token = readNext();
    if (token.kind === "number") return Number(token.value);
    if (token.kind === "word" && /^(true|false)$/i.test(token.value)) return token.value.toLowerCase() === "true";
    if (token.kind === "word" || token.kind === "text") return token.value;
    throw new FilterError('A value is missing, such as "completion" or 100.', token.at);
  }

  if (peek().kind === "end") return { conjunction: "and", clauses: [] };
  const found = parseEither();
  if (peek().kind !== "end")
    throw new FilterError(`"${peek().value}" is unexpected; join conditions by and or or.`, peek().at);
  return "clauses" in found ? found : { conjunction: "and", clauses: [found] };
}

const quote = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
const plainWord = /^[A-Za-z_][\w.-]*$/;
const reserved = /^(and|or|not|true|false)$/i;

function printClause(clause: FilterClause | Filter, within: Filter["conjunction"]): string {
  if ("clauses" in clause) {
    const inner = printFilter(clause);
    // Only an and within an or needs no brackets.
    const isPlain = clause.conjunction === "and" && within === "or" && clause.clauses.length > 1;
    return isPlain ? inner : `(${inner})`;
  }
  const property =
    plainWord.test(clause.property) && !reserved.test(clause.property) ? clause.property : quote(clause.property);
  return `${property} ${clause.operator} ${typeof clause.value === "string" ? quote(clause.value) : clause.value}`;
}

/** The same filter without what means nothing: a filter around one condition, and the word that would join none. */
export function normalizeFilter({ conjunction, clauses }: Filter): Filter {
  const parts = clauses.map((clause): FilterClause | Filter => {
    if (!("clauses" in clause)) return clause;
    const inner = normalizeFilter(clause);
    const [only] = inner.clauses;
    return inner.clauses.length === 1 && only ? only : inner;
  });
  const [first] = parts;
  if (parts.length === 1 && first && "clauses" in first) return first;
  return { conjunction: parts.length < 2 ? "and" : conjunction, clauses: parts };
}

/** A filter as `parseFilter` reads it, which gives its normal form back. */
export const printFilter = ({ conjunction, clauses }: Filter): string =>
  clauses.map((clause) => printClause(clause, conjunction)).join(` ${conjunction} `);
