/** The catalogues of two profiles: `floe promote` and `floe diff`. */
import type { Command } from "commander";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { type Confirmation, checkFormat, runPlan, showPlan } from "./apply.ts";
import { resolveCatalogName, standardName } from "./file.ts";
import { requestPlan, requestPull, switchProfile } from "./session.ts";

type ContextOf = (command: Command) => Context;
type Options = { file: string; catalog?: string; webhooks?: boolean; verbose?: boolean };

const withCatalog = (command: Command): Command =>
  command
    .option("-f, --file <file>", "the catalogue file, for its name", standardName)
    .option("--catalog <name>", "name of the catalogue")
    .option("--verbose", "name all of what is left alone")
    .option("--webhooks", "webhooks too, which otherwise stay with their own profile");

/** The catalogue of a profile. Where it tells of what happens is its own: another's would tell the wrong server. */
async function getCatalog(context: Context, options: Options): Promise<CatalogInput> {
  const { document } = await requestPull(context, resolveCatalogName(options), false);
  const { webhooks: own, ...rest } = document;
  return (options.webhooks ? { ...rest, ...(own ? { webhooks: own } : {}) } : rest) as CatalogInput;
}

export function addPromote(root: Command, contextOf: ContextOf): void {
  const command = withCatalog(root.command("promote").description("Give one profile the catalogue of another"))
    .argument("<from>", "profile that has it")
    .argument("<to>", "profile that gets it")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe promote staging production");
  command.action(async (from: string, to: string, options: Options & Confirmation) => {
    const context = contextOf(command);
    const [source, target] = [switchProfile(context, from), switchProfile(context, to)];
    await runPlan(
      target,
      await getCatalog(source, options),
      { verbose: options.verbose === true, whole: options.webhooks === true },
      options,
    );
  });
}

export function addDiff(root: Command, contextOf: ContextOf): void {
  const command = withCatalog(root.command("diff").description("Compare the catalogues of two profiles"))
    .requiredOption("--from <profile>", "the one")
    .requiredOption("--to <profile>", "and the other: what it would need to be like the one")
    .option("--format <format>", "text, json or markdown")
    .option("--exit-code", "exit code 10 when they differ");
  addExamples(command, "floe diff --from staging --to production");
  command.action(async (options: Options & { from: string; to: string; format?: string; exitCode?: boolean }) => {
    const context = contextOf(command);
    checkFormat(options.format);
    const [source, target] = [switchProfile(context, options.from), switchProfile(context, options.to)];
    const made = await requestPlan(target, await getCatalog(source, options), false);
    const missing = options.webhooks ? made.missing : made.missing.filter(({ kind }) => kind !== "webhooks");
    showPlan(target, { ...made, missing }, options.format, { verbose: options.verbose === true });
    if (options.exitCode && made.steps.length + made.issues.length > 0)
      throw new Fault("changes", "the catalogues differ", { name: "changes" });
  });
}
