/** `floe __complete SHELL`: what a shell asks for while a line is typed. Silent about every failure. */
import { readFileSync } from "node:fs";
import { readAliases, splitLine } from "../extensions/aliases.ts";
import { listExtensions } from "../extensions/run.ts";
import { type Io, replaceStreams } from "../io.ts";
import { makeContext } from "../make-context.ts";
import type { Manifest } from "../manifest.ts";
import type { Globals } from "../settings.ts";
import { type Candidate, complete, readLineGlobals } from "./complete.ts";
import type { CompletionModel } from "./model.ts";
import { createNameSource } from "./names.ts";
import { isShell, type Shell } from "./scripts.ts";
import { parseBashLine, quoteForPowerShell, replaceBashWord } from "./words.ts";

/** Nobody waits longer for a list while typing. */
const waitMs = 1000;
const shownMax = 200;

type Typed = { words: string[]; last: string; write(one: Candidate): string | undefined };

/** Whether a shell can take a value in one line of its own. */
const isOneLine = (text: string): boolean => !/[\n\r\t\0]/.test(text);

/** Read what a shell sent: its words, or the line of bash with the characters at which bash breaks words. */
function readTyped(shell: Shell, input: string): Typed {
  const parts = input.replace(/\0\r?\n?$/, "").split("\0");
  if (shell === "bash") {
    const [line = "", breaks = ""] = parts;
    const { words, last } = parseBashLine(line);
    return { words: words.slice(1), last: last.text, write: ({ value }) => replaceBashWord(last, value, breaks) };
  }
  // fish and PowerShell hand over the last word as it was typed, with its quotation.
  const last = (parts.at(-1) ?? "").replace(/^["']/, "").replace(/\\(.)/g, "$1");
  const formatWithAbout = ({ value, about }: Candidate): string => (about ? `${value}\t${about}` : value);
  const formatForPowerShell = ({ value, about }: Candidate): string =>
    `${quoteForPowerShell(value)}\t${value}\t${about ?? value}`;
  return {
    words: parts.slice(0, -1),
    last: shell === "zsh" ? (parts.at(-1) ?? "") : last,
    write: shell === "powershell" ? formatForPowerShell : formatWithAbout,
  };
}

/** The topics of `floe help`, and the commands, which have help too. */
function listTopics(manifest: Manifest, model: CompletionModel): Candidate[] {
  const topics = (manifest.read("topics") ?? {}) as Record<string, { summary: string }>;
  return [
    ...Object.entries(topics).map(([value, { summary }]) => ({ value, about: summary })),
    ...Object.entries(model.root.commands ?? {})
      .filter(([name]) => !Object.hasOwn(topics, name))
      .map(([value, { about }]) => ({ value, about })),
  ];
}

/** What stands beside the commands of floe: aliases, which a line is completed as if they were written out, and programs. */
function listOthers(env: Io["env"], model: CompletionModel, typed: readonly string[]) {
  const isOwn = (name: string): boolean => Object.hasOwn(model.root.commands ?? {}, name);
  const aliases = Object.entries(readAliases(env)).filter(([name]) => !isOwn(name));
  const [first] = typed;
  const line = aliases.find(([name]) => name === first)?.[1];
  const expand = (words: readonly string[]): readonly string[] =>
    line === undefined ? words : [...splitLine(line).filter((word) => !/\$[1-9]/.test(word)), ...words.slice(1)];
  if (first !== undefined) return { candidates: [], expand };
  const programs = listExtensions(env).filter(({ name }) => !isOwn(name));
  const candidates: Candidate[] = [
    ...aliases.map(([value, about]) => ({ value, about: `floe ${about}` })),
    ...programs.map(({ name: value, path: about }) => ({ value, about })),
  ];
  return { candidates, expand };
}

/** Answer one question of a shell. The first line says what else may stand there; each further line is a candidate. */
export async function respondToShell(
  io: Io,
  manifest: Manifest,
  version: string,
  named: string,
  input = readFileSync(0, "utf8"),
): Promise<void> {
  if (!isShell(named)) return;
  const model = manifest.read("completion") as CompletionModel | undefined;
  if (!model) return;
  const { words: typed, last, write } = readTyped(named, input);
  const others = listOthers(io.env, model, typed);
  const words = others.expand(typed);
  const { apiKeyFile, ...place } = readLineGlobals(words);
  // Standard input has the words, not a key.
  const globals: Globals = {
    ...place,
    ...(apiKeyFile && apiKeyFile !== "-" && { apiKeyFile }),
    timeout: waitMs / 1000,
  };
  const silent = replaceStreams(
    io,
    { write: () => undefined },
    AbortSignal.any([io.signal, AbortSignal.timeout(waitMs)]),
  );
  const context = makeContext(silent, manifest, version, globals);
  const source = createNameSource(context, () => listTopics(manifest, model));
  // A key of the environment is not sent to a server of a line that has not been entered yet.
  const isElsewhere = place.server !== undefined && Boolean(io.env.FLOE_API_KEY);
  const names = isElsewhere ? { ...source, names: async () => [], organizations: async () => [] } : source;
  const { candidates: found, files, open } = await complete(model, words, last, names);
  const candidates = [...found, ...others.candidates.filter(({ value }) => value.startsWith(last))];
  const lines = candidates.slice(0, shownMax).flatMap((one) => {
    const line = isOneLine(one.value) && isOneLine(one.about ?? "") ? write(one) : undefined;
    return line === undefined ? [] : [line];
  });
  const kind = [files && "files", open && "open"].filter(Boolean).join(",") || "words";
  io.stdout.write(`${[kind, ...lines].join("\n")}\n`);
}
