import type { z } from "zod";
import type { CheckoutConfirm } from "../../shared/api/checkout-client.ts";
import type { CheckoutUpdate } from "../../shared/api/checkouts.ts";
import { type Fault, fault, invalid } from "../../shared/errors.ts";
import { checkAnswers, keepFitting } from "../custom-fields/rules.ts";
import { readTaxId } from "../customers/tax-ids.ts";
import { checkAmount, checkCurrency, computeFlags, pickPrice, quotePrice } from "./quote.ts";
import { asksForAddress, type CheckoutAggregate, type CheckoutRow, checkNotYet, checkProduct } from "./rules.ts";

type Update = Omit<z.output<typeof CheckoutUpdate>, "allow_trial">;
type Confirm = Omit<z.output<typeof CheckoutConfirm>, "allow_trial">;
type Sent = Partial<Update & Confirm & { allow_trial: boolean | undefined }>;

/**
 * What an update makes of an open checkout: the columns to write, or every fault. `seller`: sent with a token, so that
 * what only a seller may change is heard.
 */
export function planUpdate(
  { row, products, price: picked }: CheckoutAggregate,
  body: Sent,
  seller: boolean,
): { patch: Partial<CheckoutRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  const patch: Partial<CheckoutRow> = {};
  let price = picked;
  let product = products.find((one) => one.id === row.product_id);
  const currency = body.currency ?? row.quote.currency;

  if (body.product_price_id !== undefined && body.product_price_id !== row.product_price_id) {
    const owner = products.find((one) => one.prices.some((each) => each.id === body.product_price_id));
    const wanted = owner?.prices.find((each) => each.id === body.product_price_id);
    const wrong = owner && checkProduct(owner, ["product_price_id"], owner.id);
    if (!owner || !wanted)
      faults.push(
        fault(["product_price_id"], "Price is not available in this checkout.", "value_error", body.product_price_id),
      );
    else if (wrong) faults.push(wrong);
    else {
      [price, product] = [wanted, owner];
      Object.assign(patch, { product_id: owner.id, product_price_id: wanted.id });
    }
  } else if (body.product_id !== undefined && body.product_id !== row.product_id) {
    const chosen = products.find((one) => one.id === body.product_id);
    const wrong = chosen
      ? checkProduct(chosen, ["product_id"], chosen.id)
      : fault(["product_id"], "Product is not available in this checkout.", "value_error", body.product_id);
    const wanted = chosen && pickPrice(chosen, currency);
    if (wrong || !wanted) faults.push(wrong ?? fault(["product_id"], "Product has no price."));
    else {
      [price, product] = [wanted, chosen];
      Object.assign(patch, { product_id: chosen.id, product_price_id: wanted.id });
    }
  }
  if (price === picked && currency !== picked.price_currency) {
    price = (product && pickPrice(product, currency)) ?? picked;
    patch.product_price_id = price.id;
  }
  faults.push(...checkCurrency(price, body.currency));
  const isChosen = body.amount !== undefined && body.amount !== null && price.amount_type === "custom";
  if (isChosen) faults.push(...checkAmount(price, body.amount));
  if (product && (isChosen || price !== picked)) patch.quote = quotePrice(product, price, body.amount);
  // A code that is not allowed is not even looked at (CHK-09).
  if (body.discount_code && row.allow_discount_codes)
    faults.push(fault(["discount_code"], "Discount does not exist.", "value_error", body.discount_code));
  faults.push(...checkNotYet(body));

  copy(body, patch, [
    "customer_name",
    "customer_billing_name",
    "locale",
    "is_business_customer",
    "payment_method_type",
    "allow_trial",
  ]);
  // The linked customer's own address counts (CHK-32), where it has one.
  if (row.customer_id === null || row.customer_email === null) copy(body, patch, ["customer_email"]);
  if (seller) {
    copy(body, patch, [
      "customer_ip_address",
      "success_url",
      "return_url",
      "embed_origin",
      "allow_discount_codes",
      "require_billing_address",
      "metadata",
      "customer_metadata",
    ]);
  }
  if (body.customer_billing_address) {
    patch.customer_billing_address = body.customer_billing_address;
    if (seller && asksForAddress(body.customer_billing_address)) patch.require_billing_address = true;
  }
  planTaxId(row, body, patch, faults);
  if (body.is_business_customer === false) Object.assign(patch, { customer_tax_id: null, customer_billing_name: null });
  return { patch, faults };
}

