import { APIError } from "better-auth/api";
import {
  authorizationCodeRequest,
  createAuthorizationURL,
  getOAuth2Tokens,
  type OAuth2Tokens,
  type OAuthProvider,
  refreshAccessTokenRequest,
} from "better-auth/oauth2";
import { assertOutsideTransaction } from "../../../platform/db/open-transaction.ts";

const timeoutMs = 10_000;

/** What a provider was told of us. Apple's secret is a token that runs out, so it is made when it is needed. */
export type Client = { clientId: string; clientSecret: () => string };
/** How a service is spoken to: OAuth 2 with PKCE. */
export type Endpoints = { authorization: string; token: string; basic?: boolean };

/** Who may make an account by signing in with a service: anyone, only where the page asks for it, or nobody. */
export type SignUp = "open" | "requested" | "closed";

/** The flags by which better-auth knows it; it looks for the second in two places. */
export const signUpFlags = (signUp: SignUp) => ({
  disableImplicitSignUp: signUp === "requested",
  disableSignUp: signUp === "closed",
  options: { disableSignUp: signUp === "closed" },
});

/** One answer of a service, in JSON; undefined when it gives none. Redirects are not followed: they lead anywhere. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<Record<string, unknown> | undefined> {
  assertOutsideTransaction("a sign-in service");
  try {
    const answer = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
    const body: unknown = answer.ok ? await answer.json() : undefined;
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : undefined;
  } catch {
    // Out of reach, too slow, or not JSON.
    return undefined;
  }
}

/** As `fetchJson`, with an access token of the person. */
export const fetchFor = (accessToken: string | undefined, url: string) =>
  fetchJson(url, {
    headers: { authorization: `Bearer ${accessToken}`, accept: "application/json", "user-agent": "floe" },
  });

async function tokenizeText(endpoint: string, { body, headers }: { body: URLSearchParams; headers: HeadersInit }) {
  const answer = await fetchJson(endpoint, { method: "POST", body, headers });
  // Some say what is wrong with status 200.
  if (!answer || "error" in answer || typeof answer.access_token !== "string") return undefined;
  // GitHub writes scopes by commas, the standard by spaces.
  const { scope } = answer;
  return getOAuth2Tokens(typeof scope === "string" ? { ...answer, scope: scope.replaceAll(",", " ") } : answer);
}

type Flow = {
  client: Client;
  endpoints: () => Promise<Endpoints>;
  scopes: readonly string[];
  pkce?: boolean;
  /** What this service wants besides, of what it is asked with. */
  parameters?: (asked: { loginHint?: string | undefined }) => Record<string, string>;
};

/** The three steps in which all services are alike: send there, exchange the code, renew the access token. */
export function readFlow({ client, endpoints, scopes, pkce = true, parameters }: Flow) {
  const buildOptions = () => ({ clientId: client.clientId, clientSecret: client.clientSecret() });
  const buildAuthentication = (basic: boolean | undefined) => (basic ? ("basic" as const) : ("post" as const));
  return {
    async createAuthorizationURL({ state, codeVerifier, redirectURI, idTokenNonce, loginHint, ...asked }) {
      const { authorization } = await endpoints().catch(() => {
        throw new APIError("SERVICE_UNAVAILABLE", {
          code: "PROVIDER_UNAVAILABLE",
          message: "The provider cannot be reached. Try again later.",
        });
      });
      return createAuthorizationURL({
        id: client.clientId,
        options: { clientId: client.clientId },
        authorizationEndpoint: authorization,
        state,
        redirectURI,
        scopes: [...new Set([...scopes, ...(asked.scopes ?? [])])],
        ...(pkce ? { codeVerifier } : {}),
        ...(idTokenNonce ? { nonce: idTokenNonce } : {}),
        additionalParams: {
          ...(parameters ? parameters({ loginHint }) : loginHint ? { login_hint: loginHint } : {}),
          ...asked.additionalParams,
        },
      });
    },
    async validateAuthorizationCode({ code, codeVerifier, redirectURI }): Promise<OAuth2Tokens | null> {
      const { token, basic } = await endpoints();
      const request = await authorizationCodeRequest({
        code,
        redirectURI,
        ...(pkce && codeVerifier ? { codeVerifier } : {}),
        options: buildOptions(),
        tokenEndpoint: token,
        authentication: buildAuthentication(basic),
      });
      return (await tokenizeText(token, request)) ?? null;
    },
    async refreshAccessToken(refreshToken) {
      const { token, basic } = await endpoints();
      const request = await refreshAccessTokenRequest({
        refreshToken,
        options: buildOptions(),
        tokenEndpoint: token,
        authentication: buildAuthentication(basic),
      });
      const renewed = await tokenizeText(token, request);
      if (!renewed) throw new Error("The provider did not renew the access token.");
      return renewed;
    },
  } satisfies Pick<OAuthProvider, "createAuthorizationURL" | "validateAuthorizationCode" | "refreshAccessToken">;
}
