/** Answers on stdout: a table or the fields for a person, JSON for a program. */

import { formatMoney } from "../../shared/money.ts";
import { findNearest } from "../../shared/nearest.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { completeNamedCommand } from "../suggestions.ts";
import { renderDetail } from "../ui/detail.ts";
import { renderFields, renderTable, wrap } from "../ui/table.ts";
import { createPaint, removeControls } from "../ui/theme.ts";
import { readCharges } from "./charges.ts";

type Row = Record<string, unknown>;

const isMatch = (known: string, asked: string): boolean =>
  known === asked || (known.endsWith(".*") && asked.startsWith(known.slice(0, -1))) || known.startsWith(`${asked}.`);

/** The fields asked for by `--json a,b.c`, checked against those there are. */
export function checkAskedFields(asked: string | true | undefined, known: string[] | undefined): string[] | undefined {
  if (asked === undefined || asked === true || asked === "") return undefined;
  const fields = asked.split(",").filter(Boolean);
  const unknown = known ? fields.filter((field) => !known.some((one) => isMatch(one, field))) : [];
  if (unknown.length > 0) {
    const [word = ""] = unknown;
    const by = findNearest(
      word,
      (known ?? []).filter((one) => !one.endsWith(".*")),
    ).slice(0, 1);
    throw new Fault("usage", `there is no field ${unknown.join(", ")}`, {
      ...(unknown.length === 1 && by.length > 0 && { meant: { word, by } }),
      hint: `There are: ${(known ?? []).filter((one) => !one.includes(".")).join(", ")}`,
    });
  }
  return fields;
}

function pickOne(value: unknown, path: string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(value)) return value.map((one) => pickOne(one, path));
  if (typeof value !== "object" || value === null) return null;
  return { [key]: pickOne((value as Row)[key] ?? null, rest) };
}

function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) return one.map((item, index) => merge(item, other[index]));
  const both = [one, other].every((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  if (!both) return other;
  const merged: Row = { ...(one as Row) };
  for (const [key, value] of Object.entries(other as Row))
    merged[key] = key in merged ? merge(merged[key], value) : value;
  return merged;
}

/** An object with only these fields, nested as they were. */
export const pick = (value: unknown, fields: string[]): unknown =>
  fields.map((field) => pickOne(value, field.split("."))).reduce((all, one) => merge(all, one), {});

const writeJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** What `--quiet` shows of a thing: what the server tells only once, else its id, or by what else it is called. */
function findQuiet(row: unknown): string | undefined {
  const { token, id, name, role } = (typeof row === "object" && row !== null ? row : {}) as Row;
  const found = [token, id, name, role].find((one): one is string => typeof one === "string" && one !== "");
  return found && `${removeControls(found)}\n`;
}

/** Whether ids stand for answers: with `--quiet`, unless it is said what is shown of them. */
export function isQuiet({ globals: { quiet, json, jq, template }, agent }: Context): boolean {
  return quiet === true && !agent && [json, jq, template].every((one) => one === undefined);
}

/** Show rows. */
export function showList(
  context: Context,
  rows: unknown[],
  columns: string[],
  fields?: string[],
  none = "There are none.\n",
): void {
  const quiet = isQuiet(context) ? rows.map(findQuiet) : [undefined];
  if (quiet.every((one) => one !== undefined)) context.page(quiet.join(""));
  else if (context.json) context.page(writeJson(fields ? rows.map((row) => pick(row, fields)) : rows));
  else if (rows.length === 0) context.say(none);
  else context.page(renderTable(rows, columns, context.paint.out(), context.io.stdout.columns ?? 80, context.now()));
}

/** Rows as one line each, to be picked from. */
export const listPickable = (rows: unknown[], columns: string[], width: number, now: number): string[] =>
  renderTable(rows, columns, createPaint({ NO_COLOR: "1" }, undefined, {}), width, now)
    .trimEnd()
    .split("\n")
    .slice(1);

/** Figures that others are parts of, as they are drawn: each below what it is a part of. */
type Tree = { steps: { depth: number; label: string; amount: number; because: string }[]; currency: string };
const isTree = (row: unknown): row is Tree => typeof row === "object" && row !== null && "steps" in row;

function renderTree({ steps, currency }: Tree, width: number): string {
  const drawn = steps.map(({ depth, label, amount, because }) => ({
    depth,
    name: `${"  ".repeat(depth)}${removeControls(label)}`,
    money: formatMoney(amount, currency),
    because: removeControls(because),
  }));
  const findWidest = (field: "name" | "money") => Math.max(...drawn.map((one) => [...one[field]].length));
  const [names, amounts] = [findWidest("name"), findWidest("money")];
  return drawn
    .map(({ depth, name, money, because }) => {
      const figure = `${name.padEnd(names)}  ${money.padStart(amounts)}`;
      if (because === "") return `${figure}\n`;
      const fits = [...figure].length + because.length + 2 <= width;
      const indent = `\n${"  ".repeat(depth + 1)}`;
      const why = wrap(because, Math.max(20, width - indent.length)).join(indent);
      return fits ? `${figure}  ${because}\n` : `${figure}${indent}${why}\n`;
    })
    .join("");
}

/** Show one object. */
export function showOne(context: Context, row: unknown, fields?: string[]): void {
  const tree = isTree(row) ? row : readCharges(row);
  const quiet = isQuiet(context) ? findQuiet(row) : undefined;
  if (quiet !== undefined) context.print(quiet);
  else if (context.json) context.page(writeJson(fields ? pick(row, fields) : row));
  else if (tree) context.page(renderTree(tree, context.io.stdout.columns ?? 80));
  else context.page(renderDetail(row, context.paint.out(), context.io.stdout.columns ?? 80, context.now()));
}

/** What a write is called when it is done. */
const done: Record<string, string> = {
  create: "Created",
  update: "Changed",
  archive: "Archived",
  unarchive: "Brought back",
  assign: "Assigned",
  revoke: "Revoked",
  resend: "Sent again the mail about",
};

type Written = { verb: string; noun: string; columns: string[]; next?: string | undefined };

/** Say what was made or changed, where it is, and what to do with it; all of it is for programs, and for `get`. */
export function showWritten(context: Context, row: unknown, written: Written, fields?: string[]): void {
  const { verb, noun, columns, next } = written;
  const past = done[verb];
  if (context.json || past === undefined || isQuiet(context)) {
    showOne(context, row, fields);
    return;
  }
  const { name, label, description, email, customer_email, slug, url } = row as Record<string, unknown>;
  const called = [name, label, email, customer_email, slug, description].find(
    (one) => typeof one === "string" && one !== "",
  );
  context.say(
    `${context.paint.err().good("✓")} ${past} the ${noun}${called ? ` ${removeControls(String(called))}` : ""}.\n`,
  );
  const withUrl = typeof url === "string" && !columns.some((column) => column.startsWith("url")) ? ["url"] : [];
  const { columns: terminal = 80 } = context.io.stdout;
  context.print(renderFields(row, [...columns, ...withUrl], context.paint.out(), terminal, context.now()));
  if (next && verb === "create" && called) context.say(`Next: ${completeNamedCommand(next, String(called))}\n`);
}

/** Open what was answered in the browser. Its address has been said before: where there is no browser, that is enough. */
export async function openPage({ io, say }: Context, url: unknown): Promise<void> {
  const unopened = "The browser could not be opened; open the address yourself.\n";
  if (typeof url !== "string" || !/^https?:\/\//.test(url)) return say(unopened);
  await io.openBrowser(url).catch(() => say(unopened));
}
