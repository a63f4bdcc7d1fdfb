import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { account, member, session, user, verification } from "../../server/identity/accounts/tables.ts";
import { type Accounts, cookiesOf, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { linkTo } from "../support/mails.ts";

let floe: Accounts;
let seller: Seller;
let page: Accounts["page"];
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" }, {}, { productionPasswords: true });
  ({ page } = floe);
  seller = await floe.seller();
});
afterAll(() => floe.close());

const unique = () => newId().slice(-12);
const signUp = (fields: Record<string, unknown> = {}) =>
  page("POST", "/sign-up/email", {
    name: "Ada",
    email: `ada-${unique()}@example.com`,
    password: "correct horse",
    ...fields,
  });

describe("signing up and in (product.md 4, 5, 8)", () => {
  test("signs in at once, with a cookie that scripts cannot read, and keeps the address in lower case", async () => {
    const email = `Mixed-${unique()}@Example.com`;
    const answer = await signUp({ email });
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { token: expect.any(String), user: { email: email.toLowerCase(), emailVerified: false } },
    ]);
    const cookie = answer.headers.getSetCookie().find((one) => one.startsWith("floe.session_token="));
    expect(cookie).toMatch(/HttpOnly/i);
    expect(cookie).toMatch(/SameSite=Lax/i);
    const found = await page("GET", "/get-session", undefined, cookiesOf(answer));
    expect(found.json).toMatchObject({ user: { email: email.toLowerCase() } });
    expect(answer.text).not.toContain("password");
  });

  test("an address in another spelling is the same person's: with blanks, in another case, in Unicode", async () => {
    const local = `idn-${unique()}`;
    const kept = `${local}@xn--mnchen-3ya.example`;
    const spellings = [` ${local}@MÜNCHEN.example\n`, `${local.toUpperCase()}@XN--MNCHEN-3YA.Example`, `\t${kept} `];
    const made = await signUp({ email: spellings[0] });
    expect([made.status, made.json]).toMatchObject([200, { user: { email: kept } }]);
    for (const email of spellings) {
      const again = await page("POST", "/sign-in/email", { email, password: "correct horse" });
      expect([again.status, again.json]).toMatchObject([200, { user: { email: kept } }]);
      const twice = await signUp({ email, password: "another horse" });
      expect([twice.status, (twice.json as { code: string }).code]).toEqual([422, "USER_ALREADY_EXISTS"]);
    }
    const other = await signUp();
    const taken = await page("POST", "/change-email", { newEmail: spellings[0] }, cookiesOf(other));
    expect((await floe.deps.db.select().from(user).where(eq(user.email, kept))).length).toBe(1);
    expect(taken.status).toBeLessThan(500);
    const moved = await page("POST", "/change-email", { newEmail: ` New-${local}@Bücher.example ` }, cookiesOf(other));
    expect(moved.status).toBe(200);
    const found = await page("GET", "/get-session", undefined, cookiesOf(other));
    expect(found.json).toMatchObject({ user: { email: `new-${local}@xn--bcher-kva.example` } });
  });

  test("the password is kept as a hash", async () => {
    const rows = await floe.deps.db.select().from(account).where(eq(account.userId, seller.user_id));
    expect(rows).toHaveLength(1);
    expect(rows[0]?.password).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(JSON.stringify(rows)).not.toContain(seller.password);
  });

  test.each([
    ["a short password", { password: "short" }, 400, "PASSWORD_TOO_SHORT"],
    ["a long password", { password: "x".repeat(129) }, 400, "PASSWORD_TOO_LONG"],
    ["no address", { email: "nobody" }, 400, "INVALID_EMAIL"],
    ["no name", { name: undefined }, 400, "VALIDATION_ERROR"],
    ["an endless name", { name: "x".repeat(9000) }, 400, "VALIDATION_ERROR"],
    ["an endless address", { email: `${unique().repeat(900)}@example.com` }, 400, "VALIDATION_ERROR"],
  ])("refuses %s", async (_name, fields, status, code) => {
    const answer = await signUp(fields);
    expect([answer.status, answer.json]).toMatchObject([
      status,
      { message: expect.any(String), ...(code ? { code } : {}) },
    ]);
    if (code === "VALIDATION_ERROR") expect(answer.json).toMatchObject({ message: "Invalid body parameters" });
  });

  test("an address is used once, also by two requests at a time", async () => {
    expect((await signUp({ email: seller.email.toUpperCase() })).status).toBe(422);
    const email = `twice-${unique()}@example.com`;
    const answers = await Promise.all([signUp({ email }), signUp({ email })]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.every(({ status }) => status < 500)).toBe(true);
    const rows = await floe.deps.db.select({ id: user.id }).from(user).where(eq(user.email, email));
    expect(rows).toHaveLength(1);
  });

  test("wrong credentials: 401, the same for a known and an unknown address", async () => {
    const wrong = await page("POST", "/sign-in/email", { email: seller.email, password: "not the password" });
    const unknown = await page("POST", "/sign-in/email", { email: "nobody@example.com", password: "not the password" });
    expect([wrong.status, wrong.json]).toMatchObject([
      401,
      { code: "INVALID_EMAIL_OR_PASSWORD", message: "Invalid email or password" },
    ]);
    expect([unknown.status, unknown.json]).toEqual([wrong.status, wrong.json]);
  });

  test("a failed sign-up leaves nothing behind (accounts.md trap 4)", async () => {
    const email = `half-${unique()}@example.com`;
    await floe.deps.db.execute(
      `create function refuse() returns trigger language plpgsql as $$ begin if new."accountId" is not null then raise exception 'no'; end if; return new; end $$`,
    );
    await floe.deps.db.execute(`create trigger refuse before insert on account for each row execute function refuse()`);
    const printed = vi.spyOn(console, "error");
    try {
      const answer = await signUp({ email });
      expect([answer.status, answer.json]).toMatchObject([500, { message: "Internal server error" }]);
      // Left to itself the account side prints the failed query with its values, past our log.
      expect(printed).not.toHaveBeenCalled();
    } finally {
      printed.mockRestore();
      await floe.deps.db.execute(`drop function refuse cascade`);
    }
    // The log says what went wrong, without what was to be stored.
    const told = floe.logged.join("\n");
    expect(told).toContain("P0001");
    expect(told).not.toContain(email);
    expect(told).not.toMatch(/[0-9a-f]{32}:[0-9a-f]{128}/);
    expect(await floe.deps.db.select().from(user).where(eq(user.email, email))).toEqual([]);
  });

  test("signing out ends the session", async () => {
    const cookie = cookiesOf(await signUp());
    expect((await page("POST", "/sign-out", {}, cookie)).json).toEqual({ success: true });
    expect((await page("GET", "/list-sessions", undefined, cookie)).status).toBe(401);
  });
});

