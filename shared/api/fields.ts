import { z } from "zod";
import { type AuditAction, instant } from "../contract.ts";
import { currencies } from "../currencies.ts";
import { emailPattern, encodeEmail } from "../emails.ts";

/** What every stored object answers with; `modified_at` is null until it is first changed. */
export const stored = { id: z.uuid(), created_at: instant, modified_at: instant.nullable() };

/** An id as it is sent, kept as the database writes it: capitals make no other id of it. */
export const id = z.uuid().toLowerCase();

/** The fields whose value is an amount in the minor unit of a currency. The command line reads them as people write amounts. */
export const minorUnits = z.registry<{ isMoney: true }>();
/** Declare such a field; or, of an object of amounts, its values. */
export function markMinorUnits<T extends z.ZodType>(schema: T): T {
  const declared: z.ZodType = schema;
  minorUnits.add(declared, { isMoney: true });
  return schema;
}

/** An update treats an explicit null of this field as if it were not sent. */
export function unlessNull<T extends z.ZodType>(schema: T) {
  const field = schema.nullish().transform((value) => (value === null ? undefined : value) as z.output<T> | undefined);
  return schema.description ? field.describe(schema.description) : field;
}

/**
 * What an update is called in the audit log where it sets a state: by the new state. The state that rows begin with names an update of
 * nothing else alone, as clients send it with everything that they change.
 */
export function auditState(field: string, actions: ReadonlyMap<unknown, AuditAction>, first: unknown) {
  return (body: Readonly<Record<string, unknown>>): AuditAction | undefined => {
    const isAlone = Object.entries(body).every(([name, value]) => name === field || value === undefined);
    return body[field] !== first || isAlone ? actions.get(body[field]) : undefined;
  };
}

/** The same of what is archived and brought back. */
export const auditArchiving = (subject: string) =>
  auditState(
    "is_archived",
    new Map([
      [true, `${subject}.archived` as const],
      [false, `${subject}.unarchived` as const],
    ]),
    false,
  );

/** Text whose blank form means none. */
export const blankToNull = (max = 10_000) =>
  z
    .string()
    .max(max)
    .transform((text) => (text.trim() === "" ? null : text));

/** An http or https address, as long as browsers agree on. */
export const webUrl = z.url({ protocol: /^https?$/ }).max(2083);
/** The same where nobody may listen on the way. */
export const secureUrl = z.url({ protocol: /^https$/ }).max(2083);

/** An e-mail address in any spelling, kept in one (CUS-01, CUS-04). */
export const email = z
  .string()
  .overwrite(encodeEmail)
  .check(z.email({ pattern: emailPattern }))
  .max(254);

/** Published, and of no effect here yet: refused, because what is taken and dropped is missed later. */
export const notYet = (msg: string) =>
  z
    .unknown()
    .refine((value) => value === undefined || value === null, { message: msg, params: { type: "not_available" } })
    .optional();

/** Sent with a create by a signed-in user of several organizations; a key belongs to one and may not send it. */
export const organizationOf = z.uuid().nullish().describe("The organization this belongs to. Not with an API key.");

export const currency = z.enum(currencies);
export const interval = z.enum(["day", "week", "month", "year"]);
export const taxBehaviorOption = z.enum(["location", "inclusive", "exclusive"]);

const isZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};
/** In which time zone the dates of an export are written. */
export const timezone = z
  .string()
  .max(64)
  .refine(isZone, "There is no such time zone.")
  .default("UTC")
  .describe("Time zone of the dates, as Europe/Paris.");

/** Answers to the custom fields of a product, by their slug (CUF-10). */
export const customFieldData = z.record(z.string(), z.union([z.string(), z.int(), z.boolean(), z.null()]));

/** Formats of tax numbers; the second member of a customer's `tax_id`. */
export const taxIdFormats = [
  "ad_nrt",
  "ae_trn",
  "ar_cuit",
  "au_abn",
  "au_arn",
  "bg_uic",
  "bh_vat",
  "bo_tin",
  "br_cnpj",
  "br_cpf",
  "ca_bn",
  "ca_gst_hst",
  "ca_pst_bc",
  "ca_pst_mb",
  "ca_pst_sk",
  "ca_qst",
  "ch_uid",
  "ch_vat",
  "cl_tin",
  "cn_tin",
  "co_nit",
  "cr_tin",
  "de_stn",
  "do_rcn",
  "ec_ruc",
  "eg_tin",
  "es_cif",
  "eu_oss_vat",
  "eu_vat",
  "gb_vat",
  "ge_vat",
  "hk_br",
  "hr_oib",
  "hu_tin",
  "id_npwp",
  "il_vat",
  "in_gst",
  "is_vat",
  "jp_cn",
  "jp_rn",
  "jp_trn",
  "ke_pin",
  "kr_brn",
  "kz_bin",
  "li_uid",
  "mk_vat",
  "mu_tan",
  "mx_rfc",
  "my_frp",
  "my_itn",
  "my_sst",
  "ng_tin",
  "no_vat",
  "no_voec",
  "nz_gst",
  "om_vat",
  "pe_ruc",
  "ph_tin",
  "ro_tin",
  "rs_pib",
  "ru_inn",
  "ru_kpp",
  "sa_vat",
  "sg_gst",
  "sg_uen",
  "si_tin",
  "sv_nit",
  "th_vat",
  "tr_tin",
  "tw_vat",
  "ua_vat",
  "us_ein",
  "uy_ruc",
  "ve_rif",
  "vn_tin",
  "za_vat",
] as const;
export type TaxIdFormat = (typeof taxIdFormats)[number];

/** A checked tax number and its format. */
export const TaxId = z.tuple([z.string(), z.enum(taxIdFormats)]);

/** A tax number as it is sent: the number, or the pair that answers carry, of which the number counts. Blank means none. */
export const TaxIdInput = z
  .union([z.string().max(64), z.array(z.string().max(64).nullable()).min(1).max(2)])
  .transform((value) => (typeof value === "string" ? value : (value[0] ?? "")).trim() || null)
  .nullish()
  .describe("Tax number of the customer; needs a billing address with a country.");

const trialCount = z.int().min(1).max(1000);
/** A trial period as it is sent; both fields or neither, which `checkTrial` sees to. */
export const trialInput = {
  trial_interval: interval.nullish().describe("Unit of the trial period."),
  trial_interval_count: trialCount.nullish().describe("Length of the trial period in that unit."),
};

/** Adds a fault for a trial of which one half is missing (PRD-04). */
export function checkTrial(
  body: { trial_interval?: unknown; trial_interval_count?: unknown },
  issues: z.RefinementCtx,
): void {
  const hasUnit = Boolean(body.trial_interval);
  const hasCount = Boolean(body.trial_interval_count);
  if (hasUnit === hasCount) return;
  issues.addIssue({
    code: "custom",
    path: [hasUnit ? "trial_interval_count" : "trial_interval"],
    message: "trial_interval and trial_interval_count must be given together.",
    params: { type: "missing" },
  });
}

/** Names of the errors of an operation that charges a saved card. */
export const paidRefusals = ["PaymentFailed", "PaymentNotReady"] as const;
