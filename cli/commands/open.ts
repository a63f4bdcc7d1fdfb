/** `floe open`: a page of the server, in the browser. */
import { Argument, type Command } from "commander";
import type { Context } from "../context.ts";

const pages: Record<string, string> = {
  account: "/account",
  keys: "/account/keys",
  sessions: "/account/sessions",
  reference: "/api/reference",
  demo: "/demo",
  mail: "/mail",
};

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root.command("open").description("Open a page of the server in the browser");
  const page = new Argument("[page]", "demo and mail are there on a developer's own machine");
  command.addArgument(page.choices(Object.keys(pages)).default("account"));
  command.addHelpText("after", "\nExamples:\n  floe open\n  floe open reference");
  command.action((named: string) => openPage(contextOf(command), named));
}

async function openPage(context: Context, named: string): Promise<void> {
  const url = `${context.settings().server}${pages[named]}`;
  // Said first: where there is no browser, the address is all there is.
  context.print(context.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
  if (context.interactive)
    await context.io
      .openBrowser(url)
      .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
}
