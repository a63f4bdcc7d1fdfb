/**
 * `--jq` and `--template`: what is answered, as a program of jq makes it. jq itself runs here, as WebAssembly that sees
 * neither files nor the environment. It is large, so it is bundled apart and loaded only where one of the two is given.
 */
import { loadJq } from "jq-wasm/inline";
import { formatMoney } from "../shared/money.ts";
import { Fault } from "./fault.ts";
import type { Io } from "./io.ts";
import type { Globals } from "./settings.ts";
import { formatRelativeTime } from "./ui/table.ts";
import { removeControls } from "./ui/theme.ts";

/** What stands in an answer for a text that is made here: jq knows neither currencies nor how people say times. */
const prelude = `. as $row | def money(currency): {floe_money: [., currency]};
def money: money($row.currency // $row.price_currency); def ago: {floe_ago: .};`;

/** `{{.name}} costs {{.total_amount | money}}` as a program that answers the pieces of a line for each row. */
function getProgram(template: string): string {
  const texts = template
    .replaceAll("\\t", "\t")
    .replaceAll("\\n", "\n")
    .split(/\{\{(.*?)\}\}/s);
  const pieces = texts.map((text, index) => (index % 2 === 0 ? JSON.stringify(text) : `[${text}\n]`));
  return `(if type == "array" then .[] else . end) | ${prelude} [${pieces.join(", ")}]`;
}

/** One value in a line of a template. */
function getPiece(value: unknown, now: number): string {
  if (value === null) return "";
  if (typeof value === "string") return value;
  const { floe_money, floe_ago } = value as { floe_money?: [unknown, unknown]; floe_ago?: unknown };
  if (floe_ago !== undefined) return typeof floe_ago === "string" ? formatRelativeTime(floe_ago, now) : "";
  if (!floe_money) return JSON.stringify(value);
  const [amount, currency] = floe_money;
  if (amount === null) return "";
  if (typeof amount !== "number" || typeof currency !== "string" || !/^[a-z]{3}$/i.test(currency))
    throw new Fault("usage", "money needs an amount and its currency", {
      hint: 'Where the row has no currency, name it: {{.amount | money("usd")}}',
    });
  return formatMoney(amount, currency);
}

const getLine = (pieces: unknown[], now: number): string =>
  pieces
    .map((piece) => (Array.isArray(piece) ? piece.map((one) => getPiece(one, now)).join(", ") : String(piece)))
    .join("");

/** Make what is done to all that a command prints at a time. A program that jq does not understand is a fault before anything is asked. */
export async function makeFilter({ jq, template }: Globals, io: Io): Promise<(text: string, now: number) => string> {
  const machine = await loadJq();
  const program = jq ?? getProgram(template ?? "");
  const flag = jq === undefined ? "--template" : "--jq";
  const isSeen = (text: string): string => (io.stdout.isTTY ? text.split("\n").map(removeControls).join("\n") : text);
  // As a definition it is whole; in use its words are known. Neither runs it.
  for (const tried of [`def tried: ${program}\n; empty`, `empty | (${program}\n)`]) {
    const [first] = machine.raw("null", tried).stderr.split("\n");
    if (!first) continue;
    const why = first.replace(/^jq: error: /, "").replace(/( at <top-level>.*|:)$/, "");
    throw new Fault("usage", `${flag} is not a valid jq program: ${why}`, {
      hint: "The language: https://jqlang.org/manual/",
    });
  }
  return (text, now) => {
    const { stdout, stderr } = io.atOnce(() => machine.raw(text, program, ["-c"]));
    const answers = stdout.split("\n").filter(Boolean);
    const lines = answers.map((line) => {
      const value: unknown = JSON.parse(line);
      if (jq === undefined) return isSeen(getLine(value as unknown[], now));
      if (typeof value === "string") return isSeen(value);
      return io.stdout.isTTY ? JSON.stringify(value, null, 2) : line;
    });
    const shown = lines.map((line) => `${line}\n`).join("");
    if (!stderr) return shown;
    io.stdout.write(shown);
    const why = stderr.split("\n")[0]?.replace(/^jq: (error )?(\(at [^)]*\): )?/, "");
    throw new Fault("error", `${flag}: ${why}`, { hint: "Without it the whole answer is shown." });
  };
}
