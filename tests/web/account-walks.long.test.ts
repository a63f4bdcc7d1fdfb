import { eq } from "drizzle-orm";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { member, session, user } from "../../server/identity/accounts/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { linkTo as mailedLink } from "../support/mails.ts";
import { startServices } from "../support/oauth-stand-in.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** People who walk through the account pages of a real server, in a real browser. */

let browser: Browser;
let web: string;
let services: Awaited<ReturnType<typeof startServices>>;
let floe: Floe;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [web, browser, services] = await Promise.all([buildWeb(), openChromium(), startServices()]);
  floe = await start({ listen: true, web, realTime: true, development: true, settings: services.settings });
});
afterAll(async () => {
  await closePages(browser);
  await floe.close();
  await services.stop();
});
beforeEach(async () => {
  complaints = [];
  page = await visitor();
});
afterEach(async () => {
  for (const one of browser.contexts()) await one.close();
  expect(complaints).toEqual([]);
});

/** Another browser. */
const visitor = (): Promise<Page> => openPage(browser, complaints, { reducedMotion: "reduce" });

const newAddress = () => `ada-${newId().slice(-12)}@example.com`;
const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const heading = (name: string) => page.getByRole("heading", { name, exact: true });

async function signUp(email: string, password: string, name = "Ada Lovelace"): Promise<void> {
  // Exact: "E-mail or username" of the page before has a "name" in it, too.
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("E-mail", { exact: true }).fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.keyboard.press("Enter");
}
async function signIn(login: string, password: string): Promise<void> {
  await page.getByLabel("E-mail or username").fill(login);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

/** Whoever has signed in is at the start page; the account is one step on. */
async function openProfile(): Promise<void> {
  await page.waitForURL((url) => url.pathname === "/");
  await page.goto(new URL("/account", page.url()).href);
  await heading("Profile").waitFor();
}

/** The link in the latest mail to an address, of that subject. */
const linkTo = (address: string, subject: RegExp, at = floe): Promise<string> => mailedLink(at, address, subject);

test("sign up, confirm by the mail's link, sign out, forget the password, choose another, sign in", async () => {
  const email = newAddress();
  await page.goto(`${floe.url}/sign-up`);
  await signUp(email, "password1");
  await page.locator(".message.fault").waitFor();
  expect(await page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Password").fill("drifting past the pole 7");
  await page.keyboard.press("Enter");
  await openProfile();
  await page.getByText("Not confirmed").waitFor();

  await page.goto(await linkTo(email, /^Confirm/));
  await heading("Your address is confirmed").waitFor();
  await page.getByRole("link", { name: "Continue" }).click();
  await openProfile();
  await page.getByText("Confirmed", { exact: true }).waitFor();

  await button("Sign out").click();
  await heading("Sign in").waitFor();
  await signIn(email, "not my password");
  await page.getByText("Invalid email or password").waitFor();
  await page.getByRole("link", { name: "Forgot it?" }).click();
  await heading("Choose a new password").waitFor();
  await page.getByLabel("E-mail").fill(email);
  await page.keyboard.press("Enter");
  await page.getByText("a link is on its way there").waitFor();

  const link = await linkTo(email, /^Choose a new password/);
  await page.goto(link);
  await page.getByLabel("New password").fill("short");
  await page.keyboard.press("Enter");
  await page.getByText("Use at least 8 characters.").waitFor();
  await page.getByLabel("New password").fill("another way over the ice 9");
  await page.keyboard.press("Enter");
  await heading("Your password is changed").waitFor();
  await page.goto(link);
  await heading("This link is no longer good").waitFor();

  await page.goto(`${floe.url}/sign-in?next=%2Faccount%2Fsessions`);
  await signIn(email, "another way over the ice 9");
  await page.getByText("This one").waitFor();
  expect(new URL(page.url()).pathname).toBe("/account/sessions");
  expect(await page.getByRole("list", { name: "Where you are signed in" }).getByRole("listitem").count()).toBe(1);
});

test("a server's own fields are asked for at sign-up, with their faults beside them, and changed by the keyboard", async () => {
  const declared = {
    companyName: { type: "string", required: true },
    seats: { type: "number", label: "How many are you?" },
    isAgent: { type: "boolean", label: "I buy for others" },
    country: { type: "string", required: true, default: "FR" },
    plan: { type: "string", input: false, default: "basic" },
  };
  const asking = await start({
    listen: true,
    web,
    realTime: true,
    settings: { FLOE_USER_FIELDS: JSON.stringify(declared) },
  });
  const me = (): Promise<Record<string, unknown>> =>
    page.evaluate(async () => (await (await fetch("/api/auth/get-session?disableCookieCache=true")).json()).user);
  try {
    await page.goto(`${asking.url}/sign-up`);
    await signUp(newAddress(), "drifting past the pole 7");
    await page.getByText("Company name is needed.").waitFor();
    const company = page.getByLabel("Company name");
    expect(await company.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await page.getByLabel("Plan").count()).toBe(0);
    expect(await page.getByLabel("Country").inputValue()).toBe("FR");
    await page.keyboard.type("ö".repeat(101));
    await page.keyboard.press("Tab");
    await page.keyboard.type("many");
    await page.keyboard.press("Enter");
    await page.getByText("Write a number, like 12.5.").waitFor();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("2.5");
    await page.keyboard.press("Enter");
    // Only the server knows how much a field holds.
    await page.getByText("Company name is too long.").waitFor();
    expect(await company.getAttribute("aria-invalid")).toBe("true");
    expect(await seriousFaults(page)).toEqual([]);
    await company.fill("Acme");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await page.keyboard.press("Enter");
    await openProfile();
    const given = { companyName: "Acme", seats: 2.5, isAgent: true, country: "FR", plan: "basic" };
    expect(await me()).toMatchObject(given);

    await page.getByLabel("How many are you?").fill("");
    await page.getByLabel("I buy for others").uncheck();
    await company.fill(" ");
    await page.keyboard.press("Enter");
    await page.getByText("Company name is needed.").waitFor();
    await page.keyboard.type("Beta");
    await page.keyboard.press("Enter");
    await page.getByText("Saved.").waitFor();
    expect(await me()).toMatchObject({ ...given, companyName: "Beta", seats: null, isAgent: false });
  } finally {
    await asking.close();
  }
});

test("a mail's link that failed says why, and asks for a new one; a scanner that opens a page confirms nothing", async () => {
  const email = newAddress();
  await page.goto(`${floe.url}/sign-up`);
  await signUp(email, "drifting past the pole 7");
  await openProfile();
  const link = new URL(await linkTo(email, /^Confirm/));
  await page.goto(`${floe.url}/api/auth/verify-email?token=nonsense&callbackURL=%2F`);
  await heading("This link does not work").waitFor();
  await page.getByLabel("E-mail").fill(email);
  await page.keyboard.press("Enter");
  await page.getByText("a new link is on its way there").waitFor();

  await page.goto(`${floe.url}/verify-email?token=${link.searchParams.get("token")}`);
  await button("Confirm this address").waitFor();
  const confirmed = async (): Promise<boolean> => {
    const { user } = await page.evaluate(async () =>
      (await fetch("/api/auth/get-session?disableCookieCache=true")).json(),
    );
    return user.emailVerified;
  };
  expect(await confirmed()).toBe(false);
  await button("Confirm this address").click();
  await heading("Your address is confirmed").waitFor();
  expect(await confirmed()).toBe(true);
});

test("an address that is confirmed where the account was never entered: earlier access ends, and a password is chosen", async () => {
  const email = newAddress();
  const squatter = { name: "Ada", email, password: "a password of a stranger 7" };
  expect((await floe.request("POST", "/api/auth/sign-up/email", { body: squatter })).status).toBe(200);
  await page.goto(await linkTo(email, /^Confirm/));
  await page.getByText("You are not signed in to this account here.").waitFor();
  await button("Confirm this address").click();
  await heading("Your address is confirmed").waitFor();
  await page.getByText("Nobody who used this account before can sign in any more.").waitFor();
  await page.getByRole("link", { name: "Choose a password" }).click();
  await page.getByLabel("New password").fill("drifting past the pole 7");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Sign in" }).click();
  await signIn(email, "drifting past the pole 7");
  await openProfile();
  expect((await floe.request("POST", "/api/auth/sign-in/email", { body: squatter })).status).toBe(401);
});

test("a change of a confirmed address: agreed to at the old one, then proven at the new one; and deletion by a link", async () => {
  const seller = await floe.seller("mover");
  await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, seller.user_id));
  const email = newAddress();
  await page.goto(`${floe.url}/sign-in`);
  await signIn(seller.email, seller.password);
  await openProfile();
  await page.getByLabel("New e-mail address").fill("nonsense");
  await button("Change it").click();
  await page.getByText("Write it like name@example.com.").waitFor();
  await page.getByLabel("New e-mail address").fill(email);
  await button("Change it").click();
  await page.getByText(`We sent a link to ${seller.email}.`).waitFor();
  await page.goto(await linkTo(seller.email, /^Change your/));
  await heading("Your address is changed").waitFor();
  await page.goto(await linkTo(email, /^Confirm your/));
  await heading("Your address is confirmed").waitFor();
  await page.getByRole("link", { name: "Continue" }).click();
  await page.getByRole("region", { name: "E-mail address" }).getByText(email).waitFor();
  await page.getByText("Confirmed", { exact: true }).waitFor();

  await page.getByRole("link", { name: "Delete account" }).click();
  await button("Send me a link instead").click();
  await page.getByText("Your account is deleted once you have followed it").waitFor();
  await page.goto(await linkTo(email, /^Delete your account/));
  await button("Delete the account").click();
  await expect(page.getByText("Your account is deleted.").waitFor()).resolves.toBeUndefined();
});

