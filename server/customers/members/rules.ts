import type { CustomerPortalMember, Member } from "../../../shared/api/members.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { isSameEmail } from "../customers/rules.ts";
import type { members } from "./tables.ts";

export type MemberRow = typeof members.$inferSelect;
export type MemberPatch = Partial<Pick<MemberRow, "email" | "name" | "role">>;

/** A member as sellers see them. */
export const serializeMember = ({ organization_id: _, deleted_at: __, ...shown }: MemberRow): Member => shown;

/** A member as the team's own people see them. */
export const serializePortalMember = ({
  id,
  created_at,
  modified_at,
  email,
  name,
  role,
}: MemberRow): CustomerPortalMember => ({
  ...{ id, created_at, modified_at },
  ...{ email, name, role },
});

/** What of somebody is another member's of the same team already. */
export function checkUnique(
  wanted: { id?: string; email?: string | undefined; external_id?: string | null | undefined },
  others: readonly MemberRow[],
): Fault[] {
  const { email, external_id } = wanted;
  const faults: Fault[] = [];
  const rest = others.filter(({ id }) => id !== wanted.id);
  if (email !== undefined && rest.some((one) => isSameEmail(one.email, email)))
    faults.push(fault(["email"], "A member with this email address already exists.", "value_error", email));
  if (external_id && rest.some((one) => one.external_id === external_id))
    faults.push(fault(["external_id"], "A member with this external ID already exists.", "value_error", external_id));
  return faults;
}

const oneOwner = "A team has one owner: have another member take it over.";

/**
 * What a change makes of a team: of the member, and of the owner before where they are the owner from now on. There is always one
 * owner, so that nobody steps back from it.
 */
export function planChange(
  row: MemberRow,
  patch: MemberPatch,
  others: readonly MemberRow[],
): { patch: MemberPatch; demoted: MemberRow | null; faults: Fault[] } {
  const faults = checkUnique({ ...patch, id: row.id }, others);
  if (row.role === "owner" && patch.role !== undefined && patch.role !== "owner")
    faults.push(fault(["role"], oneOwner, "value_error", patch.role));
  const isTakenOver = patch.role === "owner" && row.role !== "owner";
  const demoted = isTakenOver ? (others.find(({ role }) => role === "owner") ?? null) : null;
  const changed = Object.entries(patch).filter(
    ([key, value]) => value !== undefined && value !== row[key as keyof MemberPatch],
  );
  return { patch: Object.fromEntries(changed), demoted, faults };
}

/** Why somebody cannot be added to a team. */
export function checkAdded(
  wanted: { email: string; external_id?: string | null | undefined; role: MemberRow["role"] },
  others: readonly MemberRow[],
): Fault[] {
  const faults = checkUnique(wanted, others);
  if (wanted.role === "owner" && others.some(({ role }) => role === "owner"))
    faults.push(
      fault(["role"], "The team has an owner. Add them, then have them take it over.", "value_error", "owner"),
    );
  return faults;
}

/** Whether a member may do what costs the team money, and what is about its people. */
export const isManager = (role: MemberRow["role"]): boolean => role !== "member";