describe("forged requests", () => {
  test("the origin is checked, in tests too", async () => {
    for (const origin of ["https://evil.example", "null"]) {
      const answer = await page(
        "POST",
        "/sign-in/email",
        { email: seller.email, password: seller.password },
        await floe.browser(seller),
        { origin },
      );
      expect([origin, answer.status]).toEqual([origin, 403]);
    }
    const elsewhere = await page("POST", "/request-password-reset", {
      email: seller.email,
      redirectTo: "https://evil.example/steal",
    });
    expect([elsewhere.status, elsewhere.json]).toMatchObject([403, { message: "Invalid redirectURL" }]);
  });

  test("a cookie counts on /v1 only when our own page sends it", async () => {
    const cookie = await floe.browser(seller);
    const make = (headers: Record<string, string>) =>
      floe.request("POST", "/v1/products/", {
        cookie,
        headers,
        body: {
          name: "Forged",
          prices: [{ amount_type: "free" }],
          organization_id: seller.organization_id,
        },
      });
    expect((await make({ origin: "https://evil.example" })).status).toBe(401);
    expect((await make({ origin: "null" })).status).toBe(401);
    expect((await make({ origin: "http://localhost:1" })).status).toBe(401);
    expect((await make({ origin: floe.url })).status).toBe(201);
    expect((await make({ origin: floe.url.replace("localhost", "127.0.0.1") })).status).toBe(201);
  });

  test("a cookie with another signature is nobody", async () => {
    const cookie = `floe.session_token=${seller.session}.${encodeURIComponent("A".repeat(43))}%3D`;
    expect((await floe.request("GET", "/v1/products/", { cookie })).status).toBe(401);
    expect((await floe.request("GET", "/v1/products/", { cookie: "floe.session_token=%E0%A4%A" })).status).toBe(401);
  });

  test("no address but the connection's counts for limits (accounts.md, security)", async () => {
    const plain = await startAccounts();
    try {
      const attempts = [];
      for (let n = 0; n < 14; n += 1) {
        const headers = { origin: plain.url, "x-forwarded-for": `1.2.3.${n}`, "x-client-ip": `1.2.3.${n}` };
        attempts.push(
          await plain.request("POST", "/api/auth/sign-in/email", {
            body: { email: "a@example.com", password: "guess guess" },
            headers,
          }),
        );
      }
      const refused = attempts.find(({ status }) => status === 429);
      expect(refused?.json).toMatchObject({ code: expect.any(String), message: expect.any(String) });
      expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(refused?.headers.get("content-type")).toContain("json");
    } finally {
      await plain.close();
    }
  });
});

