import core from "@e-invoice-eu/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanText, formatAddress, type InvoiceDocument } from "../../server/billing/invoices/document.ts";
import { allocateTax, computeNetLines, describeInvoice, writeXml } from "../../server/billing/invoices/electronic.ts";
import { linkDocument, readLink } from "../../server/billing/invoices/links.ts";
import { makePdf } from "../../server/billing/invoices/pdf.ts";
import { printDocument } from "../../server/billing/invoices/printer.ts";
import { checkQueue, getFormat, getMediaPath, hashDocument, hasInvoice } from "../../server/billing/invoices/rules.ts";
import { computeSums } from "../../server/billing/invoices/sums.ts";
import { resolveFormats } from "../../shared/formats.ts";
import { resolveLanguage } from "../../shared/messages/index.ts";
import { computeFraction } from "../../shared/money.ts";
import { areMetadata, isDrawn, readPage, readPdf, readXml, sampleDocument, schemaFaults } from "../support/invoices.ts";

const reverse = sampleDocument({
  tax: [],
  tax_amount: 0,
  tax_reason: "reverse_charge",
  total_amount: 132000,
  paid_amount: 132000,
});
const yen = sampleDocument({
  currency: "jpy",
  lines: [{ label: "ソフトウェア", amount: 1500 }],
  subtotal_amount: 1500,
  discount: null,
  net_amount: 1500,
  tax: [{ name: "VAT", country: "JP", state: null, rate: "10", taxable_amount: 1500, amount: 150 }],
  tax_amount: 150,
  total_amount: 1650,
  paid_amount: 0,
  due_amount: 1650,
  payment: null,
});
const inclusive = sampleDocument({
  is_tax_inclusive: true,
  net_amount: 110924,
  tax: [{ name: "VAT", country: "DE", state: null, rate: "19", taxable_amount: 110924, amount: 21076 }],
  tax_amount: 21076,
  total_amount: 132000,
  paid_amount: 132000,
});
const stacked = sampleDocument({
  currency: "cad",
  tax: [
    { name: "GST", country: "CA", state: "CA-QC", rate: "5", taxable_amount: 132000, amount: 6600 },
    { name: "QST", country: "CA", state: "CA-QC", rate: "9.975", taxable_amount: 132000, amount: 13167 },
  ],
  tax_amount: 19767,
  total_amount: 151767,
  paid_amount: 151767,
});
const credit = sampleDocument({
  kind: "credit_note",
  number: "FROST-CN-0001",
  reference: { number: "FROST-0042", issued_on: "2026-11-01" },
  lines: [{ label: "Refund of invoice FROST-0042", amount: 66000 }],
  subtotal_amount: 66000,
  discount: null,
  net_amount: 66000,
  tax: [{ name: "VAT", country: "DE", state: null, rate: "19", taxable_amount: 66000, amount: 12540 }],
  tax_amount: 12540,
  total_amount: 78540,
  paid_amount: 78540,
});
const untaxed = sampleDocument({ tax: [], tax_amount: 0, total_amount: 132000, paid_amount: 132000 });
const empty = sampleDocument({
  lines: [],
  subtotal_amount: 0,
  discount: null,
  net_amount: 0,
  tax: [],
  tax_amount: 0,
  total_amount: 0,
  paid_amount: 0,
});
const owing = sampleDocument({
  lines: [
    { label: "The rest of the month", amount: -40000 },
    { label: "Pro", amount: 165000 },
  ],
  subtotal_amount: 125000,
  discount: null,
  net_amount: 125000,
  tax: [{ name: "VAT", country: "DE", state: null, rate: "19", taxable_amount: 125000, amount: 23750 }],
  tax_amount: 23750,
  total_amount: 148750,
  balance_amount: -8750,
  paid_amount: 0,
  due_amount: 140000,
});
const documents: Record<string, InvoiceDocument> = {
  taxed: sampleDocument(),
  reverse,
  yen,
  inclusive,
  stacked,
  credit,
  untaxed,
  empty,
  owing,
  test: sampleDocument({ is_test: true, note: "TEST: this document is from a test store." }),
};
const money = (amount: number, currency = "eur") =>
  currency === "jpy"
    ? String(amount)
    : `${amount < 0 ? "-" : ""}${Math.floor(Math.abs(amount) / 100)}.${String(Math.abs(amount) % 100).padStart(2, "0")}`;

