/** `floe teams`: groups of members within the organization. */
import type { Command } from "commander";
import { findMemberNamed, findPlace, getMembers, readListed, writeWireCase } from "../accounts/account-context.ts";
import { findTeamNamed, getTeams } from "../accounts/teams.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

const columns = ["name:name", "created_at:date", "id:id"];
const fields = ["id", "name", "organization_id", "created_at", "updated_at"];
const memberColumns = ["user.email:name", "user.name", "created_at:date"];
const memberFields = ["id", "team_id", "user_id", "created_at", "user.*"];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("teams").description("Groups of members within the organization").helpCommand(false);
  const list = group.command("list").description("List the teams");
  addExamples(list, "floe teams list");
  addReading(list, contextOf, listTeams);
  const create = group.command("create").description("Create a team").argument("<name>");
  addExamples(create, "floe teams create Support");
  create.action((name: string) => createTeam(contextOf(create), name));
  const rename = group
    .command("rename")
    .description("Rename a team")
    .argument("<team>", "name or id")
    .argument("<name>");
  addExamples(rename, 'floe teams rename Support "First line"');
  rename.action((team: string, name: string) => renameTeam(contextOf(rename), team, name));
  const remove = group
    .command("delete")
    .description("Delete a team; its members stay in the organization")
    .argument("<team>", "name or id")
    .option("-y, --yes", "do not ask");
  addExamples(remove, "floe teams delete Support");
  remove.action((team: string, options: { yes?: boolean }) => deleteTeam(contextOf(remove), team, options.yes));
  const members = group.command("members").description("List the members of a team").argument("<team>", "name or id");
  addExamples(members, "floe teams members Support");
  members.action((team: string) => listTeamMembers(contextOf(members), team));
  const into = group
    .command("add")
    .description("Add a member of the organization to a team")
    .argument("<team>", "name or id")
    .argument("<member>", "e-mail address or id");
  addExamples(into, "floe teams add Support lin@example.com");
  into.action((team: string, member: string) => move(contextOf(into), "add", team, member));
  const out = group
    .command("remove")
    .description("Take a member out of a team")
    .argument("<team>", "name or id")
    .argument("<member>", "e-mail address or id");
  addExamples(out, "floe teams remove Support lin@example.com");
  out.action((team: string, member: string) => move(contextOf(out), "remove", team, member));
}

async function listTeams(context: Context): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  showList(context, writeWireCase(await getTeams(await findPlace(context))), columns, asked);
}

async function createTeam(context: Context, name: string): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const place = await findPlace(context);
  const made = await place.post("organization/create-team", { name, organizationId: place.organizationId });
  context.say(`Created the team ${name}.\n`);
  if (context.json) showOne(context, writeWireCase(made), asked);
}

async function renameTeam(context: Context, named: string, name: string): Promise<void> {
  const place = await findPlace(context);
  const team = await findTeamNamed(place, named);
  const { organizationId } = place;
  await place.post("organization/update-team", { teamId: team.id, data: { name, organizationId } });
  context.say(`${team.name} is called ${name} now.\n`);
}

async function deleteTeam(context: Context, named: string, yes: boolean | undefined): Promise<void> {
  const place = await findPlace(context);
  const team = await findTeamNamed(place, named);
  await confirm(context, `Delete the team ${team.name}?`, yes);
  await place.post("organization/remove-team", { teamId: team.id, organizationId: place.organizationId });
  context.say(`Deleted the team ${team.name}.\n`);
}

async function listTeamMembers(context: Context, named: string): Promise<void> {
  const asked = checkAskedFields(context.globals.json, memberFields);
  const place = await findPlace(context);
  const team = await findTeamNamed(place, named);
  const answer = await place.get("organization/list-team-members", { teamId: team.id });
  const people = new Map((await getMembers(place)).map((one) => [one.userId, one.user]));
  const rows = readListed<{ userId: string }>(answer, "members").map((one) => ({
    ...one,
    user: people.get(one.userId) ?? null,
  }));
  showList(context, writeWireCase(rows), memberColumns, asked);
}

async function move(context: Context, verb: "add" | "remove", named: string, who: string): Promise<void> {
  const place = await findPlace(context);
  const team = await findTeamNamed(place, named);
  const member = await findMemberNamed(place, who);
  const { organizationId } = place;
  await place.post(`organization/${verb}-team-member`, { teamId: team.id, userId: member.userId, organizationId });
  context.say(`${member.user.email} is ${verb === "add" ? "in" : "no longer in"} ${team.name}.\n`);
}
