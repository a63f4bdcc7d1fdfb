import { and, eq } from "drizzle-orm";
import type {
  OrganizationAccessToken,
  organizationAccessTokens,
} from "../../../../shared/api/organization-access-tokens.ts";
import type { Service } from "../../../../shared/contract.ts";
import { notFound } from "../../../../shared/errors.ts";
import { getServerClock } from "../../../platform/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../../platform/context.ts";
import { buildPage, listRows, matchOrganizations, orderBy } from "../../../platform/db/page.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { sendSecurityMail } from "../people/security-mails.ts";
import { apikey } from "../tables.ts";
import { readScopes } from "./identify.ts";
import { checkEnd, checkFresh, checkScopes, checkSession, lockMaker } from "./makers.ts";
import type { KeyRow } from "./shapes.ts";
import { insertKey, isWiderKey } from "./store.ts";

const sortable = {
  created_at: apikey.createdAt,
  comment: apikey.name,
  last_used_at: apikey.lastRequest,
  organization_id: apikey.organizationId,
};

/** A key as Polar answers it. */
const serializeToken = (row: KeyRow): OrganizationAccessToken => ({
  id: row.id,
  created_at: row.createdAt,
  modified_at: row.updatedAt > row.createdAt ? row.updatedAt : null,
  organization_id: row.organizationId ?? "",
  comment: row.name ?? "",
  scopes: readScopes(row.permissions),
  expires_at: row.expiresAt,
  last_used_at: row.lastRequest,
});

/** A key of the organization, under its lock; a person's own key is none of them. */
async function lockToken(tx: Tx, ctx: Ctx, id: string): Promise<KeyRow> {
  const isMeant = and(eq(apikey.id, id.toLowerCase()), eq(apikey.organizationId, requireOrganization(ctx)));
  const [row] = await tx.select().from(apikey).where(isMeant).for("update");
  if (!row) throw notFound();
  return row;
}

/** An organization's API keys by Polar's routes: the same keys as those of the account side (TOK-04). */
export const organizationAccessTokenService: Service<typeof organizationAccessTokens, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listRows(ctx.db, apikey, {
      where: matchOrganizations(apikey.organizationId, requireOrganizations(ctx)),
      order: orderBy(query.sorting, sortable, apikey.id),
      paging: query,
    });
    return buildPage(items.map(serializeToken), total, query);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const { actor } = ctx;
      // A sandbox's clock may be ahead; keys end by the server's.
      const now = getServerClock(ctx.clock).now();
      checkSession(actor);
      checkFresh(actor, now);
      checkScopes(body.scopes, actor);
      const maker = await lockMaker(tx, actor);
      checkEnd(body.expires_in ?? undefined, maker, now);
      const createdBy = actor.user_id ?? maker?.createdBy ?? null;
      const { row, key } = await insertKey(tx, ctx, now, {
        owner: { organizationId: requireOrganization(ctx), userId: null },
        createdBy,
        name: body.comment,
        scopes: body.scopes,
        expiresIn: body.expires_in ?? null,
      });
      await sendSecurityMail(tx, ctx, {
        action: "api_key.created",
        actor,
        subject: { type: "api_key", id: row.id },
        organization_id: row.organizationId,
        details: { userId: createdBy },
        ip_address: ctx.ip,
        user_agent: null,
      });
      // The id is for the audit log; it is no field of the answer.
      const made = { id: row.id, organization_access_token: serializeToken(row), token: key };
      return made;
    }),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const now = getServerClock(ctx.clock).now();
      checkSession(ctx.actor);
      const row = await lockToken(tx, ctx, params.id);
      const { comment, scopes } = body;
      checkScopes(scopes ?? [], ctx.actor);
      if (isWiderKey(row, { scopes, enabled: undefined })) checkFresh(ctx.actor, now);
      const patch = {
        ...(comment && { name: comment }),
        ...(scopes && { permissions: JSON.stringify({ scopes }) }),
      };
      if (Object.keys(patch).length === 0) return serializeToken(row);
      const changes = { ...patch, updatedAt: now };
      const [changed] = await tx.update(apikey).set(changes).where(eq(apikey.id, row.id)).returning();
      return serializeToken(changed ?? row);
    }),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      checkSession(ctx.actor);
      const row = await lockToken(tx, ctx, params.id);
      await tx.delete(apikey).where(eq(apikey.id, row.id));
    }),
};
