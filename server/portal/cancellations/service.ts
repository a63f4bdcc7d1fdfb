import type { cancellations, portalCancellations } from "../../../shared/api/cancellations.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { noAgreement } from "../../billing/subscriptions/preview.ts";
import { subscriptionService } from "../../billing/subscriptions/service.ts";
import { findCustomerByEmail } from "../../customers/customers/store.ts";
import { findClockOf, findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { anonymous, type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { hashToken, hashWithEach } from "../../platform/crypto/secrets.ts";
import { buildPage } from "../../platform/db/page.ts";
import { joinTransaction, transact } from "../../platform/db/unit-of-work.ts";
import { record } from "../../platform/events/audit.ts";
import { createId, createToken } from "../../platform/ids.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { countDeclaration } from "../code-limits.ts";
import { writeReceipt, writeSellerNotice } from "./mails.ts";
import { type Candidate, chooseMeant, type NoticeRow, serializeNotice } from "./rules.ts";
import * as store from "./store.ts";

const linkDays = 30;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Cancel what the buyer means to the end of its period. Where the subscription cannot be changed, the seller decides: the proof of
 * the address is kept all the same.
 */
async function cancelMeant(ctx: Ctx, { organization_id }: NoticeRow, meant: Candidate): Promise<boolean> {
  const actor = { ...ctx.actor, organization_id };
  const body = { cancel_at_period_end: true, ...noAgreement };
  try {
    await transact(ctx, (tx) =>
      subscriptionService.update({ ...joinTransaction(ctx, tx), actor }, { params: { id: meant.id }, body }),
    );
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** The log names no address and no reason: both stand in the declaration, which is deleted in time. */
const recordNotice = (
  tx: Tx,
  ctx: Ctx,
  action: "cancellation.declared" | "cancellation.confirmed",
  { id, organization_id }: Pick<NoticeRow, "id" | "organization_id">,
  details: Record<string, unknown>,
): Promise<void> =>
  record(tx, ctx, {
    action,
    actor: anonymous,
    subject: { type: "cancellation", id },
    organization_id,
    details,
    ip_address: ctx.ip,
    user_agent: null,
  });

/** Cancellations by buyers who do not sign in (CUP-30, CUP-31). */
export const portalCancellationService: Service<typeof portalCancellations, Ctx> = {
  async declare(ctx, { body: { organization_id, locale = null, reason = null, wanted_on = null, ...said } }) {
    const seller = await findOrganization(ctx.db, organization_id);
    if (!seller) throw notFound();
    await countDeclaration(ctx, { email: said.email, organization_id });
    const inner = await findClockOf(ctx, organization_id);
    const created_at = inner.clock.now();
    const serverNow = getServerClock(ctx.clock).now();
    const token = createToken("");
    const notice = {
      ...{ id: createId(serverNow), organization_id, created_at, reason, wanted_on },
      ...said,
      token_hash: hashToken(ctx.config.secret, token),
      expires_at: new Date(serverNow.getTime() + linkDays * dayMs),
    };
    const url = `${ctx.config.url}/${encodeURIComponent(seller.slug)}/cancel#${new URLSearchParams({ token })}`;
    await transact(inner, async (tx) => {
      await store.insertNotice(tx, notice);
      await recordNotice(tx, ctx, "cancellation.declared", notice, { kind: notice.kind });
      await queueMail(tx, inner, writeReceipt(notice, { seller, locale, url, days: linkDays }));
    });
    return { received_at: created_at };
  },
  async confirm(ctx, { body: { token } }) {
    const done = await transact(ctx, async (tx) => {
      const hashes = hashWithEach(ctx.config.secrets, token);
      const notice = await store.claimNotice(tx, hashes, getServerClock(ctx.clock).now());
      if (!notice) return undefined;
      const { organization_id } = notice;
      const inner = await findClockOf(joinTransaction(ctx, tx), organization_id);
      const customer = await findCustomerByEmail(tx, organization_id, notice.email);
      const meant = customer && chooseMeant(await store.listCandidates(tx, customer), notice);
      const canceled = meant !== undefined && (await cancelMeant(inner, notice, meant));
      const now = inner.clock.now();
      const patch = {
        confirmed_at: now,
        customer_id: customer?.id ?? null,
        subscription_id: canceled ? meant.id : null,
        settled_at: canceled && notice.kind === "ordinary" ? now : null,
      };
      const confirmed = await store.updateNotice(tx, notice, patch, now);
      await recordNotice(tx, ctx, "cancellation.confirmed", notice, { subscription_id: patch.subscription_id });
      const seller = await findOrganization(tx, organization_id);
      if (confirmed && seller?.email) await queueMail(tx, inner, writeSellerNotice(confirmed, seller, seller.email));
      return { canceled, ends_at: canceled ? meant.ends_at : null };
    });
    if (!done) throw new ApiError("ResourceUnavailable", "This link is wrong, was used already, or has expired.");
    return done;
  },
};

/** The declarations, for the seller. */
export const cancellationService: Service<typeof cancellations, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listNotices(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeNotice), total, query);
  },
  async get(ctx, { params }) {
    const row = await store.findNotice(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!row) throw notFound();
    return serializeNotice(row);
  },
  settle: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const key = { organization_id: requireOrganization(ctx), id: params.id };
      const now = ctx.clock.now();
      const row = await store.findNotice(tx, key);
      const settled = row?.settled_at ? row : await store.updateNotice(tx, key, { settled_at: now }, now);
      if (!settled) throw notFound();
      return serializeNotice(settled);
    }),
};
