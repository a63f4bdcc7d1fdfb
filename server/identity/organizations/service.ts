import type { organizations } from "../../../shared/api/organizations.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, invalid, notFound } from "../../../shared/errors.ts";
import { type Ctx, requireOrganization } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record } from "../../platform/events/audit.ts";
import { emit } from "../../platform/events/events.ts";
import { createId } from "../../platform/ids.ts";
import { checkUpdate, describeTakenSlug, type OrganizationRow, planUpdate, serializeOrganization } from "./rules.ts";
import {
  findOrganization,
  insertOrganization,
  listOrganizations,
  lockOrganization,
  updateOrganization,
} from "./store.ts";

/** An organization, with whether a buyer of it could pay here (ORG-05). */
const serialize = ({ config, processors }: Ctx, row: OrganizationRow) =>
  serializeOrganization(row, processors.own.test === undefined || config.test_cards);

/** The organizations of the API. The account side makes and deletes them too. */
export const organizationService: Service<typeof organizations, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listOrganizations(ctx.db, matchReadable(ctx), query);
    return buildPage(
      items.map((row) => serialize(ctx, row)),
      total,
      query,
    );
  },
  create: (ctx, { body }) => {
    const { user_id } = ctx.actor;
    if (user_id === null)
      throw new ApiError(
        "CannotCreateOrganizationError",
        "An organization's key cannot create organizations. Sign in, or use a personal key.",
      );
    const now = ctx.clock.now();
    const { name, slug, sandbox = false, ...settings } = body;
    return transact(ctx, async (tx) => {
      const values = { ...planUpdate({}, settings, now), id: createId(now), name, slug, sandbox, createdAt: now };
      const made = await insertOrganization(tx, values, user_id);
      if (!made) throw invalid(describeTakenSlug(slug));
      const { row, owner } = made;
      await record(tx, ctx, {
        action: "member.added",
        actor: ctx.actor,
        subject: { type: "member", id: owner.id },
        organization_id: row.id,
        details: { userId: user_id, role: owner.role },
        ip_address: ctx.ip,
        user_agent: null,
      });
      return serialize(ctx, row);
    });
  },
  async get(ctx, { params }) {
    const row = await findOrganization(ctx.db, ownId(ctx, params.id));
    if (!row) throw notFound();
    return serialize(ctx, row);
  },
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await lockOrganization(tx, ownId(ctx, params.id));
      if (!row) throw notFound();
      const faults = checkUpdate(row, body, ctx.config.media_url);
      if (faults.length > 0) throw invalid(...faults);
      const now = ctx.clock.now();
      const patch = planUpdate(row, body, now);
      const changed =
        Object.keys(patch).length === 0 ? row : await updateOrganization(tx, row.id, { ...patch, modified_at: now });
      const out = serialize(ctx, changed);
      await emit(tx, ctx, row.id, "organization.updated", out);
      return out;
    }),
};

/** The organizations that may be read in one request: a key's own, and those of a person where they may read it. */
const matchReadable = (ctx: Ctx): string[] =>
  ctx.actor.user_id === null
    ? [requireOrganization(ctx)]
    : (ctx.actor.memberships ?? []).flatMap(({ organization_id, scopes }) =>
        scopes.has("organizations:read") ? [organization_id] : [],
      );

/** The id, if it is the one of the organization that the request speaks for. */
function ownId(ctx: Ctx, id: string): string {
  const own = requireOrganization(ctx);
  if (id.toLowerCase() !== own.toLowerCase()) throw notFound();
  return own;
}
