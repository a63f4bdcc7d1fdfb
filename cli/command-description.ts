/** Every command as data: what completion, man pages, the web reference and programs read. */

/** What a flag or an argument may say. */
export type ValueType = "text" | "integer" | "number" | "boolean" | "list" | "map" | "json" | "file" | "amount";
export type ValueDescription = {
  type: ValueType;
  choices?: string[];
  /** It is the name or id of one of the things of this group of commands. */
  refers?: string;
};
export type FlagDescription = ValueDescription & {
  name: string;
  short?: string;
  /** As help writes the value; absent where the flag takes none. */
  value?: string;
  /** The flag may stand without its value. */
  optional?: true;
  required?: true;
  /** It may be given more than once. */
  repeatable?: true;
  /** A shorter flag says the same. */
  hidden?: true;
  description: string;
};
export type ArgumentDescription = ValueDescription & {
  name: string;
  required: boolean;
  repeatable?: true;
  description: string;
};
export type CommandDescription = {
  /** The words after `floe`. */
  path: string;
  summary: string;
  usage: string;
  arguments: ArgumentDescription[];
  flags: FlagDescription[];
  examples: string[];
  exit_codes: number[];
  /** The request that it makes; absent where a command is more than one request, or none. */
  method?: string;
  endpoint?: string;
  /** Any one of these scopes suffices; with `needs`, all of those too. */
  scopes?: readonly string[];
  needs?: readonly string[];
  /** A person has to be signed in: a key cannot do it. */
  signed_in?: "person";
  /** It changes something on the server. */
  writes?: true;
  /** It asks before it goes ahead: without a terminal it needs --yes. */
  confirms?: true;
  /** Its answer is a list. */
  list?: true;
  /** The fields of its answer, for --json. */
  fields?: string[];
};
export type CommandTree = {
  schema_version: 1;
  groups: { name: string; summary: string; heading: string }[];
  global_flags: FlagDescription[];
  exit_codes: { code: number; name: string; meaning: string }[];
  commands: CommandDescription[];
};
