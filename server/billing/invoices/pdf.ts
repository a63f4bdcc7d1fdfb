import { AFRelationship, PDFDocument, PDFName, PDFRawStream } from "@cantoo/pdf-lib";
import { pdf } from "@react-pdf/renderer";
import type { InvoiceDocument, Logo } from "./document.ts";
import { writeXml } from "./electronic.ts";
import { loadFonts } from "./fonts.ts";
import { collectTexts, composePage } from "./page.ts";

/** Make the file of a document: a page of PDF/A-3b, and in it the same invoice for a machine to read (Factur-X). */
export async function makePdf(document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> {
  const [page, xml] = await Promise.all([printPage(document, logo), writeXml(document)]);
  return xml === null ? page : embedXml(page, xml, document);
}

async function printPage(document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> {
  const { font, split } = await loadFonts(collectTexts(document), document.buyer.address?.country ?? null);
  const stream = await pdf(composePage(document, { font, split, logo })).toBuffer();
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

const file = "factur-x.xml";
/** What PDF/A wants to be told of properties that it does not know, and these properties. */
const facturX = `
  <rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
    xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
    <pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
      <pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
      <pdfaSchema:namespaceURI>urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#</pdfaSchema:namespaceURI>
      <pdfaSchema:prefix>fx</pdfaSchema:prefix>
      <pdfaSchema:property><rdf:Seq>${[
        ["DocumentFileName", "The name of the embedded XML document"],
        ["DocumentType", "The type of the hybrid document in capital letters, e.g. INVOICE or ORDER"],
        ["Version", "The actual version of the standard applying to the embedded XML document"],
        ["ConformanceLevel", "The conformance level of the embedded XML document"],
      ]
        .map(
          ([name, description]) => `
        <rdf:li rdf:parseType="Resource"><pdfaProperty:name>${name}</pdfaProperty:name>
          <pdfaProperty:valueType>Text</pdfaProperty:valueType><pdfaProperty:category>external</pdfaProperty:category>
          <pdfaProperty:description>${description}</pdfaProperty:description></rdf:li>`,
        )
        .join("")}
      </rdf:Seq></pdfaSchema:property>
    </rdf:li></rdf:Bag></pdfaExtension:schemas>
  </rdf:Description>
  <rdf:Description rdf:about="" xmlns:fx="urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#">
    <fx:DocumentType>INVOICE</fx:DocumentType><fx:DocumentFileName>${file}</fx:DocumentFileName>
    <fx:Version>1.0</fx:Version><fx:ConformanceLevel>EN 16931</fx:ConformanceLevel>
  </rdf:Description>
`;

async function embedXml(page: Uint8Array, xml: string, document: InvoiceDocument): Promise<Uint8Array> {
  const made = await PDFDocument.load(page, { updateMetadata: false });
  const issued = new Date(`${document.issued_on}T00:00:00Z`);
  await made.attach(new TextEncoder().encode(xml), file, {
    mimeType: "text/xml",
    description: "Factur-X",
    creationDate: issued,
    modificationDate: issued,
    afRelationship: AFRelationship.Alternative,
  });
  const key = PDFName.of("Metadata");
  const metadata = made.catalog.lookup(key);
  if (!(metadata instanceof PDFRawStream)) throw new Error("The page has no metadata.");
  const text = Buffer.from(metadata.getContents()).toString("utf8");
  const end = text.lastIndexOf("</rdf:RDF>");
  if (end < 0) throw new Error("The metadata of the page are not as they were.");
  const told = Buffer.from(text.slice(0, end) + facturX + text.slice(end), "utf8");
  made.context.assign(made.catalog.get(key) as never, made.context.stream(told, { Type: "Metadata", Subtype: "XML" }));
  return made.save();
}
