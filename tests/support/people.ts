/** People and their organizations, for tests of accounts. */

import { eq } from "drizzle-orm";
import { user } from "../../server/identity/accounts/tables.ts";
import { newAddress } from "./accounts.ts";
import type { Floe } from "./floe.ts";
import { newId } from "./ids.ts";

export type Person = { email: string; password: string; user_id: string; session: string };
type Json = Record<string, unknown>;
export type Answered = { status: number; json: Json; text: string };

/** What tests of accounts need of a server that trusts 127.0.0.1 as its proxy. */
type Server = Pick<Floe, "url" | "deps"> & {
  request(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<{ status: number; json: never; text: string }>;
};

/** Calls under /api/auth in somebody's name, each from an address of its own. */
export const callsOf =
  (floe: Server) =>
  (as: { session: string } | null, method: "GET" | "POST", path: string, body?: unknown): Promise<Answered> =>
    floe.request(method, `/api/auth${path}`, {
      ...(as ? { token: as.session } : {}),
      ...(method === "POST" ? { body: body ?? {} } : {}),
      headers: { origin: floe.url, "x-forwarded-for": newAddress() },
    });

/** Somebody with a confirmed address and no organization. */
export async function person(floe: Server, name = "person"): Promise<Person> {
  const unique = newId().slice(-12);
  const account = { email: `${name}-${unique}@example.com`, password: `correct horse ${unique}` };
  const answer = await callsOf(floe)(null, "POST", "/sign-up/email", { ...account, name });
  if (answer.status !== 200) throw new Error(`No sign-up: ${answer.status} ${answer.text}`);
  const { token, user: made } = answer.json as { token: string; user: { id: string } };
  await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, made.id));
  return { ...account, user_id: made.id, session: token };
}

/** A new organization of somebody's. */
export async function organizationOf(floe: Server, owner: Person, name = "shop"): Promise<string> {
  const slug = `${name}-${newId().slice(-12)}`;
  const answer = await callsOf(floe)(owner, "POST", "/organization/create", { name, slug });
  if (answer.status !== 200) throw new Error(`No organization: ${answer.status} ${answer.text}`);
  return String(answer.json.id);
}

/** Invite somebody and let them accept; answers their id as a member. */
export async function join(
  floe: Server,
  { owner, organizationId, guest, role }: { owner: Person; organizationId: string; guest: Person; role: string },
): Promise<string> {
  const call = callsOf(floe);
  const invited = await call(owner, "POST", "/organization/invite-member", {
    organizationId,
    email: guest.email,
    role,
  });
  const invitationId = invited.json.id;
  const accepted = await call(guest, "POST", "/organization/accept-invitation", { invitationId });
  if (accepted.status !== 200) throw new Error(`Not joined: ${invited.text} ${accepted.text}`);
  return (accepted.json as { member: { id: string } }).member.id;
}
