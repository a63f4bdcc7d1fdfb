/** The JSON of commands written by hand. Read by the build, servers and tests alone: the command line loads no validator. */
import { z } from "zod";
import type { Schema } from "../answer-schemas.ts";
import { answersForOperators } from "./operator.ts";
import { answersAboutPeople } from "./people.ts";
import { answersAboutStores, answersByLine } from "./store.ts";
import { answersOfTools } from "./tools.ts";

/** By command: the shape of its answer. */
export const commandAnswers: Record<string, z.ZodType> = {
  ...answersAboutPeople,
  ...answersForOperators,
  ...answersAboutStores,
  ...answersOfTools,
  ...answersByLine,
};

/** Whether each line that a command writes is an answer of its own. */
export const isAnsweredByLine = (command: string): boolean => Object.hasOwn(answersByLine, command);

/** The name under which a server publishes the schema of a command. */
export const getSchemaName = (command: string): string => `floe-${command.replaceAll(" ", "-")}`;

/** The schema of what a command written by hand answers. */
export function describeCommandAnswer(command: string): Schema | undefined {
  const shape = Object.hasOwn(commandAnswers, command) ? commandAnswers[command] : undefined;
  if (!shape) return undefined;
  const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" }) as Schema;
  return isAnsweredByLine(command) ? { ...schema, description: "Each line of the output is one of these." } : schema;
}
