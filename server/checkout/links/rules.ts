import { linkParameters } from "../../../shared/api/buyer-requests.ts";
import type { CheckoutLink } from "../../../shared/api/checkout-links.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { type DiscountRow, type LimitedDiscount, serializeDiscountBase } from "../../catalog/discounts/rules.ts";
import { type PricedProduct, type PriceRow, serializeCheckoutProduct } from "../../catalog/products/rules.ts";
import type { Config } from "../../platform/config.ts";
import { checkAmount } from "../checkouts/quote.ts";
import type { checkoutLinks } from "./tables.ts";

export type LinkRow = typeof checkoutLinks.$inferSelect;
/** A link with all that is shown of it. */
export type LinkAggregate = { row: LinkRow; products: PricedProduct[]; discount: DiscountRow | null };

/** The address that is given to buyers. */
export const getLinkUrl = (client_secret: string, { url }: Pick<Config, "url">): string =>
  `${url}/buy/${client_secret}`;

/** A link as its seller sees it. */
export function serializeLink({ row, products, discount }: LinkAggregate, config: Config): CheckoutLink {
  return {
    ...row,
    payment_processor: "stripe",
    units: null,
    products: products.map((one) => ({ ...serializeCheckoutProduct(one, config.media_url), metadata: one.metadata })),
    discount: discount && serializeDiscountBase(discount),
    url: getLinkUrl(row.client_secret, config),
  };
}

/** A fault for each product that cannot be offered: unknown, or off sale. */
export const checkProducts = (
  wanted: readonly string[],
  found: { get(id: string): PricedProduct | undefined },
  placeOf: (index: number) => (string | number)[],
): Fault[] =>
  wanted.flatMap((id, index) => {
    const product = found.get(id);
    if (!product) return [fault(placeOf(index), "Product does not exist.", "value_error", id)];
    if (product.is_archived) return [fault(placeOf(index), "Product is archived.", "value_error", id)];
    return [];
  });

/** Whether a discount is for all products, or for one of these. */
export const isCovered = ({ products }: LimitedDiscount, offered: readonly string[]): boolean =>
  products.length === 0 || products.some(({ id }) => offered.some((one) => one.toLowerCase() === id));

const tracked: ReadonlySet<string> = new Set(linkParameters.metadata);
const valueMax = 500;
const metadataKeysMax = 50;

/** The metadata of a checkout opened through a link: the link's own, and what the address carried besides (CHK-20). */
export function mergeMetadata(row: LinkRow, query: Record<string, string>): LinkRow["metadata"] {
  const room = Math.max(0, metadataKeysMax - Object.keys(row.metadata).length);
  const carried = Object.entries(query)
    .filter(([key, value]) => tracked.has(key) && value !== "" && !(key in row.metadata))
    .slice(0, room);
  return { ...Object.fromEntries(carried.map(([key, value]) => [key, value.slice(0, valueMax)])), ...row.metadata };
}

/** What an address may carry to fill in the form: of the amount only one that the chosen price takes (CHK-63). */
export function readPrefill(query: Record<string, string>, prices: readonly PriceRow[]) {
  const { customer_email, customer_name } = query;
  const amount = query.amount === undefined || query.amount === "" ? undefined : Number(query.amount);
  const fits = Number.isSafeInteger(amount) && checkAmount(prices, amount).length === 0;
  return {
    ...(customer_email === undefined ? {} : { customer_email }),
    ...(customer_name === undefined ? {} : { customer_name }),
    ...(fits ? { amount } : {}),
  };
}

const filled: ReadonlySet<string> = new Set(linkParameters.form);
/** Whether a link itself makes use of what an address carries; all else is for the page of the checkout (CHK-62). */
export const isRead = (key: string): boolean =>
  filled.has(key) || tracked.has(key) || key.startsWith(linkParameters.answer_prefix);

/** The origin that an address names, as `https://shop.example:8443`; null where it names none (CHK-25). */
export function findEmbedOrigin(text: string | undefined): string | null {
  if (text === undefined || text.includes("*") || !URL.canParse(text)) return null;
  const { protocol, origin } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? origin : null;
}
