/** The organization here that Polar's access token belongs to, where this server has none yet. */
import { eq } from "drizzle-orm";
import { z } from "zod";
import { api } from "../../../shared/api/index.ts";
import { Slug } from "../../../shared/api/organizations.ts";
import { user } from "../../identity/accounts/tables.ts";
import { planUpdate } from "../../identity/organizations/rules.ts";
import { insertOrganization } from "../../identity/organizations/store.ts";
import type { Deps } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record, systemActor } from "../../platform/events/audit.ts";
import type { Hosted } from "../relay/hosted.ts";
import { PolarConnectionError, sendToPolar } from "./ask.ts";

const Listed = z.object({
  items: z.array(
    z.object({ id: z.uuid(), name: z.string().min(1), slug: z.string(), avatar_url: z.string().nullable() }),
  ),
});

/**
 * Make the organization with Polar's id, name, slug and picture, and with this user as its owner. Of two processes at once, one
 * makes it. Throws where the user does not exist, or where another organization has the slug.
 */
export async function createLinkedOrganization(deps: Deps, hosted: Hosted, ownerEmail: string): Promise<void> {
  const asked = { query: { limit: 100 } };
  const { json } = await sendToPolar(deps, hosted, "organizations.list", api.organizations.list, asked);
  const { items } = Listed.parse(json);
  const named = items.find(({ id }) => id === deps.config.POLAR_ORGANIZATION);
  const found = items.length === 1 ? items[0] : named;
  if (!found) throw new PolarConnectionError("Polar does not say which organization POLAR_ACCESS_TOKEN belongs to.");
  const { id, name, avatar_url } = found;
  const slug = Slug.safeParse(found.slug);
  if (!slug.success)
    throw new PolarConnectionError(
      `The slug ${found.slug} of Polar cannot be one here. Create an organization, and link it with --organization.`,
    );
  const email = ownerEmail.trim().toLowerCase();
  const [owner] = await deps.db.select({ id: user.id }).from(user).where(eq(user.email, email));
  if (!owner) throw new PolarConnectionError(`There is no user ${email} on this server. The owner signs up first.`);
  const now = deps.clock.now();
  const values = { ...planUpdate({}, { avatar_url }, now), id, polar_id: id, name, slug: slug.data, createdAt: now };
  const isMade = await transact(deps, async (tx) => {
    const made = await insertOrganization(tx, values, owner.id);
    if (!made) return false;
    await record(tx, deps, {
      action: "member.added",
      actor: systemActor,
      subject: { type: "member", id: made.owner.id },
      organization_id: id,
      details: { userId: owner.id, role: made.owner.role },
      ip_address: null,
      user_agent: null,
    });
    return true;
  });
  // Another process may have made the same one meanwhile.
  if (!(await hosted.refreshLink()) && !isMade)
    throw new PolarConnectionError(
      `Another organization of this server has the slug ${slug.data}. If it is the same, link it with --organization ${slug.data}.`,
    );
}
