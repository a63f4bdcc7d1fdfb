import { quote } from "../../shared/shell.ts";
import type { AddressField } from "../checkout-form.ts";
import type { OrganizationChanges, OrganizationSettings } from "./calls.ts";

const invoiceFields = ["legal_name", "tax_id"] as const;
const legalFields = ["terms_url", "privacy_url", "imprint"] as const;
const addressFields = ["line1", "line2", "postal_code", "city", "state", "country"] as const satisfies AddressField[];
export type LegalField = (typeof invoiceFields)[number] | (typeof legalFields)[number] | AddressField;
/** What the form shows: blank where a detail is not set. */
export type LegalValues = Record<LegalField, string>;

export function readLegalValues({ invoice_settings, legal_settings }: OrganizationSettings): LegalValues {
  const { legal_name, tax_id, address } = invoice_settings;
  const stored: Partial<Record<LegalField, string | null | undefined>> = {
    legal_name,
    tax_id,
    ...legal_settings,
    ...Object.fromEntries(addressFields.map((field) => [field, address?.[field]])),
  };
  const all = [...invoiceFields, ...addressFields, ...legalFields];
  return Object.fromEntries(all.map((field) => [field, stored[field] ?? ""])) as LegalValues;
}

const hasChanged = (before: LegalValues, after: LegalValues, field: LegalField): boolean =>
  before[field] !== after[field].trim();

/** The address as it is sent: whole, or null where every field is blank. */
function writeAddress(values: LegalValues): Record<string, string> | null {
  const given = addressFields.flatMap((field) => (values[field].trim() === "" ? [] : [[field, values[field].trim()]]));
  return given.length === 0 ? null : Object.fromEntries(given);
}

/** The request that changes what differs, and nothing else; undefined where nothing does. A blank field takes its detail away. */
export function writeLegalChanges(before: LegalValues, after: LegalValues): OrganizationChanges | undefined {
  const pick = (fields: readonly LegalField[]) =>
    Object.fromEntries(
      fields.filter((field) => hasChanged(before, after, field)).map((field) => [field, after[field].trim() || null]),
    );
  const isMoved = addressFields.some((field) => hasChanged(before, after, field));
  const invoice_settings = { ...pick(invoiceFields), ...(isMoved && { address: writeAddress(after) }) };
  const legal_settings = pick(legalFields);
  const groups = Object.entries({ invoice_settings, legal_settings }).filter(
    ([, group]) => Object.keys(group).length > 0,
  );
  return groups.length === 0 ? undefined : Object.fromEntries(groups);
}

/** The command that sets the details as they stand in the form. */
export function writeLegalCommand(before: LegalValues, after: LegalValues): string {
  const changes = writeLegalChanges(before, after);
  const flags = Object.entries(changes ?? {}).flatMap(([group, values]) =>
    Object.entries(values as Record<string, string | Record<string, string> | null>).flatMap(([field, value]) => {
      const flag = `--${group.replace("_", "-")}`;
      if (value !== null && typeof value === "object")
        return Object.entries(value).map(([part, text]) => `${flag} ${quote(`${field}.${part}=${text}`)}`);
      // Only JSON says that a detail is taken away.
      return [`${flag} ${quote(value === null ? JSON.stringify({ [field]: null }) : `${field}=${value}`)}`];
    }),
  );
  return flags.length === 0 ? "floe organization get" : `floe organization update ${flags.join(" ")}`;
}
