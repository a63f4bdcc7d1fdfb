/** `floe skills`: a folder of instructions by which a coding agent learns to sell with floe. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { writeWhole } from "../write-whole.ts";

type Skill = { skill: string; agents: string };
type Options = { dir?: string; agentsMd?: boolean; force?: boolean };

const fileName = "SKILL.md";
const agentsFile = "AGENTS.md";
const [begins, ends] = ["<!-- floe: begin -->", "<!-- floe: end -->"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("skills").description("Instructions for coding agents").helpCommand(false);
  const install = group.command("install").description("Write a skill that teaches a coding agent to sell with floe");
  install.option("--dir <folder>", "the folder of skills (.claude/skills where there is .claude, else .agents/skills)");
  install.option("--agents-md", `also name it in ${agentsFile}`);
  install.option("--force", "write over a file that was changed");
  addExamples(install, "floe skills install", "floe skills install --agents-md");
  install.action((options: Options) => writeSkill(contextOf(install), options));
  const show = group.command("show").description("Print the skill");
  addExamples(show, "floe skills show");
  show.action(() => {
    const context = contextOf(show);
    context.page(readSkill(context).skill);
  });
}

function readSkill({ manifest }: Context): Skill {
  const skill = manifest.read("skill") as Skill | undefined;
  if (skill) return skill;
  throw new Fault("error", "the skill is missing", { hint: "Install floe again." });
}

const getSeal = (text: string): string =>
  `<!-- floe ${createHash("sha256").update(text).digest("hex").slice(0, 16)} -->\n`;
/** Whether a file is as some floe has written it: its last line seals what is above. */
function isSealed(text: string): boolean {
  const at = text.lastIndexOf("<!-- floe ");
  return at >= 0 && text.slice(at) === getSeal(text.slice(0, at));
}

const findFolder = ({ dir }: Options): string => dir ?? (existsSync(".claude") ? ".claude/skills" : ".agents/skills");

/** Write a file, unless a person has changed it or it leads elsewhere. */
function writeOwn(path: string, text: string, isOwn: (before: string) => boolean, force: boolean | undefined): void {
  const isThere = lstatSync(path, { throwIfNoEntry: false });
  if (isThere && !isThere.isFile()) throw new Fault("usage", `${path} is no file`);
  if (isThere && !force && !isOwn(readFileSync(path, "utf8")))
    throw new Fault("usage", `${path} was changed`, { hint: "Give --force to write over it." });
  mkdirSync(dirname(path), { recursive: true });
  writeWhole(path, text);
}

/** The text with the part of floe in it: in place of an earlier one, or at its end. */
function insertPart(before: string, part: string): string {
  const whole = `${begins}\n${part.trimEnd()}\n${ends}`;
  const [from, to] = [before.indexOf(begins), before.indexOf(ends)];
  if (from >= 0 && to > from) return before.slice(0, from) + whole + before.slice(to + ends.length);
  return `${before === "" ? "" : `${before.trimEnd()}\n\n`}${whole}\n`;
}

function writeSkill(context: Context, options: Options): void {
  const asked = checkAskedFields(context.globals.json, ["skill", "agents_md"]);
  const { skill, agents } = readSkill(context);
  const path = join(findFolder(options), "floe", fileName);
  writeOwn(path, skill + getSeal(skill), isSealed, options.force);
  const shown = path.replaceAll("\\", "/");
  if (options.agentsMd) {
    const before = existsSync(agentsFile) ? readFileSync(agentsFile, "utf8") : "";
    writeOwn(agentsFile, insertPart(before, agents.replace("SKILL_PATH", shown)), () => true, options.force);
  }
  if (context.json) {
    showOne(context, { skill: shown, agents_md: options.agentsMd ? agentsFile : null }, asked);
    return;
  }
  context.say(`✓ ${shown}${options.agentsMd ? `, named in ${agentsFile}` : ""}. An agent that starts here reads it.\n`);
}
