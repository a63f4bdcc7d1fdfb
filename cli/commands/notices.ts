/** `floe notices`: the packages of others that floe is shipped with, and their licenses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("notices")
    .description("Print the licenses of the packages that floe is shipped with")
    .option("--sbom", "a bill of materials for programs instead: CycloneDX, as JSON")
    .addHelpText("after", "\nExamples:\n  floe notices\n  floe notices --sbom > floe.cdx.json");
  command.action(({ sbom }: { sbom?: true }) => {
    const context = contextOf(command);
    // The bill is JSON already, and neither is about a server.
    if (sbom) context.print(readShipped("sbom.cdx.json"));
    else context.page(readShipped("THIRD_PARTY_NOTICES"));
  });
}

/** Read a file that the build writes beside the command line. */
function readShipped(name: string): string {
  try {
    return readFileSync(join(import.meta.dirname, name), "utf8");
  } catch {
    throw new Fault("error", `${name} is missing: this command line was not built`, {
      hint: "In a clone, build it first: `npm run build`",
    });
  }
}
