import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import type { CheckoutConfirm } from "../../../shared/api/checkout-client.ts";
import type { CheckoutUpdate } from "../../../shared/api/checkouts.ts";
import { type Fault, fault, invalid } from "../../../shared/errors.ts";
import { type Quote, untaxed } from "../../../shared/pricing.ts";
import type { TaxTreatment } from "../../../shared/tax.ts";
import type { Sale } from "../../billing/tax/computed.ts";
import { checkAnswers, pickValidAnswers } from "../../catalog/custom-fields/rules.ts";
import { coversProduct, findDiscountTerms, isRedeemable, type LimitedDiscount } from "../../catalog/discounts/rules.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { readTaxId } from "../../customers/customers/tax-ids.ts";
import {
  type Basket,
  checkAmount,
  checkCurrency,
  checkSeats,
  checkTotal,
  computeBasketQuote,
  computeFlags,
  computeSeatBounds,
  computeTrial,
  findPricesWith,
  isDiscountable,
  type PurchaseQuote,
  pickPrice,
} from "./quote.ts";
import {
  type CheckoutAggregate,
  type CheckoutRow,
  checkProduct,
  getOffer,
  getProduct,
  requiresAddress,
} from "./rules.ts";
import { type Buyer, describeSale } from "./tax.ts";

type Update = Omit<z.output<typeof CheckoutUpdate>, "allow_trial">;
type Confirm = Omit<z.output<typeof CheckoutConfirm>, "allow_trial" | "quote">;
export type SentUpdate = Partial<Update & Confirm & { allow_trial: boolean | undefined }>;

/**
 * What an update is held against besides the checkout: the time, the discount that it names, where there is such a one, and
 * how the seller's sales are taxed.
 */
export type UpdateContext = {
  now: Date;
  discount: LimitedDiscount | undefined;
  taxation: (sale: Sale) => TaxTreatment;
};

type Choice = Pick<CheckoutAggregate, "price"> & { product: PricedProduct };

/** The product and the price that are bought after an update (CHK-29). */
function planChoice(aggregate: CheckoutAggregate, body: SentUpdate, faults: Fault[]): Choice {
  const { row, products, price } = aggregate;
  const product = getProduct(aggregate);
  const currency = body.currency ?? row.quote.currency;
  const buildOffer = (one: PricedProduct) => getOffer(aggregate, one);
  const moved = body.product_id !== undefined && body.product_id !== row.product_id;
  if (body.product_price_id !== undefined && body.product_price_id !== row.product_price_id) {
    const owner = products.find((one) => buildOffer(one).some((each) => each.id === body.product_price_id));
    const wanted = owner && buildOffer(owner).find((each) => each.id === body.product_price_id);
    const wrong = owner && checkProduct(owner, ["product_price_id"], owner.id);
    const msg = "Price is not available in this checkout.";
    if (owner && wanted && !wrong) return { product: owner, price: wanted };
    faults.push(wrong ?? fault(["product_price_id"], msg, "value_error", body.product_price_id));
  } else if (moved || (body.product_id !== undefined && price.is_archived)) {
    const chosen = products.find((one) => one.id === body.product_id);
    const msg = "Product is not available in this checkout.";
    const wrong = chosen
      ? checkProduct(chosen, ["product_id"], chosen.id)
      : fault(["product_id"], msg, "value_error", body.product_id);
    const wanted = chosen && pickPrice(buildOffer(chosen), currency);
    if (chosen && wanted && !wrong) return { product: chosen, price: wanted };
    faults.push(wrong ?? fault(["product_id"], "Product has no price."));
  } else if (currency !== price.price_currency) {
    return { product, price: pickPrice(buildOffer(product), currency) ?? price };
  }
  return { product, price };
}

