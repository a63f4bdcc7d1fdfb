/** Every JSON answer that a test of the command line gets is held against the schema of its command. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { buildAnswerSchemas } from "../../cli/build-schemas.ts";
import type { Manifest } from "../../cli/manifest.ts";
import type { Schema } from "../../shared/answer-schemas.ts";
import { api } from "../../shared/api/index.ts";
import { isAnsweredByLine } from "../../shared/command-answers/index.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false });
let schemas: Map<string, Record<string, Schema>> | undefined;
const validators = new Map<string, ValidateFunction>();

type Node = Schema & Record<string, unknown>;
/** The same schema, which refuses fields that it does not name: a field that was renamed is then seen twice. */
export function closeSchema(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closeSchema);
  if (typeof node !== "object" || node === null) return node;
  const { properties, allOf, ...rest } = node as Node;
  const closed = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, closeSchema(one)]));
  // The parts of an intersection know nothing of each other's fields.
  if (allOf !== undefined) closed.allOf = allOf;
  if (!properties) return closed;
  const named = Object.entries(properties).map(([key, one]) => [key, closeSchema(one)]);
  return { additionalProperties: false, ...closed, properties: Object.fromEntries(named) };
}

/** Words that ask for something else than the answer of the command: a part of it, or the request. */
const asksOther = /^(-q|--jq|--template|--dry-run|--help|-h|--agent|--quiet|--json=.*|-o|--output|--format)(=.*)?$/;

/** The command that a line calls, where it asks for the whole answer as JSON. */
function findAsked(argv: readonly string[]): string | undefined {
  const at = argv.indexOf("--json");
  if (at < 0 || argv.includes("--") || argv.some((word) => asksOther.test(word))) return undefined;
  const next = argv[at + 1];
  // `--json a,b` asks for fields.
  if (next !== undefined && !next.startsWith("-") && at > 0) return undefined;
  const words = argv.filter((word, index) => !word.startsWith("-") && index < 4);
  const [group = ""] = words;
  const known = schemas?.get(group) ?? {};
  const own = [3, 2, 1, 0]
    .map((count) => words.slice(1, count + 1).join(" "))
    .find((name) => Object.hasOwn(known, name));
  return own === undefined ? undefined : `${group} ${own}`.trim();
}

/** Without a folder, it shows a page. */
const isPage = (argv: readonly string[]): boolean =>
  argv[0] === "man" && !argv.some((word) => word.startsWith("--dir"));

function getValidator(command: string): ValidateFunction {
  const [group = "", ...words] = command.split(" ");
  const known = validators.get(command);
  if (known) return known;
  const made = ajv.compile(closeSchema(schemas?.get(group)?.[words.join(" ")]) as object);
  validators.set(command, made);
  return made;
}

/** Throws where the JSON on stdout is not what the schema of the command says. */
export function checkCommandAnswer(argv: readonly string[], out: string, manifest: Manifest): void {
  if (out === "" || !argv.includes("--json") || isPage(argv)) return;
  schemas ??= buildAnswerSchemas(api, manifest);
  const command = findAsked(argv);
  if (command === undefined) return;
  const validate = getValidator(command);
  const answers = isAnsweredByLine(command) ? out.trimEnd().split("\n") : [out];
  for (const text of answers) {
    const answer: unknown = JSON.parse(text);
    if (validate(answer)) continue;
    const faults = ajv.errorsText(validate.errors, { separator: "\n" });
    const extra = validate.errors?.flatMap(({ params }) => params.additionalProperty ?? params.missingProperty ?? []);
    throw new Error(
      `floe ${command} --json: the answer is not what its schema says.\n${faults}\n${extra?.join(", ")}\n${text.slice(0, 2000)}`,
    );
  }
}
