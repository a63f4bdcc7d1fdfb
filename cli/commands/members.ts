/** `floe members`: who belongs to the organization, and as what. */
import type { Command } from "commander";
import { findMemberNamed, findPlace, getMembers, writeWireCase } from "../accounts/account-context.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const columns = ["user.email:name", "user.name", "role", "created_at:date", "id:id"];
const fields = ["id", "user_id", "organization_id", "role", "created_at", "user.*"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("members").description("Who belongs to the organization, and as what").helpCommand(false);
  const list = group.command("list").description("List the members");
  addExamples(list, "floe members list");
  addReading(list, contextOf, listMembers);
  const role = group
    .command("role")
    .description("Give a member another role, or several by commas")
    .argument("<member>", "e-mail address or id")
    .argument("<role>", "owner, admin, support, viewer, member, or one of your own (floe roles list)");
  role.addHelpText(
    "after",
    "\nExamples:\n  floe members role ada@example.com admin\n  floe members role ada@example.com member,support",
  );
  role.action((named: string, given: string) => assignRole(contextOf(role), named, given));
  const remove = group
    .command("remove")
    .description("Remove a member; what they may do ends at once")
    .argument("<member>", "e-mail address or id")
    .option("-y, --yes", "do not ask");
  addExamples(remove, "floe members remove lin@example.com");
  remove.action((named: string, options: { yes?: boolean }) => removeMember(contextOf(remove), named, options.yes));
  const leave = group.command("leave").description("Leave the organization yourself").option("-y, --yes", "do not ask");
  addExamples(leave, "floe members leave");
  leave.action((options: { yes?: boolean }) => leaveOrganization(contextOf(leave), options.yes));
}

async function listMembers(context: Context): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  showList(context, writeWireCase(await getMembers(await findPlace(context))), columns, asked);
}

async function assignRole(context: Context, named: string, given: string): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const place = await findPlace(context);
  const { id, user } = await findMemberNamed(place, named);
  const role = given.split(",").map((one) => one.trim());
  const { organizationId } = place;
  const changed = await place.post("organization/update-member-role", { memberId: id, role, organizationId });
  context.say(`${user.email} is ${role.join(" and ")} now.\n`);
  if (context.json) showOne(context, writeWireCase(changed), asked);
}

async function removeMember(context: Context, named: string, yes: boolean | undefined): Promise<void> {
  const place = await findPlace(context);
  const { id, user } = await findMemberNamed(place, named);
  await confirm(context, `Remove ${user.email} from the organization?`, yes);
  await place.post("organization/remove-member", { memberIdOrEmail: id, organizationId: place.organizationId });
  context.say(`Removed ${user.email}.\n`);
}

async function leaveOrganization(context: Context, yes: boolean | undefined): Promise<void> {
  const place = await findPlace(context);
  await confirm(context, "Leave the organization? Only a member can invite you again.", yes);
  await place.post("organization/leave", { organizationId: place.organizationId });
  context.say("You left the organization.\n");
}
