/** `floe invitations`: ask people into the organization, and answer those who ask you. */
import type { Command } from "commander";
import { findPlace, getAccount, readListed, writeWireCase } from "../accounts/account-context.ts";
import { findTeamNamed } from "../accounts/teams.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";

type Invitation = { id: string; email: string; role: string; status: string };
type CreateOptions = { role: string; team?: string[]; resend?: boolean };

const columns = ["email:name", "role", "status:state", "expires_at:date", "organization_name", "id:key"];
const fields = [
  "id",
  "email",
  "role",
  "status",
  "organization_id",
  "organization_name",
  "team_id",
  "inviter_id",
  "expires_at",
  "created_at",
];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("invitations").description("Ask people into the organization").helpCommand(false);
  const list = group
    .command("list")
    .description("List the invitations of the organization")
    .option("--mine", "those that were sent to you")
    .option("--status <status>", "pending, accepted, rejected or canceled");
  addExamples(list, "floe invitations list", "floe invitations list --mine");
  addReading(list, contextOf, listInvitations);
  const create = group
    .command("create")
    .description("Invite somebody by mail")
    .argument("<email>")
    .option("--role <roles>", "owner, admin, support, viewer, member, or your own; several by commas", "member")
    .option("--team <names>", "also into these teams, by commas", (text: string) => text.split(",").filter(Boolean))
    .option("--resend", "send the mail of a pending invitation again");
  create.addHelpText("after", "\nExamples:\n  floe invitations create eve@example.com --role admin");
  create.action((email: string, options: CreateOptions) => invite(contextOf(create), email, options));
  const cancel = group
    .command("cancel")
    .description("Take an invitation back")
    .argument("<invitation>", "its id, or the address it was sent to")
    .option("-y, --yes", "do not ask");
  addExamples(cancel, "floe invitations cancel eve@example.com");
  cancel.action((named: string, options: { yes?: boolean }) => cancelInvitation(contextOf(cancel), named, options.yes));
  for (const [verb, past] of [
    ["accept", "Accepted"],
    ["reject", "Rejected"],
  ] as const) {
    const answer = group
      .command(verb)
      .description(`${verb === "accept" ? "Accept" : "Reject"} an invitation`)
      .argument("<id>");
    addExamples(answer, `floe invitations ${verb} INVITATION_ID`);
    answer.action((id: string) => respondToInvitation(contextOf(answer), verb, past, id));
  }
}

async function listInvitations(context: Context, options: { mine?: boolean; status?: string }): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const answer = options.mine
    ? await getAccount(context).get("organization/list-user-invitations")
    : await matchOrganization(context);
  const all = readListed<Invitation>(answer, "invitations");
  const shown = options.status ? all.filter(({ status }) => status === options.status) : all;
  showList(context, writeWireCase(shown), columns, asked);
}

async function matchOrganization(context: Context): Promise<unknown> {
  const place = await findPlace(context);
  return place.get("organization/list-invitations", { organizationId: place.organizationId });
}

async function invite(context: Context, email: string, { role, team, resend }: CreateOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const place = await findPlace(context);
  const teamId = team && (await Promise.all(team.map((name) => findTeamNamed(place, name)))).map(({ id }) => id);
  const made = await place.post("organization/invite-member", {
    email,
    role: role.split(",").map((one) => one.trim()),
    organizationId: place.organizationId,
    ...(teamId && { teamId }),
    ...(resend && { resend }),
  });
  context.say(`Invited ${email}.\n`);
  if (context.json) showOne(context, writeWireCase(made), asked);
}

async function cancelInvitation(context: Context, named: string, yes: boolean | undefined): Promise<void> {
  const place = await findPlace(context);
  const query = { organizationId: place.organizationId };
  const all = readListed<Invitation>(await place.get("organization/list-invitations", query), "invitations");
  const email = named.trim().toLowerCase();
  const found = all.find((one) => one.id === named || (one.email === email && one.status === "pending"));
  if (!found)
    throw new Fault("not_found", `there is no invitation "${named}"`, { hint: "See: `floe invitations list`" });
  await confirm(context, `Cancel the invitation of ${found.email}?`, yes);
  await place.post("organization/cancel-invitation", { invitationId: found.id });
  context.say(`Canceled the invitation of ${found.email}.\n`);
}

async function respondToInvitation(context: Context, verb: string, past: string, invitationId: string): Promise<void> {
  await getAccount(context).post(`organization/${verb}-invitation`, { invitationId });
  context.say(`${past} the invitation.${verb === "accept" ? " See: floe orgs list" : ""}\n`);
}
