/** What a command needs to know, one question after the other: first what decides the rest, then only what that needs. */
import { getValueAt } from "./typed.ts";

/** A question by the flag that answers it. */
export type FormField = {
  flag: string;
  /** Nothing may be answered. */
  optional?: true;
  /** One of these is picked from a list. */
  pick?: { title: string; choices: [value: string, label: string][] };
  /** What the answer means, where it is not what the flag says. */
  means?(answer: string): Record<string, unknown>;
  /** How it is named where it is missing and nobody can be asked. */
  missing?: string;
  /** What the question is called and explained by, where its flag says less. */
  label?: string;
  hint?: string;
  /** A file on this machine may be named, too: it is uploaded as this. */
  upload?: "product_media";
};
type Given = Record<string, unknown>;

const requireField = (...flags: string[]): FormField[] =>
  flags.map((flag) => (flag.endsWith("?") ? { flag: flag.slice(0, -1), optional: true } : { flag }));

const benefitFlags: Record<string, string[]> = {
  feature_flag: ["metadata?"],
  custom: ["note?"],
  license_keys: ["prefix?", "expires?", "activations?", "limit-usage?"],
  downloadables: ["files"],
  meter_credit: ["meter", "units", "rollover?"],
  discord: ["guild-token", "role-id", "kick-member?"],
  github_repository: ["repository", "permission?"],
};

function defineBenefit({ type }: Given): FormField[] {
  if (typeof type === "string") return requireField("description", ...(benefitFlags[type] ?? []));
  const choices: [string, string][] = [
    ["custom", "A note to the buyer"],
    ["license_keys", "License keys"],
    ["downloadables", "Files to download"],
    ["meter_credit", "Units of a meter"],
    ["feature_flag", "A feature flag, which says what it allows in its metadata"],
    ["discord", "A role on a Discord server"],
    ["github_repository", "Access to a GitHub repository"],
  ];
  return [{ flag: "type", pick: { title: "What does it give?", choices } }, ...requireField("description")];
}

const fieldFlags: Record<string, string[]> = {
  text: ["min-length?", "max-length?"],
  number: ["min?", "max?"],
  date: ["min?", "max?"],
  select: ["options"],
};

function defineCustomField({ type }: Given): FormField[] {
  const common = requireField("slug", "name");
  if (typeof type === "string") return [...common, ...requireField(...(fieldFlags[type] ?? []))];
  const choices: [string, string][] = [
    ["text", "Text"],
    ["number", "A number"],
    ["date", "A date"],
    ["checkbox", "A box to tick"],
    ["select", "One of several options"],
  ];
  return [{ flag: "type", pick: { title: "What does it ask for?", choices } }, ...common];
}

function buildDiscount(given: Given): FormField[] {
  const asks: FormField[] = requireField("name");
  const isSaid = ["amount", "amounts", "basis_points"].some((name) => given[name] !== undefined);
  if (!isSaid && given.type === undefined) {
    const choices: [string, string][] = [
      ["percentage", "A percentage"],
      ["fixed", "An amount"],
    ];
    const pick = { title: "What is taken off?", choices };
    asks.unshift({ flag: "type", pick, missing: "--percent or --amount-off" });
  } else if (!isSaid) asks.push(...requireField(given.type === "fixed" ? "amount-off" : "percent"));
  const months: [string, string][] = [
    ["once", "Only of the first invoice"],
    ["forever", "Of every invoice"],
    ["repeating", "Of those of the first months"],
  ];
  asks.push({ flag: "for", pick: { title: "On a subscription, of which invoices?", choices: months }, means: isMeant });
  if (given.duration === "repeating") asks.push(...requireField("duration-in-months"));
  return [...asks, ...requireField("code?")];
}

// The months of a repeating one are a question of their own.
const isMeant = (duration: string): Record<string, unknown> => ({ duration });

function describeProduct(given: Given): FormField[] {
  const { prices } = given;
  const isMetered = Array.isArray(prices) && prices.some((one) => getValueAt(one, ["amount_type"]) === "metered_unit");
  const choices: [string, string][] = [
    ["once", "Once"],
    ["month", "Every month"],
    ["year", "Every year"],
    ["week", "Every week"],
    ["day", "Every day"],
  ];
  const interval: FormField = {
    flag: "recurring-interval",
    pick: { title: "How often is it paid?", choices: isMetered ? choices.slice(1) : choices },
    means: (answer) => (answer === "once" ? {} : { recurring_interval: answer }),
  };
  const picture: FormField = {
    flag: "medias",
    optional: true,
    label: "picture",
    hint: "A picture: a file on this machine, or the name of one that is uploaded",
    upload: "product_media",
  };
  const { recurring_interval: each } = given;
  const amounts = "19.00, 19.00eur, 5.00+ (pay what you want)";
  const price: FormField =
    typeof each === "string"
      ? { flag: "price", label: `price each ${each}`, hint: `${amounts}, free, or metered:METER:0.002 for each unit` }
      : { flag: "price", hint: `${amounts}, or free` };
  const rest = [...requireField("name"), price, ...requireField("description?"), picture];
  if (isMetered)
    return [{ ...interval, missing: "an interval for the metered price, as in metered:METER:0.002/month" }, ...rest];
  return prices === undefined ? [{ ...interval, optional: true }, ...rest] : rest;
}

const buildCheckoutLink = ({ product_id, product_price_id }: Given): FormField[] =>
  product_id === undefined && product_price_id === undefined ? requireField("products") : [];

/** The questions of a command, from what is known; those of other commands are the fields that are required. */
export const forms: Record<string, (given: Given) => FormField[]> = {
  "benefits create": defineBenefit,
  "custom-fields create": defineCustomField,
  "discounts create": buildDiscount,
  "products create": describeProduct,
  "checkout-links create": buildCheckoutLink,
};
