import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { account, apikey, user } from "../../server/identity/accounts/tables.ts";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { hashToken, openSignedText, seal, signAgain, tryUnseal, unseal } from "../../server/platform/crypto/secrets.ts";
import { parseCookies } from "../../server/platform/http/cookies.ts";
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { client, startOpenId } from "../support/oauth-stand-in.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { visitor } from "../support/visitor.ts";

const old = "the first secret of this server 1";
const current = "the second secret of this server 2";
const oldest = "the secret before the first one 00";

describe("a secret", () => {
  const read = (settings: Record<string, string>) => completeConfig(readSettings(settings, {}), old);

  test.each([
    ["empty", ""],
    ["blank", " ".repeat(40)],
    ["short", "x1y2z3".repeat(5)],
    ["one character over and over", "a".repeat(64)],
    ["a few characters over and over", "abcdefghij".repeat(5)],
    ["of few characters", "aabbccddeeffgg".split("").sort().join("").slice(0, 7).repeat(6)],
  ])("that is %s is refused", (_name, secret) => {
    expect(() => read({ FLOE_SECRET: secret })).toThrow(/FLOE_SECRET: (is empty|must be at least|is too easy)/);
  });

  test("that is random is taken, in base64 and in hex", () => {
    for (const encoding of ["base64", "hex"] as const) {
      for (let n = 0; n < 200; n += 1) {
        const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString(encoding);
        expect(read({ FLOE_SECRET: secret }).secret).toBe(secret);
      }
    }
  });

  test("and those before it stand in a list, each long enough", () => {
    expect(read({ FLOE_SECRET: current, FLOE_SECRET_PREVIOUS: ` ${old}, ${oldest},` }).secrets).toEqual([
      current,
      old,
      oldest,
    ]);
    expect(() => read({ FLOE_SECRET: current, FLOE_SECRET_PREVIOUS: "short" })).toThrow(/FLOE_SECRET_PREVIOUS/);
  });

  test("opens and knows what it or one before it sealed or signed, and nothing else", () => {
    const sealed = seal(old, "license-key", "row", "text");
    expect(unseal([current, oldest, old], "license-key", "row", sealed)).toBe("text");
    expect(() => unseal([current, oldest], "license-key", "row", sealed)).toThrow();
    expect(tryUnseal([old], "webhook-secret", "row", sealed), "for another purpose").toBeNull();
    expect(tryUnseal([old], "license-key", "another row", sealed), "for another row").toBeNull();
    const signed = signAgain([old, oldest], `text.${signature(oldest, "text")}`);
    expect(openSignedText([current, old], signed)).toBe("text");
    expect(openSignedText([current], signed)).toBeUndefined();
    expect(openSignedText([current, old], signed.replace("text", "tex7"))).toBeUndefined();
    expect(signAgain([current, oldest], signed)).toBe(signed);
  });

  const signature = (secret: string, text: string) => Buffer.from(hashToken(secret, text), "hex").toString("base64");
});

