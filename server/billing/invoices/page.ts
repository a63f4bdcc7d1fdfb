import type { DocumentProps } from "@react-pdf/renderer";
import { Document, Image, Page, StyleSheet, Text, View } from "@react-pdf/renderer";
import { createElement as h, type ReactElement, type ReactNode } from "react";
import { computeLuminance } from "../../../shared/colors.ts";
import { getMessages } from "../../../shared/messages/index.ts";
import { formatMoney } from "../../../shared/money.ts";
import { formatAddress, getFormats, type InvoiceDocument, type Logo, type Party } from "./document.ts";
import { splitGraphemes, type TextPiece } from "./fonts.ts";
import { computeSums, type Sum } from "./sums.ts";

type Style = Parameters<typeof StyleSheet.create>[0][string];

const ink = "#17212b";
const soft = "#5b6875";
const hair = "#dfe4e9";

const styles = StyleSheet.create({
  page: { paddingTop: 54, paddingBottom: 84, paddingHorizontal: 54, fontSize: 9.5, color: ink },
  bar: { position: "absolute", top: 0, left: 0, right: 0, height: 5 },
  head: { flexDirection: "row", justifyContent: "space-between", alignItems: "flex-start", marginBottom: 30 },
  brand: { flex: 1, paddingRight: 32 },
  logo: { maxHeight: 44, maxWidth: 180, objectFit: "contain", objectPositionX: 0, alignSelf: "flex-start" },
  brandName: { fontSize: 15, fontWeight: 600, lineHeight: 1.25 },
  title: { fontSize: 21, fontWeight: 600, lineHeight: 1.2, textAlign: "right" },
  test: { marginBottom: 18, padding: 8, border: "1 solid #a3200d", color: "#a3200d" },
  facts: { flexDirection: "row", marginBottom: 26, borderTop: `0.75 solid ${hair}`, paddingTop: 10 },
  fact: { flex: 1, paddingRight: 16 },
  parties: { flexDirection: "row", marginBottom: 30 },
  party: { flex: 1, paddingRight: 28 },
  // A line height counts from the size that stands beside it.
  text: { fontSize: 9.5, lineHeight: 1.45 },
  caption: { fontSize: 8, lineHeight: 1.45, color: soft, marginBottom: 2 },
  strong: { fontWeight: 600 },
  soft: { color: soft },
  tableHead: { flexDirection: "row", borderBottom: `0.75 solid ${ink}`, paddingBottom: 5 },
  row: { flexDirection: "row", borderBottom: `0.75 solid ${hair}`, paddingVertical: 8 },
  label: { flex: 1, paddingRight: 24 },
  amount: { width: 110, textAlign: "right" },
  totals: { marginTop: 12, marginLeft: "38%" },
  total: { flexDirection: "row", justifyContent: "space-between", paddingVertical: 3 },
  totalLabel: { flex: 1, paddingRight: 16 },
  grand: { borderTop: `0.75 solid ${ink}`, marginTop: 5, paddingTop: 7 },
  large: { fontSize: 11, lineHeight: 1.45, fontWeight: 600 },
  due: { borderTop: `0.75 solid ${hair}`, marginTop: 4, paddingTop: 7 },
  notes: { marginTop: 30 },
  note: { marginBottom: 6 },
  foot: { position: "absolute", bottom: 34, left: 54, right: 54, borderTop: `0.75 solid ${hair}`, paddingTop: 8 },
  footRow: { flexDirection: "row", justifyContent: "space-between", color: soft },
  footText: { fontSize: 8, flex: 1, paddingRight: 24 },
  footPage: { fontSize: 8 },
});

/** How a line beneath the others looks, as a row and as a text. */
const weights: Record<Sum["weight"], [row: Style, text: Style]> = {
  plain: [{}, {}],
  grand: [styles.grand, styles.large],
  soft: [{}, styles.soft],
  due: [styles.due, styles.strong],
};

