/** `floe completion`: what shells need to complete floe's commands, flags and names. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Argument, type Command } from "commander";
import { completionScripts, isShell, type Shell, shells } from "../completion/scripts.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";

type Env = Record<string, string | undefined>;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root
    .command("completion")
    .description("Complete commands, flags and names in your shell")
    .helpCommand(false);
  for (const shell of shells) {
    const command = group.command(shell).description(`Print the script for ${titles[shell]}`);
    command.addHelpText("after", `\nExamples:\n  ${loading[shell]}`);
    command.action(() => contextOf(command).print(completionScripts[shell]));
  }
  const install = group.command("install").description("Set up completion for your shell");
  install.addArgument(new Argument("[shell]", "the one that you use (SHELL)").choices(shells));
  install.addHelpText("after", "\nExamples:\n  floe completion install\n  floe completion install zsh");
  install.action((named: string | undefined) => setUpCompletion(contextOf(install), named));
}

const titles: Record<Shell, string> = { bash: "bash", zsh: "zsh", fish: "fish", powershell: "PowerShell" };
const loading: Record<Shell, string> = {
  bash: "source <(floe completion bash)",
  zsh: "source <(floe completion zsh)",
  fish: "floe completion fish | source",
  powershell: "floe completion powershell | Out-String | Invoke-Expression",
};

/** The shell that was named, or the one of this user. */
function findShell(env: Env, named: string | undefined): Shell {
  const found = named ?? basename(env.SHELL ?? "").replace(/\.exe$/, "");
  const shell = found === "pwsh" ? "powershell" : found;
  if (isShell(shell)) return shell;
  throw new Fault("usage", found === "" ? "your shell is not known" : `there is no completion for ${found}`, {
    hint: `Name one: \`floe completion install bash\`   (${shells.join(", ")})`,
  });
}

/** Where the script goes, and the file that the shell reads as it starts, where that has to load it. */
function findPlaces(env: Env, shell: Shell): { script: string; startup?: string; line?: string } {
  const home = env.HOME ?? env.USERPROFILE ?? ".";
  const data = join(env.XDG_DATA_HOME || join(home, ".local/share"), "floe");
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  if (shell === "fish") return { script: join(config, "fish/completions/floe.fish") };
  if (shell === "powershell") {
    const script = join(data, "completion.ps1");
    const windows = join(home, "Documents/PowerShell/Microsoft.PowerShell_profile.ps1");
    const startup =
      process.platform === "win32" ? windows : join(config, "powershell/Microsoft.PowerShell_profile.ps1");
    return { script, startup, line: `. '${script.replaceAll("'", "''")}'` };
  }
  const script = join(data, `completion.${shell}`);
  const startup = shell === "bash" ? join(home, ".bashrc") : join(env.ZDOTDIR || home, ".zshrc");
  const quoted = `'${script.replaceAll("'", String.raw`'\''`)}'`;
  return { script, startup, line: `[ -f ${quoted} ] && . ${quoted}` };
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new Fault("error", `cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
};

function setUpCompletion(context: Context, named: string | undefined): void {
  const shell = findShell(context.io.env, named);
  const { script, startup, line } = findPlaces(context.io.env, shell);
  let changed: string[];
  try {
    mkdirSync(dirname(script), { recursive: true });
    writeFileSync(script, completionScripts[shell]);
    changed = [script];
    if (startup && line) {
      const text = readText(startup);
      if (!text.includes(line)) {
        mkdirSync(dirname(startup), { recursive: true });
        const gap = text === "" || text.endsWith("\n") ? "" : "\n";
        appendFileSync(startup, `${gap}# Completion of floe\n${line}\n`);
        changed.push(startup);
      }
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { code, path = script } = error as NodeJS.ErrnoException;
    throw new Fault("error", `${path} cannot be written (${code})`, {
      hint: `Load it yourself: ${loading[shell]}`,
    });
  }
  if (context.json) context.print(`${JSON.stringify({ shell, files: changed }, null, 2)}\n`);
  else for (const path of changed) context.say(`Wrote ${path}\n`);
  context.say(`Completion for ${titles[shell]} is set up. Open a new shell to use it.\n`);
}
