import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware, getSessionFromCtx, isAPIError } from "better-auth/api";
import { and, eq, gt, inArray, isNotNull, notInArray, or, sql } from "drizzle-orm";
import { asRoleHeader } from "../../../../shared/as-role.ts";
import { readRoles, statements } from "../../../../shared/permissions.ts";
import type { Deps } from "../../../platform/context.ts";
import { type AccountPath, findCall, matchPath, matchRule } from "../calls.ts";
import { invalidBody } from "../http/error-mapping.ts";
import { notAsRole } from "../http/tried-roles.ts";
import { findDenial, listMissing } from "../identity/permissions-guard.ts";
import { findRoles } from "../identity/roles.ts";
import { leaveActiveOrganization } from "../people/deletion.ts";
import { invitation, member, organizationRole, session, team } from "../tables.ts";
import { findMembership, limitToRole, readActive } from "./access.ts";
import { checkInvitation } from "./plugin.ts";

type Context = Parameters<typeof getSessionFromCtx>[0];
type Fields = Record<string, unknown>;

const textLengthMax = 255;
const roleName = /^[a-z][a-z0-9_-]{0,62}$/;

const getFields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const readText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
/** What the endpoint answered, in a hook after it. */
const listReturnedBy = ({ context }: Context): unknown => ("returned" in context ? context.returned : undefined);
const rejectInvalid = (detail: string) => new APIError("BAD_REQUEST", { ...invalidBody, detail });

/** Who calls, about which organization, with what; undefined when the endpoint itself has to refuse. */
async function findAskedBy(ctx: Context) {
  const signedIn = await getSessionFromCtx(ctx);
  if (!signedIn) return undefined;
  const body = getFields(ctx.body);
  const named = readText(body.organizationId) ?? readText(getFields(body.data).organizationId);
  const organizationId =
    named ?? readText(getFields(ctx.query).organizationId) ?? readActive(signedIn.session).organization;
  return { user: signedIn.user, body, organizationId };
}

/** Several roles may come as a list or by commas, with spaces and twice; they are kept in one spelling. */
function normalizeSpelling(role: unknown): string | undefined {
  const given = Array.isArray(role) && role.every((one) => typeof one === "string") ? role.join(",") : readText(role);
  if (given === undefined) return undefined;
  const names = [...new Set(readRoles(given))];
  if (names.length === 0) throw rejectInvalid("role: name at least one");
  return names.join(",");
}

