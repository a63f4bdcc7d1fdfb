/** JSON Schemas of what the command line answers with `--json`, made from the contract. */
import { z } from "zod";
import type { Operation } from "./contract.ts";

export type Schema = Record<string, unknown> & { properties?: Record<string, Schema> };

/** What travels on the wire of an answer; of a page, the command line shows the rows alone. Files have none. */
export function describeAnswer(op: Operation): Schema | undefined {
  if (!op.response || op.file) return undefined;
  const whole = z.toJSONSchema(op.response, { io: "input", unrepresentable: "any" }) as Schema;
  const items = op.method === "GET" && whole.properties?.pagination ? whole.properties.items : undefined;
  if (!items) return whole;
  const { $schema, $defs } = whole;
  return { $schema, ...items, ...($defs !== undefined && { $defs }) };
}

const Next = z.object({ command: z.string(), when: z.string() });

/** How the command line says on stderr that a command has failed; to an agent also what can be typed next. */
const Failure = z.object({
  status: z.union([z.int(), z.enum(["error", "action_required"])]).optional(),
  error: z.string().describe("The machine's name of it."),
  message: z.string(),
  exit_code: z.int(),
  hint: z.union([z.string(), z.object({ untrusted: z.string() })]).optional(),
  faults: z.array(z.object({ flag: z.string(), message: z.string(), path: z.string().optional() })).optional(),
  docs: z.string().optional(),
  idempotency_key: z.string().optional(),
  next: z.array(Next).optional(),
  meaning: z.string().optional(),
});

/** The schema of a failure. */
export const describeFailure = (): Schema => z.toJSONSchema(Failure) as Schema;