test("an invitation: signed out, somebody else's account, a new account, its confirmed address, the membership", async () => {
  const seller = await floe.seller("arctic");
  const email = newAddress();
  const invited = await floe.request("POST", "/api/auth/organization/invite-member", {
    token: seller.session,
    body: { email, role: "admin", organizationId: seller.organization_id },
  });
  expect(invited.status).toBe(200);
  const link = await linkTo(email, /^Join/);

  await page.goto(link);
  await heading("You are invited").waitFor();
  await page.getByRole("link", { name: "Sign in" }).click();
  await signIn(seller.email, seller.password);
  await heading("This invitation is for somebody else").waitFor();
  await button("Use another account").click();
  await heading("You are invited").waitFor();
  await page.getByRole("link", { name: "Sign up" }).click();
  await signUp(email, "drifting past the pole 7", "Grace Hopper");
  await heading("Confirm your address first").waitFor();
  await page.goto(await linkTo(email, /^Confirm/));
  await page.getByRole("link", { name: "Continue" }).click();
  await page.getByRole("heading", { name: /^Join arctic/ }).waitFor();
  await page.getByText(seller.email).waitFor();
  await page.getByText("admin").waitFor();
  await button("Join").click();
  await page.getByRole("heading", { name: /^You belong to arctic/ }).waitFor();
  const members = await floe.request(
    "GET",
    `/api/auth/organization/list-members?organizationId=${seller.organization_id}`,
    { token: seller.session },
  );
  expect(members.json).toMatchObject({ total: 2 });
  await page.goto(link);
  await heading("This invitation is no longer open").waitFor();
});

