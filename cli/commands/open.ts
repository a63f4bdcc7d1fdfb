/** `floe open`: a page of the server, in the browser. */
import { Argument, type Command } from "commander";
import { type Context, findCurrentOrganization } from "../context.ts";

const pages: Record<string, string> = {
  account: "/account",
  keys: "/account/keys",
  sessions: "/account/sessions",
  reference: "/api/reference",
  commands: "/docs/commands/",
  demo: "/demo",
  mail: "/mail",
  discord: "/v1/integrations/discord/bot/authorize",
};
/** Pages that are about one organization, which their address names. */
const pagesOfOrganization = new Set(["discord"]);

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root.command("open").description("Open a page of the server in the browser");
  const page = new Argument(
    "[page]",
    "demo and mail are there on a developer's own machine; discord lets the bot into a guild",
  );
  command.addArgument(page.choices(Object.keys(pages)).default("account"));
  command.addHelpText(
    "after",
    "\nExamples:\n  floe open\n  floe open reference\n  floe open discord      # the token for a benefit of the type discord",
  );
  command.action((named: string) => openPage(contextOf(command), named));
}

async function openPage(context: Context, named: string): Promise<void> {
  const url = new URL(`${context.settings().server}${pages[named]}`);
  if (pagesOfOrganization.has(named)) url.searchParams.set("organization_id", await findCurrentOrganization(context));
  await showPage(context, url.href);
}

async function showPage(context: Context, url: string): Promise<void> {
  // Said first: where there is no browser, the address is all there is.
  context.print(context.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
  if (context.interactive)
    await context.io
      .openBrowser(url)
      .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
}
