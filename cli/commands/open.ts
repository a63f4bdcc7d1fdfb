/** `floe open`: a page of the server, or the page of one thing of the store, in the browser. */
import { Argument, type Command } from "commander";
import * as routes from "../../shared/routes.ts";
import { quote } from "../../shared/shell.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { pickOne } from "../resource/pick.ts";

const pages: Record<string, string> = {
  account: "/account",
  keys: "/account/keys",
  sessions: "/account/sessions",
  reference: "/api/reference",
  commands: "/docs/commands/",
  demo: "/demo",
  mail: "/mail",
  store: "/",
  metrics: "/metrics",
  products: "/store/products",
  discord: "/v1/integrations/discord/bot/authorize",
};
/** Pages that are about one organization, which their address names. */
const pagesOfOrganization = new Set(["discord"]);

/** One thing of the store: its group, and where its page is, from what the server says of it. */
type Kind = { group: string; findPage(context: Context, id: string, named: string): Promise<string> };

const kinds: Record<string, Kind> = {
  customer: { group: "customers", findPage: async (_, id) => `/store/customers/${encodeURIComponent(id)}` },
  order: { group: "orders", findPage: async (_, id) => `/store/orders/${encodeURIComponent(id)}` },
  subscription: {
    group: "subscriptions",
    findPage: async (context, id) =>
      `/store/customers/${(await request(context, routes.subscriptions.get, { params: { id } })).customer_id}`,
  },
  "checkout-link": {
    group: "checkout-links",
    findPage: async (context, id) => (await request(context, routes.checkoutLinks.get, { params: { id } })).url,
  },
  product: {
    group: "products",
    async findPage(context, id, named) {
      const query = { product_id: id, limit: 1, sorting: "created_at" as const };
      const [link] = (await request(context, routes.checkoutLinks.list, { query })).items;
      if (link) return link.url;
      throw new Fault("not_found", "this product has no checkout link yet", {
        hint: `Make one: \`floe checkout-links create --products ${quote(named)}\``,
      });
    },
  },
};

/** The words of things that have a page of their own, and the group of each. */
export const openedGroups: Record<string, string> = Object.fromEntries(
  Object.entries(kinds).map(([word, { group }]) => [word, group]),
);

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root.command("open").description("Open a page of the server, or of one thing, in the browser");
  const page = new Argument(
    "[page]",
    "of a product, its checkout; demo and mail are there on a developer's own machine; discord lets the bot into a guild",
  );
  command.addArgument(page.choices([...Object.keys(pages), ...Object.keys(kinds)]).default("account"));
  command.argument("[name]", "of a customer, order, product, subscription or checkout link: its id or name");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe open\n  floe open customer ada@example.com\n  floe open product Pro  # its checkout\n  floe open discord      # the token for a benefit of the type discord",
  );
  command.action((page: string, name: string | undefined) => openPage(contextOf(command), page, name));
}

/** The address of the page of one thing. Without a name, the person picks the thing. */
async function findPageOf(context: Context, kind: Kind, named: string | undefined): Promise<string> {
  const { resolveId } = await import("../resource/names.ts");
  const group = context.manifest.group(kind.group);
  if (!group) throw new Error(`There is no group ${kind.group}.`);
  const id = named === undefined ? await pickOne(context, group, "name") : await resolveId(context, kind.group, named);
  return kind.findPage(context, id, named ?? id);
}

async function openPage(context: Context, page: string, name: string | undefined): Promise<void> {
  const kind = kinds[page];
  if (!kind && name !== undefined)
    throw new Fault("usage", `${page} is one page; it takes no name`, { hint: `Leave ${quote(name)} out.` });
  const { server } = context.settings();
  const url = new URL(kind ? await findPageOf(context, kind, name) : `${server}${pages[page]}`, server);
  if (pagesOfOrganization.has(page)) url.searchParams.set("organization_id", await findCurrentOrganization(context));
  await showPage(context, url.href);
}

async function showPage(context: Context, url: string): Promise<void> {
  // Said first: where there is no browser, the address is all there is.
  context.print(context.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
  // What the server answered is opened only where a browser shows it as a page.
  if (context.interactive && /^https?:\/\//.test(url))
    await context.io
      .openBrowser(url)
      .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
}