test("the account: profile, username, linked accounts, sessions, password, keys, deletion", async () => {
  const email = newAddress();
  await page.goto(`${floe.url}/sign-up`);
  await signUp(email, "drifting past the pole 7");
  await openProfile();
  await page.goto(await linkTo(email, /^Confirm/));
  await page.getByRole("link", { name: "Continue" }).click();

  // What is shown of the person is asked for again after the change, once.
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().includes("/api/auth/get-session")) asked += 1;
  });
  const username = `ada_${newId().slice(-8)}`;
  await openProfile();
  await page.getByText("Confirmed", { exact: true }).waitFor();
  asked = 0;
  await page.getByLabel("Name", { exact: true }).fill("Countess");
  await page.getByLabel("Username").fill("no spaces");
  await button("Save").click();
  await page.getByText("3 to 30 letters, digits, dots and underscores.").waitFor();
  await page.getByLabel("Username").fill(username);
  await button("Save").click();
  await page.getByText("Saved.").waitFor();
  await page.getByText(`@${username}`).waitFor();
  await page.locator(".person strong", { hasText: "Countess" }).waitFor();
  expect(asked).toBe(1);

  // Another browser signs in by username, and is signed out from here.
  const here = page;
  const other = await visitor();
  page = other;
  await page.goto(`${floe.url}/sign-in`);
  await page.getByLabel("Keep me signed in").uncheck();
  await signIn(username, "drifting past the pole 7");
  await openProfile();
  page = here;
  await page.getByRole("link", { name: "Sessions and devices" }).click();
  await heading("Sessions and devices").waitFor();
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
  await page.getByRole("button", { name: /^Sign out Chrome/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await expect
    .poll(() => page.getByRole("list", { name: "Where you are signed in" }).getByRole("listitem").count())
    .toBe(1);
  await other.reload();
  await other.getByRole("heading", { name: "Sign in" }).waitFor();

  // A terminal stands with the devices, not with the browsers.
  const [owner] = await floe.deps.db.select().from(user).where(eq(user.email, email));
  await floe.deps.db.insert(session).values({
    id: newId(),
    userId: owner?.id ?? "",
    token: newId(),
    clientId: "floe-cli",
    scope: "products:write",
    expiresAt: new Date(Date.now() + 60_000),
    createdAt: new Date(),
    updatedAt: new Date(),
  });
  await page.reload();
  await page.getByText("products:write").waitFor();
  await page.getByText("This one").waitFor();
  expect(await page.getByRole("list", { name: "Where you are signed in" }).getByRole("listitem").count()).toBe(1);
  await page.getByRole("button", { name: /^Disconnect floe command line/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
  await page.getByText("No terminal or device is connected.").waitFor();

  // GitHub is linked, and unlinked.
  services.state.github.emails = [{ email, primary: true, verified: true, visibility: null }];
  await page.getByRole("link", { name: "Signing in" }).click();
  await button("Link GitHub").click();
  await button("Unlink GitHub").click();
  await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
  await button("Link GitHub").waitFor();

  await page.getByLabel("Present password").fill("not this");
  await page.getByLabel("New password").fill("another way over the ice 9");
  await button("Change the password").click();
  await page.getByText("Invalid password").waitFor();
  await page.getByLabel("Present password").fill("drifting past the pole 7");
  await button("Change the password").click();
  await page.getByText("Your password is changed.").waitFor();

  await page.getByRole("link", { name: "Delete account" }).click();
  await heading("Delete account").waitFor();
  await page.getByLabel("Password").fill("not this");
  await button("Delete the account").click();
  await button("Delete it").click();
  await page.getByText("Invalid password").waitFor();
  await page.getByLabel("Password").fill("another way over the ice 9");
  await button("Delete the account").click();
  await button("Delete it").click();
  await page.getByText("Your account is deleted.").waitFor();
  await signIn(email, "another way over the ice 9");
  await page.getByText("Invalid email or password").waitFor();
});

test("keys: made with scopes for an organization, shown once, good at once, renewed, revoked; and deletion is refused with the reason", async () => {
  const seller = await floe.seller("keeper");
  await page.goto(`${floe.url}/account/keys`);
  await signIn(seller.email, seller.password);
  await heading("API keys").waitFor();
  await page.getByText("No keys yet.").waitFor();
  await page.getByLabel("Keys of").selectOption({ index: 1 });
  await page.getByText("test").first().waitFor();
  await button("New key").click();
  await page.getByLabel("Name").fill("Deploy");
  await page.getByLabel("It may").selectOption("some");
  await button("Make the key").click();
  await page.getByText("Choose at least one thing below.").waitFor();
  await page.getByLabel("Products").selectOption("read");
  await button("Make the key").click();
  const shown = page.getByLabel("The key Deploy");
  const first = (await shown.locator("code").textContent()) ?? "";
  const status = async (token: string, path: string) => (await floe.request("GET", path, { token })).status;
  expect(await status(first, "/v1/products/")).toBe(200);
  expect(await status(first, "/v1/customers/")).toBe(403);
  await button("I have kept it").click();
  await shown.waitFor({ state: "detached" });
  await page.reload();
  await page.getByLabel("Keys of").selectOption({ index: 1 });
  await button("Renew Deploy").waitFor();
  expect(await page.content()).not.toContain(first);

  await button("Renew Deploy").click();
  await page.getByRole("dialog").getByRole("button", { name: "Renew" }).click();
  const second = (await shown.locator("code").textContent()) ?? "";
  expect(second).not.toBe(first);
  expect(await status(second, "/v1/products/")).toBe(200);
  await button("Revoke Deploy").click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await button("Revoke Deploy").waitFor({ state: "detached" });
  expect([await status(first, "/v1/products/"), await status(second, "/v1/products/")]).toEqual([401, 401]);

  // With another member in it, the organization needs its only owner.
  const { user_id: userId } = await floe.seller("member");
  const { organization_id: organizationId } = seller;
  await floe.deps.db
    .insert(member)
    .values({ id: newId(), organizationId, userId, role: "member", createdAt: new Date() });
  await page.getByRole("link", { name: "Delete account" }).click();
  await heading("Delete account").waitFor();
  await page.getByLabel("Password").fill(seller.password);
  await button("Delete the account").click();
  await button("Delete it").click();
  await page.getByText(/An organization needs an owner\..*keeper/).waitFor();
});

test("where addresses must be confirmed: no way in before, the link again, and on to where one was going", async () => {
  const strict = await start({
    listen: true,
    web,
    settings: { FLOE_EMAIL_VERIFICATION: "required" },
  });
  try {
    const email = newAddress();
    await page.goto(`${strict.url}/account/keys`);
    await page.getByRole("link", { name: "Sign up" }).click();
    await signUp(email, "drifting past the pole 7");
    await heading("Look into your mail").waitFor();
    await page.getByRole("link", { name: "sign in", exact: true }).click();
    await signIn(email, "drifting past the pole 7");
    await page.getByText("Your e-mail address is not confirmed yet.").waitFor();
    await button("Send it again").click();
    await page.getByText(`We sent a link to ${email}.`).waitFor();
    await page.goto(await linkTo(email, /^Confirm/, strict));
    await button("Confirm this address").click();
    await page.getByRole("link", { name: "Continue" }).click();
    await heading("Sign in").waitFor();

    const tooMany = /Too many tries\. Try again in \d+ (seconds|minutes)\./;
    for (let tries = 0; tries < 10; tries += 1) {
      await signIn(email, `guess number ${tries}`);
      await page.getByRole("alert").waitFor();
      if (tooMany.test((await page.getByRole("alert").textContent()) ?? "")) break;
      await page.getByText("Invalid email or password").waitFor();
      await page.getByLabel("Password").fill("");
      await button("Sign in").click();
      await page.getByRole("alert").waitFor({ state: "detached" });
    }
    await page.getByText(tooMany).waitFor();
    const seconds = Number(/\d+/.exec((await page.getByRole("alert").textContent()) ?? "")?.[0]);
    expect(seconds).toBeLessThanOrEqual(10);
    strict.clock.advance(seconds * 1000);
    await signIn(email, "drifting past the pole 7");
    await heading("API keys").waitFor();

    const front = await strict.request("GET", "/");
    expect([front.status, front.headers.location]).toEqual([302, "/sign-in"]);
    const failed = await strict.request("GET", "/?error=token_expired");
    expect(failed.headers.location).toBe("/verify-email?error=token_expired");
    const lost = await strict.request("GET", "/?error=state_mismatch%26x");
    expect(lost.headers.location).toBe("/error?error=state_mismatch%26x");
    expect((await strict.request("GET", "/account")).headers["x-robots-tag"]).toBe("noindex");
  } finally {
    await strict.close();
  }
});

test("with GitHub: refused there, the error page; agreed to, where one was going; and a first password by mail", async () => {
  const id = Math.trunc(Math.random() * 1e9);
  const email = newAddress();
  Object.assign(services.state.github, { id, emails: [{ email, primary: true, verified: true, visibility: null }] });
  services.state.refuse = "access_denied";
  await page.goto(`${floe.url}/sign-in?next=%2Faccount%2Fsign-in`);
  await button("Continue with GitHub").click();
  await heading("Authentication Error").waitFor();
  await page.getByText("Error Code: access_denied").waitFor();
  services.state.refuse = undefined;
  await page.goto(`${floe.url}/sign-in?next=%2Faccount%2Fsign-in`);
  await button("Continue with GitHub").click();
  await button("Unlink GitHub").waitFor();
  await button("Unlink GitHub").click();
  await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
  await page.getByText("You can't unlink your last account").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await button("Send me a link to choose one").click();
  await page.getByText(`We sent a link to ${email}.`).waitFor();
  await page.goto(await linkTo(email, /^Choose a new password/));
  await page.getByLabel("New password").fill("drifting past the pole 7");
  await page.keyboard.press("Enter");
  await expect(heading("Your password is changed").waitFor()).resolves.toBeUndefined();
});

test("a guest is told what a guest is, and keeps the account's place by signing up", async () => {
  await page.goto(`${floe.url}/sign-in?next=%2Faccount%2Fkeys`);
  await button("Continue as a guest").click();
  await heading("API keys").waitFor();
  await page.getByRole("link", { name: "Sign up" }).click();
  const email = newAddress();
  await signUp(email, "drifting past the pole 7");
  await openProfile();
  await page.getByText("Not confirmed").waitFor();
  expect(await page.getByText("You are here as a guest").count()).toBe(0);
});

test("with the keyboard alone: sign in, reach a part of the account, ask for something and step back from it", async () => {
  const seller = await floe.seller("keys");
  await page.goto(`${floe.url}/sign-in`);
  await heading("Sign in").waitFor();
  const press = async (key: string, times = 1): Promise<void> => {
    for (let index = 0; index < times; index += 1) await page.keyboard.press(key);
  };
  const focused = () =>
    page.evaluate(() => document.activeElement?.textContent || document.activeElement?.getAttribute("name"));
  await press("Tab", 2);
  await page.keyboard.type(seller.email);
  await press("Tab");
  await page.keyboard.type("wrong");
  await press("Enter");
  await page.getByRole("alert").waitFor();
  expect(await focused()).toBe("password");
  await press("Control+A");
  await page.keyboard.type(seller.password);
  await press("Tab");
  await press("Space");
  expect(await page.getByLabel("Keep me signed in").isChecked()).toBe(false);
  await press("Tab");
  expect(await focused()).toBe("Forgot it?");
  await press("Tab");
  expect(await focused()).toBe("Sign in");
  await press("Enter");
  await openProfile();
  // The mark, the way out, then the parts.
  await press("Tab", 5);
  expect(await focused()).toBe("Sessions and devices");
  await press("Enter");
  await page.getByText("This one").waitFor();
  expect(await focused()).toBe("Sessions and devices");
  await press("Tab");
  expect(await focused()).toBe("Sign out");
  for (const leave of ["Escape", "Enter"]) {
    await press("Enter");
    await page.getByRole("dialog").waitFor();
    expect(await focused()).toBe("Cancel");
    expect(await seriousFaults(page)).toEqual([]);
    await press(leave);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await focused()).toBe("Sign out");
  }
  await press("Enter");
  await page.getByRole("dialog").waitFor();
  await press("Tab");
  await press("Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  // The button went with the session that it ended.
  await expect.poll(focused).toBe("Sessions and devices");
});
