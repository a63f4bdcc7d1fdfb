import core, { type Invoice } from "@e-invoice-eu/core";
import { computeFraction, writeMoney } from "../../../shared/money.ts";
import type { InvoiceDocument, Party } from "./document.ts";

type Root = Invoice["ubl:Invoice"];
type Category = { "cbc:ID": string; "cbc:Percent"?: string; "cac:TaxScheme": { "cbc:ID": string } };

/** What falls under one rate. The codes are those of EN 16931: S taxed, Z at zero, AE reverse charge, E exempt, O outside. */
export type TaxShare = {
  category: "S" | "Z" | "AE" | "E" | "O";
  rate: string | null;
  taxable_amount: number;
  amount: number;
};

/** Why nothing is taken, as a code; where the seller is not registered, the sale is outside of the scope of VAT. */
const untaxed: Record<string, TaxShare["category"]> = { reverse_charge: "AE", exempt: "E", zero_rated: "Z" };

/** The sum of rates in percent, in the decimals that they have. */
function addRates(rates: readonly string[]): string {
  const decimals = Math.max(...rates.map((rate) => rate.split(".")[1]?.length ?? 0));
  const formatUnits = (rate: string) =>
    BigInt(rate.replace(".", "") + "0".repeat(decimals - (rate.split(".")[1]?.length ?? 0)));
  const sum = String(rates.reduce((total, rate) => total + formatUnits(rate), 0n)).padStart(decimals + 1, "0");
  return decimals === 0 ? sum : `${sum.slice(0, -decimals)}.${sum.slice(-decimals)}`;
}

/**
 * The tax of a document in the form of EN 16931, in which each part of the net amount falls under exactly one rate. Taxes that
 * are taken side by side on the same amount, as in Canada, are one there.
 */
export function allocateTax({ tax, net_amount, tax_amount, tax_reason }: InvoiceDocument): TaxShare[] {
  if (tax.length === 0) {
    const category = untaxed[tax_reason ?? ""] ?? "O";
    return [{ category, rate: category === "O" ? null : "0", taxable_amount: net_amount, amount: 0 }];
  }
  const base = tax.reduce((sum, { taxable_amount }) => sum + taxable_amount, 0);
  if (base !== net_amount)
    return [
      { category: "S", rate: addRates(tax.map(({ rate }) => rate)), taxable_amount: net_amount, amount: tax_amount },
    ];
  const shares: TaxShare[] = [];
  for (const { rate, taxable_amount, amount } of tax) {
    const same = shares.find((share) => Number(share.rate) === Number(rate));
    if (same)
      Object.assign(same, { taxable_amount: same.taxable_amount + taxable_amount, amount: same.amount + amount });
    else shares.push({ category: Number(rate) === 0 ? "Z" : "S", rate, taxable_amount, amount });
  }
  return shares;
}

/**
 * The lines and the discount without their tax, as EN 16931 has them: the lines less the discount are the net amount, whichever
 * way the prices were meant. What the roundings of the lines leave goes to the largest.
 */
export function computeNetLines(document: InvoiceDocument): {
  lines: { label: string; amount: number }[];
  discount: number;
} {
  const { lines, subtotal_amount, net_amount, tax_amount, is_tax_inclusive } = document;
  const given = lines.length > 0 ? lines : [{ label: document.number, amount: 0 }];
  const gross = document.discount?.amount ?? 0;
  if (!is_tax_inclusive) return { lines: given, discount: gross };
  const rest = subtotal_amount - gross;
  const discount = rest === 0 ? gross : gross - computeFraction(tax_amount, gross, rest);
  const tax = subtotal_amount - net_amount - discount;
  const nets = given.map(({ label, amount }) => ({
    label,
    amount: subtotal_amount === 0 ? amount : amount - computeFraction(tax, amount, subtotal_amount),
  }));
  const largest = nets.reduce((most, one) => (Math.abs(one.amount) > Math.abs(most.amount) ? one : most));
  largest.amount += net_amount + discount - nets.reduce((sum, { amount }) => sum + amount, 0);
  return { lines: nets, discount };
}

/** Tax numbers of the union begin with the country; all others are a seller's or company's own registration. */
const isVatId = (id: string | null): boolean =>
  id !== null && /^(?!CHE|GB-)[A-Z]{2}[A-Z0-9+*.]{2,13}$/i.test(id.replace(/\s/g, ""));

