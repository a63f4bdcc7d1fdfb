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
function calculateTax(asked: Asked, id: string, now: number): Fields | undefined {
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

type TransactionLine = Fields & { id: string; amount: number; amount_tax: number };
export type Transaction = Fields & {
  id: string;
  reference: string;
  type: "transaction" | "reversal";
  reversal: { original_transaction: string } | null;
  line_items: { data: TransactionLine[] };
};
type Reversal = {
  mode: "full" | "partial";
  original_transaction: string;
  reference: string;
  line_items?: { amount: number; amount_tax: number; original_line_item: string; reference: string }[];
};

/** What was calculated and what was reported of it. `refuse` makes a refusal of Stripe's. */
export function openTaxBooks(
  next: (prefix: string) => string,
  now: () => number,
  refuse: (message: string, code: string, param?: string) => Error,
) {
  const calculations = new Map<string, Fields>();
  const transactions = new Map<string, Transaction>();
  const hold = (reference: string): void => {
    if ([...transactions.values()].some((one) => one.reference === reference))
      throw refuse(`A transaction with the reference ${reference} exists.`, "resource_already_exists", "reference");
  };
  const post = (
    reference: string,
    calculation: Fields,
    lines: Pick<TransactionLine, "amount" | "amount_tax">[],
    of: string | null,
  ): Transaction => {
    const type = of === null ? "transaction" : "reversal";
    const id = next("tax");
    const data = lines.map((line, index) => ({ ...line, id: `tax_li_${id}_${index + 1}`, type }));
    const { currency, customer_details, tax_date } = calculation;
    const made: Transaction = {
      id,
      object: "tax.transaction",
      created: now(),
      currency,
      customer: null,
      customer_details,
      line_items: {
        object: "list",
        data,
        has_more: false,
        url: `/v1/tax/transactions/${id}/line_items`,
      } as never,
      livemode: false,
      metadata: {},
      posted_at: now(),
      reference,
      reversal: of === null ? null : { original_transaction: of },
      ship_from_details: null,
      shipping_cost: null,
      tax_date,
      type,
    };
    transactions.set(id, made);
    return made;
  };
  const reversalsOf = (id: string) =>
    [...transactions.values()].filter((one) => one.reversal?.original_transaction === id);
  const isUndone = ({ id }: Transaction) => reversalsOf(id).length > 0;
  return {
    transactions,
    operations: {
      "POST /v1/tax/calculations": ({ body }: { body: Asked }) => {
        const id = next("taxcalc");
        const made = calculateTax(body, id, now());
        if (!made)
          throw refuse(
            "We could not determine the customer's tax location based on the provided customer address.",
            "customer_tax_location_invalid",
            "customer_details[address]",
          );
        calculations.set(id, made);
        return made;
      },
      "POST /v1/tax/transactions/create_from_calculation": ({ body }: { body: Record<string, string> }) => {
        const { calculation = "", reference = "" } = body;
        const known = calculations.get(calculation) as { line_items: { data: TransactionLine[] } } & Fields;
        if (!known) throw refuse(`No such calculation: '${calculation}'`, "resource_missing", "calculation");
        if (Number(known.expires_at) < now()) throw refuse("The calculation has expired.", "tax_calculation_expired");
        hold(reference);
        const lines = known.line_items.data.map(({ id: _, ...line }) => ({
          ...line,
          object: "tax.transaction_line_item",
          metadata: {},
          reversal: null,
        }));
        return post(reference, known, lines as never, null);
      },
      "POST /v1/tax/transactions/create_reversal": ({ body }: { body: Reversal }) => {
        const { mode, original_transaction, reference, line_items = [] } = body;
        const original = transactions.get(original_transaction);
        if (!original) throw refuse("No such transaction.", "resource_missing", "original_transaction");
        hold(reference);
        const before = reversalsOf(original.id).filter((one) => !isUndone(one));
        if (mode === "full" && before.length > 0) throw refuse("It has been reversed.", "parameter_invalid", "mode");
        const reversed = original.line_items.data.flatMap((line) => {
          const part =
            mode === "full"
              ? { amount: 0 - line.amount, amount_tax: 0 - line.amount_tax, reference: line.reference }
              : line_items.find((one) => one.original_line_item === line.id);
          if (!part) return [];
          const earlier = before.flatMap((one) =>
            one.line_items.data.filter(
              ({ reversal }) => (reversal as { original_line_item: string }).original_line_item === line.id,
            ),
          );
          for (const field of ["amount", "amount_tax"] as const) {
            const gone = earlier.reduce((sum, one) => sum + one[field], 0) + part[field];
            if (mode === "partial" && (part[field] > 0 || gone < 0 - line[field]))
              throw refuse("More would be reversed than is there.", "parameter_invalid", "line_items");
          }
          return [{ ...line, ...part, original_line_item: undefined, reversal: { original_line_item: line.id } }];
        });
        if (reversed.length === 0) throw refuse("Nothing is reversed.", "parameter_missing", "line_items");
        return post(reference, original, reversed, original.id);
      },
    },
  };
}
