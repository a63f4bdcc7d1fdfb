import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { api } from "../../shared/api/index.ts";
import { notFound } from "../../shared/errors.ts";
import { routeDocuments } from "../billing/invoices/routes.ts";
import { routeStripeEvents, routeTestCards } from "../billing/payments/routes.ts";
import { routeDiscordBot } from "../catalog/benefits/routes.ts";
import { routeMedia, routeStorage } from "../catalog/files/routes.ts";
import { findOwners } from "../catalog/products/store.ts";
import { routeOwnCheckouts } from "../checkout/checkouts/routes.ts";
import { routeCheckoutStream } from "../checkout/checkouts/stream.ts";
import { routeLinks } from "../checkout/links/routes.ts";
import { routeConnecting } from "../customers/linked-accounts/routes.ts";
import { routeDownloads } from "../entitlements/downloads/routes.ts";
import { createCustomerSearch, createHostedCheckouts } from "../hosted/buyers.ts";
import { routeIncomingEvents } from "../hosted/events/routes.ts";
import { routePages } from "../hosted/pages.ts";
import type { Hosted } from "../hosted/relay/hosted.ts";
import { recordRefusedCalls } from "../identity/accounts/audit/refused-calls.ts";
import type { Auth } from "../identity/accounts/auth.ts";
import { reading, rejectForeignPages } from "../identity/accounts/http/origins.ts";
import { createSignInCheck, sendRenewed } from "../identity/accounts/identity/sessions-renewal.ts";
import { routeEventStream } from "../messaging/streams/routes.ts";
import { routeListening } from "../messaging/webhooks/routes.ts";
import { routeTestMail } from "../operations/diagnostics/routes.ts";
import { routeJobs } from "../operations/jobs/routes.ts";
import { createRequestLog, recordForSellers } from "../operations/logs/writer.ts";
import type { Deps, Log } from "../platform/context.ts";
import { openTail } from "../platform/events/tail.ts";
import { openWakeUp } from "../platform/events/wake-up.ts";
import { limitArrival } from "../platform/http/arrival.ts";
import { openBytesMax } from "../platform/http/body.ts";
import { limitOpening } from "../platform/http/checkout-limits.ts";
import { addCompression } from "../platform/http/compression.ts";
import { addDevelopmentRoutes as developmentRoutes } from "../platform/http/development.ts";
import { addDocs } from "../platform/http/docs.ts";
import { completeRequests } from "../platform/http/drain.ts";
import { sendError } from "../platform/http/errors.ts";
import { addHealthRoute } from "../platform/http/health.ts";
import { limitRequests } from "../platform/http/limits.ts";
import { rejectDuringMaintenance } from "../platform/http/maintenance.ts";
import { mountOperations } from "../platform/http/mount.ts";
import { describeContract } from "../platform/http/openapi.ts";
import { addOpenapiRoute } from "../platform/http/openapi-route.ts";
import { servePages } from "../platform/http/pages.ts";
import { parseRequests } from "../platform/http/parsing.ts";
import { parseQuery } from "../platform/http/query.ts";
import { addReference } from "../platform/http/reference.ts";
import { addSchemas } from "../platform/http/schemas.ts";
import { addSecurityHeaders, setSecurityHeaders } from "../platform/http/security-headers.ts";
import { openStreamLimits } from "../platform/http/stream-limits.ts";
import { createId } from "../platform/ids.ts";
import { routeBounces } from "../platform/mail-transport/bounces.ts";
import type { Provider } from "../platform/provider.ts";
import { isHealthCheck, recordRequests } from "../platform/telemetry/requests.ts";
import { readRequestId } from "../platform/telemetry/trace.ts";
import { routeOwnPurchases } from "../portal/routes.ts";
import { routePortalStreams } from "../portal/stream.ts";
import { addReceiptKeyRoute } from "../usage/events/routes.ts";
import type { DemoStore } from "./demo.ts";

export type AppOptions = {
  deps: Deps;
  auth: Auth;
  provider: Provider;
  /** Present where hosted Polar answers in place of floe's own engine. */
  hosted?: Hosted | undefined;
  /** Folder of the built web app; null leaves the pages out. */
  web: string | null;
  /** Folder with `llms.txt` and `docs/`; null leaves the documents out. */
  docs: string | null;
  demo: DemoStore | null;
  development: boolean;
  /** Where each request gets a line; null for nowhere. */
  requestLog?: Log | null;
};