describe("links by mail", () => {
  test("a new address is confirmed by its link", async () => {
    const email = `confirm-${unique()}@example.com`;
    await signUp({ email });
    const link = new URL(await linkTo(floe, email, /confirm/i));
    const body = { token: link.searchParams.get("token") };
    const answer = await floe.request("POST", "/api/auth/verify-email", { body });
    expect(answer.status).toBe(200);
    const [row] = await floe.deps.db.select({ ok: user.emailVerified }).from(user).where(eq(user.email, email));
    expect(row?.ok).toBe(true);
  });

  test("a bad link says so in the catalogue's words", async () => {
    const answer = await floe.request("GET", "/api/auth/verify-email?token=nonsense&callbackURL=%2F");
    expect([answer.status, answer.headers.get("location"), answer.text]).toEqual([
      302,
      expect.stringContaining("error=invalid_token"),
      "",
    ]);
  });

  test("a password is reset once, ends all sessions, and its token is kept as a hash", async () => {
    const made = await signUp();
    const { email } = (made.json as { user: { email: string } }).user;
    const asked = await page("POST", "/forget-password", { email, redirectTo: "/reset-password" });
    expect(asked.status).toBe(200);
    const unknown = await page("POST", "/request-password-reset", {
      email: "nobody@example.com",
      redirectTo: "/reset-password",
    });
    expect(unknown.json).toEqual(asked.json);
    const link = new URL(await linkTo(floe, email, /password/i));
    const followed = await floe.request("GET", link.pathname + link.search);
    expect(followed.headers.get("location")).toContain("token=");
    const token = new URL(followed.headers.get("location") ?? "", floe.url).searchParams.get("token") ?? "";
    expect(JSON.stringify(await floe.deps.db.select().from(verification))).not.toContain(token);
    expect((await page("POST", "/reset-password", { token, newPassword: "another horse" })).json).toEqual({
      status: true,
    });
    expect((await page("POST", "/reset-password", { token, newPassword: "a third horse" })).status).toBe(400);
    expect((await page("GET", "/list-sessions", undefined, cookiesOf(made))).status).toBe(401);
    expect((await page("POST", "/sign-in/email", { email, password: "another horse" })).status).toBe(200);
  });
});

