/** `floe orgs`: the organizations of the person who is signed in. */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { promptChoice, promptForm } from "../ask.ts";
import {
  type Context,
  findPersonInUse,
  listOwnOrganizations,
  type Organization,
  pickOrganization,
} from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const fields = ["id", "name", "slug", "current"];
const columns = ["slug:name", "name", "current:flag", "id:id"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("orgs").description("Your organizations: list, choose, create").helpCommand(false);
  const list = group.command("list").description("List your organizations");
  addExamples(list, "floe orgs list");
  addReading(list, contextOf, showAll);
  const use = group
    .command("use")
    .description("Choose the organization of this profile")
    .argument("[slug]", "its slug or id");
  use.addHelpText("after", "\nExamples:\n  floe orgs use acme");
  use.action((slug: string | undefined) => choose(contextOf(use), slug));
  const create = group
    .command("create")
    .description("Create an organization and choose it")
    .argument("[name]", "its name");
  create.option("--name <name>", "the same, as a flag");
  create.option("--slug <slug>", "its name in addresses; made from the name, and unlike any other, if not given");
  create.option("--sandbox", "to try things out: test cards alone, its mail kept, its time to be moved");
  create.addHelpText(
    "after",
    '\nExamples:\n  floe orgs create "Acme Tools"\n  floe orgs create Acme --slug acme-shop\n  floe orgs create Tryout --sandbox',
  );
  create.action((name: string | undefined, options: { name?: string; slug?: string; sandbox?: true }) =>
    make(contextOf(create), options.name ?? name, options.slug, options.sandbox),
  );
}

const pickFields = ({ id, name, slug }: Organization): Organization => ({ id, name, slug });

async function showAll(context: Context): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const all = await listOwnOrganizations(context);
  const current = context.settings().organization?.id;
  showList(
    context,
    all.map((one) => ({ ...pickFields(one), current: one.id === current })),
    columns,
    asked,
  );
}

async function saveOrganization(context: Context, chosen: Organization): Promise<void> {
  const { profile, server } = context.settings();
  const { writeProfile } = await import("../settings-write.ts");
  await writeProfile(context.io.env, profile, { server, organization: pickFields(chosen) });
}

async function choose(context: Context, named: string | undefined): Promise<void> {
  const all = await listOwnOrganizations(context);
  let slug = named ?? context.settings().org;
  if (slug === undefined) {
    if (!context.interactive)
      throw new Fault("usage", "which organization? Its slug is missing", {
        asks: true,
        hint: `Yours: ${all.map((one) => one.slug).join(", ") || "none"}`,
      });
    slug = await promptChoice(
      context,
      "Which organization?",
      all.map((one) => ({ value: one.slug, label: `${one.name} (${one.slug})` })),
    );
  }
  const chosen = pickOrganization(all, slug);
  await saveOrganization(context, chosen);
  context.say(`Organization: ${chosen.name} (${chosen.slug}).\n`);
}

const getSlug = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");

/** Whether the server refused a slug because another organization has it: each kind of organization has a route of its own. */
const isTaken = (error: unknown): boolean =>
  isFault(error) &&
  (error.parts.name === "ORGANIZATION_ALREADY_EXISTS" ||
    (error.parts.places ?? []).some(({ loc, msg }) => loc.includes("slug") && msg.includes("already exists")));

/** A slug made from one that is taken, with an end by chance. */
const makeSlugUnique = (slug: string): string =>
  `${slug.slice(0, 57).replace(/-$/, "")}-${randomBytes(3).toString("hex")}`;

async function make(
  context: Context,
  given: string | undefined,
  slug: string | undefined,
  sandbox: boolean | undefined,
): Promise<void> {
  const { token } = findPersonInUse(context);
  let name = given;
  if (name === undefined) {
    if (!context.interactive)
      throw new Fault("usage", "the name is missing", { asks: true, hint: "For example: `floe orgs create Acme`" });
    const answers = await promptForm(context, "Create an organization", [
      { name: "name", label: "name", hint: "", check: (text) => (text.trim() === "" ? "is required" : undefined) },
    ]);
    name = answers.name ?? "";
  }
  const wanted = slug ?? getSlug(name);
  if (wanted === "")
    throw new Fault("usage", `no slug can be made from "${name}"`, { hint: "Give one: --slug my-store" });
  const send = async (body: { name: string; slug: string }): Promise<Organization> =>
    (await context.call({
      method: "POST",
      path: sandbox ? splitRoute(routes.organizations.create).path : "/api/auth/organization/create",
      body: sandbox ? { ...body, sandbox } : body,
      organization: false,
      token,
    })) as Organization;
  const made = await send({ name, slug: wanted }).catch(async (error: unknown) => {
    // A slug that was asked for is not replaced, and a line that is typed twice makes nothing twice.
    if (slug !== undefined || !isTaken(error)) throw error;
    if ((await listOwnOrganizations(context)).some((one) => one.slug === wanted)) throw error;
    return send({ name, slug: makeSlugUnique(wanted) });
  });
  await saveOrganization(context, made);
  context.say(`Created ${made.name} (${made.slug}); it is the organization of this profile now.\n`);
  showOne(context, { ...pickFields(made), current: true });
}
