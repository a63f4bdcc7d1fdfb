import type { CustomerSession, customerSessions } from "../../../shared/api/customer-sessions.ts";
import type { Service } from "../../../shared/contract.ts";
import { fault, invalid } from "../../../shared/errors.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import {
  type Ctx,
  type Database,
  type Deps,
  type Identity,
  requireOrganization,
  type Tx,
} from "../../platform/context.ts";
import { hashToken, hashWithEach } from "../../platform/crypto/secrets.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId, createToken } from "../../platform/ids.ts";
import { type CustomerRow, serializeCustomer } from "../customers/rules.ts";
import { findCustomer } from "../customers/store.ts";
import { findMember } from "../members/store.ts";
import * as store from "./store.ts";

export const sessionTokenPrefix = "polar_cst_";
/** Of a session for one of a team's people. */
const memberPrefix = "polar_mst_";
const lifetimeMs = 60 * 60 * 1000;

type Customer = Pick<CustomerRow, "id" | "organization_id">;
type SessionOptions = { return_url?: string | null; member_id?: string | null };

/** A new session of a customer and its token. It lasts by the server's clock, as every token does. */
function createSession(
  { clock, config }: Pick<Deps, "clock" | "config">,
  { id: customer_id, organization_id }: Customer,
  { return_url = null, member_id = null }: SessionOptions,
) {
  const token = createToken(member_id === null ? sessionTokenPrefix : memberPrefix);
  const now = getServerClock(clock).now();
  const values = {
    id: createId(now),
    organization_id,
    created_at: now,
    token_hash: hashToken(config.secret, token),
    customer_id,
    member_id,
    expires_at: new Date(now.getTime() + lifetimeMs),
    return_url,
  };
  return { values, token };
}

/** Open a session for a customer; the token is known here alone. */
export async function openSession(
  deps: Pick<Deps, "clock" | "config">,
  db: Database | Tx,
  customer: Customer,
  options: SessionOptions = {},
): Promise<{ row: store.SessionRow; token: string }> {
  const { values, token } = createSession(deps, customer, options);
  return { row: await store.insertSession(db, values), token };
}

/** Open a session that nothing else in the transaction reads; its row is written at the end of the transaction. */
export function openSessionAtEnd(deps: Pick<Deps, "clock" | "config">, tx: Tx, customer: Customer): string {
  const { values, token } = createSession(deps, customer, {});
  store.addSessionAtEnd(tx, values);
  return token;
}

/** Whose customer session a token is; undefined for what is no such token. */
export async function identifyCustomer({ db, clock, config }: Deps, token: string): Promise<Identity | undefined> {
  if (!token.startsWith(sessionTokenPrefix) && !token.startsWith(memberPrefix)) return undefined;
  const found = await store.findHolder(db, hashWithEach(config.secrets, token), getServerClock(clock).now());
  if (!found) return { kind: "invalid" };
  const { member_id, role, ...session } = found;
  return { kind: "customer", ...session, member: member_id === null || role === null ? null : { id: member_id, role } };
}

/** Where the portal of a session is (CUP-04). */
const buildPortalUrl = (base: string, slug: string, token: string, email: string | null): string => {
  const query = new URLSearchParams({ customer_session_token: token, ...(email === null ? {} : { email }) });
  return `${base}/${encodeURIComponent(slug)}/portal?${query}`;
};

/** Customer sessions of the API. */
export const customerSessionService: Service<typeof customerSessions, Ctx> = {
  create: (ctx, { body }) =>
    transact(ctx, async (tx): Promise<CustomerSession> => {
      const organization_id = requireOrganization(ctx);
      const external_id = body.external_customer_id ?? body.customer_external_id ?? "";
      const by = body.customer_id ? { id: body.customer_id } : { external_id };
      const customer = await findCustomer(tx, organization_id, by);
      const seller = await findOrganization(tx, organization_id);
      if (!customer || !seller) {
        const field = body.customer_id ? "customer_id" : "external_customer_id";
        throw invalid(fault([field], "Customer does not exist.", "value_error", body.customer_id ?? external_id));
      }
      const { member_id: id, external_member_id } = body;
      const named = id ? { id } : external_member_id ? { external_id: external_member_id } : null;
      const member = named && (await findMember(tx, customer, named));
      if (named && !member) {
        const field = id ? "member_id" : "external_member_id";
        throw invalid(fault([field], "Member does not exist.", "value_error", id ?? external_member_id));
      }
      const how = { return_url: body.return_url ?? null, member_id: member?.id ?? null };
      const { row, token } = await openSession(ctx, tx, customer, how);
      const { created_at, modified_at, expires_at, return_url, customer_id } = row;
      const customer_portal_url = buildPortalUrl(ctx.config.url, seller.slug, token, member?.email ?? customer.email);
      const shown = { id: row.id, created_at, modified_at, expires_at, return_url, customer_id };
      return { ...shown, token, customer_portal_url, customer: serializeCustomer(customer) };
    }),
};
