/** Asking for what was not given, from the same descriptions that the flags are made of. */
import { existsSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { promptChoice, promptForm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault, renderFault } from "../fault.ts";
import { getColumns } from "../io.ts";
import type { OperationEntry } from "../manifest.ts";
import type { Question } from "../ui/questions.ts";
import { readInCurrency } from "./currency.ts";
import { type Flag, findFlag, readFlag } from "./flags.ts";
import type { FormField } from "./forms.ts";
import { resolveNames } from "./names.ts";
import type { DefaultValue } from "./shorthand.ts";
import { findPlaces, join, type TypedInput } from "./typed.ts";

type Body = { given: Record<string, unknown>; typed: TypedInput[] };
/** What was answered, by the flag that it stands for. */
export type FormAnswers = Map<string, string>;
/** What the server does not take, by flag. */
export type FormErrors = Map<string, string>;

/** What a text means for the body, and that it goes with what is there; throws what is wrong with it. */
function isTaken({ given, typed }: Body, ask: FormField, flag: Flag, text: string, standard?: DefaultValue): Body {
  const fields = ask.means ? ask.means(text) : readFlag(flag, text, standard);
  const { short } = flag;
  const one: TypedInput = { flag: `--${ask.flag}`, text, places: findPlaces(fields, given), ...(short && { short }) };
  return { given: join(given, fields, one), typed: [...typed, one] };
}

/** What is wrong with a text, in a line. */
function findFaultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof Fault) return [error.message, error.parts.hint].filter(Boolean).join(". ");
    if (error instanceof InvalidArgumentError) return error.message;
    throw error;
  }
}

function getQuestion(body: Body, ask: FormField, flag: Flag, before?: Question["before"]): Question {
  const { kind, choices } = flag;
  const description = ask.hint ?? flag.description;
  const first = ask.optional && kind === "boolean" ? ["false", "true"] : ["true", "false"];
  return {
    name: ask.flag,
    label: ask.label ?? ask.flag.replaceAll("-", " "),
    hint: ask.optional && kind !== "boolean" ? `${description} (enter leaves it out)` : description,
    ...(choices && kind === "text" && { choices }),
    ...(kind === "boolean" && { choices: first }),
    ...(before && { before }),
    check: (text) => {
      if (text.trim() === "") return ask.optional ? undefined : "is required";
      const [least, most] = flag.entry.length ?? [0, Number.POSITIVE_INFINITY];
      if (!flag.short && text.length < least) return `has at least ${least} characters.`;
      if (!flag.short && text.length > most) return `has at most ${most} characters.`;
      // Which currency is meant is asked for later: what is an amount in one with decimals, or in one without, may be one.
      const wrong = findFaultOf(() => isTaken(body, ask, flag, text));
      return wrong && findFaultOf(() => isTaken(body, ask, flag, text, () => "jpy")) && wrong;
    },
  };
}

const showFault = (context: Context, fault: Fault): void =>
  context.say(renderFault(fault, false, context.paint.err(), context.globals, getColumns(context.io.stderr)));

/** The id of a file on this machine, which is uploaded; any other text stays what it is. */
async function isUploaded(context: Context, { upload }: FormField, text: string): Promise<string | undefined> {
  if (!upload || !existsSync(text.trim())) return text;
  const { uploadOne } = await import("../commands/files-upload.ts");
  try {
    return (await uploadOne(context, text.trim(), { service: upload })).id;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== "usage") throw error;
    showFault(context, error);
    return undefined;
  }
}

/** The same with an answer, its ids in place of names; undefined, and said why, where it cannot be taken. */
async function readDraft(context: Context, read: (standard: DefaultValue) => Body): Promise<Body | undefined> {
  try {
    const next = await readInCurrency(context, read);
    return { ...next, given: await resolveNames(context, next.given) };
  } catch (error) {
    if (!(error instanceof Fault) || (error.kind !== "not_found" && error.kind !== "usage")) throw error;
    showFault(context, error);
    return undefined;
  }
}

/**
 * Ask until nothing is left to ask: what `asksOf` says is needed, which may depend on the answers so far. What is in
 * `answers` is not asked again, unless it was `refused`; new answers are added to it.
 */
export async function promptMissing(
  context: Context,
  op: OperationEntry,
  start: Body,
  asksOf: (given: Record<string, unknown>) => FormField[],
  answers: FormAnswers,
  refused: FormErrors,
): Promise<Body> {
  let body = start;
  const asked = new Set<string>();
  for (;;) {
    const [ask, ...more] = asksOf(body.given).filter(({ flag }) => !asked.has(flag));
    if (!ask) return body;
    const kept = refused.has(ask.flag) ? undefined : answers.get(ask.flag);
    if (kept !== undefined) {
      asked.add(ask.flag);
      const had = body;
      const read = (standard?: DefaultValue): Body => isTaken(had, ask, findFlag(op, ask.flag), kept, standard);
      if (kept.trim() !== "") body = ask.pick ? read() : ((await readDraft(context, read)) ?? body);
      continue;
    }
    if (ask.pick) {
      asked.add(ask.flag);
      const choices = ask.pick.choices.map(([value, label]) => ({ value, label }));
      const chosen = await promptChoice(context, ask.pick.title, choices);
      answers.set(ask.flag, chosen);
      body = isTaken(body, ask, findFlag(op, ask.flag), chosen);
      continue;
    }
    const next = more.findIndex(({ pick, flag }) => pick || (answers.has(flag) && !refused.has(flag)));
    const together = [ask, ...(next < 0 ? more : more.slice(0, next))];
    const before = body;
    const given = await promptForm(
      context,
      op.summary,
      together.map((one) => {
        const [text, fault] = [answers.get(one.flag), refused.get(one.flag)];
        const last = text === undefined || fault === undefined ? undefined : { text, fault };
        return getQuestion(before, one, findFlag(op, one.flag), last);
      }),
    );
    for (const one of together) {
      const text = await isUploaded(context, one, given[one.flag] ?? "");
      if (text === undefined) continue;
      if (text.trim() !== "") {
        const start = body;
        const next = await readDraft(context, (standard) =>
          isTaken(start, one, findFlag(op, one.flag), text, standard),
        );
        // What has no such name is asked for again; the other answers stay.
        if (!next) continue;
        body = next;
      }
      answers.set(one.flag, text);
      asked.add(one.flag);
    }
  }
}
