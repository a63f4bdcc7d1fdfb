import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountCalls, findCall, findUnlisted, matchPath, matchRule } from "../../server/identity/accounts/calls.ts";
import { type Accounts, newAddress, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";

let floe: Accounts;
let seller: Seller;
let cookie: string;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
  seller = await floe.seller();
  cookie = await floe.browser(seller);
});
afterAll(() => floe.close());

const posts = [
  "sign-up/email",
  "sign-in/email",
  "sign-in/social",
  "send-verification-email",
  "verify-email",
  "request-password-reset",
  "forget-password",
  "reset-password",
  "change-password",
  "set-password",
  "change-email",
  "update-user",
  "delete-user",
  "link-social",
  "unlink-account",
  "get-access-token",
  "refresh-token",
  "account-info",
  "revoke-session",
  "callback/github",
  "organization/create",
  "organization/update",
  "organization/delete",
  "organization/set-active",
  "organization/update-member-role",
  "organization/invite-member",
  "organization/accept-invitation",
  "organization/reject-invitation",
  "organization/cancel-invitation",
  "organization/remove-member",
  "organization/leave",
  "organization/has-permission",
  "organization/check-slug",
  "api-key/create",
  "api-key/update",
  "api-key/rotate",
  "api-key/delete",
  "api-key/delete-all-expired-api-keys",
  "device/code",
  "device/token",
  "device/approve",
  "device/deny",
  "nowhere",
];
const gets = [
  "get-session?disableRefresh=x",
  "verify-email?token=%00",
  "verify-email?token=%FF",
  "reset-password/%00?callbackURL=%2F",
  "reset-password/x",
  "delete-user/callback?token=x",
  "list-sessions",
  "list-accounts",
  "account-info?accountId=%00",
  "account-info",
  "callback/github?code=x&state=y",
  "device?user_code=%00",
  "device",
  "device?user_code=x&user_code=y",
  "api-key/list",
  "api-key/list?organizationId=%00",
  "api-key/list?limit=x",
  "api-key/list?limit=1e9&offset=-1",
  "api-key/list?sortBy=key",
  "api-key/list?configId=nothing",
  "api-key/get",
  "api-key/get?id=%00",
  "api-key/get?id=x&id=y",
  "audit/list?organizationId=%00",
  "audit/list?organizationId=x",
  "audit/list?before=%00",
  "audit/list?before=x&limit=0",
  "audit/list?action=%25&actor[x]=y",
  "audit/list?limit=99999999999999999999",
  "audit/sealed?organizationId=%00",
  "audit/sealed?organizationId=x&after=99999999999999999999",
  "audit/sealed?after=x",
  "api-key/list?organizationId=a&organizationId=b",
  "organization/list",
  "organization/get-full-organization?organizationId=%00",
  "organization/get-full-organization?organizationSlug[x]=y",
  "organization/list-members?limit=x&filterField=nothing&filterValue=1",
  "organization/list-members?sortBy=nothing",
  "organization/get-active-member",
  "organization/get-invitation?id=x",
  "nowhere",
  "%E0%A4%A",
];
const values = [
  undefined,
  null,
  "\0",
  {},
  "",
  0,
  -1,
  1e300,
  true,
  [],
  "\ud800",
  "x".repeat(10_000),
  "' or 1=1 --",
  { $ne: null },
  ["x"],
];
const fields = [
  "email",
  "password",
  "name",
  "newEmail",
  "newPassword",
  "currentPassword",
  "token",
  "callbackURL",
  "redirectTo",
  "image",
  "provider",
  "providerId",
  "accountId",
  "organizationId",
  "organizationSlug",
  "slug",
  "logo",
  "metadata",
  "data",
  "role",
  "memberId",
  "memberIdOrEmail",
  "invitationId",
  "permissions",
  "userCode",
  "client_id",
  "scope",
  "grant_type",
  "device_code",
  "keyId",
  "expiresIn",
  "scopes",
  "configId",
  "remaining",
  "refillAmount",
  "refillInterval",
  "rateLimitEnabled",
  "rateLimitMax",
  "rateLimitTimeWindow",
  "expiresPreviousIn",
  "enabled",
  "userId",
  "rememberMe",
  "idToken",
];
const sound: Record<string, unknown> = {
  email: "a@example.com",
  password: "correct horse",
  name: "A",
  slug: "a-b",
  provider: "github",
  client_id: "floe-cli",
  role: "member",
};

const ask = (method: string, path: string, body: unknown, asWhom?: string, headers: Record<string, string> = {}) =>
  floe.request(method, `/api/auth/${path}`, {
    ...(body === undefined ? {} : { body }),
    ...(asWhom === undefined ? {} : { cookie: asWhom }),
    headers: { origin: floe.url, "x-forwarded-for": newAddress(), ...headers },
  });
/** Whether an answer is a success, or a fault in one of the two documented shapes. */
const fair = (answer: { status: number; json: unknown; text: string }): boolean =>
  answer.status < 400 ||
  (answer.status < 500 &&
    typeof answer.json === "object" &&
    answer.json !== null &&
    (("code" in answer.json && "message" in answer.json) || "error" in answer.json));

