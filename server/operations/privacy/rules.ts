import type { Address } from "../../../shared/addresses.ts";
import type { CustomerErasure } from "../../../shared/api/customers.ts";
import {
  type CustomerRow,
  type Erased,
  getRegion,
  listSpellings,
  serializeCustomer,
} from "../../customers/customers/rules.ts";
import type { customerErasures } from "./tables.ts";

export type ErasureRow = typeof customerErasures.$inferSelect;
/** The words that identify a customer apart from the id: addresses in lower case, and names that are unambiguous. */
export type PersonWords = { emails: string[]; names: string[] };

/** Serialize an erasure for a response. */
export const serializeErasure = ({ id: customer_id, created_at, stage, finished_at }: ErasureRow): CustomerErasure => ({
  customer_id,
  created_at,
  stage,
  finished_at,
});

/**
 * The words to search for in texts. A name of a single word is ambiguous and is not searched for; a business keeps its names
 * (CUS-20).
 */
export function getWords({ email, name, billing_name, billing_address, tax_id }: CustomerRow): PersonWords {
  const own = tax_id === null ? [name, billing_name] : [];
  const names = [...own, billing_address?.line1].filter((text) => typeof text === "string" && /\S\s+\S/.test(text));
  return { emails: email === null ? [] : listSpellings(email), names: [...new Set(names as string[])] };
}

/** Describe an erased customer for the domains that erase their data; `row` is the customer after the erasure. */
export const describeErased = (row: CustomerRow, { emails, names }: PersonWords): Erased => ({
  organization_id: row.organization_id,
  id: row.id,
  emails,
  names,
  masked_email: row.email ?? `${row.id}@anonymized.invalid`,
});

const escapeText = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The replacement values of fields with these names in data about a customer. */
function clearPending(row: CustomerRow): Record<string, (value: unknown) => unknown> {
  const shown = serializeCustomer(row);
  const eraseValue = () => null;
  const reduceToRegion = (value: unknown) => (value === null ? null : getRegion(value as Address));
  return {
    email: (value) => (value === null ? null : row.email),
    customer_email: (value) => (value === null ? null : row.email),
    avatar_url: () => shown.avatar_url,
    customer_name: eraseValue,
    customer_billing_name: eraseValue,
    customer_tax_id: eraseValue,
    customer_ip_address: eraseValue,
    customer_cancellation_comment: eraseValue,
    comment: eraseValue,
    seat_metadata: eraseValue,
    billing_name: () => row.billing_name,
    billing_address: reduceToRegion,
    customer_billing_address: reduceToRegion,
    custom_field_data: () => ({}),
    customer_metadata: () => ({}),
  };
}

/** Whether a field holds the account at an external service to which a benefit was granted. */
const isAboutAccount = (key: string): boolean => key === "account_id" || key === "granted_account_id";

/** Fields replaced only in the customer's own object, because other objects have names, too. */
const matchSelf = (row: CustomerRow): Record<string, (value: unknown) => unknown> => ({
  name: () => row.name,
  metadata: () => ({}),
  oauth_accounts: () => ({}),
});

/**
 * Redact a customer in the data of an event: fields about the customer get their erased values, and texts lose the names.
 * `row` is the customer after the erasure.
 */
export function redactWords(value: unknown, row: CustomerRow, words: PersonWords): unknown {
  const fields = clearPending(row);
  const own = matchSelf(row);
  const replaceAll = createTextScrubber(row, words);
  const isTheirs = (object: Record<string, unknown>) => object.customer_id === row.id;
  const walk = (one: unknown): unknown => {
    if (typeof one === "string") return replaceAll(one);
    if (Array.isArray(one)) return one.map(walk);
    if (typeof one !== "object" || one === null) return one;
    const object = one as Record<string, unknown>;
    const isThemselves = object.id === row.id && "email" in object;
    const known = isThemselves ? { ...fields, ...own } : isTheirs(object) ? fields : {};
    const kept = Object.entries(object).filter(([key]) => !isAboutAccount(key));
    return Object.fromEntries(
      kept.map(([key, inner]) => {
        const change = Object.hasOwn(known, key) ? known[key] : undefined;
        return [key, change ? change(inner) : walk(inner)];
      }),
    );
  };
  return walk(value);
}

/** Create a function that removes a customer's addresses and names from a text. */
export function createTextScrubber(row: CustomerRow, { emails, names }: PersonWords): (text: string) => string {
  const named = [...emails, ...names].toSorted((a, b) => b.length - a.length);
  if (named.length === 0) return (text) => text;
  const pattern = new RegExp(named.map(escapeText).join("|"), "gi");
  return (text) => text.replace(pattern, (found) => (found.includes("@") ? (row.email ?? "") : "…"));
}