describe("a change of the secret", () => {
  let google: Awaited<ReturnType<typeof startOpenId>>;
  let databaseUrl: string;
  let floe: Floe;
  beforeAll(async () => {
    [databaseUrl, google] = await Promise.all([
      createPostgresDatabase(),
      startOpenId({ sub: "rotates", email: "rotates@example.com", email_verified: true, name: "Ada" }),
    ]);
  });
  afterAll(async () => {
    await floe?.close();
    await google?.stop();
  });

  /** The same shop under another secret. */
  async function restart(secret: string, previous = ""): Promise<void> {
    await floe?.close();
    floe = await start({
      databaseUrl,
      listen: true,
      settings: {
        FLOE_SECRET: secret,
        FLOE_SECRET_PREVIOUS: previous,
        TRUST_PROXY: "127.0.0.1",
        GOOGLE_CLIENT_ID: client.id,
        GOOGLE_CLIENT_SECRET: client.secret,
        GOOGLE_URL: google.issuer,
      },
    });
  }
  type Answer = Awaited<ReturnType<Floe["request"]>>;
  const ask = (method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<Answer> =>
    floe.request(method, path, {
      headers: { origin: floe.url, "x-forwarded-for": newAddress(), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const setBy = (answer: Answer) =>
    [answer.headers["set-cookie"] ?? []].flat().map((one) => String(one).split(";")[0] ?? "");
  const jar = (answer: Answer) => setBy(answer).join("; ");
  const signIn = ({ email, password }: Seller) => ask("POST", "/api/auth/sign-in/email", {}, { email, password });
  const readsProducts = async (headers: Record<string, string>) =>
    (await ask("GET", "/v1/products/", headers)).status === 200;
  const listsSessions = async (headers: Record<string, string>) =>
    (await ask("GET", "/api/auth/list-sessions", headers)).status === 200;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test("loses nothing while the old one is named, and afterwards only what was not used meanwhile", async () => {
    await restart(old, oldest);
    const seller = await floe.seller();
    const untouched = await floe.keyOf(seller, ["products:read"]);
    const signed = await signIn(seller);
    const [browser, idle] = [jar(signed), jar(await signIn(seller))];
    const signedToken = decodeURIComponent(String(signed.headers["set-auth-token"]));
    expect(signedToken).toMatch(/^\w{32}\..{44}$/);
    const product = { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] };
    const create = (key = seller.key) =>
      ask("POST", "/v1/products/", { ...bearer(key), "idempotency-key": "one" }, product);
    const made = await create();
    const opened = await ask("POST", "/v1/checkouts/", bearer(seller.key), {
      products: [(made.json as { id: string }).id],
    });
    const { client_secret } = opened.json as { client_secret: string };
    const buyers = `/v1/checkouts/client/${client_secret}`;
    const ada = visitor(floe.url);
    await ada.signIn("google");
    const accessToken = (cookies: string) =>
      ask("POST", "/api/auth/get-access-token", { cookie: cookies }, { providerId: "google" });
    const adaCookies = [...ada.jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const tokens = (await accessToken(adaCookies)).json as { accessToken: string; idToken: string };
    expect(tokens).toMatchObject({ accessToken: expect.any(String), idToken: expect.stringMatching(/^ey/) });
    await ask("POST", "/api/auth/send-verification-email", { cookie: browser }, { email: seller.email });
    const mail = (await listMails(floe.deps)).find(({ to }) => to === seller.email);
    const link = new URL(/https?:\/\/\S+/.exec(mail?.text ?? "")?.[0] ?? "");
    for (let n = 0; n < 6; n += 1)
      await ask("POST", "/api/auth/sign-in/email", {}, { email: seller.email, password: "wrong wrong" });

    await restart(current, `${old},${oldest}`);
    expect((await signIn(seller)).status).toBe(200);
    for (const headers of [{ cookie: browser }, bearer(signedToken), bearer(seller.session)])
      expect([await readsProducts(headers), await listsSessions(headers)]).toEqual([true, true]);
    expect(await readsProducts(bearer(seller.key))).toBe(true);
    await floe.auth.flush();
    const keys = await floe.deps.db
      .select({ key: apikey.key })
      .from(apikey)
      .where(eq(apikey.organizationId, seller.organization_id));
    expect(keys.map(({ key }) => key).sort()).toEqual(
      [hashToken(current, seller.key), hashToken(old, untouched)].sort(),
    );
    expect((await create()).json).toEqual(made.json);
    expect(await ask("GET", buyers, {})).toMatchObject({ status: 200, json: { client_secret } });
    expect((await ask("PATCH", buyers, {}, { customer_name: "Ada" })).status).toBe(200);
    expect((await accessToken(adaCookies)).json).toMatchObject(tokens);
    const token = link.searchParams.get("token");
    expect((await ask("POST", "/api/auth/verify-email", {}, { token })).status).toBe(200);
    const [row] = await floe.deps.db.select().from(user).where(eq(user.id, seller.user_id));
    expect(row?.emailVerified).toBe(true);
    const seen = await ask("GET", "/api/auth/get-session", { cookie: browser });
    expect(seen.json).toMatchObject({ user: { id: seller.user_id } });
    const renewed = setBy(seen).find((one) => one.startsWith("floe.session_token=")) ?? "";
    expect(openSignedText([current], parseCookies(renewed)[0]?.[1] ?? "")).toBe(signedToken.split(".")[0]);
    const adaRenewed = jar(await ask("GET", "/api/auth/get-session", { cookie: adaCookies }));
    // Known still: a stranger's wrong guesses do not lock this browser out.
    for (let n = 0; n < 6; n += 1)
      await ask("POST", "/api/auth/sign-in/email", {}, { email: seller.email, password: "wrong wrong" });
    const again = { email: seller.email, password: seller.password };
    expect((await ask("POST", "/api/auth/sign-in/email", {}, again)).status).toBe(429);
    expect((await ask("POST", "/api/auth/sign-in/email", { cookie: browser }, again)).status).toBe(200);

    await restart(current);
    expect(await readsProducts(bearer(seller.key))).toBe(true);
    expect(await readsProducts({ cookie: renewed })).toBe(true);
    expect(await readsProducts(bearer(seller.session))).toBe(true);
    expect(await readsProducts(bearer(untouched))).toBe(false);
    expect([await readsProducts({ cookie: idle }), await listsSessions({ cookie: idle })]).toEqual([false, false]);
    expect(await readsProducts(bearer(signedToken))).toBe(false);
    expect((await ask("GET", buyers, {})).status).toBe(404);
    const shown = await ask("GET", "/v1/checkouts/", bearer(seller.key));
    expect(shown.json).toMatchObject({ items: [{ client_secret: "", customer_name: "Ada" }] });
    const replayed = await create();
    // The key is kept as a hash by the old secret, which nobody knows any more: docs/deploying.md says to name it for a week.
    expect(replayed.status).toBe(201);
    expect((replayed.json as { id: string }).id).not.toBe((made.json as { id: string }).id);
    const lost = await accessToken(adaRenewed);
    expect([lost.status, lost.json]).toMatchObject([400, { message: "Failed to get a valid access token" }]);
    // Whose tokens cannot be read any more signs in as before, and has new ones.
    const back = visitor(floe.url);
    await back.signIn("google");
    const backCookies = [...back.jar].map(([name, value]) => `${name}=${value}`).join("; ");
    expect((await accessToken(backCookies)).json).toMatchObject({ idToken: expect.stringMatching(/^ey/) });
    expect(await floe.deps.db.select().from(account).where(eq(account.providerId, "google"))).toHaveLength(1);
  });
});
