import { type HintContext, insertCommands, insertWholeCommands } from "./suggestions.ts";
import { type Paint, removeControls } from "./ui/theme.ts";

/** The exit codes, as `floe help exit-codes` prints them. */
export const exitCodes = {
  ok: [0, "success"],
  error: [1, "error: rejected input, wrong settings, or something unexpected"],
  cancelled: [2, "canceled: a question was answered with no"],
  signed_out: [4, "not signed in, or the sign-in has expired"],
  not_permitted: [5, "not permitted: role or scope is missing"],
  not_found: [6, "not found"],
  conflict: [7, "conflict with what is there"],
  rate_limited: [8, "rate limited, also after trying again"],
  unreachable: [9, "the server cannot be reached, is too slow, or failed"],
  changes: [10, "changes are present (plan, drift or diff --exit-code, pull --check)"],
  usage: [64, "wrong use: unknown flag, or a flag missing where nobody can be asked"],
  interrupted: [130, "ended by Ctrl-C"],
  terminated: [143, "ended by SIGTERM"],
} as const satisfies Record<string, readonly [number, string]>;

export type FaultKind = keyof typeof exitCodes;

/** More about a fault, for the person or the program that reads it. */
export type FaultParts = {
  /** The machine's name of it, when the server gave one. */
  name?: string;
  /** The next step, in words; a command to type stands between backticks. */
  hint?: string;
  /** What is wrong with which flag. */
  faults?: { flag: string; message: string; path?: string }[];
  /** What a person reads in place of `faults`, laid out in lines. */
  text?: string;
  status?: number;
  /** In how many seconds the server wants to be asked again. */
  retry_after?: number;
  /** The same as the server told it, for commands that know where a place comes from. */
  places?: { loc: (string | number)[]; msg: string }[];
  /** A person would have been asked, and nobody can be. */
  asks?: true;
  /** The flag by which a person agrees to what this command asked. */
  consent?: string;
  /** The page that explains it, on the server that was called. */
  docs?: string;
  /** A word of the command line in whose place each of these works. */
  meant?: { word: string; by: string[] };
  /** The hint quotes names that other people chose. */
  quotesNames?: true;
  /** With which a request that may or may not have been done is repeated safely. */
  idempotency_key?: string;
  /** What the command line said of where it happened, where that is not what the whole run says. */
  place?: HintContext;
};

/** An end of a command that is not success: what failed, why, and what to do next. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly parts: FaultParts;
  constructor(kind: FaultKind, message: string, parts: FaultParts = {}) {
    super(message);
    this.name = "Fault";
    this.kind = kind;
    this.parts = parts;
  }
  /** Also of a part that is bundled by itself, and so has a class of its own. */
  static override [Symbol.hasInstance](error: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this, and is asked about itself
    return this === Fault ? isFault(error) : Function.prototype[Symbol.hasInstance].call(this, error);
  }
  get exitCode(): number {
    return exitCodes[this.kind][0];
  }
}

/** Whether an error is a fault. */
export const isFault = (error: unknown): error is Fault =>
  error instanceof Error && error.name === "Fault" && "kind" in error && "parts" in error;

/** What kind of end an answer of the server is. */
export function getFaultKind(status: number): FaultKind {
  if (status === 401) return "signed_out";
  if (status === 403) return "not_permitted";
  if (status === 404 || status === 410) return "not_found";
  if (status === 409 || status === 412) return "conflict";
  if (status === 429) return "rate_limited";
  if (status === 408 || status >= 500) return "unreachable";
  return "error";
}

/** A fault as text, for a terminal of so many columns if it is one, or as one JSON object for a program. */
export function renderFault(
  fault: Fault,
  json: boolean,
  paint: Paint,
  run: HintContext = {},
  columns?: number | undefined,
): string {
  const { name, faults, status, text, idempotency_key, place = run } = fault.parts;
  const hint = fault.parts.hint === undefined ? undefined : insertCommands(fault.parts.hint, place);
  if (json) {
    const envelope = {
      error: name ?? fault.kind,
      message: fault.message,
      exit_code: fault.exitCode,
      status,
      hint,
      faults,
      docs: fault.parts.docs,
      idempotency_key,
    };
    return `${JSON.stringify(envelope)}\n`;
  }
  // Much of it comes from the server, and none of it may steer the terminal.
  const lines = [`${paint.bad("floe:")} ${removeControls(fault.message)}`];
  const formatLine = (line: string): string => insertWholeCommands(removeControls(line), columns, place, paint.link);
  if (text) lines.push("", ...text.split("\n").map(formatLine), "");
  else for (const one of faults ?? []) lines.push(formatLine(`  ${one.flag}: ${one.message}`));
  if (fault.parts.hint) lines.push(formatLine(`  ${fault.parts.hint}`));
  if (idempotency_key) lines.push(`  It may be repeated safely with --idempotency-key ${idempotency_key}`);
  return `${lines.join("\n")}\n`;
}
