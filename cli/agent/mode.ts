/** Whether a program that works for a person runs the command line: a coding agent, or another language model with a shell. */

type Env = Record<string, string | undefined>;

/** What such programs set for the commands that they run. */
const variables = [
  ...["AI_AGENT", "AGENT", "CLAUDECODE", "CLAUDE_CODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "CURSOR_AGENT"],
  ...["GEMINI_CLI", "OPENCODE", "CLINE_ACTIVE", "AUGMENT_AGENT", "GOOSE_TERMINAL", "COPILOT_CLI"],
];

/** `--agent` over FLOE_AGENT over what the environment says. */
export function isAgentMode(env: Env, given: string | undefined): boolean {
  const chosen = given ?? env.FLOE_AGENT ?? "auto";
  if (chosen === "yes" || chosen === "no") return chosen === "yes";
  return variables.some((name) => Boolean(env[name]));
}

/** The value of `--agent` on a command line that may be wrong elsewhere. */
export function findAgentFlag(argv: string[]): string | undefined {
  const at = argv.findIndex((word) => word === "--agent" || word.startsWith("--agent="));
  const word = argv[at];
  if (word === undefined) return undefined;
  return word === "--agent" ? argv[at + 1] : word.slice("--agent=".length);
}

/** Commands whose answers are floe's own text. */
const ownText = new Set(["commands", "schema", "completion", "help", "notices", "skills", "alias"]);

/** Whether answers of this command line may hold text of other people. A dry run shows what the caller wrote. */
export const hasForeignText = (argv: string[], [first = ""]: string[]): boolean =>
  !ownText.has(first) && !argv.includes("--dry-run");