/** The discount after an update: what was sent, as far as it is good for what is bought (CHK-08, CHK-09, CHK-31). */
function planDiscount(
  { row, discount: standing }: CheckoutAggregate,
  { product, price }: Choice,
  prices: readonly PriceRow[],
  body: SentUpdate,
  by: By,
  ground: UpdateContext,
  faults: Fault[],
): LimitedDiscount | null {
  const field = by === "seller" ? ("discount_id" as const) : ("discount_code" as const);
  const isHeard = by === "seller" || row.allow_discount_codes;
  const sent = isHeard ? body[field] : undefined;
  if (sent === null) return null;
  const wanted = sent === undefined ? standing : ground.discount;
  const isGood =
    wanted &&
    coversProduct(wanted, product.id) &&
    isDiscountable(prices) &&
    findDiscountTerms(wanted, price.price_currency) !== undefined &&
    (sent === undefined || isRedeemable(wanted, ground.now));
  if (isGood) return wanted;
  if (sent !== undefined)
    faults.push(
      isDiscountable(prices)
        ? fault([field], "Discount does not exist.", "value_error", sent)
        : fault([field], "Discounts are not applicable to this product.", "value_error", sent),
    );
  return null;
}

type By = "seller" | "buyer" | "confirmation";

/** What is to be paid, with the tax where a card is asked for (CHK-46): of what nobody pays none is due. */
function quoteTaxed(
  basket: Omit<Basket, "tax">,
  rest: Pick<PurchaseQuote, "product" | "trial_end">,
  price: PriceRow,
  buyer: Buyer & Pick<CheckoutRow, "quote">,
  { taxation }: UpdateContext,
): Quote {
  const plain = computeBasketQuote({ ...basket, tax: untaxed });
  const tax = taxation(describeSale(buyer, price, plain, buyer.quote.tax));
  const { prices, discount } = basket;
  const quote = computeBasketQuote({ ...basket, tax });
  // Where nothing is collected, nobody asks whether the price holds it. What a service computed is told to it when it is paid.
  const isTaxed =
    (tax.reason !== "not_collected" || tax.given) &&
    computeFlags({ quote, prices, discount, ...rest }).is_payment_form_required;
  return isTaxed ? quote : plain;
}

/** What an update makes of what is bought, and what is to be paid for it. */
function planPurchase(
  aggregate: CheckoutAggregate,
  body: SentUpdate,
  buyer: Buyer & Pick<CheckoutRow, "quote">,
  by: By,
  ground: UpdateContext,
  faults: Fault[],
) {
  const { row } = aggregate;
  const choice = planChoice(aggregate, body, faults);
  const { product, price } = choice;
  const moved = product.id !== row.product_id;
  const prices = findPricesWith(getOffer(aggregate, product), price);
  faults.push(...checkCurrency(price, body.currency), ...checkAmount(prices, body.amount));
  // Seats and amount were chosen for what was bought before.
  const kept = moved || computeSeatBounds(prices, row) === null ? undefined : row.seats;
  const seated = checkSeats(prices, { seats: body.seats ?? kept }, row);
  faults.push(...seated.faults);
  const isOpen = prices.some(({ amount_type }) => amount_type === "custom");
  const stays = !moved && price.id === row.product_price_id;
  const chosen_amount = isOpen ? (body.amount ?? (stays ? row.chosen_amount : null)) : null;
  const discount = planDiscount(aggregate, choice, prices, body, by, ground, faults);
  const trial = computeTrial(
    {
      allow_trial: body.allow_trial ?? row.allow_trial,
      trial_interval: body.trial_interval === undefined ? row.trial_interval : body.trial_interval,
      trial_interval_count:
        body.trial_interval_count === undefined ? row.trial_interval_count : body.trial_interval_count,
    },
    product,
    ground.now,
  );
  const seats = seated.faults.length > 0 ? row.seats : seated.seats;
  const quote =
    faults.length > 0
      ? row.quote
      : quoteTaxed(
          { product, prices, seats, chosen: chosen_amount, discount },
          { product, trial_end: trial.trial_end },
          price,
          buyer,
          ground,
        );
  faults.push(...checkTotal(quote));
  const columns = {
    product_id: product.id,
    product_price_id: price.id,
    seats,
    chosen_amount,
    discount_id: discount?.id ?? null,
    trial_end: trial.trial_end,
    quote,
  };
  return { columns, price, prices, product, discount };
}

/** The columns of `wanted` that differ from those that stand. */
const pickChanges = (row: CheckoutRow, wanted: Partial<CheckoutRow>): Partial<CheckoutRow> =>
  Object.fromEntries(
    Object.entries(wanted).filter(([field, value]) => !isDeepStrictEqual(value, row[field as keyof CheckoutRow])),
  );

