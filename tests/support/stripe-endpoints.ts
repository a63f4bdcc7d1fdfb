/** The webhook endpoints of the stand-in for Stripe. */
type Fields = Record<string, unknown>;

type Endpoint = Fields & { id: string; url: string; enabled_events: string[]; status: string };
type Call = (asked: { id: string; query: Fields; body: never }) => object;

export function openEndpoints(
  next: (prefix: string) => string,
  now: () => number,
  missing: (name: string, id: string) => Error,
): Record<string, Call> {
  const endpoints = new Map<string, Endpoint>();
  const get = (id: string): Endpoint => {
    const found = endpoints.get(id);
    if (!found) throw missing("webhook_endpoint", id);
    return found;
  };
  return {
    "POST /v1/webhook_endpoints": ({ body }) => {
      const { url, enabled_events, description = null } = body as { url: string; enabled_events: string[] } & Fields;
      const id = next("we");
      const shown = {
        id,
        object: "webhook_endpoint",
        created: now(),
        livemode: false,
        metadata: {},
        api_version: null,
      };
      const endpoint = { ...shown, application: null, description, url, enabled_events, status: "enabled" };
      endpoints.set(id, endpoint);
      // The secret is told now and never again.
      return { ...endpoint, secret: `whsec_${id}` };
    },
    "GET /v1/webhook_endpoints": () => ({
      object: "list",
      data: [...endpoints.values()].reverse(),
      has_more: false,
      url: "/v1/webhook_endpoints",
    }),
    "POST /v1/webhook_endpoints/{webhook_endpoint}": ({ id, body }) => {
      const { disabled, ...changed } = body as { disabled?: boolean } & Fields;
      const endpoint = get(id);
      if (disabled !== undefined) endpoint.status = disabled ? "disabled" : "enabled";
      return Object.assign(endpoint, changed);
    },
    "DELETE /v1/webhook_endpoints/{webhook_endpoint}": ({ id }) => {
      get(id);
      endpoints.delete(id);
      return { id, object: "webhook_endpoint", deleted: true };
    },
  };
}
