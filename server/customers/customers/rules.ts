import { createHash } from "node:crypto";
import { domainToUnicode } from "node:url";
import type { z } from "zod";
import type { Address } from "../../../shared/addresses.ts";
import type { Customer, CustomerUpdate } from "../../../shared/api/customers.ts";
import { encodeEmail } from "../../../shared/emails.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import type { customers } from "./tables.ts";
import { readTaxId } from "./tax-ids.ts";

export type CustomerRow = typeof customers.$inferSelect;
type Update = Partial<z.output<typeof CustomerUpdate>> &
  Partial<Pick<CustomerRow, "billing_name" | "default_payment_method_id">>;

const buildEmailFault = (email: string) =>
  fault(["email"], "A customer with this email address already exists.", "value_error", email);
const buildExternalIdFault = (id: string) =>
  fault(["external_id"], "A customer with this external ID already exists.", "value_error", id);

/** A customer as it is answered. The picture follows from the e-mail address and is not stored (CUS-05). */
export function serializeCustomer(row: CustomerRow): Customer {
  const { deleted_external_id: _, anonymized_at: __, ...shown } = row;
  const hash = createHash("sha256")
    .update((row.email ?? row.id).trim().toLowerCase())
    .digest("hex");
  return { ...shown, avatar_url: `https://www.gravatar.com/avatar/${hash}?d=404` };
}

/** The first line of an export (CUS-27). */
export const exportHeader = [
  "ID",
  "External ID",
  "Created At",
  "Email",
  "Name",
  "Tax ID",
  "Billing Address Line 1",
  "Billing Address Line 2",
  "Billing Address City",
  "Billing Address State",
  "Billing Address Zip",
  "Billing Address Country",
  "Metadata",
];

/** A customer as a line of an export. */
export function exportCells(row: CustomerRow): (string | null)[] {
  const { line1 = null, line2 = null, city = null, state = null, postal_code = null } = row.billing_address ?? {};
  return [
    row.id,
    row.external_id,
    row.created_at.toISOString(),
    row.email,
    row.name,
    row.tax_id?.[0] ?? null,
    line1,
    line2,
    city,
    state,
    postal_code,
    row.billing_address?.country ?? null,
    JSON.stringify(row.metadata),
  ];
}

/** What is already taken by another customer, all of it (CUS-03). */
export function checkUnique(
  wanted: { email?: string | null; external_id?: string | null },
  others: readonly CustomerRow[],
): Fault[] {
  const { email, external_id } = wanted;
  const faults: Fault[] = [];
  if (email && others.some((other) => isSameEmail(other.email, email))) {
    faults.push(buildEmailFault(email));
  }
  if (external_id && others.some((other) => other.external_id === external_id))
    faults.push(buildExternalIdFault(external_id));
  return faults;
}

/** The tax number to keep, or what is wrong with it (CUS-12). */
export function checkTaxId(number: string, country: string | undefined): Customer["tax_id"] | Fault {
  if (country === undefined) return fault(["billing_address"], "Country is required to validate tax ID.", "missing");
  return readTaxId(number, country) ?? fault(["tax_id"], "Invalid tax ID.", "invalid", number);
}

/** The columns that an update changes, or every reason why it cannot be made. Absent fields are untouched. */
export function planUpdate(row: CustomerRow, body: Update): { patch: Partial<CustomerRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  const { tax_id, email, external_id, ...plain } = body;
  const patch: Partial<CustomerRow> = Object.fromEntries(
    Object.entries(plain).filter(([, value]) => value !== undefined),
  );
  if (email !== undefined && email !== row.email) {
    patch.email = email;
    // Only a new address has to be verified again, not the same in other letters (CUS-08).
    if (!isSameEmail(row.email, email)) {
      patch.email_verified = false;
      patch.email_version = row.email_version + 1;
    }
  }
  if (external_id !== undefined && external_id !== row.external_id) {
    if (row.external_id === null) patch.external_id = external_id;
    else faults.push(fault(["external_id"], "Customer external ID cannot be updated.", "value_error", external_id));
  }
  if (body.billing_address === null && row.billing_address !== null) {
    const msg = "Customer billing address cannot be reset to null once set.";
    faults.push(fault(["billing_address"], msg));
  }
  if (body.type === "individual" && row.type === "team") {
    faults.push(fault(["type"], "A team customer cannot become an individual.", "value_error", body.type));
  }
  // A new address is held against the number that is already there, too.
  const number = tax_id === undefined ? (body.billing_address ? row.tax_id?.[0] : undefined) : tax_id;
  if (number === null) patch.tax_id = null;
  else if (number !== undefined) {
    const checked = checkTaxId(number, (body.billing_address ?? row.billing_address)?.country);
    if (checked !== null && "loc" in checked) faults.push(checked);
    else patch.tax_id = checked;
  }
  return { patch, faults };
}

/**
 * The columns that make a person unreadable and keep what accounting needs: a business (one with a tax number) keeps its
 * name, and everybody keeps country, state and ids (CUS-20). `mask` hides a text so that it cannot be guessed back.
 */
export function planAnonymization(row: CustomerRow, mask: (text: string) => string, now: Date): Partial<CustomerRow> {
  if (row.anonymized_at !== null) return {};
  const maskText = (text: string) => mask(text).slice(0, 32);
  const address = row.billing_address;
  return {
    email: row.email && `${maskText(row.email.toLowerCase())}@anonymized.invalid`,
    email_verified: false,
    name: row.tax_id !== null || row.name === null ? row.name : maskText(row.name),
    billing_name: row.tax_id === null ? null : row.billing_name,
    billing_address: address && getRegion(address),
    metadata: {},
    anonymized_at: now,
  };
}

/**
 * Somebody whom all who hold something about them are to forget: by which addresses (in lower case) and names they were known,
 * and what stands in place of the address.
 */
export type Erased = {
  organization_id: string;
  id: string;
  emails: readonly string[];
  names: readonly string[];
  masked_email: string;
};

/** Of an address, what taxes are computed from. */
export const getRegion = (address: Address): Address => ({
  ...address,
  line1: null,
  line2: null,
  postal_code: null,
  city: null,
});

/** An address as it is compared, so that one person is one: small, and without what follows a plus (DSC-15, CHK-53). */
export function normalizeEmail(email: string): string {
  const [local = "", host = ""] = encodeEmail(email)
    .toLowerCase()
    .split(/@(?=[^@]*$)/);
  return `${local.split("+", 1)[0]}@${host}`;
}

/** Whether two spellings are of one address (CUS-01). */
export const isSameEmail = (one: string | null, other: string): boolean =>
  one !== null && encodeEmail(one).toLowerCase() === encodeEmail(other).toLowerCase();

/**
 * The spellings of an address in lower case that rows may have: the one that is kept, and the one with the letters of its domain,
 * in which earlier versions kept it.
 */
export function listSpellings(email: string): string[] {
  const kept = encodeEmail(email).toLowerCase();
  const at = kept.lastIndexOf("@");
  const domain = domainToUnicode(kept.slice(at + 1));
  return at === -1 || domain === "" ? [kept] : [...new Set([kept, `${kept.slice(0, at)}@${domain}`])];
}
