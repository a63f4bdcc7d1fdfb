import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createStripeTax } from "../../server/platform/processors/stripe-tax.ts";
import { type TaxCalculator, TaxError, type TaxRequest } from "../../server/platform/processors/tax-calculator.ts";
import { taxIdFormats } from "../../shared/api/fields.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

let standIn: StripeStandIn;
let calculator: TaxCalculator;
beforeEach(async () => {
  standIn = await startStripe();
  calculator = createStripeTax({ secret_key: "sk_test_1", api_url: standIn.url });
});
afterEach(() => standIn.close());

const nowhere = { line1: null, line2: null, postal_code: null, city: null, state: null };
const request = (over: Partial<TaxRequest> = {}): TaxRequest => ({
  currency: "eur",
  behavior: "exclusive",
  amount: 1333,
  address: { ...nowhere, country: "FR" },
  tax_id: null,
  at: new Date("2026-11-01T12:00:00.900Z"),
  ...over,
});
const texas = { ...nowhere, country: "US" as const, state: "US-TX", postal_code: "73301", city: "Austin" };
const source = { name: "Stripe Tax", date: "2026-11-01" };

test("a sale is taxed by Stripe's answer, to the cent", async () => {
  const rate = { name: "VAT", country: "FR", state: null, rate: "20" };
  expect(await calculator.calculate(request())).toEqual({
    id: "taxcalc_1",
    treatment: { behavior: "exclusive", reason: "standard", rates: [rate], source },
    tax_amount: 267,
    rates: [{ rate, taxable_amount: 1333, tax_amount: 267 }],
  });
});

test("Stripe is told what is bought by whom, when, and nothing more", async () => {
  const tax_id = ["DE136695976", "eu_vat"] as const;
  await calculator.calculate(request({ address: texas, tax_id, behavior: "inclusive" }));
  expect(Object.fromEntries(standIn.requests[0]?.form ?? [])).toEqual({
    currency: "eur",
    "customer_details[address][country]": "US",
    "customer_details[address][state]": "TX",
    "customer_details[address][postal_code]": "73301",
    "customer_details[address][city]": "Austin",
    "customer_details[address_source]": "billing",
    "customer_details[tax_ids][0][type]": "eu_vat",
    "customer_details[tax_ids][0][value]": "DE136695976",
    "line_items[0][amount]": "1333",
    "line_items[0][reference]": "sale",
    "line_items[0][tax_behavior]": "inclusive",
    tax_date: "1793534400",
    "expand[0]": "line_items",
  });
});

test("several rates of one place add up to the tax, also where the price holds it", async () => {
  for (const behavior of ["exclusive", "inclusive"] as const) {
    const { treatment, tax_amount, rates } = await calculator.calculate(request({ address: texas, behavior }));
    expect(treatment).toMatchObject({ behavior, reason: "standard", source });
    expect(treatment.rates).toEqual([
      { name: "Sales tax", country: "US", state: "US-TX", rate: "6.25" },
      { name: "Sales tax", country: "US", state: "US-TX", rate: "2" },
    ]);
    expect(tax_amount).toBeGreaterThan(0);
    expect(rates.reduce((sum, part) => sum + part.tax_amount, 0)).toBe(tax_amount);
  }
});

test.each<[string, Partial<TaxRequest>, string]>([
  ["a business elsewhere in the union", { tax_id: ["FR40303265045", "eu_vat"] }, "reverse_charge"],
  ["where the account is not registered", { address: { ...nowhere, country: "JP" } }, "not_collected"],
])("no tax: %s", async (_, over, reason) => {
  const { treatment, tax_amount, rates } = await calculator.calculate(request(over));
  expect(treatment).toEqual({ behavior: "exclusive", reason, rates: [], source: null });
  expect([tax_amount, rates]).toEqual([0, []]);
});

