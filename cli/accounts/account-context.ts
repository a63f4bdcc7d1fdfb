/** What concerns accounts is asked for in the name of a person, for one organization. */
import { type Context, findOrganizationOfPerson, findPersonInUse } from "../context.ts";
import { Fault } from "../fault.ts";

/** Calls to the account side as the person who is signed in. */
export type Account = {
  get(path: string, query?: Record<string, unknown>): Promise<unknown>;
  post(path: string, body?: Record<string, unknown>): Promise<unknown>;
};

/** The person's own account. */
export function getAccount(context: Context): Account {
  const { token } = findPersonInUse(context);
  const buildPath = (path: string): string => `/api/auth/${path}`;
  return {
    get: (path, query = {}) =>
      context.call({ method: "GET", path: buildPath(path), query, organization: false, token }),
    post: (path, body = {}) =>
      context.call({ method: "POST", path: buildPath(path), body, organization: false, token }),
  };
}

/** The account, and the organization that flags, environment or profile name. */
export async function findPlace(context: Context): Promise<Account & { organizationId: string }> {
  const account = getAccount(context);
  return { ...account, organizationId: await findOrganizationOfPerson(context) };
}

/** What an answer lists, bare or under a name. */
export function readListed<T>(answer: unknown, key: string): T[] {
  if (Array.isArray(answer)) return answer as T[];
  const list = (answer as Record<string, unknown> | null | undefined)?.[key];
  return Array.isArray(list) ? (list as T[]) : [];
}

/** What people wrote themselves, whose keys are theirs. */
const ownWords = new Set(["details", "metadata", "permission", "permissions"]);

/** The same in the spelling of the rest of the API: `created_at` where the account side writes `createdAt`. */
export function writeWireCase<T>(value: T): T {
  if (Array.isArray(value)) return value.map(writeWireCase) as T;
  if (typeof value !== "object" || value === null) return value;
  const pairs = Object.entries(value).map(([key, one]): [string, unknown] => [
    key.replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before}_${after.toLowerCase()}`),
    ownWords.has(key) ? one : writeWireCase(one),
  ]);
  return Object.fromEntries(pairs) as T;
}

export type Member = {
  id: string;
  userId: string;
  role: string;
  createdAt: string;
  user: { id: string; name: string; email: string };
};

const membersAtOnce = 100;

/** Every member of the organization. */
export async function getMembers(place: Account & { organizationId: string }): Promise<Member[]> {
  const all: Member[] = [];
  for (let total = 1; all.length < total; ) {
    const query = { organizationId: place.organizationId, limit: membersAtOnce, offset: all.length };
    const answer = await place.get("organization/list-members", query);
    const found = readListed<Member>(answer, "members");
    if (found.length === 0) break;
    all.push(...found);
    total = (answer as { total?: number }).total ?? all.length;
  }
  return all;
}

/** The member that was meant, by e-mail address, by the id of the membership or of the user. */
export async function findMemberNamed(place: Account & { organizationId: string }, named: string): Promise<Member> {
  const all = await getMembers(place);
  const found = all.find(
    (one) => one.id === named || one.userId === named || one.user.email === named.trim().toLowerCase(),
  );
  if (found) return found;
  throw new Fault("not_found", `there is no member "${named}"`, { hint: "See: `floe members list`" });
}