/** The plain fields of an update. */
function planFields(row: CheckoutRow, body: SentUpdate, seller: boolean, faults: Fault[]): Partial<CheckoutRow> {
  const patch: Partial<CheckoutRow> = {};
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
      "trial_interval",
      "trial_interval_count",
      "metadata",
      "customer_metadata",
    ]);
  }
  if (body.customer_billing_address) {
    patch.customer_billing_address = body.customer_billing_address;
    if (seller && requiresAddress(body.customer_billing_address)) patch.require_billing_address = true;
  }
  planTaxId(row, body, patch, faults);
  if (body.is_business_customer === false) Object.assign(patch, { customer_tax_id: null, customer_billing_name: null });
  return patch;
}

/**
 * The answers to the chosen product's custom fields. Those sent join the ones that stand, unless they are sent with the
 * confirmation, which tells all of them (CHK-34); another product keeps what it asks for as well (CUF-09).
 */
function planAnswers(
  { row }: CheckoutAggregate,
  { id, fields: asked }: PricedProduct,
  sent: SentUpdate["custom_field_data"],
  confirming: boolean,
): { patch: Partial<CheckoutRow>; faults: Fault[] } {
  if (sent === undefined && id === row.product_id) return { patch: {}, faults: [] };
  const { answers, faults } = checkAnswers(asked, sent ?? {}, { complete: false });
  const standing = confirming && sent !== undefined ? {} : pickValidAnswers(asked, row.custom_field_data);
  return { patch: { custom_field_data: { ...standing, ...answers } }, faults };
}

/**
 * An open checkout with what was sent, and the columns that this changes; or every fault (CHK-27). `by`: what only a seller
 * may change is ignored from others, and a confirmation says all the answers.
 */
export function planChange(
  aggregate: CheckoutAggregate,
  body: SentUpdate,
  by: By,
  ground: UpdateContext,
): { aggregate: CheckoutAggregate; patch: Partial<CheckoutRow> } {
  const faults: Fault[] = [];
  const { row } = aggregate;
  const fields = planFields(row, body, by === "seller", faults);
  const { columns, price, prices, product, discount } = planPurchase(
    aggregate,
    body,
    { ...row, ...fields },
    by,
    ground,
    faults,
  );
  const answers = planAnswers(aggregate, product, body.custom_field_data, by === "confirmation");
  faults.push(...answers.faults);
  if (faults.length > 0) throw invalid(...faults);
  const next = { ...row, ...fields, ...columns, ...answers.patch };
  const flags = computeFlags({ ...columns, prices, product, discount });
  const patch = { ...fields, ...answers.patch, ...pickChanges(row, columns), ...planCleared(next, flags) };
  return { aggregate: { ...aggregate, row: { ...row, ...patch }, price, discount }, patch };
}

/** What is not asked for any more once nothing is to be paid; only what differs from what stands (CHK-35). */
function planCleared(next: CheckoutRow, flags: { is_payment_form_required: boolean }): Partial<CheckoutRow> {
  if (flags.is_payment_form_required) return {};
  const cleared: Partial<CheckoutRow> = {};
  if (next.payment_method_type !== null) cleared.payment_method_type = null;
  if (next.require_billing_address) return cleared;
  if (next.is_business_customer) cleared.is_business_customer = false;
  if (next.customer_tax_id !== null) cleared.customer_tax_id = null;
  if (next.customer_billing_name !== null) cleared.customer_billing_name = null;
  return cleared;
}

/** A tax number is checked against the country of the address, and again when the address changes (CHK-12, CHK-33). */
function planTaxId(row: CheckoutRow, body: SentUpdate, patch: Partial<CheckoutRow>, faults: Fault[]): void {
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

function copy<K extends keyof SentUpdate & keyof CheckoutRow>(
  body: SentUpdate,
  patch: Partial<CheckoutRow>,
  fields: readonly K[],
): void {
  for (const field of fields) if (body[field] !== undefined) Object.assign(patch, { [field]: body[field] });
}
