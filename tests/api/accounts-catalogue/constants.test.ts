import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { desc, eq } from "drizzle-orm";
import { transform } from "esbuild";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { account, invitation, user, verification } from "../../../server/identity/accounts/tables.ts";
import { Benefit } from "../../../shared/api/benefits.ts";
import { taxIdFormats } from "../../../shared/api/fields.ts";
import { countries } from "../../../shared/countries.ts";
import { constants } from "../../fixtures/accounts-rows.ts";
import { type Catalogue, startCatalogue, unique } from "../../support/catalogue.ts";
import { startOpenId } from "../../support/oauth-stand-in.ts";
import { signedEvent, verdictOn } from "../../support/signed-event.ts";
import { checkTable, type Row, words } from "../../support/table.ts";
import { closePages, openChromium } from "../../web/support/chromium.ts";

let floe: Catalogue;
let acme: Awaited<ReturnType<typeof startOpenId>>;
beforeAll(async () => {
  const sub = unique();
  acme = await startOpenId({ sub, email: `${sub}@example.com`, email_verified: true, name: "Ada" });
  floe = await startCatalogue(acme.settings);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
afterAll(async () => {
  await floe.close();
  await acme.stop();
});

const numbers = ({ cells }: Row): number[] => cells.map(Number);
/** How long the newest of what was to be verified lasts, in seconds; it was made a moment ago. */
async function lifeOfNewest(): Promise<number> {
  const [kept] = await floe.deps.db.select().from(verification).orderBy(desc(verification.createdAt)).limit(1);
  return Math.round((Number(kept?.expiresAt) - Date.now()) / 10_000) * 10;
}
const cookieIn = (cookies: string[], name: string): string => {
  const found = cookies.find((one) => one.startsWith(`floe.${name}=`));
  if (!found) throw new Error(`No cookie ${name}.`);
  return found;
};
const maxAge = (cookie: string): number | undefined => {
  const found = /Max-Age=(\d+)/.exec(cookie)?.[1];
  return found === undefined ? undefined : Number(found);
};
const signIn = async (more: object = {}) => {
  const { email, password } = await floe.person();
  return floe.stranger().post("/sign-in/email", { email, password, ...more });
};

checkTable("9. Constants", constants.lifetimes, {
  "Auth base path": async (row) => {
    expect((await floe.request("GET", `${row.cells[0]}/ok`)).json).toEqual({ ok: true });
  },
  "Email verification token lifetime": async (row) => {
    const { email } = await floe.person();
    const [, payload = ""] = ((await floe.linkTo(email, "/verify-email")).searchParams.get("token") ?? "").split(".");
    const { iat, exp } = JSON.parse(Buffer.from(payload, "base64url").toString());
    expect([exp - iat]).toEqual(numbers(row));
  },
  "Reset-password token lifetime": async (row) => {
    const { email } = await floe.person();
    await floe.stranger().post("/request-password-reset", { email });
    const token = (await floe.linkTo(email, "/reset-password/")).pathname.split("/").at(-1) ?? "";
    expect([await lifeOfNewest(), token.length]).toEqual(numbers(row));
  },
  "Delete-account token lifetime": async (row) => {
    const someone = await floe.person();
    await someone.post("/delete-user", {});
    const token = (await floe.linkTo(someone.email, "/delete-user/callback")).searchParams.get("token") ?? "";
    expect([await lifeOfNewest(), token.length]).toEqual(numbers(row));
    expect(token).toMatch(/^[0-9a-z]+$/);
  },
  "Access token refreshed when it expires within": async (row) => {
    const [seconds = 0] = numbers(row);
    const someone = await floe.person({ verified: true });
    acme.state.claims = { ...acme.state.claims, email: someone.email };
    acme.state.userinfo = { ...acme.state.claims };
    await someone.browser.link("acme");
    const refreshes = async (left_seconds: number) => {
      const accessTokenExpiresAt = new Date(Date.now() + left_seconds * 1000);
      await floe.deps.db.update(account).set({ accessTokenExpiresAt }).where(eq(account.providerId, "acme"));
      acme.state.exchanges.length = 0;
      expect((await someone.post("/get-access-token", { providerId: "acme" })).status).toBe(200);
      return acme.state.exchanges.map(({ grant_type }) => grant_type);
    };
    expect(await refreshes(seconds + 3)).toEqual([]);
    expect(await refreshes(seconds - 1)).toEqual(["refresh_token"]);
  },
  "Webhook timestamp tolerance": async (row) => {
    const [seconds = 0] = numbers(row);
    const sent = await signedEvent();
    for (const after of [0, seconds, -seconds]) expect(verdictOn(sent, { after }), `${after} s`).toBe("accepted");
    expect(verdictOn(sent, { after: seconds + 1 })).toBe("Message timestamp too old");
    expect(verdictOn(sent, { after: -seconds - 1 })).toBe("Message timestamp too new");
  },
  "Social sign-in state": async (row) => {
    const answer = await floe.stranger().post("/sign-in/social", { provider: "acme" });
    expect([maxAge(cookieIn(answer.cookies, "state")), await lifeOfNewest()]).toEqual(numbers(row));
  },
  "Code verifier length": async (row) => {
    const { browser } = floe.stranger();
    acme.state.exchanges.length = 0;
    await browser.signIn("acme");
    // The provider has checked it against the challenge that it was sent before.
    expect([acme.state.exchanges[0]?.code_verifier?.length]).toEqual(numbers(row));
  },
  "State value length": async (row) => {
    const { json } = await floe.stranger().post("/sign-in/social", { provider: "acme" });
    expect([new URL(String(json.url)).searchParams.get("state")?.length]).toEqual(numbers(row));
  },
  "Session cache cookie size": async (row) => {
    const [most = 0] = numbers(row);
    const someone = await floe.person();
    const image = `https://example.com/${"i".repeat(1800)}`;
    expect((await someone.post("/update-user", { name: "ö".repeat(255), image })).status).toBe(200);
    const { cookies } = await someone.get("/get-session?disableCookieCache=true");
    const copies = cookies.filter((one) => one.startsWith("floe.session_data") && maxAge(one) !== 0);
    expect(copies.length).toBeGreaterThan(0);
    for (const one of cookies) expect(Buffer.byteLength(one)).toBeLessThanOrEqual(most);
  },
  "Cookie Max-Age or Expires": async (row) => {
    const [most = 0] = numbers(row);
    const { cookies } = await signIn({ rememberMe: true });
    const social = await floe.stranger().post("/sign-in/social", { provider: "acme" });
    const ages = [...cookies, ...social.cookies].map(maxAge).filter((one) => one !== undefined);
    expect(ages.length).toBeGreaterThan(1);
    for (const one of ages) expect(one).toBeLessThanOrEqual(most);
  },
  "Signed cookie": async (row) => {
    const { cookies } = await signIn();
    const value = decodeURIComponent(/=([^;]*)/.exec(cookieIn(cookies, "session_token"))?.[1] ?? "");
    const [token = "", signature = ""] = value.split(".");
    expect([signature.length]).toEqual(numbers(row));
    expect(signature).toBe(createHmac("sha256", floe.deps.config.secret).update(token).digest("base64"));
  },
  "Device flow": async (row) => {
    const { json } = await floe.stranger().post("/device/code", { client_id: "floe-cli" });
    const { expires_in, interval, device_code, user_code } = json;
    expect([expires_in, interval, String(device_code).length, String(user_code).length]).toEqual(numbers(row));
  },
  "Session signal flip delay": async (row) => {
    const [delay = 0] = numbers(row);
    const asked: string[] = [];
    vi.useFakeTimers();
    vi.stubGlobal("fetch", async (path: string) => {
      asked.push(path);
      return Response.json({});
    });
    const web = await import("../../../web/auth-client.ts");
    const forget = web.session.subscribe(() => undefined);
    asked.length = 0;
    await web.requestAuth("POST", "/sign-out", {});
    await vi.advanceTimersByTimeAsync(delay - 1);
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked[1]).toContain("/get-session");
    forget();
  },
  "Checkout theme": async (row) => {
    const [usual, other] = words(row.cells[0]);
    const { code } = await transform(await readFile("web/embed.ts", "utf8"), { loader: "ts" });
    const browser = await openChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`${floe.url}/api/auth/ok`);
      await page.addScriptTag({ content: code, type: "module" });
      const themed = (options: object) =>
        page.evaluate((given) => {
          type Script = { EmbedCheckout: { create(url: string, options: object): unknown } };
          (window as unknown as { Floe: Script }).Floe.EmbedCheckout.create("/checkout/x", given);
          const frames = [...document.querySelectorAll("iframe")];
          return new URL(frames.at(-1)?.src ?? "").searchParams.get("theme");
        }, options);
      expect(await themed({})).toBe(usual);
      for (const theme of [usual, other]) expect(await themed({ theme })).toBe(theme);
    } finally {
      await closePages(browser);
    }
  },
  "Organization feature settings": async (row) => {
    const seller = await floe.seller();
    const found = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    for (const name of words(row.cells[0])) expect(found.feature_settings).toHaveProperty(name, false);
  },
  "sign-in rememberMe": async (row) => {
    const remembered = async (more: object) =>
      maxAge(cookieIn((await signIn(more)).cookies, "session_token")) !== undefined;
    expect(String(await remembered({}))).toBe(row.cells[0]);
    expect(await remembered({ rememberMe: true })).toBe(true);
    expect(await remembered({ rememberMe: false })).toBe(false);
  },
  "Invitation status": async (row) => {
    const owner = await floe.person({ verified: true });
    const { json: made } = await owner.post("/organization/create", { name: "Shop", slug: `shop-${unique()}` });
    const body = { organizationId: made.id, email: `guest-${unique()}@example.com`, role: "member" };
    const { json: invited } = await owner.post("/organization/invite-member", body);
    expect(invited.status).toBe(row.cells[0]);
    const [kept] = await floe.deps.db
      .select()
      .from(invitation)
      .where(eq(invitation.id, String(invited.id)));
    expect(kept?.status).toBe(row.cells[0]);
  },
  "Platform role": async (row) => {
    const { id } = await floe.person();
    const [kept] = await floe.deps.db.select().from(user).where(eq(user.id, id));
    expect(kept?.role).toBe(row.cells[0]);
  },
  "Creator role": async (row) => {
    const owner = await floe.person();
    const { json } = await owner.post("/organization/create", { name: "Shop", slug: `shop-${unique()}` });
    expect((json.members as { role: string }[]).map(({ role }) => role)).toEqual(row.cells);
  },
});