describe("one's own account (product.md 4, 7, 8)", () => {
  const fresh = async () => {
    const email = `own-${unique()}@example.com`;
    const made = await signUp({ email });
    return { email, cookie: cookiesOf(made), user_id: (made.json as { user: { id: string } }).user.id };
  };
  const agedBy = (user_id: string, days: number) =>
    floe.deps.db
      .update(session)
      .set({ createdAt: new Date(Date.now() - days * 86_400_000) })
      .where(eq(session.userId, user_id));

  test("sessions are listed also from a session older than a day (accounts.md trap 8)", async () => {
    const own = await fresh();
    await agedBy(own.user_id, 2);
    const answer = await page("GET", "/list-sessions", undefined, own.cookie);
    expect([answer.status, answer.json]).toMatchObject([200, [{ userId: own.user_id }]]);
    expect((await page("GET", "/list-sessions")).status).toBe(401);
  });

  test("a taken address is refused to a signed-in person; a free one is changed at once while unconfirmed", async () => {
    const own = await fresh();
    const taken = await page("POST", "/change-email", { newEmail: seller.email.toUpperCase() }, own.cookie);
    expect([taken.status, taken.json]).toMatchObject([400, { message: "Couldn't update your email" }]);
    expect((await page("POST", "/change-email", { newEmail: seller.email })).status).toBe(401);
    const same = await page("POST", "/change-email", { newEmail: own.email }, own.cookie);
    expect([same.status, same.json]).toMatchObject([400, { message: "Email is the same", code: "EMAIL_IS_THE_SAME" }]);
    const newEmail = `moved-${unique()}@example.com`;
    expect((await page("POST", "/change-email", { newEmail }, own.cookie)).json).toMatchObject({ status: true });
    const [row] = await floe.deps.db.select({ email: user.email }).from(user).where(eq(user.id, own.user_id));
    expect(row?.email).toBe(newEmail);
    await linkTo(floe, newEmail, /confirm/i);
  });

  test("it is deleted with the password, at once and only from a fresh session", async () => {
    const own = await fresh();
    const remove = (body: Record<string, unknown>) => page("POST", "/delete-user", body, own.cookie);
    expect((await remove({ password: "wrong horse" })).json).toMatchObject({ code: "INVALID_PASSWORD" });
    await agedBy(own.user_id, 2);
    const stale = await remove({ password: "correct horse" });
    expect([stale.status, stale.json]).toMatchObject([
      400,
      { message: "Session expired. Re-authenticate to perform this action." },
    ]);
    await agedBy(own.user_id, 0);
    expect((await remove({})).json).toMatchObject({ success: true, message: "Verification email sent" });
    await linkTo(floe, own.email, /delete/i);
    expect((await remove({ password: "correct horse" })).json).toEqual({ success: true, message: "User deleted" });
    for (const [table, column] of [
      [user, user.id],
      [session, session.userId],
      [account, account.userId],
    ] as const) {
      expect(await floe.deps.db.select().from(table).where(eq(column, own.user_id))).toEqual([]);
    }
  });

  test("accounts are chosen by provider, or by the provider's id, as published clients do (accounts.md trap 19)", async () => {
    const own = await fresh();
    const linked = { id: newId(), userId: own.user_id, createdAt: new Date(), updatedAt: new Date() };
    await floe.deps.db
      .insert(account)
      .values({ ...linked, providerId: "github", accountId: "4711", accessToken: "kept" });
    const unknown = await page("POST", "/unlink-account", { providerId: "google" }, own.cookie);
    expect([unknown.status, unknown.json]).toMatchObject([400, { code: "ACCOUNT_NOT_FOUND" }]);
    expect(
      (await page("POST", "/unlink-account", { providerId: "github", accountId: "4711" }, own.cookie)).json,
    ).toEqual({ status: true });
    const last = await page("POST", "/unlink-account", { providerId: "credential" }, own.cookie);
    expect([last.status, last.json]).toMatchObject([400, { message: "You can't unlink your last account" }]);
    await expect(
      floe.deps.db.insert(account).values({ ...linked, id: newId(), providerId: "credential", accountId: own.user_id }),
    ).rejects.toThrow();
  });
});

test("a fault on the way back from a provider is shown on the error page (product.md 2)", async () => {
  const answer = await floe.request("GET", "/api/auth/callback/github?error=access_denied&state=x");
  expect(answer.status).toBe(302);
  expect(answer.headers.get("location")).toMatch(new RegExp(`^${floe.url}/error\\?error=\\w+`));
  const page = await floe.request("GET", "/api/auth/error?error=x");
  expect([page.status, page.headers.get("location"), page.text]).toEqual([302, `${floe.url}/error?error=x`, ""]);
});

