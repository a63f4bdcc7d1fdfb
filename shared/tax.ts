/** One tax that a sale bears: `rate` in percent as decimal text, such as "19" or "8.875". */
export type TaxRate = { name: string; country: string; state: string | null; rate: string };

/** How a sale is taxed; the amounts follow from it in pricing. */
export type TaxTreatment = {
  behavior: "exclusive" | "inclusive";
  /** not_collected: the seller is not registered there. unknown: no address yet, or not enough of one. */
  reason: "standard" | "not_collected" | "reverse_charge" | "zero_rated" | "exempt" | "unknown";
  /** Empty unless the reason is standard. */
  rates: TaxRate[];
  /** Whose table the rates are from, and of which day. Null where no rate was looked up. */
  source: { name: string; date: string } | null;
  /** What a service computed, in place of what would follow from the rates. Absent where the amounts follow from them. */
  given?: GivenTax;
};

/** What a service computed, in minor units, of each rate in their order. */
export type GivenTax = {
  /** The service's own name of its calculation. */
  calculation_id: string;
  /** What it was computed from, as one value to compare. */
  basis: string;
  rates: { taxable_amount: number; amount: number }[];
};

/** The members of the European Union. */
export const unionCountries: ReadonlySet<string> = new Set(
  // A text, because the checkout page ships the list.
  "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(" "),
);

/**
 * How a seller is registered somewhere. domestic: as those who live there are. oss: in the European Union's one-stop-shop,
 * for consumers in all of it. small_seller: domestic, in a member state, and below the union's threshold, so that consumers
 * in all of it pay the seller's own tax. simplified: from abroad, for consumers alone.
 */
export const taxSchemes = ["domestic", "oss", "small_seller", "simplified"] as const;
export type TaxScheme = (typeof taxSchemes)[number];
