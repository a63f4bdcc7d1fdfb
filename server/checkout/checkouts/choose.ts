import type { CheckoutCreate } from "../../../shared/api/checkouts.ts";
import type { Country } from "../../../shared/countries.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { getMinimumAmount } from "../../../shared/money.ts";
import { findSubscription } from "../../billing/subscriptions/store.ts";
import type { LimitedDiscount } from "../../catalog/discounts/rules.ts";
import { findByCode, findDiscount } from "../../catalog/discounts/store.ts";
import { isFree } from "../../catalog/products/lines.ts";
import { checkPrices } from "../../catalog/products/price-rules.ts";
import { type PricedProduct, type PriceInsert, type PriceRow, planPrice } from "../../catalog/products/rules.ts";
import { findPrice, findProducts } from "../../catalog/products/store.ts";
import { findCustomer } from "../../customers/customers/store.ts";
import { type OrganizationRow, serializeOrganization } from "../../identity/organizations/rules.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { createId } from "../../platform/ids.ts";
import { getCurrency } from "../../platform/ip-countries.ts";
import { lockUsedMeters } from "../../usage/meters/store.ts";
import { pickPrice } from "./quote.ts";
import { type CheckoutRow, checkProduct } from "./rules.ts";

type Create = ReturnType<typeof CheckoutCreate.parse>;
type Chosen = {
  products: PricedProduct[];
  product: PricedProduct;
  price: PriceRow;
  /** Prices that are made for the checkout alone, by product, and as they are to be written. */
  own: ReadonlyMap<string, PriceRow[]>;
  made: PriceInsert[];
};

/** The products that a body names, and the price that is bought (CHK-01 to CHK-04). */
export async function resolveSelection(
  tx: Tx,
  ctx: Ctx,
  seller: OrganizationRow,
  body: Create,
  country: Country | null,
  faults: Fault[],
): Promise<Chosen | undefined> {
  const organization_id = seller.id;
  const byPrice = body.products || body.product_id ? undefined : body.product_price_id;
  const named = byPrice ? await findPrice(tx, organization_id, byPrice) : undefined;
  const ids = body.products ?? [body.product_id ?? named?.product_id].filter((id) => id !== undefined && id !== null);
  const found = await findProducts(tx, organization_id, ids);
  const getPlace = (index: number) =>
    body.products ? ["products", index] : [byPrice ? "product_price_id" : "product_id"];
  // A price that was made for another checkout is not for sale.
  if (byPrice && (!named || named.source === "ad_hoc"))
    faults.push(fault(["product_price_id"], "Price does not exist.", "value_error", byPrice));
  else if (named?.is_archived)
    faults.push(fault(["product_price_id"], "Price is archived.", "value_error", byPrice ?? undefined));
  const products = ids.flatMap((id, index) => {
    const product = found.find((one) => one.id === id);
    const wrong = checkProduct(product, getPlace(index), id);
    if (wrong) faults.push(wrong);
    return product ? [product] : [];
  });
  const made = await makePrices(tx, ctx, seller, products, body, faults);
  const own = new Map([...Map.groupBy(made, (price) => price.product_id)].map(([id, some]) => [id, some.map(toRow)]));
  const [product] = products;
  const offered = product ? (own.get(product.id) ?? product.prices) : [];
  // That of the buyer's country where there is a price in it, else the seller's own (CHK-04).
  const local = country && getCurrency(country);
  const known = offered.some(({ price_currency }) => price_currency === local) ? local : null;
  const price = named ?? pickPrice(offered, body.currency ?? known ?? seller.default_presentment_currency);
  return product && price && faults.length === 0 ? { products, product, price, own, made } : undefined;
}

/** A price that is about to be written, as it will be read. */
const toRow = (price: PriceInsert): PriceRow => ({
  modified_at: null,
  is_archived: false,
  price_amount: null,
  minimum_amount: null,
  maximum_amount: null,
  preset_amount: null,
  unit_amount: null,
  cap_amount: null,
  meter_id: null,
  seat_tiers: null,
  ...price,
  source: "ad_hoc",
  tax_behavior: price.tax_behavior ?? null,
});