test("every reason that Stripe gives for no tax is one of ours", async () => {
  const description = JSON.parse(readFileSync("tests/fixtures/stripe.json", "utf8"));
  const shape = description.components.schemas.tax_product_resource_tax_breakdown;
  const given: string[] = shape.properties.taxability_reason.enum;
  expect(given.length).toBeGreaterThan(10);
  const real = standIn.operations["POST /v1/tax/calculations"];
  const seen = new Map<string, string>();
  for (const reason of given) {
    standIn.operations["POST /v1/tax/calculations"] = (asked) => {
      const made = real?.(asked) as { tax_breakdown: { taxability_reason: string }[] };
      for (const part of made.tax_breakdown) part.taxability_reason = reason;
      return made;
    };
    const { treatment } = await calculator.calculate(request({ address: { ...nowhere, country: "JP" } }));
    seen.set(reason, treatment.reason);
  }
  expect(given.filter((reason) => seen.get(reason) === "not_collected").sort()).toEqual([
    "not_collecting",
    "not_subject_to_tax",
    "not_supported",
  ]);
  expect(given.filter((reason) => seen.get(reason) === "reverse_charge")).toEqual(["reverse_charge"]);
  for (const reason of given) if (reason.endsWith("_rated")) expect(seen.get(reason), reason).toBe("zero_rated");
  for (const reason of given) if (reason.includes("exempt")) expect(seen.get(reason), reason).toBe("exempt");
});

test("every format of a tax number is sent in Stripe's word, but for one that it does not know", async () => {
  for (const format of taxIdFormats) await calculator.calculate(request({ tax_id: ["123456789", format] }));
  const sent = standIn.requests.flatMap(({ form }) => form.get("customer_details[tax_ids][0][type]") ?? []);
  expect(sent).toEqual(taxIdFormats.filter((format) => format !== "mu_tan"));
  expect(standIn.takeFaults()).toEqual([]);
});

test("an address that Stripe does not find is a fault of tax, with Stripe's words", async () => {
  const asked = calculator.calculate(request({ address: { ...texas, postal_code: null } }));
  await expect(asked).rejects.toThrow(TaxError);
  await expect(asked).rejects.toThrow("could not determine the customer's tax location");
});

test("Stripe that does not answer, or is broken, is a fault of tax; one failure is gone over", async () => {
  standIn.trouble("unreached", { times: 1 });
  expect((await calculator.calculate(request())).tax_amount).toBe(267);
  for (const kind of ["unreached", "broken", "rate_limit"] as const) {
    standIn.trouble(kind, { times: 9 });
    await expect(calculator.calculate(request()), kind).rejects.toThrow(TaxError);
    standIn.calm();
  }
  standIn.wait(300);
  const hurried = createStripeTax({ secret_key: "sk_test_1", api_url: standIn.url, timeout_ms: 50 });
  await expect(hurried.calculate(request())).rejects.toThrow(TaxError);
});

test.each([
  ["the tax", { tax_amount_exclusive: 1 }],
  ["a line", { line_items: { object: "list", data: [], has_more: false, url: "/v1/tax/calculations/x/line_items" } }],
])("an answer that does not add up by %s is none", async (_, over) => {
  const real = standIn.operations["POST /v1/tax/calculations"];
  standIn.operations["POST /v1/tax/calculations"] = (asked) => ({ ...real?.(asked), ...over });
  await expect(calculator.calculate(request())).rejects.toThrow("do not add up");
});

test("a sale is reported once, its parts go back once, and a part that came back is there again", async () => {
  const { id } = await calculator.calculate(request({ behavior: "inclusive" }));
  const sale = await calculator.report(id, "order");
  expect(await calculator.report(id, "order")).toEqual(sale);
  const part = { amount: 600, tax_amount: 100 };
  const first = await calculator.reverse(sale, part, "refund");
  expect(await calculator.reverse(sale, part, "refund")).toBe(first);
  await calculator.undo(first, "refund_undone");
  await calculator.reverse(sale, { amount: 1333, tax_amount: 222 }, "all");
  await expect(calculator.reverse(sale, { amount: 1, tax_amount: 0 }, "more")).rejects.toThrow(TaxError);
  const told = [...standIn.tax_transactions.values()].map(({ reference, line_items: { data } }) => [
    reference,
    ...data.map(({ amount, amount_tax }) => [amount, amount_tax]),
  ]);
  expect(told).toEqual([
    ["order", [1333, 222]],
    ["refund", [-600, -100]],
    ["refund_undone", [600, 100]],
    ["all", [-1333, -222]],
  ]);
});
