import type { z } from "zod";
import type { CustomerPortalCustomerUpdate, customerPortal } from "../../shared/api/portal.ts";
import type { portalMeters } from "../../shared/api/portal-usage.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound } from "../../shared/errors.ts";
import { findChargeable } from "../billing/payments/methods.ts";
import { allowsPayments } from "../billing/payments/rules.ts";
import { serializeCheckoutProduct } from "../catalog/products/rules.ts";
import { updateCustomer } from "../customers/customers/service.ts";
import { findMember } from "../customers/members/store.ts";
import { findSession } from "../customers/sessions/store.ts";
import { withSellerClock } from "../platform/clock.ts";
import type { Ctx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { quantityService } from "../usage/events/service.ts";
import { customerMeterService, serializeCustomerMeter } from "../usage/meters/service.ts";
import { listUses } from "../usage/meters/store.ts";
import { checkOwn, createEndedError, findAsker, findOwnAccounts, getAsker } from "./access.ts";
import { serializePortalCustomer, serializePortalOrganization } from "./rules.ts";
import {
  authenticate,
  checkEmailUpdate,
  openLink,
  requestCode,
  requestEmailUpdate,
  verifyEmailUpdate,
} from "./sign-in.ts";
import { findPublicSeller, listOnSale } from "./store.ts";

/** Change what customers may change of themselves (CUP-14). */
async function updateMe(ctx: Ctx, body: z.output<typeof CustomerPortalCustomerUpdate>): Promise<void> {
  const { organization_id, customer_id } = getAsker(ctx);
  const { default_payment_method_id, ...billing } = body;
  const buildMethodFault = (msg: string) => invalid(fault(["default_payment_method_id"], msg));
  if (default_payment_method_id === null)
    throw buildMethodFault("A card is chosen by naming another, or taken away by deleting it.");
  if (default_payment_method_id !== undefined) {
    const owner = { organization_id, customer_id };
    if (!(await findChargeable(ctx.db, owner, ctx.processor.account, [default_payment_method_id])))
      throw buildMethodFault("Payment method not found.");
  }
  const sent = { ...billing, ...(default_payment_method_id === undefined ? {} : { default_payment_method_id }) };
  await updateCustomer(ctx, { id: customer_id }, sent);
}

/** The customer who asks, as they see themselves. */
const showMe = async (ctx: Ctx) => serializePortalCustomer(await findAsker(ctx), await findOwnAccounts(ctx));

/** What customers ask of themselves, and how they sign in. */
export const customerPortalService: Service<typeof customerPortal, Ctx> = {
  requestCode: (ctx, { body }) => requestCode(ctx, body),
  authenticate: (ctx, { body }) => authenticate(ctx, body),
  openLink: (ctx, { body }) => openLink(ctx, body.token),
  async introspect(ctx) {
    const { organization_id, session_id } = getAsker(ctx);
    const row = await findSession(ctx.db, { organization_id, id: session_id });
    if (!row) throw createEndedError();
    const { id, created_at, modified_at, expires_at, return_url } = row;
    return { id, created_at, modified_at, expires_at, return_url };
  },
  async getUser(ctx) {
    const { id: customer_id, organization_id, name, email } = await findAsker(ctx);
    const { member } = getAsker(ctx);
    if (member) {
      const row = await findMember(ctx.db, { organization_id, id: customer_id }, member);
      if (!row) throw createEndedError();
      return { type: "member", name: row.name, email: row.email, customer_id, member_id: row.id, role: row.role };
    }
    return { type: "customer", name, email: email ?? "", customer_id, member_id: null, role: null };
  },
  getMe: showMe,
  async updateMe(ctx, { body }) {
    if (Object.keys(body).length > 0) await updateMe(ctx, body);
    return showMe(ctx);
  },
  requestEmailUpdate: (ctx, { body }) => requestEmailUpdate(ctx, body.email),
  checkEmailUpdate: (ctx, { query }) => checkEmailUpdate(ctx, query.token),
  verifyEmailUpdate: (ctx, { body }) => verifyEmailUpdate(ctx, body.token),
  async getOrganization(ctx, { params }) {
    const seller = await findPublicSeller(ctx.db, params.slug);
    if (!seller) throw notFound();
    const products = await listOnSale(ctx.db, seller.id);
    const sellerCtx = withSellerClock(ctx, seller);
    return {
      organization: serializePortalOrganization(seller),
      products: products.map((product) => serializeCheckoutProduct(product, ctx.config.media_url)),
      publishable_key: sellerCtx.processor.publishable_key,
      is_payment_available: allowsPayments(sellerCtx),
    };
  },
};

const findOwnMeter = async (ctx: Ctx, { params }: { params: { id: string } }) =>
  checkOwn(ctx, await customerMeterService.get(ctx, { params }));

/** What customers have used (CUP-13). */
export const portalMeterService: Service<typeof portalMeters, Ctx> = {
  async list(ctx, { query: { query, ...filter } }) {
    const { organization_id, customer_id } = getAsker(ctx);
    const own = { ...filter, customer_id: [customer_id], meter_name: query };
    const { items, total } = await listUses(ctx.db, [organization_id], own);
    return buildPage(items.map(serializeCustomerMeter), total, filter);
  },
  get: findOwnMeter,
  async quantities(ctx, { params, query }) {
    const { meter_id, customer_id } = await findOwnMeter(ctx, { params });
    return quantityService.quantities(ctx, {
      params: { id: meter_id },
      query: { ...query, customer_id: [customer_id] },
    });
  },
};