describe("organizations (product.md 6, 7)", () => {
  test("its maker owns it, and its metadata comes back as it was sent", async () => {
    const cookie = await floe.browser(seller);
    const slug = `made-${unique()}`;
    const made = await page("POST", "/organization/create", { name: "Made", slug, metadata: { tier: 1 } }, cookie);
    expect([made.status, made.json]).toMatchObject([
      200,
      { slug, metadata: { tier: 1 }, members: [{ role: "owner" }] },
    ]);
    const listed = (await page("GET", "/organization/list", undefined, cookie)).json as {
      slug: string;
      metadata: unknown;
    }[];
    expect(listed.find((one) => one.slug === slug)?.metadata).toEqual({ tier: 1 });
    const id = (made.json as { id: string }).id;
    const full = await page("GET", `/organization/get-full-organization?organizationId=${id}`, undefined, cookie);
    expect(full.json).toMatchObject({ metadata: { tier: 1 } });
    for (const key of ["blocked_at", "invoice_next_number"]) expect(full.json).not.toHaveProperty(key);
  });

  test("a slug is taken in any case, also by two at a time", async () => {
    const cookie = await floe.browser(seller);
    const slug = `taken-${unique()}`;
    const create = (name: string) => page("POST", "/organization/create", { name: "Shop", slug: name }, cookie);
    const answers = await Promise.all([create(slug), create(slug), create(slug.toUpperCase())]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    expect(answers.every(({ status }) => status < 500)).toBe(true);
    expect((await create(slug.toUpperCase())).status).toBe(400);
  });

  test.each([
    ["no slug", { slug: "" }],
    ["a slug with a space", { slug: "with space" }],
    ["an endless slug", { slug: "x".repeat(5000) }],
    ["a number for a slug", { slug: 7 }],
    ["a blank name", { name: " " }],
    ["an endless name", { name: "x".repeat(5000) }],
  ])("%s is refused", async (_name, fields) => {
    const cookie = await floe.browser(seller);
    const answer = await page(
      "POST",
      "/organization/create",
      { name: "Shop", slug: `s-${unique()}`, ...fields },
      cookie,
    );
    expect([answer.status, answer.json]).toMatchObject([
      400,
      { code: "VALIDATION_ERROR", message: "Invalid body parameters" },
    ]);
  });

  test("a member neither changes it nor makes members", async () => {
    const helper = await floe.seller("helper");
    await floe.deps.db.insert(member).values({
      id: newId(),
      organizationId: seller.organization_id,
      userId: helper.user_id,
      role: "member",
      createdAt: new Date(),
    });
    const cookie = await floe.browser(helper);
    const { organization_id: organizationId } = seller;
    const change = await page("POST", "/organization/update", { organizationId, data: { name: "Stolen" } }, cookie);
    const invite = await page(
      "POST",
      "/organization/invite-member",
      { organizationId, email: "x@example.com", role: "owner" },
      cookie,
    );
    expect([change.status, invite.status]).toEqual([403, 403]);
    await expect(
      floe.deps.db
        .insert(member)
        .values({ id: newId(), organizationId, userId: helper.user_id, role: "owner", createdAt: new Date() }),
    ).rejects.toThrow();
  });

  test("an invited person joins once the address is confirmed", async () => {
    const guest = await floe.seller("guest");
    const { organization_id: organizationId } = seller;
    const invited = await page(
      "POST",
      "/organization/invite-member",
      { organizationId, email: guest.email, role: "admin" },
      await floe.browser(seller),
    );
    expect(invited.status).toBe(200);
    expect(await linkTo(floe, guest.email, /join/i)).toContain("/accept-invitation?id=");
    const accept = () =>
      page(
        "POST",
        "/organization/accept-invitation",
        { invitationId: (invited.json as { id: string }).id },
        undefined,
        { authorization: `Bearer ${guest.session}` },
      );
    expect((await accept()).status).toBe(403);
    await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, guest.user_id));
    expect((await accept()).status).toBe(200);
    const headers = { "polar-organization": organizationId };
    expect((await floe.request("GET", "/v1/products/", { token: guest.session, headers })).status).toBe(200);
  });
});