/** Prices for this checkout alone: of products that it offers, and as sound as those of the catalogue. */
async function makePrices(
  tx: Tx,
  { clock }: Ctx,
  seller: OrganizationRow,
  products: readonly PricedProduct[],
  { prices }: Create,
  faults: Fault[],
): Promise<PriceInsert[]> {
  const { default_presentment_currency: currency, feature_settings } = serializeOrganization(seller);
  const created_at = clock.now();
  const made: PriceInsert[] = [];
  for (const [product_id, wanted] of Object.entries(prices ?? {})) {
    const product = products.find(({ id }) => id === product_id);
    if (!product) {
      faults.push(fault(["prices", product_id], "Product is not in this checkout.", "value_error", product_id));
      continue;
    }
    const meters = wanted.flatMap((price) => (price.amount_type === "metered_unit" ? [price.meter_id] : []));
    const ground = {
      recurring: product.recurring_interval !== null,
      currency,
      seats_enabled: feature_settings.seat_based_pricing_enabled,
      meter_ids: await lockUsedMeters(tx, seller.id, meters),
      active: [],
    };
    const wrong = checkPrices(wanted, ground);
    // They are told where they stand: below the product.
    for (const one of wrong) faults.push({ ...one, loc: ["body", "prices", product_id, ...one.loc.slice(2)] });
    const place = { organization_id: seller.id, product_id, created_at, source: "ad_hoc" as const };
    if (wrong.length === 0)
      for (const price of wanted)
        made.push(
          planPrice(price, { ...place, id: createId(created_at) }, { currency, minimumAmount: getMinimumAmount }),
        );
  }
  return made;
}

/** The customer that a checkout is made for: by our id, or by the seller's own, which may be of nobody yet (CHK-10). */
export async function linkCustomer(tx: Tx, organization_id: string, body: Create, faults: Fault[]) {
  const external_id = body.external_customer_id ?? body.customer_external_id ?? null;
  const upgraded = await findUpgraded(tx, organization_id, body, faults);
  const customer_id = upgraded?.customer_id ?? body.customer_id;
  if (customer_id) {
    const customer = await findCustomer(tx, organization_id, { id: customer_id });
    if (!customer) faults.push(fault(["customer_id"], "Customer does not exist.", "value_error", customer_id));
    return { customer, external_id: customer?.external_id ?? external_id };
  }
  const customer = external_id ? await findCustomer(tx, organization_id, { external_id }) : undefined;
  return { customer, external_id };
}

/** The free subscription that is upgraded (CHK-15). */
async function findUpgraded(tx: Tx, organization_id: string, { subscription_id }: Create, faults: Fault[]) {
  if (!subscription_id) return undefined;
  const found = await findSubscription(tx, organization_id, subscription_id);
  const addFault = (msg: string) => faults.push(fault(["subscription_id"], msg, "value_error", subscription_id));
  if (!found || found.row.ended_at !== null) addFault("Subscription does not exist.");
  else if (!found.prices.every(isFree)) addFault("Only free subscriptions can be upgraded.");
  return found?.row;
}

type Named = { discount_id?: string | null | undefined; discount_code?: string | null | undefined };

/** The discount that an update names; a code that is not allowed is not even looked at (CHK-09). */
export async function findNamedDiscount(
  tx: Tx,
  { organization_id, allow_discount_codes }: Pick<CheckoutRow, "organization_id" | "allow_discount_codes">,
  { discount_id, discount_code }: Named,
  isSeller: boolean,
): Promise<LimitedDiscount | undefined> {
  if (isSeller) return discount_id ? findDiscount(tx, organization_id, discount_id) : undefined;
  return discount_code && allow_discount_codes ? findByCode(tx, organization_id, discount_code) : undefined;
}