/** Whether a benefit may have these properties. */
function allows(type: string, properties: object): boolean {
  const now = new Date().toISOString();
  const id = "01a1fd9e-6f95-775a-9487-a853c7021dc8";
  const shared = { id, created_at: now, modified_at: null, description: "d", selectable: true, deletable: true };
  const rest = { is_deleted: false, organization_id: id, metadata: {}, visibility: "public" };
  return Benefit.safeParse({ ...shared, ...rest, visibility_configurable: true, type, properties }).success;
}

checkTable("9. Lists", constants.lists, {
  "Tax ID formats": (row) => {
    const known: readonly string[] = taxIdFormats;
    expect(words(row.cells[0]).filter((format) => !known.includes(format))).toEqual([]);
  },
  "License-key expiry timeframe": (row) => {
    const keys = (timeframe: string) =>
      allows("license_keys", { prefix: null, expires: { ttl: 1, timeframe }, activations: null, limit_usage: null });
    expect(words(row.cells[0]).filter(keys)).toEqual(words(row.cells[0]));
    expect(keys("week")).toBe(false);
  },
  "Repository permission": (row) => {
    const repository = (permission: string) =>
      allows("github_repository", { repository_owner: "floe", repository_name: "book", permission });
    expect(words(row.cells[0]).filter(repository)).toEqual(words(row.cells[0]));
    expect(repository("write")).toBe(false);
  },
  "Proration behaviour": async (row) => {
    const seller = await floe.seller();
    const params = { id: seller.organization_id };
    const { subscription_settings } = await seller.client.organizations.get({ params });
    for (const proration_behavior of words(row.cells[0])) {
      const body = { subscription_settings: { ...subscription_settings, proration_behavior } };
      const answer = await floe.request("PATCH", `/v1/organizations/${params.id}`, { token: seller.key, body });
      expect(answer).toMatchObject({ status: 200, json: { subscription_settings: { proration_behavior } } });
    }
  },
  Country: (row) => {
    const [first, last] = words(row.cells[0]);
    expect([countries[0], countries.at(-1)]).toEqual([first, last]);
    expect(Math.abs(countries.length - Number(row.cells[1]))).toBeLessThanOrEqual(5);
    for (const code of countries) expect(code).toMatch(/^[A-Z]{2}$/);
  },
});
