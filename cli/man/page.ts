/** A page of the manual as data, from which the page for `man` and the one for browsers are written. */

export type Item = { term: string; text: string };
export type Block =
  | { kind: "section" | "command"; title: string }
  | { kind: "text"; text: string }
  | { kind: "items"; items: Item[] }
  | { kind: "code"; lines: string[] }
  /** Names of other pages. */
  | { kind: "pages"; names: string[] };

export type Page = {
  /** `floe`, or `floe-products`. */
  name: string;
  summary: string;
  blocks: Block[];
};
