/** `floe help TOPIC`: a document on the terminal, or the list of what there is. */

import type { Context } from "./context.ts";
import { exitCodes, Fault } from "./fault.ts";
import type { Manifest } from "./manifest.ts";
import type { Topic } from "./topics.ts";
import type { Paint } from "./ui/theme.ts";

const listExitCodes = (): string =>
  Object.values(exitCodes)
    .map(([code, meaning]) => `${String(code).padStart(3)}  ${meaning}\n`)
    .join("");

/** What is a topic of its own, besides the documents. */
const written: Record<string, { summary: string; text(): string }> = {
  "exit-codes": { summary: "What the exit code of a command means", text: listExitCodes },
};

const readIndex = (manifest: Manifest): Record<string, Topic> =>
  (manifest.read("topics") ?? {}) as Record<string, Topic>;

/** Whether there is a topic of this name. */
export const hasTopic = (manifest: Manifest, name: string): boolean =>
  Object.hasOwn(written, name) || Object.hasOwn(readIndex(manifest), name);

function formatInline(line: string, paint: Paint): string {
  return line
    .replace(/\[([^\]\n]*)\]\((https?:[^)\s]+)\)/g, (_, text: string, url: string) =>
      text === url ? url : `${text} (${url})`,
    )
    .replace(/\[([^\]\n]*)\]\(([\w-]+)\.md(?:#[^)\s]*)?\)/g, (_, text: string, page: string) =>
      text.includes(page) ? `\`floe help ${page}\`` : `${text} (\`floe help ${page}\`)`,
    )
    .replace(/\[([^\]\n]*)\]\([^)\s]+\)/g, "$1")
    .replace(/\*\*([^*\n]+)\*\*/g, (_, text: string) => paint.strong(text))
    .replace(/`(floe [^`\n]+)`/g, (_, text: string) => paint.link(text))
    .replace(/`([^`\n]+)`/g, (_, text: string) => paint.strong(text));
}

/** Lay a document out for a terminal: headings stand out, code is indented, and links name the topic they lead to. */
export function formatTopic(markdown: string, paint: Paint): string {
  let isCode = false;
  const lines = markdown.split("\n").flatMap((line) => {
    if (/^```/.test(line)) {
      isCode = !isCode;
      return [];
    }
    if (isCode) return [`    ${line}`];
    const heading = /^(#+) (.*)$/.exec(line);
    if (heading) return [paint.strong(heading[1] === "#" ? (heading[2] ?? "").toUpperCase() : (heading[2] ?? ""))];
    // A picture shows nothing here.
    if (/^!\[/.test(line)) return [];
    return [formatInline(line, paint)];
  });
  return `${lines
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()}\n`;
}

/** Show a topic. */
export function showTopic(context: Context, name: string): void {
  const own = Object.hasOwn(written, name) ? written[name] : undefined;
  if (own) {
    context.page(own.text());
    return;
  }
  const document = context.manifest.read(`topic-${name}`) as { text: string } | undefined;
  if (!document || !hasTopic(context.manifest, name))
    throw new Fault("usage", `there is no topic "${name}"`, { hint: "See: `floe help topics`" });
  context.page(formatTopic(document.text, context.paint.out()));
}

/** Show every topic with one line about it. */
export function showTopics(context: Context): void {
  const all: [string, { summary: string }][] = [
    ...Object.entries(readIndex(context.manifest)),
    ...Object.entries(written),
  ];
  if (context.globals.json !== undefined) {
    const rows = all.map(([name, { summary }]) => ({ name, summary }));
    context.page(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const width = Math.max(...all.map(([name]) => name.length));
  context.page(all.map(([name, { summary }]) => `${name.padEnd(width)}  ${summary}\n`).join(""));
  context.say("Read one: `floe help TOPIC`. Of a name that is a command too: `floe help topics NAME`\n");
}
