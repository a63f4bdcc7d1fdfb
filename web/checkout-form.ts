import type { CheckoutMessages } from "../shared/messages/en/checkout.ts";
import { parseMoney } from "../shared/money.ts";
import { requiresWithdrawalConsent } from "../shared/withdrawal.ts";
import type { Checkout, Failure } from "./api.ts";
import { findCardFaults } from "./card.ts";
import { getPrices } from "./terms.ts";

/** Where the answer to a custom field is kept among what the buyer enters; a ticked box is "true". */
export const getAnswerKey = (slug: string) => `answer:${slug}` as const;
export type FormAnswers = Record<ReturnType<typeof getAnswerKey>, string>;

/** Everything the buyer can enter, as typed. */
export type Values = FormAnswers & {
  email: string;
  name: string;
  amount: string;
  /** "true" where a business buys. */
  business: string;
  /** "true" where the buyer agrees to lose the right of withdrawal. */
  consent: string;
  company: string;
  tax_id: string;
  country: string;
  line1: string;
  line2: string;
  city: string;
  postal_code: string;
  state: string;
  card_number: string;
  card_expiry: string;
  card_cvc: string;
};
type FieldName = keyof Values;
/** Faults by field; `card` for a refusal of the card as a whole, `form` for what belongs to no field. */
export type Faults = Partial<Record<FieldName | "seats" | "discount_code" | "card" | "form", string>>;
export type AddressField = "country" | "line1" | "line2" | "city" | "postal_code" | "state";
const addressFields: readonly AddressField[] = ["country", "line1", "line2", "city", "postal_code", "state"];

const formatMissing = (field: FieldName, messages: CheckoutMessages): string =>
  Object.hasOwn(messages.missing, field)
    ? messages.missing[field as keyof CheckoutMessages["missing"]]
    : messages.missing.other;

/** Where on the form a fault of the server belongs; the last part of its place that is known decides. */
const fieldOf: Readonly<Record<string, keyof Faults>> = {
  customer_email: "email",
  customer_name: "name",
  customer_billing_name: "company",
  customer_tax_id: "tax_id",
  billing_name: "name",
  amount: "amount",
  seats: "seats",
  discount_code: "discount_code",
  customer_billing_address: "country",
  country: "country",
  line1: "line1",
  line2: "line2",
  city: "city",
  postal_code: "postal_code",
  state: "state",
  confirmation_token_id: "card_number",
  withdrawal_consent: "consent",
  number: "card_number",
  exp_month: "card_expiry",
  exp_year: "card_expiry",
  cvc: "card_cvc",
};

/** What went wrong, in the reader's language where it is known there. */
export const describeFailure = ({ status, error, detail }: Failure, messages: CheckoutMessages): string =>
  status === 0 ? messages.offline : (messages.errors[error] ?? detail);

/** A refusal of the server, as faults of the form. */
export function readFaults(failure: Failure, messages: CheckoutMessages): Faults {
  const faults: Faults = {};
  for (const { loc, msg, type } of failure.faults) {
    if (loc[1] === "custom_field_data" && loc.length > 2) {
      faults[getAnswerKey(String(loc[2]))] ??= type === "missing" ? messages.missing.other : msg;
      continue;
    }
    const place = [...loc].reverse().find((part) => typeof part === "string" && Object.hasOwn(fieldOf, part));
    const field = typeof place === "string" ? fieldOf[place] : undefined;
    if (field === undefined) faults.form ??= msg;
    else
      faults[field] ??=
        type === "missing"
          ? formatMissing(field as FieldName, messages)
          : (messages.refusals[`${field}:${type}`] ?? msg);
  }
  if (failure.faults.length > 0) return faults;
  const said = describeFailure(failure, messages);
  return failure.status === 400 && failure.error === "PaymentError" ? { card: said } : { form: said };
}

/** The price whose amount the buyer chooses, where there is one. */
export const findOpenPrice = (checkout: Checkout) =>
  getPrices(checkout).find((price) => price.amount_type === "custom");

/** Whether a field of the address is asked for at all. */
const isAsked = (checkout: Checkout, field: AddressField): boolean =>
  requiresAddress(checkout) && checkout.billing_address_fields[field] !== "disabled";

