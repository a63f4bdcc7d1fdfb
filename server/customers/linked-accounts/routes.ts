import type { FastifyInstance } from "fastify";
import { portalAccounts, showingMaxS } from "../../../shared/api/portal-accounts.ts";
import type { Config } from "../../platform/config.ts";
import type { Deps } from "../../platform/context.ts";
import { parseCookies } from "../../platform/http/cookies.ts";
import { finishConnecting } from "./service.ts";

const callback = "/v1/customer-portal/oauth-accounts/callback";
/** One for each platform: who begins again has the cookie of what they began last. */
const getCookiePrefix = ({ url }: Pick<Config, "url">): string =>
  `${url.startsWith("https:") ? "__Host-" : ""}floe_connecting_`;

/** What a browser is to show when its customer comes back: it was this one that was sent away. */
function getCookie({ config }: Deps, asked: URL, answered: unknown): string | undefined {
  const { url } = (typeof answered === "string" ? JSON.parse(answered) : {}) as { url?: unknown };
  const state = typeof url === "string" ? new URL(url).searchParams.get("state") : null;
  const [path, secure] = config.url.startsWith("https:") ? ["/", "; Secure"] : [callback, ""];
  const name = getCookiePrefix(config) + (asked.searchParams.get("platform") ?? "");
  return state ? `${name}=${state}; Path=${path}; Max-Age=${showingMaxS}; HttpOnly; SameSite=Lax${secure}` : undefined;
}

/** Where customers come back to with an account that they have shown to be theirs (CUP-23). */
export function routeConnecting(app: FastifyInstance, deps: Deps): void {
  app.addHook("onSend", async (request, reply, payload) => {
    if (request.routeOptions.url !== portalAccounts.authorize.path || reply.statusCode !== 200) return;
    const cookie = getCookie(deps, new URL(request.url, deps.config.url), payload);
    if (cookie) reply.header("Set-Cookie", cookie);
  });
  app.get<{ Querystring: Record<string, unknown> }>(callback, async (request, reply) => {
    const readQueryText = (name: string) => (typeof request.query[name] === "string" ? request.query[name] : undefined);
    const cookies = parseCookies(request.headers.cookie).flatMap(([name, value]) =>
      name.startsWith(getCookiePrefix(deps.config)) ? [value] : [],
    );
    const given = Object.fromEntries(
      ["state", "code", "error"].flatMap((name) =>
        readQueryText(name) === undefined ? [] : [[name, readQueryText(name)]],
      ),
    );
    const to = await finishConnecting(deps, { ...given, cookies });
    return reply
      .header("Cache-Control", "no-store")
      .header("Referrer-Policy", "no-referrer")
      .redirect(deps.config.url + to);
  });
}
