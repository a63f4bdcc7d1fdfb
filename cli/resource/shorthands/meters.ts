/** Meters as people write them. */
import { FilterError, parseFilter } from "../../../shared/meter-filter.ts";
import { Fault } from "../../fault.ts";
import { rejectText, type Shorthand } from "../shorthand.ts";
import { readJson } from "../values.ts";

const isJson = (text: string): boolean => /^\s*[{@]/.test(text);

/** The text with a caret under one of its characters. */
const rewriteReferences = (text: string, at: number): string =>
  `${text}\n${" ".repeat([...text.slice(0, at)].length)}^`;

function readFilter(text: string): unknown {
  if (isJson(text)) return readJson(text);
  try {
    return parseFilter(text);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    // What is wrong stands at the first character of a word, and not at the space before it.
    const at = error.at + (/^\s*(?=\S)/.exec(text.slice(error.at))?.[0].length ?? 0);
    throw new Fault("usage", `character ${at + 1}: ${error.message}`, {
      text: rewriteReferences(text.replace(/\s/g, " "), at),
      hint: `Write name eq "completion" and tokens gt 100; or joins, brackets group, and an empty text is every event.`,
    });
  }
}

function readAggregation(text: string): unknown {
  const how = 'Write count, or "sum tokens" with one of sum, max, min, avg or unique and a key of the metadata.';
  if (isJson(text)) return readJson(text);
  const [func = "", property, ...more] = text.trim().split(/[\s:]+/);
  if (func === "count" && property === undefined) return { func };
  if (func === "count") return rejectText(text, "counts events, and so needs no key", how);
  if (!["sum", "max", "min", "avg", "unique"].includes(func))
    return rejectText(text, `begins with no way to count`, how);
  if (property === undefined) return rejectText(text, `does not say what to ${func}`, how);
  if (more.length > 0) return rejectText(text, "has an unexpected word", how);
  return { func, property };
}

/** What is typed for a meter. */
export const meters: Record<string, Shorthand> = {
  filter: {
    flag: "filter",
    placeholder: "conditions",
    description: `which events count, as name eq "completion" and tokens gt 100; operators: eq ne gt gte lt lte like not_like; also JSON`,
    writes: ["filter"],
    read: (text) => ({ filter: readFilter(text) }),
  },
  aggregation: {
    flag: "aggregation",
    placeholder: "function",
    description: "how they become a number: count, or sum, max, min, avg or unique with a key: sum tokens; also JSON",
    writes: ["aggregation"],
    read: (text) => ({ aggregation: readAggregation(text) }),
  },
};
