/**
 * How a program is started that Windows runs by its command interpreter. Node refuses to start a .cmd or .bat file without a shell,
 * and quotes nothing for one (CVE-2024-27980), so the line is written here. What cmd.exe would read as more than text is refused.
 */
import { win32 } from "node:path";
import { Fault } from "./fault.ts";

/** What `spawn` needs to start a program. */
export type Start = { file: string; args: string[]; windowsVerbatimArguments: boolean };

const batchFile = /\.(cmd|bat)$/i;
/** Within quotation marks cmd.exe still reads these: the end of the text, a variable, and the end of the line. */
const unsafe = /["%\r\n\0]/;

/** The interpreter of the system: one of the current folder would be found first by its name alone. */
const findInterpreter = (env: Record<string, string | undefined>): string => {
  const root = env.SystemRoot ?? env.SYSTEMROOT ?? env.windir;
  return win32.join(root && win32.isAbsolute(root) ? root : "C:\\Windows", "System32\\cmd.exe");
};

/** A word within quotation marks. A program that the file calls would read a backslash before the last one as a part of the text. */
function quoteWord(word: string, program: string): string {
  if (unsafe.test(word))
    throw new Fault("usage", `${JSON.stringify(word)} cannot be handed safely to ${program}`, {
      hint: 'Windows reads ", % and line breaks in words of a .cmd or .bat file as commands. Leave them out, or use an .exe.',
    });
  return `"${word}${/\\*$/.exec(word)?.[0] ?? ""}"`;
}

/** How to start a program with these words, so that each arrives as it is. */
export function planStart(
  program: string,
  words: readonly string[],
  env: Record<string, string | undefined>,
  platform: NodeJS.Platform = process.platform,
): Start {
  if (platform !== "win32" || !batchFile.test(program))
    return { file: program, args: [...words], windowsVerbatimArguments: false };
  const line = [program, ...words].map((word) => quoteWord(word, program)).join(" ");
  // /d: no commands from the registry; /v:off: "!" is a character; /s: the outer quotation marks are taken off, and nothing else.
  return {
    file: findInterpreter(env),
    args: ["/d", "/e:on", "/v:off", "/s", "/c", `"${line}"`],
    windowsVerbatimArguments: true,
  };
}