const reasons: Partial<Record<TaxShare["category"], { code: string; text: string }>> = {
  AE: { code: "VATEX-EU-AE", text: "Reverse charge" },
  E: { code: "VATEX-EU-132", text: "Exempt from tax" },
  O: { code: "VATEX-EU-O", text: "Not subject to VAT" },
};

const omitEmpty = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as T;

function getParty(party: Party, id: string, share: TaxShare | undefined, isSeller: boolean) {
  const { name, trade_name, address, tax_id, email } = party;
  if (!address) throw new Error("A party without an address has no electronic invoice.");
  // Outside the scope of VAT nobody's VAT id may stand on the invoice (BR-O-02); it stands there as a registration.
  const isVat = isVatId(tax_id) && share?.category !== "O";
  const scheme =
    tax_id && (isVat || isSeller)
      ? { "cbc:CompanyID": tax_id, "cac:TaxScheme": { "cbc:ID": isVat ? "VAT" : "FC" } }
      : undefined;
  return omitEmpty({
    "cac:PartyIdentification": isSeller ? [{ "cbc:ID": id }] : { "cbc:ID": id },
    "cac:PartyName": trade_name === null ? undefined : { "cbc:Name": trade_name },
    "cac:PostalAddress": omitEmpty({
      "cbc:StreetName": address.line1,
      "cbc:AdditionalStreetName": address.line2,
      "cbc:CityName": address.city,
      "cbc:PostalZone": address.postal_code,
      "cbc:CountrySubentity": address.state,
      "cac:Country": { "cbc:IdentificationCode": address.country },
    }),
    "cac:PartyTaxScheme": scheme && (isSeller ? [scheme] : scheme),
    "cac:PartyLegalEntity": omitEmpty({
      "cbc:RegistrationName": name,
      "cbc:CompanyID": isVat ? undefined : tax_id,
    }),
    "cac:Contact": email === null ? undefined : { "cbc:Name": name, "cbc:ElectronicMail": email },
  });
}

