import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Font } from "@react-pdf/renderer";
import subsetFont from "subset-font";
import { loadShapedFont } from "./shaping.ts";

/**
 * The fonts of documents: Noto Sans, and Vazirmatn for Arabic letters, from packages that hold it in slices of the Unicode range. A document needs few of
 * them: each is unpacked when a text first asks for one of its characters.
 */
const alphabets = [
  "noto-sans-hebrew",
  "noto-sans-devanagari",
  "noto-sans-bengali",
  "noto-sans-gujarati",
  "noto-sans-gurmukhi",
  "noto-sans-tamil",
  "noto-sans-telugu",
  "noto-sans-kannada",
  "noto-sans-malayalam",
  "noto-sans-sinhala",
  "noto-sans-thai",
  "noto-sans-lao",
  "noto-sans-khmer",
  "noto-sans-georgian",
  "noto-sans-armenian",
  "noto-sans-ethiopic",
] as const;
type EastAsianFamily = "noto-sans-sc" | "noto-sans-jp" | "noto-sans-kr";
type Family = "noto-sans" | "vazirmatn" | (typeof alphabets)[number] | EastAsianFamily;
type Slice = { family: Family; name: string; spans: [number, number][] };
/** A slice that can be drawn with, and the characters that it has glyphs for. */
type LoadedFont = { name: string; family: Family; characters: ReadonlySet<number> };
/** A part of a text, and the font that it is drawn in. */
export type TextPiece = { font: string; text: string };

const require = createRequire(import.meta.url);
const getFolder = (family: Family): string => dirname(require.resolve(`@fontsource-variable/${family}/unicode.json`));

const readSpans = (range: string): [number, number][] =>
  range.split(",").map((part) => {
    const [from = "", to = from] = part.trim().replace("U+", "").split("-");
    return [Number.parseInt(from, 16), Number.parseInt(to, 16)];
  });

const slices = new Map<Family, Slice[]>();
function getSlices(family: Family): Slice[] {
  const known = slices.get(family);
  if (known) return known;
  const ranges: Record<string, string> = JSON.parse(readFileSync(join(getFolder(family), "unicode.json"), "utf8"));
  const read = Object.entries(ranges).map(([name, range]) => ({
    family,
    name: name.replace(/[[\]]/g, ""),
    spans: readSpans(range),
  }));
  // The Latin slice first: it has the spaces and digits that others repeat.
  read.sort((a, b) => Number(b.name === "latin") - Number(a.name === "latin"));
  slices.set(family, read);
  return read;
}

/** Whether a slice is worth unpacking. A slice lacks glyphs for much of its range, so what it has is read from the font itself. */
const canHold = ({ spans }: Slice, point: number): boolean => spans.some(([from, to]) => from <= point && point <= to);

/** Chinese, Japanese and Korean write some of the same characters in forms of their own: the reader's come first. */
function listFamilies(country: string | null): Family[] {
  const eastern: EastAsianFamily[] =
    country === "JP"
      ? ["noto-sans-jp", "noto-sans-sc", "noto-sans-kr"]
      : country === "KR"
        ? ["noto-sans-kr", "noto-sans-jp", "noto-sans-sc"]
        : ["noto-sans-sc", "noto-sans-jp", "noto-sans-kr"];
  return ["noto-sans", "vazirmatn", ...alphabets, ...eastern];
}

/** Fonts that were unpacked, the last used last. Of the far more that there are, a seller's documents use the same few. */
const loadedFonts = new Map<string, Promise<LoadedFont>>();
const loadedFontsMax = 150;

function loadFont({ family, name }: Slice): Promise<LoadedFont> {
  const key = `${family}-${name}`;
  const font = loadedFonts.get(key) ?? unpackFont(family, key);
  loadedFonts.delete(key);
  loadedFonts.set(key, font);
  for (const oldest of loadedFonts.keys()) {
    if (loadedFonts.size <= loadedFontsMax) break;
    loadedFonts.delete(oldest);
    delete Font.getRegisteredFonts()[oldest];
  }
  return font;
}

