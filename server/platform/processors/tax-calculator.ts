import type { Address } from "../../../shared/addresses.ts";
import type { TaxIdFormat } from "../../../shared/api/fields.ts";
import type { TaxRate, TaxTreatment } from "../../../shared/tax.ts";

/**
 * What a service that computes tax is asked: what is to be paid after discounts, and who buys where. A sale is of one product,
 * so it is one line there, however many lines it has here.
 */
export type TaxRequest = {
  currency: string;
  behavior: TaxTreatment["behavior"];
  /** Minor units. */
  amount: number;
  address: Address;
  /** The buyer's, checked; null of consumers. */
  tax_id: readonly [string, TaxIdFormat] | null;
  at: Date;
};

/** The answer: how the sale is taxed, and each amount in minor units. The amounts of the rates add up to the tax. */
export type TaxAmounts = {
  /** The service's own name of this calculation. */
  id: string;
  treatment: TaxTreatment;
  tax_amount: number;
  rates: { rate: TaxRate; taxable_amount: number; tax_amount: number }[];
};

/** A sale that was reported: its transaction at the service, and the line of it. */
export type TaxReport = { id: string; line_id: string };
/** What goes back, in positive minor units; where the price holds its tax, `amount` does too. */
export type TaxReturn = { amount: number; tax_amount: number };

/** Tax could not be computed or reported: the address is not understood, or the service does not answer. */
export class TaxError extends Error {
  override readonly name = "TaxError";
}

/**
 * A service that computes tax, and files it. It is another's, so it is asked outside of transactions; what fails is a
 * `TaxError`. What is reported has a `reference`: the same again is the same report.
 */
export type TaxCalculator = {
  calculate(request: TaxRequest): Promise<TaxAmounts>;
  /** Report the sale of a calculation, so that its tax is filed. */
  report(calculation_id: string, reference: string): Promise<TaxReport>;
  /** Take a part of a reported sale back; answers the service's name of that. */
  reverse(reported: TaxReport, returned: TaxReturn, reference: string): Promise<string>;
  /** Take a reversal back: the money has not gone after all. */
  undo(reversal_id: string, reference: string): Promise<string>;
};
