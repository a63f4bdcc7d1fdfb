/** A service whose jobs get signed tokens, on this machine: its discovery document, its keys, and how it fails. */
import { createServer, type Server, type ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { Floe } from "./floe.ts";
import { freePort } from "./free-port.ts";
import { newId } from "./ids.ts";

type Pair = { kid: string; alg: string; privateKey: CryptoKey; jwk: JWK };
/** Answers a request in place of the service; false leaves it to it. */
type Behavior = (path: string, response: ServerResponse) => boolean;
export type Claims = Record<string, unknown>;

async function makePair(kid: string, alg: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export type CiIssuer = Awaited<ReturnType<typeof startIssuer>>;

/** Start one. Tokens are of a job of `acme/shop` on `main`, as GitHub writes them, by the clock of the floe that they are for. */
export async function startIssuer({ clock, deps }: Pick<Floe, "clock" | "deps">) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const state = { keys: [await makePair("first", "RS256")], behave: (() => false) as Behavior, asked: [] as string[] };
  const server: Server = createServer((request, response) => {
    const path = request.url ?? "";
    state.asked.push(path);
    if (state.behave(path, response)) return;
    const document =
      path === "/keys"
        ? { keys: state.keys.map(({ jwk }) => jwk) }
        : { issuer: url, jwks_uri: `${url}/keys`, response_types_supported: ["id_token"] };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(document));
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  server.unref();
  const getClaims = (more: Claims = {}): Claims => {
    const now = Math.floor(clock.now().getTime() / 1000);
    const claims: Claims = {
      iss: url,
      aud: deps.config.url,
      sub: "repo:acme/shop:ref:refs/heads/main",
      jti: newId(),
      repository: "acme/shop",
      ref: "refs/heads/main",
      event_name: "push",
      iat: now,
      nbf: now,
      exp: now + 300,
      ...more,
    };
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  };
  return {
    url,
    state,
    getClaims,
    /** A token with these claims in place of the usual ones; signed with the newest key unless another is given. */
    async sign(more: Claims = {}, pair = state.keys.at(-1) as Pair): Promise<string> {
      return new SignJWT(getClaims(more)).setProtectedHeader({ alg: pair.alg, kid: pair.kid }).sign(pair.privateKey);
    },
    makePair,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
