/** What the Dockerfile says about the image: its last stage, read without a container engine. */
import { readFileSync } from "node:fs";

type Copy = { from: string | undefined; sources: string[]; to: string };
export type Image = {
  copies: Copy[];
  env: Record<string, string>;
  user: string;
  folder: string;
  healthCheck: string[];
  /** What is started: the entry point with its command. */
  command: string[];
};
type Instruction = { name: string; value: string };

/** The instructions of a Dockerfile, with continued lines joined. */
export const listInstructions = (text: string): Instruction[] =>
  text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll(/\\\n/g, " ")
    .split("\n")
    .flatMap((line) => {
      const [, name, value] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [{ name, value }];
    });

const readWords = (text: string): string[] => JSON.parse(text.slice(text.indexOf("["))) as string[];

export function readImage(): Image {
  const all = listInstructions(readFileSync("Dockerfile", "utf8"));
  const last = all.slice(all.findLastIndex(({ name }) => name === "FROM") + 1);
  const valuesOf = (wanted: string) => last.flatMap(({ name, value }) => (name === wanted ? [value] : []));
  return {
    copies: valuesOf("COPY").map((value) => {
      const words = value.split(/\s+/);
      const from = words[0]?.startsWith("--from=") ? words.shift()?.slice("--from=".length) : undefined;
      return { from, sources: words.slice(0, -1), to: words.at(-1) ?? "" };
    }),
    env: Object.fromEntries(
      valuesOf("ENV").flatMap((value) => [...value.matchAll(/(\w+)=(\S+)/g)].map(([, name, set]) => [name, set])),
    ),
    user: valuesOf("USER").at(-1) ?? "root",
    folder: valuesOf("WORKDIR").at(-1) ?? "/",
    healthCheck: readWords(valuesOf("HEALTHCHECK")[0] ?? "[]"),
    command: [...readWords(valuesOf("ENTRYPOINT")[0] ?? "[]"), ...readWords(valuesOf("CMD")[0] ?? "[]")],
  };
}
