/** Colors and the decision whether to use them. Plain escape codes: no package is loaded for a table. */
type Env = Record<string, string | undefined>;

const codes = { strong: [1, 22], dim: [2, 22], good: [32, 39], bad: [31, 39], warn: [33, 39], link: [36, 39] } as const;

/** The names that a text can be painted by. They say what the text is, not how it looks. */
export type Tone = keyof typeof codes;
export type Paint = Record<Tone, (text: string) => string> & {
  /** The text as a link to an address, where the terminal opens such. */
  linkTo(text: string, address: string): string;
};

/** The colors of the same names for Ink. */
export const inkColors = { good: "green", bad: "red", warn: "yellow", link: "cyan" } as const;

const set = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0";

/** Whether to use color: flag, then NO_COLOR, then FORCE_COLOR, then the terminal. */
function shouldUseColor(env: Env, flag: string | undefined, stream: { isTTY?: boolean }): boolean {
  if (flag === "always") return true;
  if (flag === "never") return false;
  if (env.NO_COLOR) return false;
  if (set(env.FORCE_COLOR) || set(env.CLICOLOR_FORCE)) return true;
  return Boolean(stream.isTTY) && env.TERM !== "dumb";
}

const isAtLeast = (version: string | undefined, least: number): boolean => Number(version ?? 0) >= least;
const linkingPrograms = new Set(["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby", "WarpTerminal"]);
const linkingTerminals = /^(xterm-kitty|xterm-ghostty|alacritty|foot|contour|wezterm)/;

/** Whether a terminal is known to show links (OSC 8). Others may print the codes, so they get the plain text. */
function canLink(env: Env, stream: { isTTY?: boolean }): boolean {
  const { FORCE_HYPERLINK: forced, TERM = "" } = env;
  if (forced !== undefined && forced !== "") return forced !== "0";
  if (!stream.isTTY || TERM === "dumb" || env.CI) return false;
  // What stands in the variables below is then that of the terminal around it.
  if (env.TMUX) return env.TERM_PROGRAM === "tmux" && isAtLeast(env.TERM_PROGRAM_VERSION?.match(/^\d+\.\d+/)?.[0], 3.4);
  if (env.STY) return false;
  return (
    linkingPrograms.has(env.TERM_PROGRAM ?? "") ||
    linkingTerminals.test(TERM) ||
    Boolean(env.WT_SESSION) ||
    isAtLeast(env.VTE_VERSION, 5002) ||
    isAtLeast(env.KONSOLE_VERSION, 200_400)
  );
}

const addressMax = 2000;
const linkStart = "\u001b]8;;";
const linkEnd = "\u001b\\";

/** Whether a text is an address on the web that stands in an escape code without ending it. */
export const isAddress = (text: unknown): text is string =>
  typeof text === "string" && text.length <= addressMax && /^https?:\/\/[\x21-\x7e]+$/.test(text);

/** A text without its links, for programs that draw it themselves. */
export const stripLinks = (text: string): string =>
  text
    .split(linkStart)
    .map((part, index) => (index === 0 ? part : part.slice(part.indexOf(linkEnd) + linkEnd.length)))
    .join("");

/** The painter of one stream. */
export function createPaint(env: Env, flag: string | undefined, stream: { isTTY?: boolean }): Paint {
  const on = shouldUseColor(env, flag, stream);
  const createStyle =
    ([start, end]: readonly [number, number]) =>
    (text: string) =>
      on ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  const tones = Object.fromEntries(Object.entries(codes).map(([tone, pair]) => [tone, createStyle(pair)]));
  const linkTo = (text: string, address: string): string =>
    isAddress(address) && canLink(env, stream) ? `${linkStart}${address}${linkEnd}${text}${linkStart}${linkEnd}` : text;
  return { ...(tones as Record<Tone, (text: string) => string>), linkTo };
}

/** Text of the server without the characters that would steer the terminal. */
export const removeControls = (text: string): string =>
  text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (char) => (char === "\n" || char === "\t" ? " " : "�"));
