/** The people that examples of the command line name, and what only people have: teams, roles, invitations, keys, snapshots. */
import { and, eq } from "drizzle-orm";
import { invitation, member, organizationRole, team, user } from "../../server/identity/accounts/tables.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";

type Run = (line: string) => Promise<{ out: string }>;

/** Make the people: answers what puts them, and what they have, back as they were. */
export async function makeExamplePeople(floe: Floe, seller: Seller, run: Run) {
  const { db } = floe.deps;
  const { organization_id: organizationId } = seller;
  await db.update(user).set({ emailVerified: true }).where(eq(user.id, seller.user_id));
  const inviter = await floe.seller("inviter");
  const people: string[] = [];
  for (const name of ["lin", "ada"]) {
    const { user_id } = await floe.seller(name);
    await db
      .update(user)
      .set({ email: `${name}@example.com` })
      .where(eq(user.id, user_id));
    people.push(user_id);
  }

  async function resetTeams(): Promise<void> {
    for (const table of [team, organizationRole, invitation])
      await db.delete(table).where(eq(table.organizationId, organizationId));
    for (const userId of people) {
      await db.delete(member).where(eq(member.userId, userId));
      await db.insert(member).values({ id: newId(), organizationId, userId, role: "member", createdAt: new Date() });
    }
  }

  /** Before a command of this path. Answers the words of its examples that are made for it. */
  return async (path: string): Promise<Record<string, string>> => {
    const [group = "", verb] = path.split(" ");
    if (["members", "teams", "roles", "invitations"].includes(group)) {
      await resetTeams();
      if (verb !== "create") {
        await run("floe teams create Support");
        if (verb !== "add") await run("floe teams add Support lin@example.com");
        await run("floe roles create clerk --allow orders:read");
        // The server limits how many are sent.
        if (group === "invitations") await run("floe invitations create eve@example.com");
      }
    }
    if (group === "invitations") {
      const id = newId();
      const to = { id, organizationId: inviter.organization_id, email: seller.email, inviterId: inviter.user_id };
      const expiresAt = new Date(Date.now() + 3_600_000);
      const own = and(eq(member.organizationId, inviter.organization_id), eq(member.userId, seller.user_id));
      await db.delete(member).where(own);
      await db.insert(invitation).values({ ...to, role: "member", expiresAt, createdAt: new Date() });
      return { INVITATION_ID: id };
    }
    if (group === "api-keys") {
      const made = JSON.parse((await run(`floe api-keys create ${newId()} --json id`)).out) as { id: string };
      return { API_KEY_ID: made.id };
    }
    if (group === "ci-rules" && verb !== "create" && verb !== "list") {
      const line = "floe ci-rules create --repository acme/shop --branch main --scopes products:read --json id";
      const made = JSON.parse((await run(line)).out) as { id: string };
      return { CI_RULE_ID: made.id };
    }
    return {};
  };
}
