import { APIError } from "better-auth/api";
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../lib/context.ts";
import { member } from "./tables.ts";

const owns = sql`'owner' = any(string_to_array(${member.role}, ','))`;

/** Refuse to delete a person without whom an organization would have no owner: nobody could reach its sales again. */
export async function refuseSoleOwner(db: Database, user_id: string): Promise<void> {
  const others = sql`(select count(*) from ${member} as other where other."organizationId" = ${member.organizationId}
    and other."userId" <> ${user_id} and 'owner' = any(string_to_array(other.role, ',')))`;
  const [alone] = await db
    .select({ id: member.organizationId })
    .from(member)
    .where(and(eq(member.userId, user_id), owns, sql`${others} = 0`))
    .limit(1);
  if (!alone) return;
  throw new APIError("BAD_REQUEST", {
    code: "ORGANIZATION_NEEDS_OWNER",
    message: "You are the only owner of an organization. Make another member its owner first.",
  });
}
