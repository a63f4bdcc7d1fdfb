import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { PortalRequest, UsageIngestion } from "../../shared/api/buyer-requests.ts";
import { api } from "../../shared/api/index.ts";
import { ApiError } from "../../shared/errors.ts";
import { customerScopes } from "../../shared/scopes.ts";
import { type Actor, anonymous, type Ctx, type Deps } from "../platform/context.ts";
import { checkIdentity, type Identify } from "../platform/http/actor.ts";
import { sendAccountError } from "../platform/http/errors.ts";
import { createRequestContext } from "../platform/http/mount.ts";
import { readFaults } from "../platform/http/validation-errors.ts";
import type { Provider } from "../platform/provider.ts";
import { findCustomersOf } from "./store.ts";

export type CustomerRouteOptions = {
  deps: Deps;
  identify: Identify;
  provider: Provider;
  /** Finds whose customer a user is, where floe's own tables do not say it. */
  findCustomers?: ((ctx: Ctx, user_id: string) => Promise<Awaited<ReturnType<typeof findCustomersOf>>>) | undefined;
};

/** What sellers and customers named themselves stays as they named it. */
const verbatim = new Set(["metadata", "custom_field_data", "benefit_metadata", "seat_metadata"]);

/** Names as published clients of the account side have them: `granted_benefits` is `grantedBenefits`. */
function toCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCamelCase);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      verbatim.has(key) ? inner : toCamelCase(inner),
    ]),
  );
}

/** The same the other way round, of what is asked for: `productBillingType` is `product_billing_type`. */
const toSnakeCase = (query: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(query).map(([key, value]) => [key.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`), value]),
  );

const encodeAnswer = (schema: z.ZodType, value: unknown): unknown => toCamelCase(z.encode(schema, value as never));

/**
 * `/api/auth/customer/…` and `/api/auth/usage/…`: what the signed-in user has as a customer, for pages that know them by their
 * account. Who is a customer of several sellers names one, by `slug` or `organizationId`.
 */
export function routeOwnPurchases(app: FastifyInstance, options: CustomerRouteOptions): void {
  const { deps, identify, provider } = options;
  const errorHandler = sendAccountError(deps.log);

  /** The context of the customer whom the user is. */
  async function open(request: FastifyRequest): Promise<{ ctx: Ctx; customer_id: string; eventNames: string[] }> {
    const identity = await identify(request);
    checkIdentity(identity);
    if (identity.kind !== "user") throw new ApiError("Unauthorized", "Session not found");
    const { slug, organizationId } = request.query as { slug?: unknown; organizationId?: unknown };
    const all = options.findCustomers
      ? await options.findCustomers(createRequestContext(deps, request, anonymous), identity.user_id)
      : await findCustomersOf(deps.db, identity.user_id);
    const meant = all.filter(
      (one) =>
        (slug === undefined || one.slug === slug) &&
        (organizationId === undefined || one.organization_id === organizationId),
    );
    const [found, ...others] = meant;
    if (!found) throw new ApiError("ResourceNotFound", "Customer not found");
    if (others.length > 0) throw new ApiError("BadRequest", "You are a customer of several sellers: name one by slug.");
    const { customer_id, organization_id, clock_offset_ms, sandbox, customer_event_names: eventNames } = found;
    const actor: Actor = {
      ...anonymous,
      kind: "customer",
      organization_id,
      clock_offset_ms,
      sandbox,
      scopes: new Set(customerScopes),
      user_id: identity.user_id,
      customer: { customer_id, session_id: "", member: null },
    };
    return { ctx: createRequestContext(deps, request, actor), customer_id, eventNames };
  }
  const route = (method: "GET" | "POST", url: string, answer: (request: FastifyRequest) => Promise<unknown>) =>
    app.route({
      method,
      url: `/api/auth${url}`,
      errorHandler,
      handler: async (request, reply) => reply.send(await answer(request)),
    });
  /** A list with the filters of its operation, as its own client has them. */
  const list = <Query extends z.ZodObject>(
    url: string,
    query: Query,
    response: z.ZodType,
    ask: (ctx: Ctx, query: z.output<Query>) => Promise<unknown>,
  ) =>
    route("GET", url, async (request) => {
      const { ctx } = await open(request);
      const given = toSnakeCase(request.query as object);
      const parsed = query.safeParse(given);
      if (!parsed.success)
        throw new ApiError("RequestValidationError", readFaults(["query"], parsed.error.issues, given));
      return { result: encodeAnswer(response, await ask(ctx, parsed.data)) };
    });

  for (const method of ["GET", "POST"] as const) {
    route(method, "/customer/portal", async (request) => {
      const body = PortalRequest.safeParse(request.body ?? {});
      if (!body.success)
        throw new ApiError("RequestValidationError", readFaults(["body"], body.error.issues, request.body));
      const { ctx, customer_id } = await open(request);
      const { customer_portal_url: url } = await provider.customerSessions.create(ctx, { body: { customer_id } });
      return { url, redirect: body.data.redirect };
    });
  }
  route("GET", "/customer/state", async (request) => {
    const { ctx, customer_id: id } = await open(request);
    return encodeAnswer(api.customers.getState.response, await provider.customers.getState(ctx, { params: { id } }));
  });
  const { portalOrders, portalSubscriptions, portalGrants, portalMeters } = api;
  list("/customer/orders/list", portalOrders.list.query, portalOrders.list.response, (ctx, query) =>
    provider.portalOrders.list(ctx, { query }),
  );
  list(
    "/customer/subscriptions/list",
    // As what their program has named them by when they were bought.
    portalSubscriptions.list.query.extend({ reference_id: z.string().optional() }),
    portalSubscriptions.list.response,
    async (ctx, { reference_id, ...query }) => {
      if (reference_id === undefined) return provider.portalSubscriptions.list(ctx, { query });
      // Customers see no metadata, so there is no filter by it on their side.
      const customer_id = [String(ctx.actor.customer?.customer_id)];
      const { page, limit, active } = query;
      const { items, pagination } = await provider.subscriptions.list(ctx, {
        query: {
          ...api.subscriptions.list.query.parse({ page, limit, active }),
          ...{ customer_id, metadata: { referenceId: [reference_id] } },
        },
      });
      const shown = items.map(({ id }) => provider.portalSubscriptions.get(ctx, { params: { id } }));
      return { items: await Promise.all(shown), pagination };
    },
  );
  list("/customer/benefits/list", portalGrants.list.query, portalGrants.list.response, (ctx, query) =>
    provider.portalGrants.list(ctx, { query }),
  );
  list("/usage/meters/list", portalMeters.list.query, portalMeters.list.response, (ctx, query) =>
    provider.portalMeters.list(ctx, { query }),
  );
  route("POST", "/usage/ingest", async (request) => {
    const { ctx, customer_id, eventNames } = await open(request);
    const body = UsageIngestion.safeParse(request.body ?? {});
    if (!body.success)
      throw new ApiError("RequestValidationError", readFaults(["body"], body.error.issues, request.body));
    const { event: name, metadata } = body.data;
    if (!eventNames.includes(name))
      throw new ApiError("NotPermitted", "Customers may not send this event: the seller has not listed its name.");
    const events = [{ name, customer_id, metadata }];
    const parsed = api.events.ingest.body.safeParse({ events });
    if (!parsed.success)
      throw new ApiError("RequestValidationError", readFaults(["body"], parsed.error.issues, { events }));
    const given = parsed.data;
    const query = api.events.ingest.query.parse({});
    return encodeAnswer(api.events.ingest.response, await provider.events.ingest(ctx, { body: given, query }));
  });
}
