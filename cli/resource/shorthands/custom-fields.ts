/** Custom fields as people write them. */
import { rejectText, type Shorthand } from "../shorthand.ts";
import { readJson } from "../values.ts";

type Choice = { value: string; label: string };

function readOptions(text: string): Choice[] {
  const how = "Write value=label, several of them with commas: s=Small,m=Large; or JSON where a label has a comma.";
  if (/^\s*[[@]/.test(text)) return readJson(text) as Choice[];
  const options = text.split(",").map((one) => {
    const [value = "", ...label] = one.split("=").map((part) => part.trim());
    const shown = label.join("=") || value;
    return value ? { value, label: shown } : rejectText(text, `has an option without a value: "${one}"`, how);
  });
  const twice = options.find(({ value }, index) => options.findIndex((one) => one.value === value) !== index);
  return twice ? rejectText(text, `has the value "${twice.value}" twice`, how) : options;
}

/** A bound of a number, or of a date, which the wire has as seconds. */
function readBound(text: string): number {
  const how = "Write a whole number, or for a date 2026-12-01.";
  if (/^-?\d{1,10}$/.test(text)) return Number(text);
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // JavaScript takes the 31st of June for the 1st of July.
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text)
    ? rejectText(text, "is neither a whole number nor a date", how)
    : ms / 1000;
}

const readProperty = (name: string, rest: Omit<Shorthand, "writes" | "flag">): Shorthand => ({
  flag: name.replace(/^form_/, "").replaceAll("_", "-"),
  writes: [`properties.${name}`],
  ...rest,
});

/** What is typed for a custom field. */
export const customFields: Record<string, Shorthand> = {
  options: {
    ...readProperty("options", { description: "what can be chosen: s=Small,m=Large" }),
    placeholder: "value=label,…",
    many: true,
    of: ["select"],
    read: (text) => ({ properties: { options: readOptions(text) } }),
  },
  min_length: readProperty("min_length", {
    kind: "integer",
    of: ["text"],
    description: "least number of characters",
  }),
  max_length: readProperty("max_length", { kind: "integer", of: ["text"], description: "most characters" }),
  textarea: readProperty("textarea", { kind: "boolean", of: ["text"], description: "whether it has several lines" }),
  min: {
    flag: "min",
    placeholder: "number|date",
    description: "the least, as 18 or 2026-12-01",
    writes: ["properties.ge"],
    of: ["number", "date"],
    read: (text) => ({ properties: { ge: readBound(text) } }),
  },
  max: {
    flag: "max",
    placeholder: "number|date",
    description: "the most",
    writes: ["properties.le"],
    of: ["number", "date"],
    read: (text) => ({ properties: { le: readBound(text) } }),
  },
  form_label: readProperty("form_label", {
    kind: "text",
    description: "what the checkout calls it, if not by its name",
  }),
  form_help_text: readProperty("form_help_text", { kind: "text", description: "a line of help below it" }),
  form_placeholder: readProperty("form_placeholder", { kind: "text", description: "what an empty field shows" }),
};
