import type { JsonWebKey } from "node:crypto";
import { type OAuth2Tokens, type OAuthProvider, verifyProviderIdToken } from "better-auth/oauth2";
import { findWebPage } from "../../../../shared/destinations.ts";
import type { Deps } from "../../../platform/context.ts";
import { redactError } from "../../../platform/loggable.ts";
import { type Client, type Endpoints, fetchFor, fetchJson, readFlow, type SignUp, signUpFlags } from "./oauth.ts";

/** Signatures that a public key checks; with any other a token's reader could have made it. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
/** How soon the provider's keys are fetched again for a token that names an unknown one. */
const keysAgainMs = 10_000;

/** What the provider says of a person: in its ID token and at its userinfo endpoint. */
type Claims = {
  sub?: unknown;
  azp?: unknown;
  email?: unknown;
  email_verified?: unknown;
  name?: unknown;
  picture?: unknown;
};
type Discovered = Endpoints & { userinfo: string | undefined; jwks: string };
type Jwk = JsonWebKey & { kid?: string; alg?: string; use?: string };

export type OpenId = {
  id: string;
  name: string;
  issuer: string;
  /** Other names by which it signs as itself. */
  aliases?: string[];
  client: Client;
  scopes: readonly string[];
  signUp: SignUp;
  parameters?: (asked: { loginHint?: string | undefined }) => Record<string, string>;
  nonceComparison?: "exact-or-sha256";
};

const getText = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

function getClaims(token: string): Claims {
  const parsed: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
  return typeof parsed === "object" && parsed !== null ? parsed : {};
}

/**
 * A service that speaks OpenID Connect. It is asked where its endpoints are when it is first needed, not at the start:
 * a provider that is down for a moment must not be missing until the next one. Its ID token is always checked, and
 * bound to the request by a nonce; without one nobody is signed in.
 */
export function openIdProvider({ log, clock }: Pick<Deps, "log" | "clock">, settings: OpenId): OAuthProvider<Claims> {
  const { id, name, issuer, client, scopes, signUp } = settings;
  const endpoints = getDiscovery(log, id, issuer);
  const provider: OAuthProvider<Claims> = {
    id,
    name,
    issuer,
    requiresIdTokenNonce: true,
    idToken: {
      jwks: openKeyring(clock, async () => (await endpoints()).jwks),
      issuer: [issuer, ...(settings.aliases ?? [])],
      audience: client.clientId,
      algorithms,
      maxTokenAge: "1h",
      ...(settings.nonceComparison ? { nonceComparison: settings.nonceComparison } : {}),
    },
    accountSubject: ({ profile }) => getText(profile.sub) ?? "",
    ...readFlow({ client, endpoints, scopes, ...(settings.parameters ? { parameters: settings.parameters } : {}) }),
    ...signUpFlags(signUp),
    async getUserInfo({ idToken, accessToken, expectedIdTokenNonce, user }) {
      if (!idToken) return null;
      // Given without a nonce it was checked before, when it came from a page; or long ago, when the account was linked.
      if (expectedIdTokenNonce && !(await verifyProviderIdToken(provider, idToken, expectedIdTokenNonce))) return null;
      const claims = getClaims(idToken);
      // Issued to another client, which may hand it on (OpenID Connect Core 3.1.3.7).
      if (claims.azp !== undefined && claims.azp !== client.clientId) return null;
      const isWhole = expectedIdTokenNonce !== undefined && getText(claims.email) !== undefined;
      const data = isWhole ? claims : { ...claims, ...(await readUserInfo(endpoints, claims, accessToken)) };
      const spoken = [user?.name?.firstName, user?.name?.lastName].filter((part) => part).join(" ");
      const image = findWebPage(data.picture)?.href;
      return {
        user: {
          name: getText(data.name) ?? spoken,
          email: getText(data.email) ?? null,
          // Apple writes it as text.
          emailVerified: data.email_verified === true || data.email_verified === "true",
          ...(image === undefined ? {} : { image }),
        },
        data,
      };
    },
  };
  return provider;
}

/** What the userinfo endpoint knows; nothing when it speaks of another person (OpenID Connect Core 5.3.2). */
async function readUserInfo(
  endpoints: () => Promise<Discovered>,
  { sub }: Claims,
  accessToken: OAuth2Tokens["accessToken"],
): Promise<Claims> {
  const { userinfo: url } = await endpoints();
  if (url === undefined || !accessToken) return {};
  const found: Claims | undefined = await fetchFor(accessToken, url);
  return found && found.sub === sub ? found : {};
}

/** Where a provider's endpoints are, from its discovery document; asked once, and again after a failure. */
function getDiscovery(log: Deps["log"], id: string, issuer: string): () => Promise<Discovered> {
  let known: Promise<Discovered> | undefined;
  const discover = async (): Promise<Discovered> => {
    const found = await fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    if (!found) throw new Error("Its discovery document cannot be read.");
    // Whoever serves another's document must not speak in its name.
    if (found.issuer !== issuer) throw new Error(`It calls itself ${String(found.issuer)}, not ${issuer}.`);
    const { authorization_endpoint, token_endpoint, userinfo_endpoint, jwks_uri } = found;
    const [authorization, token, jwks] = [authorization_endpoint, token_endpoint, jwks_uri].map(getText);
    if (!authorization || !token || !jwks) throw new Error("Its discovery document leaves out an endpoint.");
    const methods = found.token_endpoint_auth_methods_supported;
    // Left out, it is the one of the standard.
    const basic =
      !Array.isArray(methods) || (methods.includes("client_secret_basic") && !methods.includes("client_secret_post"));
    return { authorization, token, jwks, userinfo: getText(userinfo_endpoint), basic };
  };
  return () => {
    known ??= discover().catch((error: unknown) => {
      known = undefined;
      log.warn(
        { error: redactError(error), provider: id },
        "A provider to sign in with could not be asked for its endpoints.",
      );
      throw error;
    });
    return known;
  };
}

/** The key that a token names. Providers change theirs, so an unknown one is looked for again; not for every token, though. */
function openKeyring(clock: Deps["clock"], address: () => Promise<string>) {
  let keys: Jwk[] = [];
  let asked_at = 0;
  const find = ({ kid, alg }: { kid?: string | undefined; alg?: string | undefined }) =>
    keys.find(
      (key) => (kid === undefined || key.kid === kid) && (key.use ?? "sig") === "sig" && (key.alg ?? alg) === alg,
    );
  return async (header: { kid?: string | undefined; alg?: string | undefined }) => {
    const now = clock.now().getTime();
    if (!find(header) && now - asked_at >= keysAgainMs) {
      asked_at = now;
      const found = await fetchJson(await address());
      if (Array.isArray(found?.keys)) keys = found.keys;
    }
    const key = find(header);
    if (!key) throw new Error("The token is signed with a key that its provider does not show.");
    return key;
  };
}
