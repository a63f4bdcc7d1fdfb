/** `floe roles`: what members may do, in roles of the organization's own. */
import { type Command, InvalidArgumentError } from "commander";
import { organizationRoles, type Permissions, statements } from "../../shared/permissions.ts";
import { findPlace, readListed, writeWireCase } from "../accounts/account-context.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

type Role = { id: string; role: string; permission: Permissions; createdAt: string };
type Shown = { role: string; built_in: boolean; permissions: string[] };

const columns = ["role", "built_in:flag", "permissions"];
const fields = ["role", "built_in", "permissions"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("roles").description("What members may do, in roles of your own").helpCommand(false);
  const list = group.command("list").description("List the roles, those that every organization has first");
  addExamples(list, "floe roles list");
  addReading(list, contextOf, listRoles);
  const get = group.command("get").description("Show what one role may do").argument("<role>");
  addExamples(get, "floe roles get clerk");
  addReading(get, contextOf, getRole);
  const permissions = group.command("permissions").description("List everything that a role can allow");
  addExamples(permissions, "floe roles permissions");
  permissions.action(() => listPermissions(contextOf(permissions)));
  const create = group.command("create").description("Create a role").argument("<role>", "its name, in lower case");
  buildAllowing(create);
  create.addHelpText(
    "after",
    "\nExamples:\n  floe roles create clerk --allow orders:read --allow customers:read,write",
  );
  create.action((name: string, { allow }: { allow: Permissions }) => createRole(contextOf(create), name, allow));
  const update = group.command("update").description("Change what a role may do").argument("<role>");
  buildAllowing(update);
  addExamples(update, "floe roles update clerk --allow orders:read --allow refunds:read");
  update.action((name: string, { allow }: { allow: Permissions }) => updateRole(contextOf(update), name, allow));
  const remove = group
    .command("delete")
    .description("Delete a role")
    .argument("<role>")
    .option("-y, --yes", "do not ask");
  addExamples(remove, "floe roles delete clerk");
  remove.action((name: string, options: { yes?: boolean }) => deleteRole(contextOf(remove), name, options.yes));
}

const buildAllowing = (command: Command): Command =>
  command.requiredOption(
    "--allow <resource:actions>",
    "what it may do, such as orders:read or products:read,write; give it again for more",
    readPermission,
  );

/** `products:read,write`, added to what was given before. */
export function readPermission(text: string, before: Permissions = {}): Permissions {
  const [, resource = "", given = ""] = /^([A-Za-z_]+):([A-Za-z_,-]+)$/.exec(text) ?? [];
  const known: Permissions = statements;
  const possible = Object.hasOwn(known, resource) ? (known[resource] ?? []) : [];
  if (possible.length === 0) throw new InvalidArgumentError("is written as orders:read. See: floe roles permissions");
  const actions = given.split(",").filter(Boolean);
  const unknown = actions.find((action) => !possible.includes(action));
  if (unknown !== undefined || actions.length === 0)
    throw new InvalidArgumentError(`allows ${resource}:${possible.join(",")}, and no other action.`);
  return { ...before, [resource]: [...new Set([...(before[resource] ?? []), ...actions])] };
}

const splitLines = (permissions: Permissions): string[] =>
  Object.entries(permissions)
    .filter(([, actions]) => actions.length > 0)
    .map(([resource, actions]) => `${resource}:${actions.join(",")}`);

async function listOwnRoles(place: Awaited<ReturnType<typeof findPlace>>): Promise<Role[]> {
  const { organizationId } = place;
  return readListed<Role>(await place.get("organization/list-roles", { organizationId }), "roles");
}

async function getRoles(context: Context): Promise<Shown[]> {
  const own = await listOwnRoles(await findPlace(context));
  return [
    // A role of the organization's own that is older than the built-in one of its name counts in its place.
    ...Object.entries(organizationRoles)
      .filter(([role]) => !own.some((one) => one.role === role))
      .map(([role, permissions]) => ({ role, built_in: true, permissions: splitLines(permissions) })),
    ...own.map(({ role, permission }) => ({ role, built_in: false, permissions: splitLines(permission) })),
  ];
}

async function listRoles(context: Context): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  showList(context, await getRoles(context), columns, asked);
}

async function getRole(context: Context, name: string): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const found = (await getRoles(context)).find(({ role }) => role === name.toLowerCase());
  if (!found) throw new Fault("not_found", `there is no role "${name}"`, { hint: "See: `floe roles list`" });
  if (context.json) showOne(context, found, asked);
  else for (const line of found.permissions) context.print(`${line}\n`);
}

function listPermissions(context: Context): void {
  if (context.json) showOne(context, statements);
  else for (const line of splitLines(statements)) context.print(`${line}\n`);
}

async function createRole(context: Context, role: string, permission: Permissions): Promise<void> {
  const place = await findPlace(context);
  const made = await place.post("organization/create-role", { role, permission, organizationId: place.organizationId });
  context.say(`Created the role ${role}. Give it: floe members role EMAIL ${role}\n`);
  if (context.json) showOne(context, writeWireCase(made));
}

async function updateRole(context: Context, roleName: string, permission: Permissions): Promise<void> {
  const place = await findPlace(context);
  const { organizationId } = place;
  const changed = await place.post("organization/update-role", { roleName, data: { permission }, organizationId });
  context.say(`Changed the role ${roleName}: ${splitLines(permission).join(" ")}\n`);
  if (context.json) showOne(context, writeWireCase(changed));
}

async function deleteRole(context: Context, roleName: string, yes: boolean | undefined): Promise<void> {
  const place = await findPlace(context);
  await confirm(context, `Delete the role ${roleName}?`, yes);
  const { organizationId } = place;
  // By its id: by its name the server would take it for the built-in role of that name.
  const own = (await listOwnRoles(place)).find(({ role }) => role === roleName.toLowerCase());
  await place.post("organization/delete-role", { ...(own ? { roleId: own.id } : { roleName }), organizationId });
  context.say(`Deleted the role ${roleName}.\n`);
}