describe("an electronic invoice", () => {
  test.each(Object.entries(documents))(
    "%s: is what the published schema and the library's own want",
    async (_, document) => {
      const xml = (await writeXml(document)) ?? "";
      expect(await schemaFaults(xml)).toEqual([]);
      const quiet = { log() {}, warn() {}, error() {} };
      const checked = await new core.InvoiceService(quiet).generate(describeInvoice(document), {
        format: "CII",
        lang: "en",
      });
      // The library drops what a credit note is for; it is put there for the writer alone.
      expect(checked).toBe(
        xml.replace(/\s*<ram:InvoiceReferencedDocument>[\s\S]*?<\/ram:InvoiceReferencedDocument>/, ""),
      );
    },
  );

  test("the schema refuses what is not an invoice", async () => {
    const xml = (await writeXml(sampleDocument())) ?? "";
    expect(await schemaFaults(xml.replaceAll("GrandTotalAmount", "GrandAmount"))).not.toEqual([]);
    const metadata = (text: string) => `<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>${text}</a></x:xmpmeta>`;
    expect([await areMetadata(metadata("Söhne")), await areMetadata(metadata("&"))]).toEqual([true, false]);
  });

  test.each(Object.entries(documents))("%s: says to the cent what the document says", async (_, document) => {
    const read = readXml((await writeXml(document)) ?? "");
    const shown = (amount: number) => money(amount, document.currency);
    expect(read).toMatchObject({
      number: document.number,
      issued: document.issued_on.replaceAll("-", ""),
      currency: document.currency.toUpperCase(),
      order_id: document.order_id,
      reference: document.reference?.number,
      type: document.kind === "credit_note" ? "381" : "380",
      seller: { name: document.seller.name, country: "DE", city: "Berlin" },
      buyer: { name: document.buyer.name, country: "FR", city: "Paris" },
      totals: {
        TaxBasisTotalAmount: shown(document.net_amount),
        TaxTotalAmount: shown(document.tax_amount),
        GrandTotalAmount: shown(document.total_amount),
        DuePayableAmount: shown(document.due_amount),
        TotalPrepaidAmount: shown(document.total_amount - document.due_amount),
      },
    });
    const cents = (text: string | undefined) => Number(text?.replace(".", ""));
    const sum = (texts: (string | undefined)[]) => texts.reduce((total, text) => total + cents(text), 0);
    expect(sum(read.lines.map(({ amount }) => amount)) - sum(read.allowances)).toBe(document.net_amount);
    expect(sum(read.tax.map(({ amount }) => amount))).toBe(document.tax_amount);
    expect(sum(read.tax.map(({ base }) => base))).toBe(document.net_amount);
  });

  test("lines, discount and tax of each rate are those of the order", async () => {
    const read = readXml((await writeXml(sampleDocument())) ?? "");
    expect(read.lines).toEqual([
      { name: "Frost Pro (14 seats)", amount: "1400.00", category: "S" },
      { name: "Priority support", amount: "250.00", category: "S" },
    ]);
    expect(read.allowances).toEqual(["330.00"]);
    expect(read.tax).toEqual([{ category: "S", rate: "19", base: "1320.00", amount: "250.80", reason: undefined }]);
    expect(read.seller.tax_ids).toEqual(["VA DE123456788"]);
    expect(read.buyer.tax_ids).toEqual(["VA FR40303265045"]);
    expect(readXml((await writeXml(yen)) ?? "").totals).toMatchObject({
      GrandTotalAmount: "1650",
      DuePayableAmount: "1650",
    });
  });

  test("reverse charge is AE at nothing, with both numbers; without tax nobody's VAT number is named", async () => {
    const read = readXml((await writeXml(reverse)) ?? "");
    expect(read.tax).toEqual([{ category: "AE", rate: "0", base: "1320.00", amount: "0.00", reason: "VATEX-EU-AE" }]);
    expect([...read.seller.tax_ids, ...read.buyer.tax_ids]).toEqual(["VA DE123456788", "VA FR40303265045"]);
    const outside = readXml((await writeXml(untaxed)) ?? "");
    expect(outside.tax).toMatchObject([{ category: "O", rate: undefined, reason: "VATEX-EU-O" }]);
    expect([...outside.seller.tax_ids, ...outside.buyer.tax_ids].filter((id) => id.startsWith("VA"))).toEqual([]);
  });

  test("taxes on the same amount are one rate, different amounts of two rates stay two", () => {
    expect(allocateTax(stacked)).toEqual([{ category: "S", rate: "14.975", taxable_amount: 132000, amount: 19767 }]);
    const two = sampleDocument({
      tax: [
        { name: "VAT", country: "DE", state: null, rate: "19", taxable_amount: 100000, amount: 19000 },
        { name: "VAT", country: "DE", state: null, rate: "7", taxable_amount: 32000, amount: 2240 },
      ],
      tax_amount: 21240,
      total_amount: 153240,
    });
    expect(allocateTax(two).map(({ rate }) => rate)).toEqual(["19", "7"]);
    expect(describeInvoice(two)["ubl:Invoice"]["cac:InvoiceLine"]).toHaveLength(2);
  });

  test("a seller without address or number, and a receipt, have none", async () => {
    const { seller } = sampleDocument();
    expect(await writeXml(sampleDocument({ seller: { ...seller, address: null } }))).toBeNull();
    expect(await writeXml(sampleDocument({ seller: { ...seller, tax_id: null } }))).toBeNull();
    expect(await writeXml(sampleDocument({ kind: "receipt" }))).toBeNull();
  });

  test("whatever is sold: lines less discount are the net amount, in whole cents", () => {
    const amounts = fc.array(fc.integer({ min: -50_000, max: 1_000_000 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(amounts, fc.nat(100), fc.nat(3000), fc.boolean(), (list, percent, rate, is_tax_inclusive) => {
        const subtotal_amount = list.reduce((total, one) => total + one, 0);
        fc.pre(subtotal_amount >= 0);
        const off = computeFraction(subtotal_amount, percent, 100);
        const rest = subtotal_amount - off;
        const tax_amount = is_tax_inclusive
          ? computeFraction(rest, rate, 10_000 + rate)
          : computeFraction(rest, rate, 10_000);
        const net_amount = is_tax_inclusive ? rest - tax_amount : rest;
        const { lines, discount } = computeNetLines(
          sampleDocument({
            lines: list.map((amount) => ({ label: "x", amount })),
            discount: off === 0 ? null : { label: "y", amount: off },
            subtotal_amount,
            net_amount,
            tax_amount,
            is_tax_inclusive,
          }),
        );
        const sum = lines.reduce((total, { amount }) => total + amount, 0);
        expect(sum - discount).toBe(net_amount);
        expect([...lines.map(({ amount }) => amount), discount].every(Number.isInteger)).toBe(true);
        expect(discount).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the PDF", () => {
  test.each(["taxed", "reverse", "yen", "credit", "test"])("%s is PDF/A-3 with the invoice in it", async (name) => {
    const document = documents[name] as InvoiceDocument;
    const read = await readPdf(await makePdf(document, null));
    expect(read.metadata).toContain("<pdfaid:part>3</pdfaid:part>");
    expect(read.metadata).toContain("<pdfaid:conformance>B</pdfaid:conformance>");
    expect(read.metadata).toContain("<fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>");
    expect(await areMetadata(read.metadata ?? "")).toBe(true);
    expect(read).toMatchObject({ intents: 1, relations: ["/Alternative"], pages: 1 });
    expect(read.files).toEqual([{ name: "factur-x.xml", text: await writeXml(document) }]);
  });

  test.each([
    ["한국", "한국"],
    ["Ґ", "Ґ"],
    ["Nguye\u0302\u0303n Tho\u0323", "Nguyễn Thọ"],
    ["\u202eevil\u202c\tname", "evil name"],
    ["ᚠᚢ 🧾 Runes", "?? Runes"],
    ["― † ‡ €", "― † ‡ €"],
  ])("%s alone is printed as %s", async (label, drawn) => {
    const { text, missingFonts } = await readPage(
      await makePdf(sampleDocument({ lines: [{ label, amount: 100 }] }), null),
    );
    expect(missingFonts).toEqual([]);
    expect(isDrawn(drawn, text)).toBe(true);
  });

  test("ORD-33: that of a sandbox says at its head that it is a test", async () => {
    const { text } = await readPage(await makePdf(documents.test as InvoiceDocument, null));
    expect(isDrawn("TEST: this document is from a test store.", text)).toBe(true);
  });

  test("one that cannot be printed says so, and the next one is", async () => {
    const broken = sampleDocument({ lines: null as never });
    await expect(printDocument(broken, null)).rejects.toThrow(/lines|null/);
    expect((await printDocument(sampleDocument(), null)).length).toBeGreaterThan(10_000);
  }, 60_000);
});

test("the language is the buyer's own, their country's where all read it, and English otherwise", () => {
  expect([resolveLanguage("de-AT", "FR"), resolveLanguage("fr", null), resolveLanguage("ja", "DE")]).toEqual([
    "de",
    "fr",
    "en",
  ]);
  expect([resolveLanguage(null, "AT"), resolveLanguage(null, "FR"), resolveLanguage(null, "CH")]).toEqual([
    "de",
    "fr",
    "en",
  ]);
});

test.each([
  ["de-AT", "DE", "de-AT"],
  ["de_ch", null, "de-CH"],
  ["de", "AT", "de-AT"],
  [null, "AT", "de-AT"],
  ["de", "US", "de-DE"],
  ["en", "US", "en-US"],
  ["en", "DE", "en-GB"],
  ["en-ZZ", "US", "en-US"],
  ["fr", "CA", "fr-CA"],
  ["ja-JP", "JP", "en-GB"],
  [null, null, "en-GB"],
])(
  "amounts and dates of a buyer with the locale %s and a country %s are written as in %s",
  (locale, country, formats) => {
    expect(resolveFormats(locale, country, resolveLanguage(locale, country))).toBe(formats);
  },
);

test("a page is written in the formats of the buyer, with a glyph for each of their signs", async () => {
  const day = { issued_on: "2027-01-04", lines: [{ label: "Pro", amount: 132000 }], currency: "eur" };
  const write = async (changes: Partial<InvoiceDocument>) => {
    const { text, missingFonts } = await readPage(await makePdf(sampleDocument({ ...day, ...changes }), null));
    expect(missingFonts).toEqual([]);
    return text;
  };
  for (const [language, formats, ...words] of [
    ["de", undefined, "4. Januar 2027", "1.320,00 €"],
    ["de", "de-AT", "4. Jänner 2027", "€ 1.320,00"],
    ["de", "de-CH", "4. Januar 2027", "EUR 1'320.00"],
    ["en", undefined, "4 January 2027", "€1,320.00"],
    ["en", "en-US", "January 4, 2027", "€1,320.00"],
    ["fr", "fr-CH", "4 janvier 2027", "1'320.00 €"],
    ["fr", "fr-CA", "4 janvier 2027", "1 320,00 €"],
  ] as const) {
    const text = await write({ language, ...(formats ? { formats } : {}) });
    for (const word of words) expect([formats, word, isDrawn(word, text)]).toEqual([formats, word, true]);
  }
  const tax = [{ name: "VAT", country: "AT", state: null, rate: "8.25", taxable_amount: 132000, amount: 10890 }];
  const labels = computeSums(sampleDocument({ language: "de", formats: "de-AT", tax })).map(({ label }) => label);
  expect(labels.join("\n").replaceAll("\u00a0", " ")).toContain("8,25 % auf € 1.320,00");
}, 60_000);

test("what XML and pages cannot hold is taken out of a text, and an address is written as its country does", () => {
  expect(cleanText(" a\u0000b\u202e\nc\ud800\ufeff ")).toBe("ab c\ufffd");
  const address = {
    line1: "1 Main St",
    line2: null,
    postal_code: "10001",
    city: "New York",
    state: "US-NY",
    country: "US",
  } as const;
  expect(formatAddress(address, "en")).toEqual(["1 Main St", "New York, NY 10001", "United States"]);
  expect(formatAddress({ ...address, country: "DE", state: null }, "de")).toEqual([
    "1 Main St",
    "10001 New York",
    "Deutschland",
  ]);
});

test.each([
  ["organization", "exports", 10],
  ["organization", "documents", 20_000],
  ["all", "exports", 100],
  ["all", "documents", 200_000],
] as const)("a further export is refused while %s has so many %s: %i", (of, what, max) => {
  const queue = { exports: 0, documents: 0 };
  const queues = (count: number) => ({ organization: queue, all: queue, [of]: { ...queue, [what]: count } });
  expect(() => checkQueue(queues(max - 1))).not.toThrow();
  expect(() => checkQueue(queues(max))).toThrow(
    expect.objectContaining({ name: "TooManyRequests", headers: { "Retry-After": "60" } }),
  );
});

describe("which orders have an invoice (ORD-22)", () => {
  const sold = { status: "paid", billing_name: "Ada", billing_address: { country: "FR" } };
  test.each([
    ["a sale that says to whom", {}, true],
    ["one that is not paid yet", { status: "pending" }, true],
    ["none that is in the making", { status: "draft" }, false],
    ["none that was given up", { status: "void" }, false],
    ["none to nobody", { billing_name: " " }, false],
    ["none to nowhere", { billing_address: null }, false],
  ])("%s", (_, fields, printed) => {
    expect(hasInvoice({ ...sold, ...fields } as never)).toBe(printed);
  });
});

describe("the address of a document", () => {
  const [secret, now] = ["x".repeat(32), new Date("2026-11-01T00:00:00Z")];
  const named = { organization_id: "org", order_id: "order", kind: "invoice" } as const;
  const link = linkDocument({ url: "https://floe.example", secret }, named, now);
  const token = link.slice("https://floe.example/documents/".length);
  const year_ms = 365 * 24 * 3600 * 1000;
  test.each([
    ["until a year later", year_ms - 1, named],
    ["and not longer", year_ms, undefined],
  ])("opens it %s", (_, later, document) => {
    expect(readLink({ secrets: [secret] } as never, token, new Date(now.getTime() + later))).toEqual(document);
  });
  test.each([
    ["another secret", ["y".repeat(32)], token],
    ["another token", [secret], `${token.slice(0, -2)}AA`],
    ["no token", [secret], ""],
  ])("opens nothing with %s", (_, secrets, given) => {
    expect(readLink({ secrets } as never, given, now)).toBeUndefined();
  });
});

test("a file is printed again for another document or picture, and for nothing else", () => {
  const all = [hashDocument(untaxed, null), hashDocument(untaxed, "logo"), hashDocument(empty, null)];
  expect(new Set(all).size).toBe(3);
  expect(hashDocument(structuredClone(untaxed), null)).toBe(all[0]);
});

test.each([
  ["https://floe.example/files/product_media/org/id/a%20b.png", "product_media/org/id/a b.png"],
  ["not an address", null],
  [null, null],
])("the picture %s is kept at %s", (url, path) => {
  expect(getMediaPath(url)).toBe(path);
});
test.each([
  [[0x89, 0x50, 0x4e, 0x47], "png"],
  [[0xff, 0xd8, 0xff], "jpg"],
  [[0xff, 0xd8], undefined],
  [[0x47, 0x49, 0x46], undefined],
])("bytes that begin with %j are printed as %s", (bytes, format) => {
  expect(getFormat(Uint8Array.from(bytes))).toBe(format);
});