/** An address is asked for where there is something to pay, and where the seller wants it. */
export const requiresAddress = ({ is_payment_form_required, require_billing_address }: Checkout): boolean =>
  is_payment_form_required || require_billing_address;

const wholeNumber = /^[+-]?\d+$/;

type Form = { own_card_form: boolean; messages: CheckoutMessages };

/** Whether the buyer has to agree to lose the right of withdrawal, by what they have entered. */
export const requiresConsent = ({ country, business }: Values, checkout: Checkout): boolean =>
  requiresWithdrawalConsent(country, { ...checkout, is_business_customer: business === "true" });

/** What is plainly missing or mistyped; the server has the last word. */
export function check(values: Values, checkout: Checkout, { own_card_form, messages }: Form): Faults {
  const faults: Faults = {};
  const requireField = (field: FieldName): void => {
    if ((values[field] ?? "").trim() === "") faults[field] = formatMissing(field, messages);
  };
  if (!checkout.customer_id) {
    requireField("email");
    if (!faults.email && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(values.email.trim())) faults.email = messages.email_form;
  }
  requireField("name");
  if (findOpenPrice(checkout) && parseMoney(values.amount, checkout.currency) === undefined)
    faults.amount = messages.missing.amount;
  if (requiresAddress(checkout) && values.business === "true") requireField("company");
  if (requiresConsent(values, checkout) && values.consent !== "true") faults.consent = messages.tick;
  for (const field of addressFields) {
    if (isAsked(checkout, field) && checkout.billing_address_fields[field] === "required") requireField(field);
  }
  for (const { custom_field, required } of checkout.attached_custom_fields) {
    const key = getAnswerKey(custom_field.slug);
    const value = values[key]?.trim() ?? "";
    if (required && custom_field.type === "checkbox" && value !== "true") faults[key] = messages.tick;
    else if (required && value === "") faults[key] = messages.missing.other;
    else if (custom_field.type === "number" && value !== "" && !wholeNumber.test(value))
      faults[key] = messages.whole_number;
  }
  return checkout.is_payment_form_required && own_card_form
    ? { ...faults, ...findCardFaults(values, messages) }
    : faults;
}

/** Who buys for a business, as it is sent. */
export function readBusiness({ business, company, tax_id }: Values, checkout: Checkout): object {
  if (!requiresAddress(checkout)) return {};
  if (business !== "true") return checkout.is_business_customer ? { is_business_customer: false } : {};
  return {
    is_business_customer: true,
    customer_billing_name: company.trim(),
    customer_tax_id: tax_id.trim() === "" ? null : tax_id.trim(),
  };
}

/** The address as it is sent: country, and of the rest what was asked for and entered. */
export function readBillingAddress(
  values: Values,
  checkout: Checkout,
): Partial<Record<AddressField, string>> | undefined {
  if (values.country === "") return undefined;
  const given = addressFields.filter((field) => isAsked(checkout, field) && values[field].trim() !== "");
  return Object.fromEntries([["country", values.country], ...given.map((field) => [field, values[field].trim()])]);
}

type Stored = Checkout["custom_field_data"];

/** The answers that a checkout has, as the form shows them. */
export const readAnswers = ({ attached_custom_fields, custom_field_data }: Checkout): FormAnswers =>
  Object.fromEntries(
    attached_custom_fields.map(({ custom_field: { slug, type } }) => {
      const text = String(custom_field_data[slug] ?? "");
      return [getAnswerKey(slug), type === "date" ? text.slice(0, 10) : text];
    }),
  );

/** The answers as they are sent: a number as such, a box as ticked or not, and nothing for a field left blank. */
export function writeAnswers(values: Values, { attached_custom_fields }: Checkout): Stored {
  const given = attached_custom_fields.flatMap(({ custom_field: { slug, type } }): [string, Stored[string]][] => {
    const value = values[getAnswerKey(slug)] ?? "";
    if (type === "checkbox") return [[slug, value === "true"]];
    if (value.trim() === "") return [];
    return [[slug, type === "number" ? Number(value) : value]];
  });
  return Object.fromEntries(given);
}
