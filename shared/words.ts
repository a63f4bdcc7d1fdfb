import type { z } from "zod";

const formatCount = (count: number | bigint, one: string): string => `${count} ${one}${Number(count) === 1 ? "" : "s"}`;

/** What a value of a type is called. */
const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
/** What a text of a format is called. */
const formats: Readonly<Record<string, string>> = {
  uuid: "an id",
  email: "an e-mail address",
  url: "an address on the web",
  datetime: "a time with its offset, as 2026-12-24T18:00:00Z",
  date: "a day, as 2026-12-24",
};
const choicesShownMax = 20;

/** How long, how many or how much something may be: `Must have at least 3 characters.` */
function formatBound(origin: string, edge: string, bound: number | bigint): string {
  if (origin === "string") return `Must have ${edge} ${formatCount(bound, "character")}.`;
  if (origin === "array" || origin === "set") return `Must have ${edge} ${formatCount(bound, "item")}.`;
  return `Must be ${edge} ${bound}.`;
}

/** What is wrong with a value, in our words: those of a rule that has its own stay, the validator's are said anew. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  // Only what the validator says by itself begins so.
  if (!/^(Too (small|big)|Invalid|Unrecognized)/.test(message)) return message;
  switch (issue.code) {
    case "too_small": {
      if (issue.origin === "string" && issue.minimum === 1) return "Must not be empty.";
      return formatBound(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum);
    }
    case "too_big":
      return formatBound(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum);
    case "invalid_type":
      return Object.hasOwn(kinds, issue.expected) ? `Must be ${kinds[issue.expected]}.` : message;
    case "invalid_value": {
      const values = issue.values.map(String);
      if (values.length === 1) return `Must be ${values[0]}.`;
      const more = values.length > choicesShownMax ? ", …" : "";
      return `Must be one of ${values.slice(0, choicesShownMax).join(", ")}${more}.`;
    }
    case "invalid_format":
      return Object.hasOwn(formats, issue.format) ? `Must be ${formats[issue.format]}.` : message;
    case "unrecognized_keys":
      return `There is no field ${issue.keys.join(", ")} here.`;
    default:
      return message;
  }
}