const startsRight = /^[^\p{L}]*[\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** A long word without a place to break it, such as an address of the web, is broken where the line ends. */
const breakWord = (word: string): string[] => {
  if (word.length <= 24) return [word];
  const parts: string[][] = [];
  for (const [index, grapheme] of splitGraphemes(word).entries())
    if (index % 8 === 0) parts.push([grapheme]);
    else parts.at(-1)?.push(grapheme);
  return parts.map((part) => part.join(""));
};

/** Whether letters of a color can be read on white: WCAG's contrast of 3 to 1, which is enough for large ones. */
export const isReadable = (color: string): boolean => 1.05 / (computeLuminance(color) + 0.05) >= 3;

export type Setting = {
  /** The font of what is in Latin letters. */
  font: string;
  split: (text: string) => TextPiece[];
  logo: Logo | null;
};

/** The page of a document, as it is printed. */
export function composePage(document: InvoiceDocument, { font, split, logo }: Setting): ReactElement<DocumentProps> {
  const messages = getMessages(document.language).invoice;
  const { kind, currency, seller, buyer } = document;
  const formats = getFormats(document);
  const formatAmount = (amount: number) => formatMoney(amount, currency, formats);
  const formatDay = (date: string) =>
    new Intl.DateTimeFormat(formats, { dateStyle: "long", timeZone: "UTC" }).format(new Date(`${date}T00:00:00Z`));
  /** A text in the direction of its script, each part of it in a font that has its letters. */
  const write = (text: string, style: Style | Style[] = {}) => {
    const direction = startsRight.test(text) ? { direction: "rtl", textAlign: "left" } : {};
    return h(
      Text,
      { style: [style, direction].flat(), hyphenationCallback: breakWord } as object,
      ...split(text).map((piece) => h(Text, { style: { fontFamily: piece.font, ...direction } as Style }, piece.text)),
    );
  };
  const writeGiven = (text: string, style: Style = {}) => write(text, [styles.text, style]);
  const writeCaptioned = (caption: string, ...content: ReactNode[]) => [write(caption, styles.caption), ...content];
  const renderFact = (caption: string, value: string | null) =>
    value === null
      ? null
      : h(View, { style: styles.fact, key: caption }, ...writeCaptioned(caption, writeGiven(value, {})));
  const getParty = (party: Party, caption: string) =>
    h(
      View,
      { style: styles.party },
      ...writeCaptioned(
        caption,
        writeGiven(party.name, styles.strong),
        party.trade_name === null ? null : writeGiven(party.trade_name),
        ...(party.address ? formatAddress(party.address, document.language) : []).map((line) => writeGiven(line)),
        party.email === null ? null : writeGiven(party.email, styles.soft),
        party.tax_id === null
          ? null
          : writeGiven(
              `${/^[A-Z]{2}/.test(party.tax_id) ? messages.vat_id : messages.tax_id}: ${party.tax_id}`,
              styles.soft,
            ),
      ),
    );
  const renderLine = ({ label, amount }: { label: string; amount: number }, index: number) =>
    h(
      View,
      { style: styles.row, key: index, wrap: false },
      writeGiven(label, styles.label),
      writeGiven(formatAmount(amount), styles.amount),
    );
  const sum = (label: string, amount: number, row: Style = {}, text: Style = {}) =>
    h(
      View,
      { style: [styles.total, row], wrap: false },
      writeGiven(label, { ...styles.totalLabel, ...text }),
      writeGiven(formatAmount(amount), text),
    );
  const { reference } = document;
  const totals = computeSums(document).map(({ label, amount, weight }) => sum(label, amount, ...weights[weight]));
  const notes = [
    document.tax_reason === "reverse_charge" ? messages.reverse_charge : null,
    document.is_test ? null : document.note,
  ];
  const isAmerican = ["US", "CA", "MX"].includes(seller.address?.country ?? "");
  const title = `${messages[kind]} ${document.number}`;
  return h(
    Document,
    {
      title,
      creator: "floe",
      producer: "floe",
      language: formats,
      conformance: "PDF/A-3b",
      creationDate: new Date(`${document.issued_on}T00:00:00Z`),
    } as object,
    h(
      Page,
      { size: isAmerican ? "LETTER" : "A4", style: [styles.page, { fontFamily: font }] as never },
      h(View, { style: [styles.bar, { backgroundColor: document.accent_color }], fixed: true }),
      h(
        View,
        { style: styles.foot, fixed: true },
        h(
          View,
          { style: styles.footRow },
          write(document.footer ?? [seller.name, seller.website].filter(Boolean).join(" · "), styles.footText),
          h(Text, {
            style: styles.footPage,
            render: ({ pageNumber, totalPages }: { pageNumber: number; totalPages: number }) =>
              `${document.number} · ${messages.page(pageNumber, totalPages)}`,
          }),
        ),
      ),
      h(
        View,
        { style: styles.head },
        h(
          View,
          { style: styles.brand },
          logo
            ? h(Image, { style: styles.logo, src: { data: Buffer.from(logo.bytes), format: logo.format } } as never)
            : writeGiven(seller.trade_name ?? seller.name, styles.brandName),
        ),
        write(messages[kind], [
          styles.title,
          { color: isReadable(document.accent_color) ? document.accent_color : ink },
        ]),
      ),
      document.is_test && document.note !== null
        ? h(View, { style: styles.test }, writeGiven(document.note, styles.strong))
        : null,
      h(
        View,
        { style: styles.facts },
        renderFact(messages.number[kind], document.number),
        renderFact(messages.issued, formatDay(document.issued_on)),
        reference && renderFact(messages.reference, reference.number),
        document.paid_on && renderFact(messages.paid_on, formatDay(document.paid_on)),
        document.payment && renderFact(messages.payment, document.payment),
      ),
      h(View, { style: styles.parties }, getParty(seller, messages.from), getParty(buyer, messages.to[kind])),
      h(
        View,
        { style: styles.tableHead, fixed: true },
        write(messages.description, [styles.label, styles.caption, { marginBottom: 0 }]),
        write(messages.amount, [styles.amount, styles.caption, { marginBottom: 0 }]),
      ),
      ...document.lines.map(renderLine),
      h(View, { style: styles.totals, wrap: false }, ...totals),
      h(
        View,
        { style: styles.notes },
        ...notes.flatMap((note) => (note === null ? [] : [writeGiven(note, styles.note)])),
      ),
    ),
  );
}

/** Every text of a document that its fonts have to hold; what the program itself writes is in Latin letters. */
export const collectTexts = (document: InvoiceDocument): string[] => {
  const { seller, buyer, lines, discount, footer, note, payment, language } = document;
  const addresses = [seller.address, buyer.address].flatMap((one) => (one ? formatAddress(one, language) : []));
  // The largest amount has each sign of the format, also those between groups of digits.
  const own =
    JSON.stringify(getMessages(language).invoice) +
    formatMoney(-Number.MAX_SAFE_INTEGER, document.currency, getFormats(document));
  const people = [seller.name, seller.trade_name, seller.email, buyer.name, buyer.email, seller.website];
  const ids = [seller.tax_id, buyer.tax_id, document.number, document.reference?.number];
  const rest = [discount?.label, footer, note, payment, ...lines.map(({ label }) => label)];
  const names = document.tax.map(({ name }) => name);
  return [own, "äöüéèàçœâêîôûßÄÖÜ…", ...addresses, ...people, ...ids, ...rest, ...names].filter(
    (text) => typeof text === "string",
  );
};
