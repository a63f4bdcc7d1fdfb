import { z } from "zod";
import { CountryInput } from "../addresses.ts";
import { byId, ids, instant, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { countries, hasStates } from "../countries.ts";
import { formatDecimal } from "../money.ts";
import { normalizeState } from "../states.ts";
import { taxSchemes, unionCountries } from "../tax.ts";
import { organizationOf, stored } from "./fields.ts";

/** Where a seller collects tax, and how. */
export const TaxRegistration = z.object({
  ...stored,
  organization_id: z.uuid(),
  country: z.enum(countries),
  /** Of the US and Canada, as `US-NY`; null for the country's own tax. */
  state: z.string().nullable(),
  scheme: z.enum(taxSchemes),
  tax_id: z.string().nullable(),
  /** The seller's own rate in percent; null for the table's. */
  rate: z.string().nullable(),
  starts_at: instant,
  ends_at: instant.nullable(),
});
export type TaxRegistration = z.output<typeof TaxRegistration>;

/** One tax, in percent. */
export const TaxRate = z.object({
  name: z.string(),
  country: z.string(),
  state: z.string().nullable(),
  rate: z.string(),
});

/** The rates of a place, and whose they are. */
export const TaxRates = z.object({
  country: z.enum(countries),
  state: z.string().nullable(),
  /** All that are collected there together; empty where none is known. */
  rates: z.array(TaxRate),
  source: z.object({ name: z.string(), date: z.iso.date() }).nullable(),
  /** What the rates leave out, or why there are none. */
  note: z.string().nullable(),
});
export type TaxRates = z.output<typeof TaxRates>;

const rateMax = 100;
/** A percentage as it is sent, kept as decimal text without spare zeros. */
const rate = z
  .union([z.number(), z.string().max(20)])
  .transform((value) =>
    typeof value === "number" || /^\s*\d+(\.\d+)?\s*$/.test(value) ? formatDecimal(String(value).trim()) : value,
  )
  .pipe(
    z
      .string()
      .regex(/^\d{1,3}(\.\d{1,4})?$/, "Must be a percentage with at most 4 decimals, as 8.875.")
      .refine((text) => Number(text) <= rateMax, `Must be at most ${rateMax}.`),
  )
  .nullish()
  .describe("Your own rate in percent, where none is known or another applies to what you sell.");
const taxId = z
  .string()
  .max(64)
  .transform((text) => text.trim() || null)
  .nullish()
  .describe("Your tax number there, as it stands on invoices.");
const state = z
  .string()
  .max(10)
  .nullish()
  .describe("State of the US, or province of Canada with a tax of its own, as NY.");
const endsAt = instant.nullish().describe("Until when you collect it there.");

type Fields = {
  country: string;
  state?: string | null | undefined;
  scheme?: string | null | undefined;
  rate?: string | null | undefined;
};
const addFault = (issues: z.RefinementCtx, path: string, message: string, type = "value_error") =>
  issues.addIssue({ code: "custom", path: [path], message, params: { type } });

/** What there is to say of a registration by what is sent alone. */
function checkPlace({ country, state, scheme, rate }: Fields, issues: z.RefinementCtx): void {
  if (state && !hasStates(country))
    addFault(issues, "state", "Only in the US and Canada do states have a tax that is registered for on its own.");
  if (state && hasStates(country) && !normalizeState(country, state))
    addFault(issues, "state", `Unknown state of ${country}.`);
  if (country === "US" && !state)
    addFault(issues, "state", "In the US tax is collected by state: say in which one.", "missing");
  if ((scheme === "oss" || scheme === "small_seller") && !unionCountries.has(country))
    addFault(issues, "scheme", `The scheme ${scheme} is the European Union's, and ${country} is not in it.`);
  if (scheme === "simplified" && (unionCountries.has(country) || country === "US"))
    addFault(issues, "scheme", `There is no simplified scheme in ${country}${country === "US" ? "" : ": it is oss"}.`);
  if (scheme === "oss" && rate)
    addFault(issues, "rate", "Under the one-stop-shop each country has its own rate: leave it out.");
}

/** A start before its end. */
function checkDates(
  { starts_at, ends_at }: { starts_at?: Date | null | undefined; ends_at?: Date | null | undefined },
  issues: z.RefinementCtx,
): void {
  if (starts_at && ends_at && starts_at >= ends_at) addFault(issues, "ends_at", "Ends at must be after starts at.");
}

export const TaxRegistrationCreate = z
  .object({
    country: CountryInput.describe("Where you are registered, two letters."),
    state,
    scheme: z
      .enum(taxSchemes)
      .nullish()
      .describe(
        "domestic; oss: the EU's one-stop-shop, for consumers in all of it; small_seller: domestic and below the EU's threshold; simplified: from abroad, for consumers alone.",
      ),
    tax_id: taxId,
    rate,
    starts_at: instant.nullish().describe("From when you collect it there; now if not given."),
    ends_at: endsAt,
    organization_id: organizationOf,
  })
  .superRefine(checkPlace)
  .superRefine(checkDates);

export const TaxRegistrationUpdate = z
  .object({
    tax_id: taxId,
    rate,
    starts_at: instant.optional().describe("From when you collect it there."),
    ends_at: endsAt,
  })
  .superRefine(checkDates);

export const tax = {
  listRegistrations: {
    method: "GET",
    path: "/v1/tax/registrations/",
    summary: "List tax registrations",
    access: seller("tax_registrations:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      sorting: sorting(["created_at"], ["-created_at"]),
    }),
    response: page(TaxRegistration),
  },
  getRegistration: {
    method: "GET",
    path: "/v1/tax/registrations/:id",
    summary: "Get a tax registration",
    access: seller("tax_registrations:read"),
    params: byId,
    response: TaxRegistration,
    errors: ["ResourceNotFound"],
  },
  createRegistration: {
    method: "POST",
    path: "/v1/tax/registrations/",
    summary: "Say where you collect tax",
    access: seller("tax_registrations:write"),
    body: TaxRegistrationCreate,
    response: TaxRegistration,
    status: 201,
    audit: "tax_registration.created",
  },
  updateRegistration: {
    method: "PATCH",
    path: "/v1/tax/registrations/:id",
    summary: "Update a tax registration",
    access: seller("tax_registrations:write"),
    params: byId,
    body: TaxRegistrationUpdate,
    response: TaxRegistration,
    errors: ["ResourceNotFound"],
    audit: "tax_registration.updated",
  },
  deleteRegistration: {
    method: "DELETE",
    path: "/v1/tax/registrations/:id",
    summary: "Delete a tax registration",
    access: seller("tax_registrations:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    audit: "tax_registration.deleted",
    confirm: "Delete this tax registration? No tax is collected there from now on; what was sold stays as it is.",
  },
  rates: {
    method: "GET",
    path: "/v1/tax/rates/",
    summary: "Look up the tax rates of a place",
    access: seller("tax_registrations:read"),
    query: z
      .object({
        country: CountryInput.describe("Country, two letters."),
        state: z.string().max(10).optional().describe("State of the US or province of Canada, as NY."),
      })
      .superRefine(({ country, state }, issues) => {
        if (state && hasStates(country) && !normalizeState(country, state))
          addFault(issues, "state", `Unknown state of ${country}.`);
      }),
    response: TaxRates,
  },
} as const satisfies Resource;