/** Put the parts together: the only place where they meet. Plugins stand in the order in which they act. */
export async function buildApp({
  deps,
  auth,
  provider,
  hosted,
  web,
  docs,
  demo,
  development,
  requestLog = null,
}: AppOptions): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: openBytesMax,
    // A request that came before the end is answered (OPS-01).
    return503OnClosing: false,
    trustProxy: deps.config.TRUST_PROXY ?? false,
    genReqId: ({ headers }) => readRequestId(headers["x-request-id"]) ?? createId(deps.clock.now()),
    routerOptions: { ignoreTrailingSlash: true, querystringParser: parseQuery, maxParamLength: 500 },
    // An address that is none, as one with half of an escape, leads nowhere; the framework's own answer has another shape.
    frameworkErrors: (_error, request, reply) => {
      setSecurityHeaders(reply as FastifyReply, deps.config);
      return request.url.startsWith("/api/auth/")
        ? (reply as FastifyReply).code(404).send({ code: "NOT_FOUND", message: "Not found" })
        : sendError(deps.log)(notFound(), request as FastifyRequest, reply as FastifyReply);
    },
  });
  app.setErrorHandler(sendError(deps.log));
  completeRequests(app, deps);
  addSecurityHeaders(app, deps.config);
  recordRequests(app, requestLog);
  recordForSellers(app, createRequestLog(deps));
  app.addHook("onSend", async (request, reply) => void reply.header("X-Request-Id", request.id));
  // Whatever was asked for may have left something to do.
  app.addHook("onResponse", async ({ method, routeOptions: { url } }) => {
    if (!isHealthCheck(url)) deps.jobs.throttle.recordRequest();
    if (!reading.has(method)) deps.jobs.notifyActivity();
  });
  // Before the body is read: work without haste gives way, and what nobody answers has no faults in it.
  app.addHook("onRequest", async (request) => {
    if (!isHealthCheck(request.routeOptions.url)) deps.jobs.throttle.recordRequest();
    if (request.is404 && request.method !== "GET") throw notFound();
  });
  rejectDuringMaintenance(app, deps);
  // A body is read where a part of this says how, and nowhere else.
  app.removeAllContentTypeParsers();
  app.addHook("preParsing", limitArrival());
  addHealthRoute(app, deps, hosted && (() => hosted.polar.getState()));
  if (hosted) routePages(app, deps, hosted, provider);
  const tail = openTail(deps);
  const wakeUp = openWakeUp(deps, tail);
  app.addHook("preClose", async () => {
    tail.close();
    await wakeUp.end();
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
    addCompression(scope);
    recordRefusedCalls(scope, auth.refusedCalls, auth.credentialOf);
    const identify = sendRenewed(scope, limitRequests(scope, deps, auth));
    const opening = limitOpening(deps);
    const createCheckout = hosted && createHostedCheckouts(hosted, provider);
    routeOwnCheckouts(scope, deps, identify, opening, createCheckout);
    // Calls of the account side, with its rule of whose pages may make them.
    void scope.register(async (own) => {
      rejectForeignPages(own, deps.config);
      const findCustomers = hosted && createCustomerSearch(hosted, provider);
      routeOwnPurchases(own, { deps, identify, provider, findCustomers });
    });
    // Before the operations, of one of which it sends a cookie along.
    routeConnecting(scope, deps);
    mountOperations(scope, api, provider, { deps, identify, findOwners, relay: hosted });
    routeLinks(scope, deps, opening);
    routeDocuments(scope, deps);
    routeDiscordBot(scope, deps, identify);
    routeDownloads(scope, deps);
    routeTestMail(scope, deps, identify);
    routeJobs(scope, deps, identify);
    const streams = { deps, tail, identify, limitStreams: openStreamLimits() };
    routeCheckoutStream(scope, {
      ...streams,
      find: (ctx, client_secret) => provider.checkoutClient.get(ctx, { params: { client_secret } }),
    });
    routePortalStreams(scope, streams);
    routeListening(scope, streams);
    routeEventStream(scope, { ...streams, accounts: auth });
    addOpenapiRoute(scope, () => describeContract(api, deps.config.url));
    addSchemas(scope, api, deps.config.url);
  });
  const controls = deps.processors.test.test;
  if (controls) {
    // Card forms are our own pages' alone, so that no other page may call it.
    await app.register(async (scope) => {
      parseRequests(scope);
      routeTestCards(scope, deps, controls);
    });
  }
  if (hosted) await app.register(async (scope) => routeIncomingEvents(scope, deps, hosted));
  if (deps.processor.readEvent) await app.register(async (scope) => routeStripeEvents(scope, deps));
  if (deps.config.FLOE_MAIL_BOUNCE_SECRET) await app.register(async (scope) => routeBounces(scope, deps));
  routeMedia(app, deps);
  const { local } = deps.storage;
  if (local) await app.register(async (scope) => routeStorage(scope, deps, local));
  addReference(app, deps);
  addReceiptKeyRoute(app, deps);
  if (docs) addDocs(app, docs);
  if (development) {
    await app.register(async (scope) => {
      parseRequests(scope);
      developmentRoutes(scope, deps, provider, demo?.organization_id ?? "");
    });
  }
  if (web)
    await servePages(app, {
      root: web,
      development,
      stripe: hosted !== undefined || deps.processor.publishable_key !== null,
      isSignedIn: createSignInCheck(auth),
    });
  else app.setNotFoundHandler((request, reply) => sendError(deps.log)(notFound(), request, reply));
  return app;
}
