/** Checkouts that a signed-in person opens from a seller's page, through the account client. */
import type { z } from "zod";
import { CheckoutCreate } from "../../../shared/api/checkouts.ts";
import { findDestination, findWebPage } from "../../../shared/destinations.ts";
import { ApiError, type Fault, fault, invalid } from "../../../shared/errors.ts";
import { isLoopbackHost } from "../../../shared/loopback.ts";
import { findDiscount } from "../../catalog/discounts/store.ts";
import { findSeller } from "../../catalog/products/store.ts";
import { findCustomerByEmail } from "../../customers/customers/store.ts";
import { checkEmbed, isOwnPage } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { OpenedCheckout } from "./access.ts";
import { buildUrl } from "./serialize.ts";
import { openCheckout, withTax } from "./service.ts";
import * as store from "./store.ts";

export type ForUser = {
  products?: string | string[] | undefined;
  slug?: string | undefined;
  referenceId?: string | undefined;
  metadata?: Record<string, string | number | boolean> | undefined;
  customFieldData?: Record<string, string | number | boolean> | undefined;
  allowDiscountCodes?: boolean | undefined;
  discountId?: string | undefined;
  embedOrigin?: string | undefined;
  successUrl?: string | undefined;
  returnUrl?: string | undefined;
  allowTrial?: boolean | undefined;
  trialInterval?: string | undefined;
  trialIntervalCount?: number | undefined;
};

/** The sender of a checkout request: null if unknown, otherwise a user with the sellers they may sell for. */
export type Requester = { user_id: string; seller_ids: readonly string[] } | null;

/**
 * Refuse the terms of a seller in a request that has no seller's permission (CHK-37, CHK-66): another trial than the product's,
 * and a discount that the seller gave no code, as its id is shown in every checkout that has it.
 */
export async function checkTerms(
  request: ForUser,
  findCode: (discount_id: string) => Promise<string | null | undefined>,
): Promise<void> {
  const { allowTrial, trialInterval, trialIntervalCount, discountId, allowDiscountCodes = true } = request;
  const faults: Fault[] = [];
  const trial = { allowTrial: allowTrial || undefined, trialInterval, trialIntervalCount };
  for (const [field, value] of Object.entries(trial))
    if (value !== undefined)
      faults.push(
        fault(
          [field],
          "Only the seller sets a trial. A buyer may decline one: allowTrial: false.",
          "value_error",
          value,
        ),
      );
  const code = discountId && allowDiscountCodes ? await findCode(discountId) : undefined;
  if (discountId !== undefined && (code ?? null) === null)
    faults.push(fault(["discountId"], "Discount does not exist.", "value_error", discountId));
  if (faults.length > 0) throw invalid(...faults);
}

/** Where the buyer may be sent by a page that anybody can call: to this server's pages, and the seller's own. */
export async function getPages(ctx: Ctx, organization_id: string, request: ForUser) {
  const seller = await findOrganization(ctx.db, organization_id);
  const faults: Fault[] = [];
  const read = (field: "successUrl" | "returnUrl"): string | null => {
    const text = request[field];
    if (text === undefined) return null;
    const here = findDestination(text, [new URL(ctx.config.url).origin]);
    const page = findWebPage(text);
    const isTheirs =
      page && ((ctx.config.loopback && isLoopbackHost(page.hostname)) || (seller && isOwnPage(seller, page)));
    if (here || isTheirs) return (here ?? page)?.href ?? null;
    const msg = "Only a page of the organization: on its website, or on one of its embed_hosts.";
    faults.push(fault([field], msg, "value_error", text));
    return null;
  };
  const pages = { success_url: read("successUrl"), return_url: read("returnUrl") };
  if (faults.length > 0) throw invalid(...faults);
  return pages;
}

/** Refuse to show the seller's checkout in a frame of a page that is not the seller's. */
export async function checkPage(
  ctx: Ctx,
  organization_id: string,
  embed_origin: string | null | undefined,
): Promise<void> {
  const seller = embed_origin ? await findOrganization(ctx.db, organization_id) : undefined;
  if (seller && embed_origin) checkEmbed(seller, embed_origin);
}

/**
 * Start a checkout for the person who is signed in on a seller's page, linked by `external_id`. Products are sold by the
 * organization that owns them; a slug by the session's active one, or else by the only one that has such a product.
 */
export async function createForUser(ctx: Ctx, request: ForUser, requester: Requester): Promise<{ url: string }> {
  const user_id = requester?.user_id ?? null;
  const named = request.products === undefined ? undefined : [request.products].flat();
  const seller = named
    ? await findSeller(ctx.db, named)
    : await store.findSellerOfSlug(ctx.db, request.slug ?? "", ctx.actor.organization_id);
  const bySlug = seller && request.slug && !named ? await store.findBySlug(ctx.db, seller, request.slug) : undefined;
  const products = named ?? (bySlug ? [bySlug.id] : undefined);
  if (!seller || !products) throw invalid(fault([named ? "products" : "slug"], "Product does not exist."));
  if (!requester?.seller_ids.includes(seller))
    await checkTerms(request, async (id) => (await findDiscount(ctx.db, seller, id))?.code);
  const buyer = user_id === null ? undefined : await store.findUser(ctx.db, user_id);
  // The customer of an address is the user's own only where the user has proved the address.
  const proved = buyer?.emailVerified ? await findCustomerByEmail(ctx.db, seller, buyer.email) : undefined;
  const free = proved && proved.external_id === null ? { customer_id: proved.id } : {};
  const body = readTerms({ products, ...free, ...(await getPages(ctx, seller, request)) }, request, requester, buyer);
  await checkPage(ctx, seller, body.embed_origin);
  const open = async (tx: Tx): Promise<OpenedCheckout> => {
    // The user signed in to another account during this request: a checkout for the old one would have no owner.
    if (buyer && user_id && !(await store.lockUser(tx, user_id)))
      throw new ApiError("Unauthorized", "You are signed in to another account now. Try again.");
    return openCheckout(tx, ctx, seller, body);
  };
  return withTax(
    (keep) => transact(ctx, async (tx) => keep(await open(tx))),
    ({ row }) => ({ url: buildUrl(row, ctx.config) }),
  );
}

type Buyer = NonNullable<Awaited<ReturnType<typeof store.findUser>>>;

/** The checkout that a request asks for, in the words of the API. */
export function readTerms(
  known: object,
  request: ForUser,
  requester: Requester,
  buyer: Buyer | undefined,
): z.output<typeof CheckoutCreate> {
  const body = CheckoutCreate.safeParse({
    ...known,
    metadata: { ...(request.referenceId ? { referenceId: request.referenceId } : {}), ...request.metadata },
    ...(request.customFieldData ? { custom_field_data: request.customFieldData } : {}),
    ...(request.allowDiscountCodes === undefined ? {} : { allow_discount_codes: request.allowDiscountCodes }),
    ...(request.allowTrial === undefined ? {} : { allow_trial: request.allowTrial }),
    trial_interval: request.trialInterval,
    trial_interval_count: request.trialIntervalCount,
    ...(request.discountId ? { discount_id: request.discountId } : {}),
    ...(request.embedOrigin ? { embed_origin: new URL(request.embedOrigin).origin } : {}),
    ...(buyer && requester
      ? {
          external_customer_id: requester.user_id,
          // Somebody who has not said who they are has neither.
          ...(buyer.isAnonymous ? {} : { customer_email: buyer.email, customer_name: buyer.name }),
        }
      : {}),
  });
  if (!body.success) throw invalid(...body.error.issues.map((issue) => fault(issue.path.map(String), issue.message)));
  return body.data;
}
