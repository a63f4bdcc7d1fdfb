import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { api } from "../shared/api/index.ts";
import { notFound } from "../shared/errors.ts";
import type { Auth } from "./auth/auth.ts";
import { refuseForeignPages } from "./auth/origins.ts";
import { sendRenewed } from "./auth/sessions-renewal.ts";
import { openLink, previewLink } from "./checkout-links/service.ts";
import { createForUser } from "./checkouts/service.ts";
import { finishConnecting } from "./customer-accounts/service.ts";
import type { DemoStore } from "./demo.ts";
import { followLink } from "./downloads/service.ts";
import { receiptKeys } from "./events/receipts.ts";
import { findPublic } from "./files/store.ts";
import { limitArrival } from "./http/arrival.ts";
import { buyRoute } from "./http/buy.ts";
import { checkoutSession } from "./http/checkout-session.ts";
import { customerAccountRoutes } from "./http/customer-accounts.ts";
import { customerRoutes } from "./http/customer-routes.ts";
import { development as developmentRoutes } from "./http/development.ts";
import { discordBot } from "./http/discord.ts";
import { documentsRoute } from "./http/documents.ts";
import { downloadRoute } from "./http/downloads.ts";
import { answerError } from "./http/errors.ts";
import { mediaRoute, storageRoutes } from "./http/files.ts";
import { health } from "./http/health.ts";
import { limitRequests } from "./http/limits.ts";
import { listenStream } from "./http/listen.ts";
import { mount } from "./http/mount.ts";
import { openapiOf } from "./http/openapi.ts";
import { openapiRoute } from "./http/openapi-route.ts";
import { limitOpening } from "./http/opening.ts";
import { servePages } from "./http/pages.ts";
import { parseRequests } from "./http/parsing.ts";
import { portalStreams } from "./http/portal-stream.ts";
import { parseQuery } from "./http/query.ts";
import { receiptKeysRoute } from "./http/receipts.ts";
import { reference } from "./http/reference.ts";
import { checkoutStream } from "./http/stream.ts";
import { stripeWebhook } from "./http/stripe-webhook.ts";
import { testCheckoutForm } from "./http/test-checkout-form.ts";
import { openDocument } from "./invoices/service.ts";
import { open_bytes_max } from "./lib/body.ts";
import type { Deps } from "./lib/context.ts";
import { newId } from "./lib/ids.ts";
import { openTail } from "./lib/tail.ts";
import { findClockOf } from "./organizations/store.ts";
import { recordProcessorEvent } from "./payments/notices.ts";
import { settlePayment } from "./payments/settlement.ts";
import { settleSetup } from "./payments/setups.ts";
import { findCustomersOf } from "./portal/store.ts";
import { findOwners } from "./products/store.ts";
import type { Provider } from "./providers/provider.ts";
import { findInvitation } from "./seats/service.ts";
import { rawBody, sign, unixSeconds } from "./webhooks/rules.ts";
import { findTold } from "./webhooks/store.ts";

/** What requests under way have to finish when the server stops. */
const close_grace_ms = 3000;

export type AppOptions = {
  deps: Deps;
  auth: Auth;
  provider: Provider;
  /** Folder of the built web app; null leaves the pages out. */
  web: string | null;
  demo: DemoStore | null;
  development: boolean;
};