describe("bad input never makes a 500, and every fault has a documented shape", () => {
  test.each(posts)("POST %s", async (path) => {
    const unfair: unknown[] = [];
    const waiting: Promise<void>[] = [];
    const asking = async (body: unknown, asWhom?: string, headers?: Record<string, string>) => {
      const answer = await ask("POST", path, body, asWhom, headers);
      if (!fair(answer)) unfair.push([JSON.stringify(body)?.slice(0, 200), answer.status, answer.text.slice(0, 200)]);
    };
    // Those that answer after half a second, whatever they are asked, are asked side by side.
    const check = async (...given: Parameters<typeof asking>) => {
      const asked = asking(...given);
      if (/^(request-password-reset|forget-password)$/.test(path)) waiting.push(asked);
      else await asked;
    };
    for (const asWhom of path.includes("delete-user") ? [undefined] : [undefined, cookie]) {
      for (const body of [undefined, "{", "[]", "null", '"x"', "7"]) await check(body, asWhom);
      await check("a=b&a=c&%00=1", asWhom, { "content-type": "application/x-www-form-urlencoded" });
      await check("<a/>", asWhom, { "content-type": "text/xml" });
      for (const value of asWhom ? values : values.slice(0, 4)) {
        await check(Object.fromEntries(fields.map((field) => [field, value])), asWhom);
        await check(
          {
            ...sound,
            organizationId: seller.organization_id,
            ...Object.fromEntries(fields.filter((field) => !(field in sound)).map((field) => [field, value])),
          },
          asWhom,
        );
      }
    }
    await Promise.all(waiting);
    // Some of these end the session or change the organization's state; the next path begins anew.
    cookie = await floe.browser(seller);
    expect(unfair).toEqual([]);
  });

  test.each(gets)("GET %s", async (path) => {
    for (const asWhom of [undefined, cookie]) {
      const answer = await ask("GET", path, undefined, asWhom);
      expect([answer.status, answer.text, fair(answer)]).toEqual([expect.any(Number), expect.any(String), true]);
    }
  });

  test("a body without end is refused in the same shape", async () => {
    const answer = await ask("POST", "sign-in/email", { email: "x".repeat(1_000_000), password: "x" });
    expect([answer.status, answer.json]).toMatchObject([
      413,
      { code: expect.any(String), message: expect.any(String) },
    ]);
  });

  test("nothing of it was logged as a failure of the server", () => {
    expect(floe.logged.filter((line) => line.startsWith("error")).map((line) => line.slice(0, 300))).toEqual([]);
  });
});

describe("the table of calls", () => {
  test("has no row of a call that nobody answers", async () => {
    const missing: string[] = [];
    for (const path of Object.keys(accountCalls)) {
      const url = path.slice(1).replace(/:\w+/, "x");
      const answers = [await ask("GET", url, undefined), await ask("POST", url, {})];
      if (answers.every(({ status, json }) => status === 404 && (json as { code?: string }).code === "NOT_FOUND"))
        missing.push(path);
    }
    expect(missing).toEqual([]);
    expect((await ask("POST", "nowhere", {})).json).toMatchObject({ code: "NOT_FOUND" });
  });

  test("names the endpoints that it lacks, with which the server does not start", () => {
    const endpoints = [{ path: "/sign-out" }, { path: "/sign-in/by-name-alone" }, {}, { path: "/constructor" }];
    expect(findUnlisted(endpoints)).toEqual(["/sign-in/by-name-alone", "/constructor"]);
  });

  test("gives the rules of a call, also under its older name, and none to what is no call", () => {
    expect(findCall("/forget-password")).toBe(findCall("/request-password-reset"));
    expect(findCall("/request-password-reset").limit).toBe("mail");
    for (const path of ["/nowhere", "/__proto__", "/constructor", "", undefined]) expect(findCall(path)).toEqual({});
    expect([matchRule("limit")({ path: "/sign-in/email" }), matchRule("limit")({ path: "/methods" })]).toEqual([
      true,
      false,
    ]);
    expect([matchPath("/ok")({ path: "/ok" }), matchPath("/ok")({})]).toEqual([true, false]);
  });
});

test.each([
  "/sign-in/email",
  "/update-user",
  "/api-key/create",
  "/end-sessions",
  "/device/code",
  "/device/token",
  "/device/token/revoke",
  "/checkout",
  "/usage/ingest",
])("%s reads no body that is nested deeper than one of /v1", async (path) => {
  const nest = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
  const send = (body: string) => floe.request("POST", `/api/auth${path}`, { body, headers: { origin: floe.url } });
  const [deep, endless] = [await send(nest(101)), await send(nest(30_000))];
  for (const { status, text } of [deep, endless]) {
    expect(status).toBe(400);
    expect(text).toMatch(/VALIDATION_ERROR|The body is neither JSON nor a form/);
    expect(text.length).toBeLessThan(500);
  }
});