/** The same document in the words of EN 16931. */
export function describeInvoice(document: InvoiceDocument): Invoice {
  const currency = document.currency.toUpperCase();
  const formatAmount = <K extends string>(name: K, amount: number) =>
    ({ [`cbc:${name}`]: writeMoney(amount, document.currency), [`cbc:${name}@currencyID`]: currency }) as {
      [P in `cbc:${K}` | `cbc:${K}@currencyID`]: string;
    };
  const shares = allocateTax(document);
  const getCategory = ({ category, rate }: TaxShare): Category =>
    omitEmpty({
      "cbc:ID": category,
      "cbc:Percent": rate ?? undefined,
      "cac:TaxScheme": { "cbc:ID": "VAT" },
    }) as Category;
  const { lines, discount } = computeNetLines(document);
  const [only] = shares;
  // A line has one rate. Where there are several, it is the shares that are listed.
  const single = shares.length === 1 && only !== undefined;
  const discounts = single ? [discount] : allocateDiscount(discount, shares);
  const listed = single
    ? lines.map((line) => ({ ...line, share: only }))
    : shares.map((share, index) => ({
        label: lines.map(({ label }) => label).join(", "),
        amount: share.taxable_amount + (discounts[index] ?? 0),
        share,
      }));
  const renderLine = ({ label, amount, share }: (typeof listed)[number], index: number) => ({
    "cbc:ID": String(index + 1),
    "cbc:InvoicedQuantity": amount < 0 ? "-1" : "1",
    "cbc:InvoicedQuantity@unitCode": "C62",
    ...formatAmount("LineExtensionAmount", amount),
    "cac:Item": { "cbc:Name": label || document.number, "cac:ClassifiedTaxCategory": getCategory(share) },
    "cac:Price": formatAmount("PriceAmount", amount < 0 ? -amount : amount),
  });
  const { reference, total_amount, due_amount } = document;
  const root: object = omitEmpty({
    "cbc:ID": document.number,
    "cbc:IssueDate": document.issued_on,
    "cbc:DueDate": due_amount > 0 ? document.issued_on : undefined,
    "cbc:InvoiceTypeCode": document.kind === "credit_note" ? "381" : "380",
    "cbc:Note": document.note === null ? undefined : [document.note],
    "cbc:DocumentCurrencyCode": currency,
    "cac:OrderReference": { "cbc:ID": document.order_id },
    "cac:BillingReference":
      reference === null
        ? undefined
        : [{ "cac:InvoiceDocumentReference": { "cbc:ID": reference.number, "cbc:IssueDate": reference.issued_on } }],
    "cac:AccountingSupplierParty": { "cac:Party": getParty(document.seller, document.seller.id, only, true) },
    "cac:AccountingCustomerParty": { "cac:Party": getParty(document.buyer, document.customer_id, only, false) },
    "cac:Delivery": { "cbc:ActualDeliveryDate": reference?.issued_on ?? document.issued_on },
    "cac:PaymentMeans": [
      { "cbc:PaymentMeansCode": document.payment === null ? "1" : "48", "cbc:PaymentID": document.number },
    ],
    "cac:AllowanceCharge":
      discount === 0
        ? undefined
        : shares.map((share, index) => ({
            "cbc:ChargeIndicator": "false",
            "cbc:AllowanceChargeReasonCode": "95",
            "cbc:AllowanceChargeReason": document.discount?.label || "Discount",
            ...formatAmount("Amount", discounts[index] ?? 0),
            "cac:TaxCategory": getCategory(share),
          })),
    "cac:TaxTotal": [
      {
        ...formatAmount("TaxAmount", document.tax_amount),
        "cac:TaxSubtotal": shares.map((share) => ({
          ...formatAmount("TaxableAmount", share.taxable_amount),
          ...formatAmount("TaxAmount", share.amount),
          "cac:TaxCategory": {
            ...getCategory(share),
            ...(reasons[share.category] && {
              "cbc:TaxExemptionReasonCode": reasons[share.category]?.code,
              "cbc:TaxExemptionReason": reasons[share.category]?.text,
            }),
          },
        })),
      },
    ],
    "cac:LegalMonetaryTotal": {
      ...formatAmount("LineExtensionAmount", document.net_amount + discount),
      ...formatAmount("TaxExclusiveAmount", document.net_amount),
      ...formatAmount("TaxInclusiveAmount", total_amount),
      ...(discount === 0 ? {} : formatAmount("AllowanceTotalAmount", discount)),
      ...formatAmount("PrepaidAmount", total_amount - due_amount),
      ...formatAmount("PayableAmount", due_amount),
    },
    "cac:InvoiceLine": listed.map(renderLine),
  });
  return { "ubl:Invoice": root as Root };
}

/** A discount in proportion to what falls under each rate, without anything left. */
function allocateDiscount(discount: number, shares: readonly TaxShare[]): number[] {
  const total = shares.reduce((sum, { taxable_amount }) => sum + taxable_amount, 0);
  const parts = shares.map(({ taxable_amount }) =>
    total === 0 ? 0 : computeFraction(discount, taxable_amount, total),
  );
  parts[0] = (parts[0] ?? 0) + discount - parts.reduce((sum, part) => sum + part, 0);
  return parts;
}

const log = { log: ignore, warn: ignore, error: ignore };
function ignore(): void {}

/**
 * The electronic invoice as XML (Cross Industry Invoice). Null where EN 16931 asks for what the seller has not given: an
 * address and a tax number. The library's own check against its schema takes longer than all the rest, so tests make it.
 */
export async function writeXml(document: InvoiceDocument): Promise<string | null> {
  const { kind, seller, buyer } = document;
  if (kind === "receipt" || !seller.address || !seller.tax_id || !buyer.address) return null;
  const invoice = describeInvoice(document);
  const { reference } = document;
  // The writer looks for the invoice of a credit note one level above where the library's own schema has it, and would write
  // its date in a form that the published schema refuses; the number says which one it is.
  if (reference !== null)
    Object.assign(invoice["ubl:Invoice"], { "cac:BillingReference": [{ "cbc:ID": reference.number }] });
  const format = new core.FormatFactoryService().createFormatService("CII", log);
  format.fillInvoiceDefaults(invoice);
  const xml = await format.generate(invoice, { format: "CII", lang: "en", noWarnings: true });
  return typeof xml === "string" ? xml : Buffer.from(xml).toString("utf8");
}