/** Put the parts together: the only place where they meet. Plugins stand in the order in which they act. */
export async function buildApp({ deps, auth, provider, web, demo, development }: AppOptions): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: open_bytes_max,
    trustProxy: deps.config.TRUST_PROXY ?? false,
    genReqId: () => newId(deps.clock.now()),
    routerOptions: { ignoreTrailingSlash: true, querystringParser: parseQuery, maxParamLength: 500 },
    // An address that is none, as one with half of an escape, leads nowhere; the framework's own answer has another shape.
    frameworkErrors: (_error, request, reply) =>
      request.url.startsWith("/api/auth/")
        ? (reply as FastifyReply).code(404).send({ code: "NOT_FOUND", message: "Not found" })
        : answerError(deps.log)(notFound(), request as FastifyRequest, reply as FastifyReply),
  });
  app.setErrorHandler(answerError(deps.log));
  app.addHook("onSend", async (request, reply) => void reply.header("X-Request-Id", request.id));
  // Before the body is read: what nobody answers has no faults in it.
  app.addHook("onRequest", async (request) => {
    if (request.is404 && request.method !== "GET") throw notFound();
  });
  // A body is read where a part of this says how, and nowhere else.
  app.removeAllContentTypeParsers();
  app.addHook("preParsing", limitArrival());
  health(app, deps);
  const tail = openTail(deps);
  app.addHook("preClose", async () => {
    tail.close();
    // A browser's spare connection is neither idle nor busy, and would hold up the end for a minute.
    setTimeout(() => app.server.closeAllConnections(), close_grace_ms).unref();
  });
  await app.register(async (scope) => auth.routes(scope));
  await app.register(async (scope) => {
    // Bearer calls may come from any page; cookies may not (API-30).
    await scope.register(cors, {
      origin: "*",
      methods: ["GET", "POST", "PATCH", "DELETE"],
      exposedHeaders: ["X-Request-Id", "Polar-Version", "Retry-After"],
    });
    parseRequests(scope);
    const identify = sendRenewed(scope, limitRequests(scope, deps, auth));
    const opening = limitOpening(deps);
    checkoutSession(scope, deps, identify, createForUser, opening);
    // Calls of the account side, with its rule of whose pages may make them.
    void scope.register(async (own) => {
      refuseForeignPages(own, deps.config);
      customerRoutes(own, { deps, identify, provider, findCustomers: (user_id) => findCustomersOf(deps.db, user_id) });
    });
    // Before the operations, of one of which it sends a cookie along.
    customerAccountRoutes(scope, deps, (given) => finishConnecting(deps, given));
    mount(scope, api, provider, { deps, identify, findOwners });
    buyRoute(scope, deps, { open: openLink, preview: previewLink }, opening);
    documentsRoute(scope, deps, openDocument);
    discordBot(scope, deps, identify);
    downloadRoute(scope, (token, isRest) => followLink(deps, token, isRest));
    const streams = { deps, tail, identify };
    checkoutStream(scope, {
      ...streams,
      find: (ctx, client_secret) => provider.checkoutClient.get(ctx, { params: { client_secret } }),
      told: (organization_id, event_ids) => findTold(deps.db, organization_id, event_ids),
    });
    portalStreams(scope, { ...streams, findSeat: findInvitation });
    listenStream(scope, { ...streams, bodyOf: rawBody, sign, unixSeconds });
    openapiRoute(scope, () => openapiOf(api, deps.config.url));
  });
  const controls = deps.processors.test.test;
  if (controls) {
    // Card forms are our own pages' alone, so that no other page may call it.
    await app.register(async (scope) => {
      parseRequests(scope);
      testCheckoutForm(scope, deps, controls, async (given, { kind, outcome }) => {
        const { organization_id } = outcome;
        const ctx = await findClockOf(given, organization_id);
        return kind === "payment"
          ? settlePayment(ctx, { organization_id, id: outcome.payment_id }, outcome)
          : settleSetup(ctx, { organization_id, id: outcome.setup_id }, outcome);
      });
    });
  }
  if (deps.processor.readEvent) await app.register(async (scope) => stripeWebhook(scope, deps, recordProcessorEvent));
  mediaRoute(app, deps, (path) => findPublic(deps.db, path));
  const { local } = deps.storage;
  if (local) await app.register(async (scope) => storageRoutes(scope, deps, local));
  reference(app, deps);
  receiptKeysRoute(app, deps, receiptKeys);
  if (development) {
    await app.register(async (scope) => {
      parseRequests(scope);
      developmentRoutes(scope, deps, provider, demo?.organization_id ?? "");
    });
  }
  if (web) await servePages(app, { root: web, development });
  else app.setNotFoundHandler((request, reply) => answerError(deps.log)(notFound(), request, reply));
  return app;
}
