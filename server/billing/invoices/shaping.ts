import type { Font as ReactPdfFont } from "@react-pdf/renderer";
import bidi from "bidi-js";
import { Blob, Direction, Face, Feature, Font, shape, Buffer as TextBuffer } from "harfbuzzjs";
import PDFDocument from "pdfkit";

/**
 * Glyphs of documents: HarfBuzz shapes each run of text, and the run is drawn as HarfBuzz positions it. fontkit, which react-pdf lays text out with,
 * shares glyph objects between documents and forgets which characters they stand for, and react-pdf drops the vertical offsets of marks.
 */
type Glyph = { id: number; advanceWidth: number; xOffset: number; yOffset: number; text: string };
/** Glyphs that belong together, such as a letter and its accent. For react-pdf they are one glyph, which it never tears apart. */
type Cluster = {
  advanceWidth: number;
  /** The UTF-16 units that the cluster stands for: react-pdf counts a text by them. */
  codePoints: number[];
  /** From left to right. */
  parts: Glyph[];
};
type Position = { xAdvance: number; yAdvance: number; xOffset: number; yOffset: number };
type ClusterRun = { glyphs: Cluster[]; positions: Position[] };

/** What react-pdf and pdfkit use of a font that was read from bytes. */
type OutlineFont = {
  unitsPerEm: number;
  characterSet: number[];
  layout: (text: string) => ClusterRun;
  hasGlyphForCodePoint: (codePoint: number) => boolean;
  glyphForCodePoint: (codePoint: number) => unknown;
};
type EmbeddedFont = {
  font: OutlineFont;
  subset: { glyphs: number[]; mapping: Record<number, number> };
  widths: number[];
  unicode: number[][];
  scale: number;
  glyphIds?: Map<string, number>;
};

const { getMirroredCharacter } = bidi();
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/**
 * Give each glyph of a cluster its share of the characters, in the order in which a reader takes them from the page: from the left, and reversed where it finds
 * letters that are written from the right. A vowel that is drawn before its consonant thus stands for the consonant, and the page can be searched and copied.
 */
function distributeText(parts: Glyph[], text: string, isReversed: boolean): void {
  const characters = isReversed ? [...text].reverse() : [...text];
  const spacing = parts.filter(({ advanceWidth }) => advanceWidth > 0);
  const readers = spacing.length > 0 ? spacing : parts.slice(0, 1);
  for (const [index, part] of readers.entries())
    part.text = characters.splice(0, index === readers.length - 1 ? characters.length : 1).join("");
}

/** Shape a run of one font and one direction. Clusters are in the order of the text: react-pdf reverses those of a right-to-left run. */
function shapeRun(font: Font, text: string): ClusterRun {
  const isReversed = rightToLeft.test(text);
  const buffer = new TextBuffer();
  // react-pdf has mirrored the brackets of a right-to-left run, and HarfBuzz mirrors them, too.
  buffer.addText(isReversed ? Array.from(text, (one) => getMirroredCharacter(one) ?? one).join("") : text);
  buffer.guessSegmentProperties();
  buffer.setDirection(isReversed ? Direction.RTL : Direction.LTR);
  shape(font, buffer, [new Feature("liga", 0)]);
  const partsByStart = new Map<number, Glyph[]>();
  for (const { codepoint, cluster, xAdvance = 0, xOffset = 0, yOffset = 0 } of buffer.getGlyphInfosAndPositions()) {
    const parts = partsByStart.get(cluster) ?? [];
    partsByStart.set(cluster, [...parts, { id: codepoint, advanceWidth: xAdvance, xOffset, yOffset, text: "" }]);
  }
  const starts = [...partsByStart.keys()].sort((a, b) => a - b);
  const glyphs = starts.map((start, index): Cluster => {
    const characters = text.slice(start, starts[index + 1]);
    const parts = partsByStart.get(start) ?? [];
    distributeText(parts, characters, isReversed);
    const codePoints = Array.from({ length: characters.length }, (_, at) => characters.charCodeAt(at));
    return { advanceWidth: parts.reduce((sum, part) => sum + part.advanceWidth, 0), codePoints, parts };
  });
  const positions = glyphs.map(({ advanceWidth }) => ({ xAdvance: advanceWidth, yAdvance: 0, xOffset: 0, yOffset: 0 }));
  return { glyphs, positions };
}