/**
 * The answers to the chosen product's custom fields. Those sent join the ones that stand, unless they are sent with the
 * confirmation, which tells all of them (CHK-34); another product keeps what it asks for as well (CUF-09).
 */
function planAnswers(
  { row, products }: CheckoutAggregate,
  patch: Partial<CheckoutRow>,
  sent: Sent["custom_field_data"],
  confirming: boolean,
): { patch: Partial<CheckoutRow>; faults: Fault[] } {
  const moved = patch.product_id !== undefined && patch.product_id !== row.product_id;
  if (sent === undefined && !moved) return { patch: {}, faults: [] };
  const asked = products.find((one) => one.id === (patch.product_id ?? row.product_id))?.fields ?? [];
  const { answers, faults } = checkAnswers(asked, sent ?? {}, { complete: false });
  const standing = confirming && sent !== undefined ? {} : keepFitting(asked, row.custom_field_data);
  return { patch: { custom_field_data: { ...standing, ...answers } }, faults };
}

/**
 * An open checkout with what was sent, and the columns that this changes; or every fault (CHK-27). `by`: what only a seller
 * may change is ignored from others, and a confirmation says all the answers.
 */
export function planChange(
  aggregate: CheckoutAggregate,
  body: Sent,
  by: "seller" | "buyer" | "confirmation",
): { aggregate: CheckoutAggregate; patch: Partial<CheckoutRow> } {
  const { patch: asked, faults } = planUpdate(aggregate, body, by === "seller");
  const answers = planAnswers(aggregate, asked, body.custom_field_data, by === "confirmation");
  faults.push(...answers.faults);
  if (faults.length > 0) throw invalid(...faults);
  const patch = { ...asked, ...answers.patch, ...planCleared(aggregate, asked) };
  const row = { ...aggregate.row, ...patch };
  const price = aggregate.products.flatMap((one) => one.prices).find((each) => each.id === row.product_price_id);
  return { aggregate: { ...aggregate, row, price: price ?? aggregate.price }, patch };
}

/** What is not asked for any more once nothing is to be paid; only what differs from what stands (CHK-35). */
function planCleared({ row, products, price }: CheckoutAggregate, patch: Partial<CheckoutRow>): Partial<CheckoutRow> {
  const next = { ...row, ...patch };
  const chosen = products.flatMap((one) => one.prices).find((each) => each.id === next.product_price_id) ?? price;
  if (computeFlags(next.quote, chosen).is_payment_form_required) return {};
  const cleared: Partial<CheckoutRow> = {};
  if (next.payment_method_type !== null) cleared.payment_method_type = null;
  if (next.require_billing_address) return cleared;
  if (next.is_business_customer) cleared.is_business_customer = false;
  if (next.customer_tax_id !== null) cleared.customer_tax_id = null;
  if (next.customer_billing_name !== null) cleared.customer_billing_name = null;
  return cleared;
}

/** A tax number is checked against the country of the address, and again when the address changes (CHK-12, CHK-33). */
function planTaxId(row: CheckoutRow, body: Sent, patch: Partial<CheckoutRow>, faults: Fault[]): void {
  if (body.customer_tax_id === null || body.customer_tax_id === "") patch.customer_tax_id = null;
  const moved =
    patch.customer_billing_address && patch.customer_billing_address.country !== row.customer_billing_address?.country;
  const number = body.customer_tax_id ?? (moved ? row.customer_tax_id?.[0] : undefined);
  if (!number || body.customer_tax_id === null) return;
  const country = (patch.customer_billing_address ?? row.customer_billing_address)?.country;
  if (!country) {
    faults.push(fault(["customer_billing_address"], "Country is required to validate tax ID.", "missing"));
    return;
  }
  const read = readTaxId(number, country);
  if (read) patch.customer_tax_id = read;
  else faults.push(fault(["customer_tax_id"], "Invalid tax ID.", "invalid", number));
}

function copy<K extends keyof Sent & keyof CheckoutRow>(
  body: Sent,
  patch: Partial<CheckoutRow>,
  fields: readonly K[],
): void {
  for (const field of fields) if (body[field] !== undefined) Object.assign(patch, { [field]: body[field] });
}
