import { expect, test } from "vitest";
import { cleanText } from "../../server/billing/invoices/document.ts";
import { makePdf } from "../../server/billing/invoices/pdf.ts";
import { printDocument } from "../../server/billing/invoices/printer.ts";
import { peopleNames } from "../fixtures/names.ts";
import { isDrawn, readPage, readPdf, sampleDocument } from "../support/invoices.ts";

/** Names of people and firms as invoices print them: 500 in 20 scripts, by one process. */

test("names in any script, without end or without a shape are printed, also at once", async () => {
  const strange = [
    "شركة البرمجيات חברת תוכנה 株式会社ソフト 软件技术 소프트웨어",
    `🚀 Pro ไทย \u0000\ud800 ${"A".repeat(500)}`,
  ];
  const printed = await Promise.all(
    strange.map((name) => {
      const { buyer } = sampleDocument();
      return printDocument(
        sampleDocument({
          buyer: { ...buyer, name: cleanText(name) },
          lines: [{ label: cleanText(name), amount: 165000 }],
        }),
        null,
      );
    }),
  );
  for (const pdf of printed) expect((await readPdf(pdf)).files).toHaveLength(1);
  const lines = Array.from({ length: 120 }, (_, index) => ({ label: `Line ${index}`, amount: 1375 }));
  expect((await readPdf(await printDocument(sampleDocument({ lines }), null))).pages).toBeGreaterThan(3);
}, 120_000);

test("every letter of a name is drawn and can be read, in a font that is in the file, whatever was printed before", async () => {
  const namesPerDocument = 70;
  const lost: string[] = [];
  for (let at = 0; at < peopleNames.length; at += namesPerDocument) {
    const names = peopleNames.slice(at, at + namesPerDocument);
    const { seller, buyer } = sampleDocument();
    const [sellerName = "", buyerName = "", ...labels] = names;
    const document = sampleDocument({
      seller: { ...seller, name: sellerName },
      buyer: { ...buyer, name: buyerName },
      lines: labels.map((label) => ({ label, amount: 100 })),
    });
    const { text, missingFonts } = await readPage(await makePdf(document, null));
    expect(missingFonts).toEqual([]);
    lost.push(...names.filter((name) => !isDrawn(name, text)));
  }
  expect(lost).toEqual([]);
});
