/** Stripe Tax of the stand-in, for an account that is registered in Germany (with the one-stop-shop) and in Texas. */

type Fields = Record<string, unknown>;
type Line = { amount: number; reference?: string; tax_behavior?: "inclusive" | "exclusive" };
type Asked = {
  currency: string;
  customer_details: {
    address: { country: string; state?: string; postal_code?: string };
    tax_ids?: { type: string; value: string }[];
  };
  line_items: Line[];
  tax_date?: number;
};
type Rate = { tax_type: string; percentage: string; state?: string; reason?: string };

const union: Record<string, string> = { DE: "19.0", FR: "20.0", GR: "24.0" };

/** What is collected in a place, and why nothing is. */
function ratesOf({ address, tax_ids = [] }: Asked["customer_details"]): Rate[] {
  const { country, state } = address;
  const vat = union[country];
  if (vat && country !== "DE" && tax_ids.some(({ type }) => type === "eu_vat"))
    return [{ tax_type: "vat", percentage: "0.0", reason: "reverse_charge" }];
  if (vat) return [{ tax_type: "vat", percentage: vat }];
  if (country === "US" && state === "TX")
    return [
      { tax_type: "sales_tax", percentage: "6.25", state },
      { tax_type: "sales_tax", percentage: "2.0", state },
    ];
  return [{ tax_type: "vat", percentage: "0.0", reason: "not_collecting" }];
}

/** Half up, in whole units; what is inclusive holds its tax. */
function taxOf({ amount, tax_behavior }: Line, rate: Rate, all: number): number {
  const percentage = Number(rate.percentage);
  return Math.round((amount * percentage) / (tax_behavior === "inclusive" ? 100 + all : 100));
}

/** A calculation as Stripe answers it; undefined where it does not find the address. */
export function calculateTax(asked: Asked, id: string, now: number): Fields | undefined {
  const { customer_details, line_items, currency, tax_date = now } = asked;
  const { country, postal_code } = customer_details.address;
  if (country === "US" && !/^\d{5}/.test(postal_code ?? "")) return undefined;
  const rates = ratesOf(customer_details);
  const all = rates.reduce((sum, { percentage }) => sum + Number(percentage), 0);
  const inclusive = line_items[0]?.tax_behavior === "inclusive";
  const total = line_items.reduce((sum, { amount }) => sum + amount, 0);
  const tax_breakdown = rates.map((rate) => ({
    amount: line_items.reduce((sum, line) => sum + taxOf(line, rate, all), 0),
    inclusive,
    tax_rate_details: {
      country,
      flat_amount: null,
      percentage_decimal: rate.percentage,
      rate_type: "percentage",
      state: rate.state ?? null,
      tax_type: rate.tax_type,
    },
    taxability_reason: rate.reason ?? "standard_rated",
    taxable_amount: rate.reason ? 0 : total,
  }));
  const tax = tax_breakdown.reduce((sum, { amount }) => sum + amount, 0);
  const data = line_items.map((line, index) => ({
    id: `tax_li_${index + 1}`,
    object: "tax.calculation_line_item",
    amount: line.amount,
    amount_tax: rates.reduce((sum, rate) => sum + taxOf(line, rate, all), 0),
    livemode: false,
    product: null,
    quantity: 1,
    reference: line.reference ?? `L${index + 1}`,
    tax_behavior: line.tax_behavior ?? "exclusive",
    tax_code: "txcd_10000000",
  }));
  return {
    id,
    object: "tax.calculation",
    amount_total: inclusive ? total : total + tax,
    currency,
    customer: null,
    customer_details: {
      address: { city: null, line1: null, line2: null, postal_code: null, state: null, ...customer_details.address },
      address_source: "billing",
      ip_address: null,
      tax_ids: customer_details.tax_ids ?? [],
      taxability_override: "none",
    },
    expires_at: now + 90 * 86_400,
    line_items: { object: "list", data, has_more: false, url: `/v1/tax/calculations/${id}/line_items` },
    livemode: false,
    ship_from_details: null,
    shipping_cost: null,
    tax_amount_exclusive: inclusive ? 0 : tax,
    tax_amount_inclusive: inclusive ? tax : 0,
    tax_breakdown,
    tax_date,
  };
}
