import { PolarClientError, PolarRateLimitError } from "@polar-sh/sdk";
import { createPolar } from "@polar-sh/sdk/2026-10";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import type { Config } from "../../platform/config.ts";
import type { Ctx } from "../../platform/context.ts";
import { Relayed } from "../../platform/http/relayed.ts";
import type { Provider } from "../../platform/provider.ts";
import { relayResource } from "./polar-relay.ts";

export { identifyHosted } from "./polar-relay.ts";

const timeoutSeconds = 30;

/** Refuse what a change of a subscription is held to and hosted Polar does not check: it would be left out, and charged all the same. */
function rejectAgreement(body: { quote?: unknown; maximum_amount?: unknown }): void {
  for (const name of ["quote", "maximum_amount"] as const)
    if (body[name] !== undefined)
      throw invalid(fault([name], "Hosted Polar does not check this: leave it out.", "value_error", body[name]));
}

/**
 * Hosted Polar behind our own routes, accounts and roles. The access token belongs to one organization there, so it
 * serves the one organization here that the settings name; to any other nothing exists.
 */
export function createPolarProvider(config: Config): Provider {
  const polar = createPolar({
    accessToken: config.POLAR_ACCESS_TOKEN ?? "",
    timeout: timeoutSeconds,
    ...(config.POLAR_URL ? { baseUrl: config.POLAR_URL } : {}),
  });
  /** The answer as it came, a refusal included; the contract's types hold because both sides speak the same contract. */
  const relay = async (ctx: Ctx, ask: () => Promise<unknown>): Promise<never> => {
    const { kind, organization_id, organization_ids = [organization_id] } = ctx.actor;
    if (kind !== "anonymous" && !organization_ids.includes(config.POLAR_ORGANIZATION ?? "")) throw notFound();
    return wrapAnswer(ask) as Promise<never>;
  };
  const getCustomerToken = ({ actor }: Ctx): string | null => actor.customer?.token ?? null;
  const getSellerToken = ({ actor }: Ctx): string => {
    const ids = actor.organization_ids ?? [actor.organization_id];
    if (!ids.some((id) => id === config.POLAR_ORGANIZATION)) throw notFound();
    return config.POLAR_ACCESS_TOKEN ?? "";
  };
  return {
    organizations: {
      list: (ctx, { query }) => relay(ctx, () => polar.organizations.list({ ...query, sorting: undefined })),
      create: (ctx, { body }) => relay(ctx, () => polar.organizations.create(body as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.organizations.get(params.id)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.organizations.update(params.id, body as never)),
    },
    products: {
      list: (ctx, { query }) => relay(ctx, () => polar.products.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.products.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.products.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.products.update(params.id, body as never)),
      setBenefits: (ctx, { params, body }) => relay(ctx, () => polar.products.updateBenefits(params.id, body as never)),
    },
    benefits: {
      list: (ctx, { query }) => relay(ctx, () => polar.benefits.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.benefits.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.benefits.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.benefits.update(params.id, body as never)),
      delete: (ctx, { params }) => relay(ctx, () => polar.benefits.delete(params.id)),
      grants: (ctx, { params, query }) => relay(ctx, () => polar.benefits.grants(params.id, query as never)),
    },
    benefitGrants: {
      list: (ctx, { query }) => relay(ctx, () => polar.benefitGrants.list(query as never)),
      retry: rejectHosted("Hosted Polar tries again by itself."),
    },
    grantRuns: { list: notRun, get: notRun, stop: notRun, resume: notRun },
    licenseKeys: {
      list: (ctx, { query }) => relay(ctx, () => polar.licenseKeys.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.licenseKeys.get(params.id)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.licenseKeys.update(params.id, body as never)),
      getActivation: (ctx, { params }) =>
        relay(ctx, () => polar.licenseKeys.getActivation(params.id, params.activation_id)),
      rotate: (ctx, { params }) => relay(ctx, () => polar.licenseKeys.rotate(params.id)),
      validate: (ctx, { body }) => relay(ctx, () => polar.licenseKeys.validate(body as never)),
      activate: (ctx, { body }) => relay(ctx, () => polar.licenseKeys.activate(body as never)),
      deactivate: (ctx, { body }) => relay(ctx, () => polar.licenseKeys.deactivate(body as never)),
      lease: rejectHosted("Leases are given by floe's own engine, not by hosted Polar."),
    },
    licenseKeyUses: relayResource(config, "licenseKeyUses", getCustomerToken, ["lease"]),
    files: {
      list: (ctx, { query }) => relay(ctx, () => polar.files.list(query as never)),
      create: (ctx, { body }) => relay(ctx, () => polar.files.create(body as never)),
      uploaded: (ctx, { params, body }) => relay(ctx, () => polar.files.uploaded(params.id, body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.files.update(params.id, body as never)),
      delete: (ctx, { params }) => relay(ctx, () => polar.files.delete(params.id)),
    },
    meters: {
      list: (ctx, { query }) => relay(ctx, () => polar.meters.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.meters.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.meters.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.meters.update(params.id, body as never)),
      quantities: (ctx, { params, query }) => relay(ctx, () => polar.meters.quantities(params.id, query as never)),
    },
    events: {
      list: (ctx, { query }) => relay(ctx, () => polar.events.list(query as never)),
      names: (ctx, { query }) => relay(ctx, () => polar.events.listNames(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.events.get(params.id)),
      ingest: (ctx, { body }) => relay(ctx, () => polar.events.ingest(body as never)),
    },
    customerMeters: {
      list: (ctx, { query }) => relay(ctx, () => polar.customerMeters.list(query as never)),
      verify: rejectHosted("Hosted Polar counts by itself."),
      get: (ctx, { params }) => relay(ctx, () => polar.customerMeters.get(params.id)),
    },
    customFields: {
      list: (ctx, { query }) => relay(ctx, () => polar.customFields.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.customFields.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.customFields.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.customFields.update(params.id, body as never)),
      delete: (ctx, { params }) => relay(ctx, () => polar.customFields.delete(params.id)),
    },
    discounts: {
      list: (ctx, { query }) => relay(ctx, () => polar.discounts.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.discounts.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.discounts.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.discounts.update(params.id, body as never)),
      delete: (ctx, { params }) => relay(ctx, () => polar.discounts.delete(params.id)),
    },
    checkoutLinks: {
      list: (ctx, { query }) => relay(ctx, () => polar.checkoutLinks.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.checkoutLinks.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.checkoutLinks.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.checkoutLinks.update(params.id, body as never)),
      delete: (ctx, { params }) => relay(ctx, () => polar.checkoutLinks.delete(params.id)),
    },
    customers: {
      list: (ctx, { query }) => relay(ctx, () => polar.customers.list(query as never)),
      export: (ctx, { query }) => relay(ctx, () => polar.customers.export(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.customers.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.customers.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.customers.update(params.id, body as never)),
      delete: (ctx, { params, query }) => relay(ctx, () => polar.customers.delete(params.id, query)),
      getExternal: (ctx, { params }) => relay(ctx, () => polar.customers.getExternal(params.external_id)),
      updateExternal: (ctx, { params, body }) =>
        relay(ctx, () => polar.customers.updateExternal(params.external_id, body as never)),
      deleteExternal: (ctx, { params, query }) =>
        relay(ctx, () => polar.customers.deleteExternal(params.external_id, query)),
      getState: (ctx, { params }) => relay(ctx, () => polar.customers.getState(params.id)),
      listPaymentMethods: (ctx, { params, query }) =>
        relay(ctx, () => polar.customers.listPaymentMethods(params.id, query)),
      listPaymentMethodsExternal: (ctx, { params, query }) =>
        relay(ctx, () => polar.customers.listPaymentMethodsExternal(params.external_id, query)),
      exportData: rejectHosted("All that hosted Polar holds is exported there."),
      erase: rejectHosted("Delete the customer with anonymize: hosted Polar does the rest by itself."),
      getErasure: rejectHosted("Hosted Polar does not say how far an erasure is."),
      getStateExternal: (ctx, { params }) => relay(ctx, () => polar.customers.getStateExternal(params.external_id)),
    },
    customerSessions: {
      create: (ctx, { body }) => relay(ctx, () => polar.customerSessions.create(body as never)),
    },
    customerMembers: relayResource(config, "customerMembers", getSellerToken),
    // What customers ask goes there with their own tokens.
    customerPortal: relayResource(config, "customerPortal", getCustomerToken),
    portalCards: relayResource(config, "portalCards", getCustomerToken),
    portalOrders: relayResource(config, "portalOrders", getCustomerToken),
    portalSubscriptions: relayResource(config, "portalSubscriptions", getCustomerToken, ["preview", "forecast"]),
    portalMeters: relayResource(config, "portalMeters", getCustomerToken, ["quantities"]),
    portalKeys: relayResource(config, "portalKeys", getCustomerToken),
    portalDownloads: relayResource(config, "portalDownloads", getCustomerToken),
    portalGrants: relayResource(config, "portalGrants", getCustomerToken),
    portalSeats: relayResource(config, "portalSeats", getCustomerToken),
    portalMembers: relayResource(config, "portalMembers", getCustomerToken),
    portalWallets: relayResource(config, "portalWallets", getCustomerToken),
    portalAccounts: relayResource(config, "portalAccounts", getCustomerToken),
    checkouts: {
      list: (ctx, { query }) => relay(ctx, () => polar.checkouts.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.checkouts.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.checkouts.create(body as never)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.checkouts.update(params.id, body as never)),
    },
    checkoutClient: {
      get: (ctx, { params }) => relay(ctx, () => polar.checkouts.clientGet(params.client_secret)),
      update: (ctx, { params, body }) =>
        relay(ctx, () => polar.checkouts.clientUpdate(params.client_secret, body as never)),
      confirm: (ctx, { params, body }) =>
        relay(ctx, () => polar.checkouts.clientConfirm(params.client_secret, body as never)),
      order: rejectBought,
      invoice: rejectBought,
      receipt: rejectBought,
    },
    cardLinks: { get: noCards, confirm: noCards },
    customerSeats: {
      list: (ctx, { query }) => relay(ctx, () => polar.customerSeats.listSeats(query as never)),
      assign: (ctx, { body }) => relay(ctx, () => polar.customerSeats.assignSeat(body as never)),
      revoke: (ctx, { params }) => relay(ctx, () => polar.customerSeats.revokeSeat(params.seat_id)),
      resend: (ctx, { params }) => relay(ctx, () => polar.customerSeats.resendInvitation(params.seat_id)),
    },
    seatClaims: {
      get: (ctx, { params }) => relay(ctx, () => polar.customerSeats.getClaimInfo(params.invitation_token)),
      claim: (ctx, { body }) => relay(ctx, () => polar.customerSeats.claimSeat(body as never)),
    },
    subscriptions: {
      list: (ctx, { query }) => relay(ctx, () => polar.subscriptions.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.subscriptions.get(params.id)),
      create: (ctx, { body }) => relay(ctx, () => polar.subscriptions.create(body as never)),
      update: async (ctx, { params, body }) => {
        rejectAgreement(body);
        return relay(ctx, () => polar.subscriptions.update(params.id, body as never));
      },
      delete: (ctx, { params }) => relay(ctx, () => polar.subscriptions.revoke(params.id)),
      export: (ctx, { query }) => relay(ctx, () => polar.subscriptions.export(query as never)),
      forecast: rejectHosted("Hosted Polar does not say what a subscription will be charged."),
      preview: rejectHosted("A change of a subscription is previewed by floe's own engine, not by hosted Polar."),
    },
    metrics: {
      get: (ctx, { query }) => relay(ctx, () => polar.metrics.get(query as never)),
      export: (ctx, { query }) => relay(ctx, () => polar.metrics.export(query as never)),
      limits: (ctx) => relay(ctx, () => polar.metrics.limits()),
      about: rejectHosted("Look at the metrics at hosted Polar itself."),
      link: rejectHosted("Look at the metrics at hosted Polar itself."),
    },
    orders: {
      list: (ctx, { query }) => relay(ctx, () => polar.orders.list(query as never)),
      export: (ctx, { query }) => relay(ctx, () => polar.orders.export(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.orders.get(params.id)),
      update: (ctx, { params, body }) => relay(ctx, () => polar.orders.update(params.id, body as never)),
      explain: rejectHosted("Hosted Polar does not say how the amounts of its orders came about."),
      resendMail: rejectHosted("Hosted Polar sends the mails of its orders itself."),
    },
    invoices: {
      generate: (ctx, { params }) => relay(ctx, () => polar.orders.generateInvoice(params.id)),
      get: (ctx, { params }) => relay(ctx, () => polar.orders.invoice(params.id)),
      receipt: (ctx, { params }) => relay(ctx, () => polar.orders.receipt(params.id)),
      createExport: notExported,
      getExport: notExported,
      listExported: notExported,
      generateCreditNote: rejectCreditNotes,
      creditNote: rejectCreditNotes,
    },
    payments: {
      list: (ctx, { query }) => relay(ctx, () => polar.payments.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.payments.get(params.id)),
    },
    refunds: {
      list: (ctx, { query }) => relay(ctx, () => polar.refunds.list(query as never)),
      create: (ctx, { body }) => relay(ctx, () => polar.refunds.create(body as never)),
      preview: rejectHosted("A refund is previewed by floe's own engine, not by hosted Polar."),
    },
    disputes: {
      list: (ctx, { query }) => relay(ctx, () => polar.disputes.list(query as never)),
      get: (ctx, { params }) => relay(ctx, () => polar.disputes.get(params.id)),
      accept: (ctx, { params }) => relay(ctx, () => polar.disputes.accept(params.id)),
    },
    webhooks: {
      listEndpoints: (ctx, { query }) => relay(ctx, () => polar.webhooks.listWebhookEndpoints(query as never)),
      createEndpoint: (ctx, { body }) => relay(ctx, () => polar.webhooks.createWebhookEndpoint(body as never)),
      getEndpoint: (ctx, { params }) => relay(ctx, () => polar.webhooks.getWebhookEndpoint(params.id)),
      updateEndpoint: (ctx, { params, body }) =>
        relay(ctx, () => polar.webhooks.updateWebhookEndpoint(params.id, body as never)),
      deleteEndpoint: (ctx, { params }) => relay(ctx, () => polar.webhooks.deleteWebhookEndpoint(params.id)),
      resetSecret: (ctx, { params }) => relay(ctx, () => polar.webhooks.resetWebhookEndpointSecret(params.id)),
      listDeliveries: (ctx, { query }) => relay(ctx, () => polar.webhooks.listWebhookDeliveries(query as never)),
      redeliver: (ctx, { params }) => relay(ctx, () => polar.webhooks.redeliverWebhookEvent(params.id)),
      probe: notProbed,
    },
    sandbox: {
      getClock: notMoved,
      advance: notMoved,
      listMails: notMoved,
      listSnapshots: notMoved,
      saveSnapshot: notMoved,
      restoreSnapshot: notMoved,
      deleteSnapshot: notMoved,
      diffSnapshots: notMoved,
    },
    diagnostics: { get: notDiagnosed },
    storefront: { get: async () => ({ sellers: [] }) },
    overview: { get: rejectHosted("Look at the overview at hosted Polar itself.") },
    catalog: { pull: notFiled, plan: notFiled, rehearse: notFiled, apply: notFiled, import: notFiled },
    tax: {
      listRegistrations: notTaxed,
      getRegistration: notTaxed,
      createRegistration: notTaxed,
      updateRegistration: notTaxed,
      deleteRegistration: notTaxed,
      rates: notTaxed,
    },
  };
}

const rejectHosted = (msg: string) => (): never => {
  throw new ApiError("NotPermitted", msg);
};
/** Keys are kept beside floe's own tables, and a change in one transaction is floe's own too. */
const notFiled = rejectHosted("Catalogue files work with floe's own engine, not with hosted Polar.");
/** There Polar is the merchant. */
const notTaxed = rejectHosted("Hosted Polar sells in its own name and collects the tax itself.");

const notDiagnosed = rejectHosted("The checks are of floe's own engine, not of hosted Polar.");

const notProbed = rejectHosted("Test events are sent by floe's own engine, not by hosted Polar.");

const notExported = rejectHosted("Invoices are exported by floe's own engine, not by hosted Polar.");

const noCards = rejectHosted("Hosted Polar writes to its customers itself, with links of its own.");

/** A buyer reads of an order there by its checkout alone. */
const rejectBought = (): never => {
  throw notFound();
};

const notRun = rejectHosted("Hosted Polar does not say how far it is with a change of benefits.");

/** Time goes its own way there. */
const notMoved = rejectHosted("Hosted Polar has a sandbox of its own, whose clock is not for sellers to move.");

const rejectCreditNotes = (): never => {
  throw new ApiError("NotPermitted", "Credit notes are made by floe's own engine, not by hosted Polar.");
};

async function wrapAnswer(ask: () => Promise<unknown>): Promise<Relayed | undefined> {
  try {
    const json = await ask();
    return json === undefined ? undefined : new Relayed(0, json);
  } catch (error) {
    if (error instanceof PolarRateLimitError) {
      throw new ApiError("TooManyRequests", "Polar's rate limit is reached.", {
        "Retry-After": String(error.retryAfter ?? 1),
      });
    }
    // A bad access token is this server's fault, not the caller's.
    if (error instanceof PolarClientError && error.statusCode !== 401)
      return new Relayed(error.statusCode, error.error);
    throw new ApiError("ServiceUnavailable", "Polar could not be asked. Try again.");
  }
}
