import { createEmailVerificationToken } from "better-auth/api";
import { sql } from "drizzle-orm";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { routes } from "../../fixtures/accounts-rows.ts";
import { type Catalogue, startCatalogue, unique } from "../../support/catalogue.ts";
import { type Floe, start } from "../../support/floe.ts";
import { startOpenId } from "../../support/oauth-stand-in.ts";
import { checkTable, words } from "../../support/table.ts";
import { buildWeb } from "../../web/support/build.ts";
import { closePages, openChromium, openPage } from "../../web/support/chromium.ts";

let floe: Catalogue;
let acme: Awaited<ReturnType<typeof startOpenId>>;
/** One that serves its pages, and a browser to look at them. */
let site: Floe;
let browser: Browser;
let web: string;
beforeAll(async () => {
  const sub = unique();
  acme = await startOpenId({ sub, email: `${sub}@example.com`, email_verified: true, name: "Ada" });
  floe = await startCatalogue(acme.settings);
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
  site = await start({ listen: true, realTime: true, web });
});
afterAll(async () => {
  await closePages(browser);
  await Promise.all([floe.close(), site.close(), acme.stop()]);
});

/** What the error page shows to somebody who was sent there. */
async function errorPage(query = "") {
  const page = await openPage(browser, []);
  await page.goto(`${site.url}/error${query}`);
  await page.getByRole("heading").first().waitFor();
  const shown = {
    title: await page.title(),
    text: (await page.locator("body").textContent()) ?? "",
    link: page.getByRole("link", { name: "Return to Application" }),
  };
  const href = await shown.link.getAttribute("href");
  await page.context().close();
  return { ...shown, href };
}
const bad = "x".repeat(24);
async function resetLink(): Promise<URL> {
  const { email } = await floe.person();
  await floe.stranger().post("/request-password-reset", { email, redirectTo: "/reset" });
  return floe.linkTo(email, "/reset-password/");
}
const keys = (link: URL) => [...link.searchParams.keys()].sort();

checkTable("2. Routes of the authentication service", routes.addresses, {
  "/error?error={code}": async () => {
    const who = floe.stranger();
    const { location } = await who.get("/callback/acme?code=x");
    expect(location?.href).toBe(`${floe.url}/error?error=state_not_found`);
    const { text } = await errorPage(location?.search);
    expect(text).toContain("state_not_found");
  },
  "{baseURL}/reset-password/{token}?callbackURL={url}": async () => {
    const link = await resetLink();
    expect(link.href).toMatch(new RegExp(`^${floe.url}/api/auth/reset-password/[^/?]+\\?callbackURL=%2Freset$`));
  },
  "{baseURL}/verify-email?token={token}&callbackURL={url}": async () => {
    const { email } = await floe.person();
    const link = await floe.linkTo(email, "/verify-email");
    expect([link.origin + link.pathname, keys(link)]).toEqual([
      `${floe.url}/api/auth/verify-email`,
      ["callbackURL", "token"],
    ]);
    expect(link.searchParams.get("callbackURL")).toBe("/");
  },
  "{baseURL}/delete-user/callback?token={token}&callbackURL={url}": async () => {
    const someone = await floe.person();
    await someone.post("/delete-user", {});
    const link = await floe.linkTo(someone.email, "/delete-user/callback");
    expect([link.origin + link.pathname, keys(link)]).toEqual([
      `${floe.url}/api/auth/delete-user/callback`,
      ["callbackURL", "token"],
    ]);
    expect(link.searchParams.get("callbackURL")).toBe("/");
  },
  "{baseURL}/callback/{providerId}": async () => {
    const { browser: visitor } = floe.stranger();
    const asked = await visitor.ask("/api/auth/sign-in/social", { provider: "acme" });
    expect(asked.searchParams.get("redirect_uri")).toBe(`${floe.url}/api/auth/callback/acme`);
  },
  "/api/reference": async () => {
    const answer = await fetch(`${floe.url}/api/reference`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
  },
});

checkTable("2. Error page and links", routes.behaviour, {
  "Error page: title": async (row) => {
    const { title, text } = await errorPage();
    expect(title).toContain(row.cells[0]);
    expect(text).toContain(row.cells[0]);
  },
  "Error page: text": async (row) => expect((await errorPage()).text).toContain(row.cells[0]),
  "Error page: link": async (row) => {
    const { text, href } = await errorPage();
    expect([text, href]).toEqual([expect.stringContaining(row.cells[0] ?? ""), row.cells[1]]);
  },
  "Error page: code": async ({ cells: [label, usual] }) => {
    expect((await errorPage("?error=no_code")).text).toContain(`${label} no_code`);
    expect((await errorPage()).text).toContain(`${label} ${usual}`);
    // Text of a stranger's stays text.
    expect((await errorPage("?error=%3Cb%3Ex%3C/b%3E")).text).toContain("<b>x</b>");
  },
  "Password-reset link: valid": async (row) => {
    const link = await resetLink();
    const token = link.pathname.split("/").at(-1) ?? "";
    const { location } = await floe.stranger().browser.go("GET", link.href);
    expect(location?.href).toBe(`${floe.url}/reset${row.cells[0]?.replace("{token}", token)}`);
  },
  "Password-reset link: missing or expired": async (row) => {
    const { location } = await floe.stranger().get(`/reset-password/${bad}?callbackURL=/reset`);
    expect(location?.href).toBe(`${floe.url}/reset${row.cells[0]}`);
    const link = await resetLink();
    await floe.deps.db.execute(sql`update "verification" set "expiresAt" = now() - interval '1 second'`);
    const late = await floe.stranger().browser.go("GET", link.href);
    expect(late.location?.href).toBe(`${floe.url}/reset${row.cells[0]}`);
  },
  "Email-verification link: success": async () => {
    const someone = await floe.person();
    const link = await floe.linkTo(someone.email, "/verify-email");
    expect((await someone.browser.go("GET", link.href)).location?.href).toBe(`${floe.url}/`);
    const other = await floe.person();
    const token = (await floe.linkTo(other.email, "/verify-email")).searchParams.get("token");
    const { json } = await floe.stranger().post("/verify-email", { token });
    expect(json).toHaveProperty("status", true);
    expect(json).toHaveProperty("user");
  },
  "Email-verification link: failure": async ({ cells: [codes] }) => {
    const [someone, other] = [await floe.person(), await floe.person()];
    const { secret } = floe.deps.config;
    const made = (email: string, to?: string, lasts?: number) =>
      createEmailVerificationToken(secret, email, to, lasts, { userId: someone.id });
    const tokens = [
      await made(someone.email, undefined, -1),
      "garbage",
      await createEmailVerificationToken(secret, `nobody-${unique()}@example.com`),
      await made(someone.email, `new-${unique()}@example.com`),
    ];
    const said = [];
    for (const token of tokens) {
      const { location } = await other.get(`/verify-email?token=${token}&callbackURL=/home?from=mail`);
      said.push([location?.pathname, location?.searchParams.get("from"), location?.searchParams.get("error")]);
    }
    expect(said).toEqual(words(codes).map((code) => ["/home", "mail", code]));
  },
});
