import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { customerAccountRequests, customerAccounts } from "../../server/customers/linked-accounts/tables.ts";
import { customerSessions } from "../../server/customers/sessions/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";

/** Customers show which accounts elsewhere are theirs, and nobody else shows it for them (BEN-80, CUP-23). */

let platforms: Platforms;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  platforms = await startPlatforms();
  floe = await start({ settings: platforms.settings });
  seller = await floe.seller("connecting");
});
afterAll(async () => {
  await floe?.close();
  await platforms?.stop();
});
beforeEach(() => {
  platforms.calls.length = 0;
  platforms.state.names.set("583231", "octocat");
});
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  expect([platforms.faults, platforms.troubles]).toEqual([[], []]);
});

type Platform = "discord" | "github";
type Buyer = { id: string; token: string };
let made = 0;
async function comes(): Promise<Buyer> {
  made += 1;
  const { id } = await seller.client.customers.create({ body: { email: `connects-${made}@example.com` } });
  const { token } = await seller.client.customerSessions.create({ body: { customer_id: id } });
  return { id, token };
}
const ask = (token: string, query: Record<string, string>) =>
  floe.request("GET", `/v1/customer-portal/oauth-accounts/authorize?${new URLSearchParams(query)}`, { token });
/** Begun, and agreed to there: where that leads back to, and the cookie of the browser. */
async function goes({ token }: Buyer, platform: Platform = "discord", more: Record<string, string> = {}) {
  const begun = await ask(token, { platform, ...more });
  const { url } = begun.json as { url: string };
  const there = await fetch(url, { redirect: "manual" });
  const [cookie = ""] = String(begun.headers["set-cookie"]).split(";");
  return { url: new URL(url), back: new URL(there.headers.get("location") ?? ""), cookie, begun };
}
async function comesBack(back: URL, cookie: string): Promise<string> {
  const answer = await floe.request("GET", back.pathname + back.search, { headers: { cookie } });
  expect([answer.status, answer.headers["cache-control"]]).toEqual([302, "no-store"]);
  const to = new URL(String(answer.headers.location));
  expect(to.origin).toBe(new URL(floe.url).origin);
  return to.pathname + to.search;
}
const accounts = async ({ id, token }: Buyer): Promise<string[]> => {
  const me = await floe.request("GET", "/v1/customer-portal/customers/me", { token });
  const rows = await floe.deps.db.select().from(customerAccounts).where(eq(customerAccounts.customer_id, id));
  const shown = Object.keys((me.json as { oauth_accounts?: object }).oauth_accounts ?? {});
  if (me.status === 200) expect(shown.length).toBe(rows.length);
  return rows.map(({ platform, account_number }) => `${platform}:${account_number}`);
};
const over = "/error?error=state_mismatch";

test("BEN-61, BEN-81: what is asked for, and the cookie, are the least that is enough", async () => {
  const buyer = await comes();
  const { url, begun } = await goes(buyer);
  const callback = `${floe.url}/v1/customer-portal/oauth-accounts/callback`;
  const { state, ...asked } = Object.fromEntries(url.searchParams);
  expect(asked).toEqual({
    ...{ client_id: "44551", redirect_uri: callback, response_type: "code", prompt: "consent" },
    scope: "identify email guilds.join",
  });
  expect(state).toMatch(/^[A-Za-z0-9]{43}$/);
  expect(String(begun.headers["set-cookie"])).toBe(
    `floe_connecting_discord=${state}; Path=/v1/customer-portal/oauth-accounts/callback; Max-Age=600; HttpOnly; SameSite=Lax`,
  );
  const github = await goes(buyer, "github");
  expect(Object.fromEntries(github.url.searchParams)).toMatchObject({
    ...{
      scope: "user user:email",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    },
  });
  expect(await comesBack(github.back, github.cookie)).toMatch(/connected=github$/);
  expect(await accounts(buyer)).toEqual(["github:583231"]);
});

test("a way back is good once, in time, for the browser that went, while the session lasts", async () => {
  const buyer = await comes();
  const first = await goes(buyer);
  // Somebody else's browser: with no cookie, with one of their own, with a list of guesses.
  const own = await goes(await comes());
  for (const cookie of ["", own.cookie, "floe_connecting_discord=", "floe_connecting_discord=__proto__"])
    expect(await comesBack(first.back, cookie)).toBe(over);
  const foreign = new URL(first.back);
  foreign.searchParams.set("state", own.back.searchParams.get("state") ?? "");
  expect(await comesBack(foreign, first.cookie)).toBe(over);
  expect(await accounts(buyer)).toEqual([]);
  expect(await comesBack(first.back, first.cookie)).toMatch(/connected=discord$/);
  expect(await comesBack(first.back, first.cookie)).toBe(over);
  // Begun anew, what was begun before is over.
  const [earlier, later] = [await goes(buyer), await goes(buyer)];
  expect(await comesBack(earlier.back, earlier.cookie)).toBe(over);
  expect(await comesBack(later.back, later.cookie)).toMatch(/connected/);
  const late = await goes(buyer);
  floe.clock.advance(600 * 1000);
  expect(await comesBack(late.back, late.cookie)).toBe(over);
  // Signed out, or the customer gone.
  const left = await goes(buyer);
  await floe.deps.db
    .update(customerSessions)
    .set({ expires_at: floe.clock.now() })
    .where(eq(customerSessions.customer_id, buyer.id));
  expect(await comesBack(left.back, left.cookie)).toMatch(/\/portal\?error=session_over$/);
  const gone = await comes();
  const begun = await goes(gone);
  await seller.client.customers.delete({ params: { id: gone.id }, query: {} });
  expect(await comesBack(begun.back, begun.cookie)).toMatch(/error=session_over$/);
  expect(await accounts(gone)).toEqual([]);
});