/** What better-auth's organization plugin leaves open: names, and who may give which role. */
export const createOrganizationGuards = ({ db, clock, config }: Deps) => {
  const on = (paths: AccountPath[], work: (ctx: Context, path: string) => Promise<unknown>) => ({
    matcher: matchPath(...paths),
    handler: createAuthMiddleware(async (ctx) => void (await work(ctx, ctx.path))),
  });

  /** Refuse roles that the organization does not have, and those that permit what the giver may not do. */
  async function checkGrant(organizationId: string, givers: Awaited<ReturnType<typeof findMembership>>, role: string) {
    const { permissions, unknown } = await findRoles(db, organizationId, role);
    if (unknown.length > 0)
      throw new APIError("BAD_REQUEST", { code: "ROLE_NOT_FOUND", message: `Role not found: ${unknown.join(", ")}` });
    return listMissing(givers?.permissions ?? {}, permissions);
  }
  const selectHolders = (table: typeof member | typeof invitation, organizationId: string, role: string) =>
    and(eq(table.organizationId, organizationId), sql`${role} = any(string_to_array(${table.role}, ','))`);
  /** Whether a role is somebody's, or was offered to somebody. */
  async function isInUse(organizationId: string, role: string): Promise<boolean> {
    const [held] = await db
      .select({ id: member.id })
      .from(member)
      .where(selectHolders(member, organizationId, role))
      .limit(1);
    if (held) return true;
    const open = and(eq(invitation.status, "pending"), gt(invitation.expiresAt, clock.now()));
    const [offered] = await db
      .select({ id: invitation.id })
      .from(invitation)
      .where(and(selectHolders(invitation, organizationId, role), open))
      .limit(1);
    return offered !== undefined;
  }
  async function getOrganization(invitationId: string | undefined): Promise<string | undefined> {
    const [found] = await db
      .select({ id: invitation.organizationId })
      .from(invitation)
      .where(eq(invitation.id, invitationId ?? ""));
    return found?.id;
  }

  return {
    id: "floe-organizations",
    hooks: {
      before: [
        {
          matcher: matchRule("needs"),
          handler: createAuthMiddleware(async (ctx) => {
            const asked = await findAskedBy(ctx);
            if (!asked) return;
            const { body, user, organizationId } = asked;
            const isCancelling = ctx.path === "/organization/cancel-invitation";
            const about = isCancelling ? await getOrganization(readText(body.invitationId)) : organizationId;
            const membership = about === undefined ? undefined : await findMembership(db, about, user.id);
            const call = findCall(ctx.path);
            const [resource, action] = call.needs ?? ["", ""];
            const role = ctx.headers?.get(asRoleHeader) ?? undefined;
            const permissions = membership && (await limitToRole(db, about ?? "", membership.permissions, role));
            const error = permissions && findDenial(permissions, { [resource]: [action] });
            if (error !== undefined) throw new APIError("FORBIDDEN", { message: error });
            // Who may change what of other members depends on more than permissions, which better-auth looks up itself.
            if (role !== undefined && !call.tried)
              throw new APIError("BAD_REQUEST", { ...notAsRole, detail: `The role may do this. ${notAsRole.detail}` });
          }),
        },
        on(["/organization/create-team", "/organization/update-team"], async (ctx, path) => {
          const asked = await findAskedBy(ctx);
          const name = readText(
            path === "/organization/create-team" ? asked?.body.name : getFields(asked?.body.data).name,
          );
          if (name !== undefined && (name.trim() === "" || name.length > textLengthMax))
            throw rejectInvalid(`name: between 1 and ${textLengthMax} characters`);
        }),
        on(["/organization/create-role", "/organization/update-role"], async (ctx, path) => {
          const asked = await findAskedBy(ctx);
          if (!asked) return;
          const data = path === "/organization/create-role" ? asked.body : getFields(asked.body.data);
          const name = readText(path === "/organization/create-role" ? data.role : data.roleName);
          // The second half: what every JavaScript object has a property of that name is no name for a role.
          if (name !== undefined && (!roleName.test(name.toLowerCase()) || name.toLowerCase() in {}))
            throw rejectInvalid("role: a letter first, then letters, digits, - or _, at most 63");
          const unknown = Object.entries(getFields(data.permission)).flatMap(([resource, actions]) =>
            Object.hasOwn(statements, resource) && Array.isArray(actions)
              ? listMissing(statements, { [resource]: actions.map(String) })
              : [],
          );
          if (unknown.length > 0)
            throw new APIError("BAD_REQUEST", {
              code: "INVALID_ACTION",
              message: `The provided permission includes an invalid action: ${unknown.join(", ")}`,
            });
        }),
        // A role that is taken away or renamed under its holders leaves them with a name that anybody may fill anew.
        on(["/organization/delete-role", "/organization/update-role"], async (ctx, path) => {
          const asked = await findAskedBy(ctx);
          if (!asked?.organizationId) return;
          const { body, user, organizationId } = asked;
          const renamed = readText(getFields(body.data).roleName)?.toLowerCase();
          if (path === "/organization/update-role" && renamed === undefined) return;
          if (!(await findMembership(db, organizationId, user.id))) return;
          const named = or(
            eq(organizationRole.role, readText(body.roleName) ?? ""),
            eq(organizationRole.id, readText(body.roleId) ?? ""),
          );
          const [row] = await db
            .select({ role: organizationRole.role })
            .from(organizationRole)
            .where(and(eq(organizationRole.organizationId, organizationId), named));
          if (!row || row.role === renamed || !(await isInUse(organizationId, row.role))) return;
          throw new APIError("BAD_REQUEST", {
            code: "ROLE_IS_ASSIGNED_TO_MEMBERS",
            message: `Members or open invitations have the role ${row.role}. Give them another one first.`,
          });
        }),
        on(["/organization/invite-member"], async (ctx) => {
          const asked = await findAskedBy(ctx);
          const role = normalizeSpelling(asked?.body.role);
          if (!asked?.organizationId || role === undefined) return;
          const { body, user, organizationId } = asked;
          body.role = role;
          const inviter = await findMembership(db, organizationId, user.id);
          if (!inviter) return;
          const missingPermissions = await checkGrant(organizationId, inviter, role);
          if (missingPermissions.length === 0) return;
          throw new APIError("FORBIDDEN", {
            code: "YOU_ARE_NOT_ALLOWED_TO_INVITE_USER_WITH_THIS_ROLE",
            message: "You are not allowed to invite a user with this role",
            missingPermissions,
          });
        }),
        on(["/organization/update-member-role"], async (ctx) => {
          const asked = await findAskedBy(ctx);
          const role = normalizeSpelling(asked?.body.role);
          if (!asked?.organizationId || role === undefined) return;
          const { body, user, organizationId } = asked;
          body.role = role;
          const giver = await findMembership(db, organizationId, user.id);
          if (!giver) return;
          const [target] = await db
            .select({ role: member.role })
            .from(member)
            .where(and(eq(member.id, readText(body.memberId) ?? ""), eq(member.organizationId, organizationId)));
          if (!target) return;
          // What they have already they keep: only what is new is given.
          const had = readRoles(target.role);
          const added = readRoles(role).filter((name) => !had.includes(name));
          const missingPermissions = await checkGrant(organizationId, giver, added.join(","));
          if (missingPermissions.length === 0) return;
          throw new APIError("FORBIDDEN", {
            code: "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER",
            message: "You are not allowed to update this member",
            missingPermissions,
          });
        }),
        // better-auth answers as if they were leaving.
        on(["/organization/remove-member"], async (ctx) => {
          const asked = await findAskedBy(ctx);
          if (!asked?.organizationId) return;
          const { body, user, organizationId } = asked;
          const remover = await findMembership(db, organizationId, user.id);
          if (!remover) return;
          const [target] = await db
            .select({ role: member.role })
            .from(member)
            .where(and(eq(member.id, readText(body.memberIdOrEmail) ?? ""), eq(member.organizationId, organizationId)));
          const above = readRoles(target?.role ?? "").includes("owner") && !readRoles(remover.role).includes("owner");
          if (!above) return;
          throw new APIError("FORBIDDEN", {
            code: "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER",
            message: "You are not allowed to delete this member",
          });
        }),
        // To a stranger a team of another organization does not exist.
        on(
          [
            "/organization/invite-member",
            "/organization/update-team",
            "/organization/remove-team",
            "/organization/set-active-team",
            "/organization/add-team-member",
            "/organization/remove-team-member",
          ],
          async (ctx) => {
            const asked = await findAskedBy(ctx);
            const organizationId = asked?.organizationId;
            const named = [asked?.body.teamId].flat().filter((id) => typeof id === "string");
            if (!asked || !organizationId || named.length === 0) return;
            if (!(await findMembership(db, organizationId, asked.user.id))) return;
            const found = await db
              .select({ id: team.id })
              .from(team)
              .where(and(eq(team.organizationId, organizationId), inArray(team.id, named)));
            if (found.length < new Set(named).size)
              throw new APIError("NOT_FOUND", { code: "TEAM_NOT_FOUND", message: "Team not found" });
          },
        ),
        on(
          ["/organization/accept-invitation", "/organization/reject-invitation", "/organization/get-invitation"],
          async (ctx) => {
            const signedIn = await getSessionFromCtx(ctx);
            const id = readText(getFields(ctx.body).invitationId) ?? readText(getFields(ctx.query).id);
            if (!signedIn || id === undefined) return;
            if (!signedIn.user.emailVerified && config.FLOE_EMAIL_VERIFICATION !== "off") return;
            const [row] = await db.select().from(invitation).where(eq(invitation.id, id));
            // Its state is the invited person's to know.
            if (row && row.email.toLowerCase() === signedIn.user.email.toLowerCase()) checkInvitation(row, clock.now());
          },
        ),
      ],
      after: [
        on(["/organization/leave"], async (ctx) => {
          const { organizationId, userId } = getFields(listReturnedBy(ctx));
          if (typeof organizationId === "string" && typeof userId === "string")
            await leaveActiveOrganization(db, organizationId, userId);
        }),
        // A team of the organization before is not active in the next one.
        on(["/organization/set-active"], async (ctx) => {
          const signedIn = await getSessionFromCtx(ctx);
          if (!signedIn || isAPIError(listReturnedBy(ctx))) return;
          const organizationId = readText(getFields(listReturnedBy(ctx)).id) ?? "";
          const teams = db.select({ id: team.id }).from(team).where(eq(team.organizationId, organizationId));
          await db
            .update(session)
            .set({ activeTeamId: null })
            .where(
              and(
                eq(session.id, signedIn.session.id),
                isNotNull(session.activeTeamId),
                notInArray(session.activeTeamId, teams),
              ),
            );
        }),
      ],
    },
  } satisfies BetterAuthPlugin;
};
