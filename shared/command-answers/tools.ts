/** What commands about the command line itself answer with `--json`. */
import { z } from "zod";

const value = {
  type: z.enum(["text", "integer", "number", "boolean", "list", "map", "json", "file", "amount"]),
  choices: z.array(z.string()).optional(),
  refers: z.string().optional(),
};
const set = z.literal(true).optional();
const Flag = z.object({
  ...value,
  name: z.string(),
  short: z.string().optional(),
  value: z.string().optional(),
  optional: set,
  required: set,
  repeatable: set,
  hidden: set,
  description: z.string(),
});
const Argument = z.object({
  ...value,
  name: z.string(),
  required: z.boolean(),
  repeatable: set,
  description: z.string(),
});
const Command = z.object({
  path: z.string(),
  summary: z.string(),
  usage: z.string(),
  arguments: z.array(Argument),
  flags: z.array(Flag),
  examples: z.array(z.string()),
  exit_codes: z.array(z.int()),
  method: z.string().optional(),
  endpoint: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  needs: z.array(z.string()).optional(),
  signed_in: z.literal("person").optional(),
  writes: set,
  confirms: set,
  list: set,
  fields: z.array(z.string()).optional(),
});
const Alias = z.object({ name: z.string(), line: z.string() });
const Commands = z.object({
  schema_version: z.literal(1),
  groups: z.array(z.object({ name: z.string(), summary: z.string(), heading: z.string() })),
  global_flags: z.array(Flag),
  exit_codes: z.array(z.object({ code: z.int(), name: z.string(), meaning: z.string() })),
  commands: z.array(Command),
  aliases: z.array(Alias),
  extensions: z.array(z.object({ name: z.string(), path: z.string() })),
});

/** What is known of an extension wherever one is shown. */
const Extension = z.object({
  name: z.string(),
  kind: z.enum(["folder", "git", "npm", "path"]),
  source: z.string(),
  version: z.string().nullable(),
  commit: z.string().nullable(),
  pin: z.string().nullable(),
  status: z.string(),
});
const Upgraded = z.object({
  name: z.string(),
  from: z.string().nullable(),
  to: z.string().nullable(),
  status: z.enum(["planned", "upgraded", "current", "pinned", "folder", "failed"]),
  message: z.string().nullable(),
});

export const answersOfTools: Record<string, z.ZodType> = {
  commands: Commands,
  open: z.object({ url: z.string() }),
  "alias list": z.array(Alias),
  "extension install": Extension,
  "extension list": z.array(Extension.extend({ path: z.string() })),
  "extension upgrade": z.array(Upgraded),
  "extension create": z.object({ name: z.string(), folder: z.string() }),
  "skills install": z.object({ skill: z.string(), agents_md: z.string().nullable() }),
  "completion install": z.object({ shell: z.string(), files: z.array(z.string()) }),
  man: z.object({ folder: z.string(), pages: z.int() }),
};
