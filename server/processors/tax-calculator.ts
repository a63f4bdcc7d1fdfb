import type { Address } from "../../shared/addresses.ts";
import type { TaxIdFormat } from "../../shared/api/fields.ts";
import type { TaxRate, TaxTreatment } from "../../shared/tax.ts";

/** What a service that computes tax is asked: the lines of a sale after their discounts, and who buys where. */
export type TaxRequest = {
  currency: string;
  behavior: TaxTreatment["behavior"];
  /** Minor units; `reference` is the caller's own name of a line, and no other's. */
  lines: readonly { reference: string; amount: number }[];
  address: Address;
  /** The buyer's, checked; null of consumers. */
  tax_id: readonly [string, TaxIdFormat] | null;
  at: Date;
};

/** The answer: how the sale is taxed, and each amount in minor units. The amounts of rates add up to the tax, those of lines too. */
export type TaxAmounts = {
  treatment: TaxTreatment;
  tax_amount: number;
  rates: { rate: TaxRate; tax_amount: number }[];
  lines: { reference: string; tax_amount: number }[];
};

/** Tax could not be computed: the address is not understood, or the service does not answer. */
export class TaxError extends Error {
  override readonly name = "TaxError";
}

/** A service that computes tax. It is another's, so it is asked outside of transactions; what fails is a `TaxError`. */
export type TaxCalculator = { calculate(request: TaxRequest): Promise<TaxAmounts> };
