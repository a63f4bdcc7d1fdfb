import { parseMoney } from "../shared/money.ts";
import type { Checkout, Failure } from "./api.ts";
import { cardFaults } from "./card.ts";

/** Where the answer to a custom field is kept among what the buyer enters; a ticked box is "true". */
export const answerKey = (slug: string) => `answer:${slug}` as const;
export type Answers = Record<ReturnType<typeof answerKey>, string>;

/** Everything the buyer can enter, as typed. */
export type Values = Answers & {
  email: string;
  name: string;
  amount: string;
  discount_code: string;
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
export type Faults = Partial<Record<FieldName | "card" | "form", string>>;
export type AddressField = "country" | "line1" | "line2" | "city" | "postal_code" | "state";
const addressFields: readonly AddressField[] = ["country", "line1", "line2", "city", "postal_code", "state"];

const labels: Partial<Record<FieldName, string>> = {
  email: "your e-mail address",
  name: "your name",
  country: "your country",
  line1: "street and number",
  line2: "the second line",
  city: "your city",
  postal_code: "the code",
  state: "your state",
  amount: "an amount",
  discount_code: "a code",
};
const unanswered = "Please answer this.";
const missing = (field: FieldName): string => `Enter ${labels[field] ?? "this"}.`;

/** Where on the form a fault of the server belongs; the last part of its place that is known decides. */
const fieldOf: Readonly<Record<string, FieldName>> = {
  customer_email: "email",
  customer_name: "name",
  customer_billing_name: "name",
  billing_name: "name",
  amount: "amount",
  discount_code: "discount_code",
  customer_billing_address: "country",
  country: "country",
  line1: "line1",
  line2: "line2",
  city: "city",
  postal_code: "postal_code",
  state: "state",
  confirmation_token_id: "card_number",
  number: "card_number",
  exp_month: "card_expiry",
  exp_year: "card_expiry",
  cvc: "card_cvc",
};

/** A refusal of the server, as faults of the form. */
export function faultsOf(failure: Failure): Faults {
  const faults: Faults = {};
  for (const { loc, msg, type } of failure.faults) {
    if (loc[1] === "custom_field_data" && loc.length > 2) {
      faults[answerKey(String(loc[2]))] ??= type === "missing" ? unanswered : msg;
      continue;
    }
    const place = [...loc].reverse().find((part) => typeof part === "string" && Object.hasOwn(fieldOf, part));
    const field = typeof place === "string" ? fieldOf[place] : undefined;
    if (field === undefined) faults.form ??= msg;
    else faults[field] ??= type === "missing" ? missing(field) : msg;
  }
  if (failure.faults.length > 0) return faults;
  return failure.status === 400 && failure.error === "PaymentError"
    ? { card: failure.detail }
    : { form: failure.detail };
}

export const isCustomPrice = (checkout: Checkout): boolean => priceOf(checkout)?.amount_type === "custom";

/** The price of the chosen product that the amount follows from. */
export function priceOf(checkout: Checkout) {
  const list = (checkout.product_id && checkout.prices?.[checkout.product_id]) || checkout.product?.prices || [];
  return list.find((price) => price.id === checkout.product_price_id) ?? list[0];
}

/** Whether a field of the address is asked for at all: only where there is something to pay for. */
const asks = (checkout: Checkout, field: AddressField): boolean =>
  checkout.is_payment_form_required && checkout.billing_address_fields[field] !== "disabled";

const wholeNumber = /^[+-]?\d+$/;

/** What is plainly missing or mistyped; the server has the last word. */
export function check(values: Values, checkout: Checkout, { own_card_form }: { own_card_form: boolean }): Faults {
  const faults: Faults = {};
  if (!checkout.customer_id) {
    if (values.email.trim() === "") faults.email = missing("email");
    else if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(values.email.trim())) faults.email = "Write it like name@example.com.";
  }
  if (values.name.trim() === "") faults.name = missing("name");
  if (isCustomPrice(checkout) && parseMoney(values.amount, checkout.currency) === undefined)
    faults.amount = missing("amount");
  for (const field of addressFields) {
    if (asks(checkout, field) && checkout.billing_address_fields[field] === "required" && values[field].trim() === "") {
      faults[field] = missing(field);
    }
  }
  for (const { custom_field, required } of checkout.attached_custom_fields) {
    const key = answerKey(custom_field.slug);
    const value = values[key]?.trim() ?? "";
    if (required && custom_field.type === "checkbox" && value !== "true") faults[key] = "Tick this to go on.";
    else if (required && value === "") faults[key] = unanswered;
    else if (custom_field.type === "number" && value !== "" && !wholeNumber.test(value))
      faults[key] = "Enter a whole number.";
  }
  return checkout.is_payment_form_required && own_card_form ? { ...faults, ...cardFaults(values) } : faults;
}

/** The address as it is sent: country, and of the rest what was asked for and entered. */
export function addressOf(values: Values, checkout: Checkout): Partial<Record<AddressField, string>> | undefined {
  if (values.country === "") return undefined;
  const given = addressFields.filter((field) => asks(checkout, field) && values[field].trim() !== "");
  return Object.fromEntries([["country", values.country], ...given.map((field) => [field, values[field].trim()])]);
}

type Stored = Checkout["custom_field_data"];

/** The answers that a checkout has, as the form shows them. */
export const answersIn = ({ attached_custom_fields, custom_field_data }: Checkout): Answers =>
  Object.fromEntries(
    attached_custom_fields.map(({ custom_field: { slug, type } }) => {
      const text = String(custom_field_data[slug] ?? "");
      return [answerKey(slug), type === "date" ? text.slice(0, 10) : text];
    }),
  );

/** The answers as they are sent: a number as such, a box as ticked or not, and nothing for a field left blank. */
export function answersOf(values: Values, { attached_custom_fields }: Checkout): Stored {
  const given = attached_custom_fields.flatMap(({ custom_field: { slug, type } }): [string, Stored[string]][] => {
    const value = values[answerKey(slug)] ?? "";
    if (type === "checkbox") return [[slug, value === "true"]];
    if (value.trim() === "") return [];
    return [[slug, type === "number" ? Number(value) : value]];
  });
  return Object.fromEntries(given);
}
