/** Colours and the decision whether to use them. Plain escape codes: no package is loaded for a table. */
type Env = Record<string, string | undefined>;

const codes = { strong: [1, 22], dim: [2, 22], good: [32, 39], bad: [31, 39], warn: [33, 39], link: [36, 39] } as const;

/** The names that a text can be painted by. They say what the text is, not how it looks. */
type Tone = keyof typeof codes;
export type Paint = Record<Tone, (text: string) => string>;

/** The colours of the same names for Ink. */
export const inkColors = { good: "green", bad: "red", warn: "yellow", link: "cyan" } as const;

const set = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0";

/** Whether to use colour: flag, then NO_COLOR, then FORCE_COLOR, then the terminal. */
function shouldUseColor(env: Env, flag: string | undefined, stream: { isTTY?: boolean }): boolean {
  if (flag === "always") return true;
  if (flag === "never") return false;
  if (env.NO_COLOR) return false;
  if (set(env.FORCE_COLOR) || set(env.CLICOLOR_FORCE)) return true;
  return Boolean(stream.isTTY) && env.TERM !== "dumb";
}

/** The painter of one stream. */
export function createPaint(env: Env, flag: string | undefined, stream: { isTTY?: boolean }): Paint {
  const on = shouldUseColor(env, flag, stream);
  const createStyle =
    ([start, end]: readonly [number, number]) =>
    (text: string) =>
      on ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  return Object.fromEntries(Object.entries(codes).map(([tone, pair]) => [tone, createStyle(pair)])) as Paint;
}

/** Text of the server without the characters that would steer the terminal. */
export const removeControls = (text: string): string =>
  text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (char) => (char === "\n" || char === "\t" ? " " : "�"));