test("CUP-23: nobody is sent elsewhere, and what is asked for is checked", async () => {
  const buyer = await comes();
  const elsewhere = [
    ...["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/x/..//evil.example"],
    ...["http://localhost:1@evil.example/", "", "portal", "https:evil.example", "/\t/evil.example"],
  ];
  for (const return_to of elsewhere) {
    const { status, json } = await ask(buyer.token, { platform: "discord", return_to });
    expect([return_to, status, (json as { detail: { loc: string[] }[] }).detail[0]?.loc]).toEqual([
      ...[return_to, 422],
      ["query", "return_to"],
    ]);
  }
  for (const platform of ["slack", "__proto__", "constructor", ""])
    expect((await ask(buyer.token, { platform })).status).toBe(422);
  const own = await goes(buyer, "discord", { return_to: "/my-shop/portal?tab=1#x" });
  expect(await comesBack(own.back, own.cookie)).toBe("/my-shop/portal?tab=1&connected=discord");
  // Only customers have accounts here.
  expect((await ask(seller.key, { platform: "discord" })).status).toBeGreaterThanOrEqual(401);
  const { status } = await floe.request("DELETE", "/v1/customer-portal/oauth-accounts/discord", { token: seller.key });
  expect(status).toBeGreaterThanOrEqual(401);
  const stranger = await comes();
  const remove = (platform: string) =>
    floe.request("DELETE", `/v1/customer-portal/oauth-accounts/${platform}`, { token: stranger.token });
  for (const platform of ["discord", "__proto__"]) expect((await remove(platform)).status).toBe(404);
  expect(await accounts(buyer)).toHaveLength(1);
});

test("who says no, or is told something odd, has no account, and is told why in a word", async () => {
  const buyer = await comes();
  const refused = await goes(buyer);
  refused.back.searchParams.delete("code");
  refused.back.searchParams.set("error", "access_denied");
  expect(await comesBack(refused.back, refused.cookie)).toMatch(/\?error=access_denied$/);
  const forged = await goes(buyer);
  forged.back.searchParams.set("code", "of somebody else");
  expect(await comesBack(forged.back, forged.cookie)).toMatch(/\?error=refused$/);
  const [token, me] = [/^POST .*token$/, /^GET \/users\/@me/];
  const odd: [RegExp, { status: number; json?: unknown; raw?: string }, string][] = [
    [token, { status: 502 }, "unavailable"],
    [token, { status: 429 }, "unavailable"],
    [token, { status: 200, raw: "<html>" }, "refused"],
    [token, { status: 200, raw: '{"__proto__":{"access_token":"x"}}' }, "refused"],
    [token, { status: 200, json: { access_token: "x".repeat(5000) } }, "refused"],
    [token, { status: 200, raw: `"${"x".repeat(2_000_000)}"` }, "unavailable"],
    [me, { status: 401, json: { message: "401: Unauthorized", code: 0 } }, "refused"],
    [me, { status: 200, json: { id: "__proto__", username: "x" } }, "refused"],
    [me, { status: 200, json: { id: 1e300, username: "x" } }, "refused"],
    [me, { status: 200, json: null }, "refused"],
    [me, { status: 200, raw: `[${"[".repeat(100_000)}` }, "refused"],
  ];
  for (const [call, answer, word] of odd) {
    const begun = await goes(buyer);
    platforms.troubles.push({ call, how: "answers", ...answer });
    const said = await comesBack(begun.back, begun.cookie);
    expect([answer.status, said.split("error=")[1]]).toEqual([answer.status, word]);
  }
  expect(await accounts(buyer)).toEqual([]);
  // A name is shown as text, as far as it can be; a service that never answers is waited for in bounds.
  const named = await goes(buyer);
  const json = { id: "12", username: `\u0000\u202e<b>${"x".repeat(500)}` };
  platforms.troubles.push({ call: me, how: "answers", status: 200, json });
  expect(await comesBack(named.back, named.cookie)).toMatch(/connected/);
  const [row] = await floe.deps.db.select().from(customerAccounts).where(eq(customerAccounts.customer_id, buyer.id));
  expect(row?.username).toBe(`<b>${"x".repeat(97)}`);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const asked = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 100));
  const silent = await goes(buyer);
  platforms.troubles.push({ call: token, how: "silent" });
  expect(await comesBack(silent.back, silent.cookie)).toMatch(/error=unavailable$/);
  expect(asked).toHaveBeenCalledWith(10_000);
  asked.mockRestore();
});

test("a reader of the database, or of the log, finds nothing that opens an account or is a way back", async () => {
  const buyer = await comes();
  const begun = await goes(buyer);
  const state = begun.url.searchParams.get("state") ?? "";
  const open = await goes(await comes());
  expect(await comesBack(begun.back, begun.cookie)).toMatch(/connected/);
  const rows = JSON.stringify([
    await floe.deps.db.select().from(customerAccounts),
    await floe.deps.db.select().from(customerAccountRequests),
  ]);
  const secrets = [state, open.url.searchParams.get("state") ?? "", ...platforms.secrets()];
  expect(secrets.length).toBeGreaterThan(3);
  for (const secret of secrets) {
    expect(rows).not.toContain(secret);
    expect(floe.logged.join("\n")).not.toContain(secret);
  }
  // What nobody came back for is forgotten with its session, and after its time.
  floe.clock.advance(24 * 3600 * 1000);
  expect(await comesBack(open.back, open.cookie)).toBe(over);
});
