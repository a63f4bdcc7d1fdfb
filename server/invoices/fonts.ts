import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import subsetFont from "subset-font";

/**
 * The fonts of documents: Noto Sans, and Vazirmatn for Arabic letters, from packages that hold it in slices of the Unicode range. A document needs few of
 * them: each is unpacked when a text first asks for one of its characters.
 */
type Family = "noto-sans" | "vazirmatn" | "noto-sans-hebrew" | "noto-sans-sc" | "noto-sans-jp" | "noto-sans-kr";
type Slice = { family: Family; name: string; spans: [number, number][] };
/** A font that is ready: of one family name for all weights. */
export type ReadyFont = { family: string; fonts: { weight: 400 | 600; bytes: Uint8Array }[] };

const require = createRequire(import.meta.url);
const folderOf = (family: Family): string => dirname(require.resolve(`@fontsource-variable/${family}/unicode.json`));

const readSpans = (range: string): [number, number][] =>
  range.split(",").map((part) => {
    const [from = "", to = from] = part.trim().replace("U+", "").split("-");
    return [Number.parseInt(from, 16), Number.parseInt(to, 16)];
  });

const slices = new Map<Family, Slice[]>();
function slicesOf(family: Family): Slice[] {
  const known = slices.get(family);
  if (known) return known;
  const ranges: Record<string, string> = JSON.parse(readFileSync(join(folderOf(family), "unicode.json"), "utf8"));
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

const holds = ({ spans }: Slice, point: number): boolean => spans.some(([from, to]) => from <= point && point <= to);

/** Chinese, Japanese and Korean write some of the same characters in forms of their own: the reader's come first. */
function familiesFor(country: string | null): Family[] {
  const eastern: Family[] =
    country === "JP"
      ? ["noto-sans-jp", "noto-sans-sc", "noto-sans-kr"]
      : country === "KR"
        ? ["noto-sans-kr", "noto-sans-jp", "noto-sans-sc"]
        : ["noto-sans-sc", "noto-sans-jp", "noto-sans-kr"];
  return ["noto-sans", "vazirmatn", "noto-sans-hebrew", ...eastern];
}

/** Fonts that were unpacked, the last used last. Of the far more that there are, a seller's documents use the same few. */
const ready = new Map<string, Promise<ReadyFont>>();
const ready_max = 150;

function unpack({ family, name, spans }: Slice): Promise<ReadyFont> {
  const key = `${family}-${name}`;
  const made = ready.get(key) ?? make();
  ready.delete(key);
  ready.set(key, made);
  for (const oldest of ready.keys()) {
    if (ready.size <= ready_max) break;
    ready.delete(oldest);
  }
  return made;

  async function make(): Promise<ReadyFont> {
    const packed = readFileSync(join(folderOf(family), "files", `${key}-wght-normal.woff2`));
    const text = spans.map(([from, to]) => textOf(from, to)).join("");
    const weights = family === "noto-sans" || family === "vazirmatn" ? ([400, 600] as const) : ([400] as const);
    const fonts = [];
    for (const weight of weights)
      fonts.push({
        weight,
        bytes: await subsetFont(packed, text, { targetFormat: "sfnt", variationAxes: { wght: weight } }),
      });
    return { family: key, fonts };
  }
}

const textOf = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index)).join("");

/** What is drawn for a character that no font has: nothing for a picture, a question mark for a letter. */
const stand_in = (character: string): string => (/[\p{Extended_Pictographic}\p{M}\p{Cf}]/u.test(character) ? "" : "?");

/**
 * The fonts that these texts need, in the order in which they are to be tried, and how a text is written with them: what no
 * font has is left out, since a page that is kept for decades may not hold a character without a shape.
 */
export async function loadFonts(
  texts: readonly string[],
  country: string | null,
): Promise<{ fonts: ReadyFont[]; spell: (text: string) => string }> {
  const wanted = new Set<Slice>();
  const lacking = new Set<string>();
  const families = familiesFor(country).map((family) => ({ family, slices: slicesOf(family) }));
  const [latin] = slicesOf("noto-sans");
  if (latin) wanted.add(latin);
  for (const character of new Set(texts.flatMap((text) => [...text]))) {
    const point = character.codePointAt(0) ?? 0;
    if ([...wanted].some((slice) => holds(slice, point))) continue;
    const slice = families.flatMap((one) => one.slices).find((one) => holds(one, point));
    if (slice) wanted.add(slice);
    else lacking.add(character);
  }
  const order = [...wanted].sort(
    (a, b) =>
      families.findIndex(({ family }) => family === a.family) - families.findIndex(({ family }) => family === b.family),
  );
  const fonts: ReadyFont[] = [];
  for (const slice of order) fonts.push(await unpack(slice));
  const spell = (text: string) =>
    lacking.size === 0 ? text : [...text].map((one) => (lacking.has(one) ? stand_in(one) : one)).join("");
  return { fonts, spell };
}