async function unpackFont(family: Family, key: string): Promise<LoadedFont> {
  const packed = readFileSync(join(getFolder(family), "files", `${key}-wght-normal.woff2`));
  const isEastAsian = ["noto-sans-sc", "noto-sans-jp", "noto-sans-kr"].includes(family);
  let characters = new Set<number>();
  for (const weight of isEastAsian ? [400] : [400, 600]) {
    const options = { keepAllGlyphs: true, targetFormat: "sfnt", variationAxes: { wght: weight } } as const;
    const bytes = await subsetFont(packed, "", options);
    const src = `data:font/ttf;base64,${Buffer.from(bytes).toString("base64")}`;
    Font.register({ family: key, src, fontWeight: weight });
    characters = await loadShapedFont(Font, key, weight, bytes);
  }
  return { name: key, family, characters };
}

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
export const splitGraphemes = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

/**
 * A text as it is drawn. Accents that were typed apart become one character with their letter, since fonts have a glyph for that one. Characters that reverse
 * the direction are removed, and line breaks and tabs are spaces.
 */
const prepareText = (text: string): string =>
  text
    .normalize("NFC")
    .replace(/[\s\p{Cc}]/gu, (one) => (one === "\u00a0" || one === "\u202f" ? "\u00a0" : " "))
    .replace(/[\p{Bidi_Control}\p{Cs}]/gu, "");

const isInvisible = (character: string): boolean => /\p{Default_Ignorable_Code_Point}/u.test(character);
const hasGlyphs = ({ characters }: LoadedFont, grapheme: string): boolean =>
  [...grapheme].every((one) => characters.has(one.codePointAt(0) ?? 0) || isInvisible(one));

/** What is drawn for a character that no font has: nothing for a picture or a mark, a hyphen for a dash, a question mark for a letter. */
function getPlaceholder(character: string): string {
  if (/[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{M}]/u.test(character)) return "";
  if (isInvisible(character)) return "";
  return /\p{Pd}/u.test(character) ? "-" : "?";
}

/**
 * Load the fonts that these texts need, and return how a text is split into pieces of one font each. What no font has is left out or replaced, since a page that
 * is kept for decades may not hold a character without a shape.
 */
export async function loadFonts(
  texts: readonly string[],
  country: string | null,
): Promise<{ font: string; split: (text: string) => TextPiece[] }> {
  const families = listFamilies(country);
  const [latin] = getSlices("noto-sans");
  if (!latin) throw new Error("The package of Noto Sans has no Latin letters.");
  const defaultFont = await loadFont(latin);
  const fonts = new Map<string, LoadedFont>();

  async function chooseFont(grapheme: string): Promise<boolean> {
    if (fonts.has(grapheme)) return true;
    const point = grapheme.codePointAt(0) ?? 0;
    for (const slice of families.flatMap(getSlices)) {
      if (!canHold(slice, point)) continue;
      const font = await loadFont(slice);
      if (!hasGlyphs(font, grapheme)) continue;
      fonts.set(grapheme, font);
      return true;
    }
    return false;
  }
  for (const grapheme of new Set(texts.flatMap((text) => splitGraphemes(prepareText(text)))))
    if (!(await chooseFont(grapheme))) for (const character of grapheme) await chooseFont(character);
  const findFont = (grapheme: string) =>
    fonts.get(grapheme) ?? [defaultFont, ...fonts.values()].find((font) => hasGlyphs(font, grapheme));

  const pickPiece = (character: string): TextPiece => {
    const font = isInvisible(character) ? undefined : findFont(character);
    return font ? { font: font.name, text: character } : { font: defaultFont.name, text: getPlaceholder(character) };
  };
  const split = (text: string): TextPiece[] => {
    const pieces: TextPiece[] = [];
    for (const grapheme of splitGraphemes(prepareText(text))) {
      const font = findFont(grapheme);
      for (const piece of font ? [{ font: font.name, text: grapheme }] : Array.from(grapheme, pickPiece)) {
        const last = pieces.at(-1);
        if (last?.font === piece.font) last.text += piece.text;
        else pieces.push(piece);
      }
    }
    return pieces.filter(({ text }) => text !== "");
  };
  return { font: defaultFont.name, split };
}