const isOutlineFont = (data: unknown): data is OutlineFont =>
  typeof data === "object" && data !== null && "characterSet" in data;

/** Have a registered font shaped by HarfBuzz, and return the characters that it has glyphs for. */
export async function loadShapedFont(
  fontStore: typeof ReactPdfFont,
  family: string,
  weight: number,
  bytes: Uint8Array,
): Promise<Set<number>> {
  await fontStore.load({ fontFamily: family, fontWeight: weight });
  const outlines: unknown = fontStore.getFont({ fontFamily: family, fontWeight: weight })?.data;
  if (!isOutlineFont(outlines)) throw new Error(`The font ${family} cannot be read.`);
  const font = new Font(new Face(new Blob(bytes)));
  const characters = new Set(outlines.characterSet);
  const arrangeText = (text: string) => shapeRun(font, text);
  outlines.layout = arrangeText;
  // pdfkit tells fonts apart by this name, and those of all slices of a family have the same.
  Object.defineProperty(outlines, "postscriptName", { value: `${family}-${weight}` });
  // A text is split by the fonts' own characters before it is laid out. react-pdf never has to look for another font, which would not be embedded.
  outlines.hasGlyphForCodePoint = () => true;
  outlines.glyphForCodePoint = (codePoint) =>
    arrangeText(String.fromCodePoint(characters.has(codePoint) ? codePoint : 0x200b)).glyphs[0];
  return characters;
}

/** The number of a glyph in the file: one for each text that it stands for, so that the text can be searched and read aloud. */
function includeGlyph(embedded: EmbeddedFont, { id, advanceWidth, text }: Glyph): number {
  embedded.glyphIds ??= new Map();
  const key = `${id} ${text}`;
  const known = embedded.glyphIds.get(key);
  if (known !== undefined) return known;
  const included = embedded.subset.glyphs.length;
  embedded.subset.glyphs.push(id);
  embedded.subset.mapping[id] ??= included;
  embedded.widths[included] = advanceWidth * embedded.scale;
  embedded.unicode[included] = Array.from(text, (one) => one.codePointAt(0) ?? 0);
  embedded.glyphIds.set(key, included);
  return included;
}

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 5, useGrouping: false });
const formatNumber = (value: number): string => numbers.format(value);

type DrawingContext = PDFKit.PDFDocument & {
  _font: EmbeddedFont & { id: string; ref: () => unknown };
  _fontSize: number;
  page: { fonts: Record<string, unknown>; height: number };
  addContent: (content: string) => unknown;
};

/** Draw a run whose positions are in points. react-pdf calls this where a document has it. */
function drawClusters(this: DrawingContext, clusters: Cluster[], positions: Position[], x: number, y: number): void {
  const font = this._font;
  const size = this._fontSize / font.font.unitsPerEm;
  this.save();
  this.transform(1, 0, 0, -1, 0, this.page.height);
  this.page.fonts[font.id] ??= font.ref();
  this.addContent("BT");
  this.addContent(`/${font.id} ${formatNumber(this._fontSize)} Tf`);
  this.addContent(`1 0 0 1 ${formatNumber(x)} ${formatNumber(this.page.height - y)} Tm`);
  let rise = 0;
  // Thousandths of the size by which the next glyph stands to the left of where the last one ended.
  let shift = 0;
  let content = "";
  for (const [index, { parts, advanceWidth }] of clusters.entries()) {
    for (const part of parts) {
      if (part.yOffset !== rise) content += `] TJ ${formatNumber(part.yOffset * size)} Ts [`;
      rise = part.yOffset;
      shift -= part.xOffset * font.scale;
      if (Math.abs(shift) > 0.01) content += `${formatNumber(shift)} `;
      shift = part.xOffset * font.scale;
      content += `<${includeGlyph(font, part).toString(16).padStart(4, "0")}>`;
    }
    shift -= (((positions[index]?.xAdvance ?? 0) - advanceWidth * size) / this._fontSize) * 1000;
  }
  this.addContent(`[${content}] TJ 0 Ts`);
  this.addContent("ET");
  this.restore();
}
Object.assign(PDFDocument.prototype, { glyphs: drawClusters });
