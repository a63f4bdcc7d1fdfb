import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

/** The web app's auth client, in a world of a fetch that writes down what it is asked. */

type Client = typeof import("../../web/auth-client.ts");
let client: Client;
let asked: string[];
let answers: Record<string, { status?: number; json: unknown; headers?: Record<string, string> }>;
let bodies: Record<string, unknown>;

beforeEach(async () => {
  vi.useFakeTimers();
  vi.resetModules();
  asked = [];
  answers = {};
  bodies = {};
  vi.stubGlobal("fetch", async (path: string, { method, body, credentials }: RequestInit) => {
    expect(credentials).toBe("include");
    asked.push(`${method} ${path}`);
    if (body) bodies[path] = JSON.parse(String(body));
    const { status = 200, json, headers = {} } = answers[path] ?? { json: {} };
    return new Response(JSON.stringify(json), { status, headers });
  });
  client = await import("../../web/auth-client.ts");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const path = {
  session: "GET /api/auth/get-session?disableCookieCache=true",
  organizations: "GET /api/auth/organization/list",
  activeMember: "GET /api/auth/organization/get-active-member",
  activeMemberRole: "GET /api/auth/organization/get-active-member-role",
};
type Name = keyof typeof path;
const names = Object.keys(path) as Name[];

/** Looks at every store, makes a call, and says what was asked for again. */
async function refetchedAfter(call: string): Promise<Name[]> {
  for (const name of names) client[name].subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.sort()).toEqual(Object.values(path).sort());
  asked = [];
  await client.requestAuth("POST", call, {});
  expect(asked).toEqual([`POST /api/auth${call}`]);
  await vi.advanceTimersByTimeAsync(9);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  return names.filter((name) => asked.includes(path[name]));
}

describe("refetching after calls, 10 ms later (sections 4 and 9)", () => {
  test.each<[string, Name[]]>([
    ["/sign-in/email", ["session"]],
    ["/sign-in/username", ["session"]],
    ["/sign-in/anonymous", ["session"]],
    ["/sign-up/email", ["session"]],
    ["/sign-out", ["session"]],
    ["/update-user", ["session"]],
    ["/delete-user", ["session"]],
    ["/verify-email", ["session"]],
    ["/organization/set-active", ["session"]],
    ["/organization/create", ["organizations"]],
    ["/organization/update", ["organizations"]],
    ["/organization/delete", ["organizations"]],
    ["/organization/update-member-role", ["activeMember", "activeMemberRole"]],
    ["/organization/invite-member", []],
    ["/request-password-reset", []],
    ["/api-key/create", []],
    ["/link-social", []],
  ])("%s: %j", async (call, stores) => {
    expect(await refetchedAfter(call)).toEqual(stores);
  });

  test("a call with a query counts by its path", async () => {
    client.session.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    asked = [];
    await client.requestAuth("GET", "/verify-email?token=t");
    await vi.advanceTimersByTimeAsync(10);
    expect(asked).toEqual(["GET /api/auth/verify-email?token=t", path.session]);
  });

  test("a refused call makes nothing be asked for again", async () => {
    answers["/api/auth/sign-in/email"] = { status: 401, json: { code: "INVALID_EMAIL_OR_PASSWORD", message: "No" } };
    client.session.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    asked = [];
    await client.requestAuth("POST", "/sign-in/email", {});
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual(["POST /api/auth/sign-in/email"]);
  });

  test("what nobody looks at is asked for when somebody does", async () => {
    const leave = client.session.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    leave();
    await client.requestAuth("POST", "/sign-out", {});
    await vi.advanceTimersByTimeAsync(10);
    expect(asked).toEqual([path.session, "POST /api/auth/sign-out"]);
    client.session.subscribe(() => undefined);
    expect(asked).toEqual([path.session, "POST /api/auth/sign-out", path.session]);
    client.session.subscribe(() => undefined);
    expect(asked).toHaveLength(3);
  });
});

describe("what is known", () => {
  test("is pending until it is there, and listeners are told", async () => {
    answers["/api/auth/get-session?disableCookieCache=true"] = { json: { user: { id: "1" }, session: { id: "2" } } };
    expect(client.session.get()).toEqual({ pending: true, value: null, failure: null });
    const heard = vi.fn();
    client.session.subscribe(heard);
    await vi.advanceTimersByTimeAsync(0);
    expect(heard).toHaveBeenCalledOnce();
    expect(client.session.get()).toMatchObject({ pending: false, value: { user: { id: "1" } }, failure: null });
  });

  test("stays when the server cannot be reached, and goes when nobody is signed in", async () => {
    answers["/api/auth/organization/list"] = { json: [{ id: "1" }] };
    client.organizations.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    answers["/api/auth/organization/list"] = { status: 500, json: { message: "Internal server error" } };
    await client.organizations.refetch();
    expect(client.organizations.get()).toMatchObject({ value: [{ id: "1" }], failure: { status: 500 } });
    answers["/api/auth/organization/list"] = { status: 401, json: { message: "Unauthorized" } };
    await client.organizations.refetch();
    expect(client.organizations.get()).toMatchObject({ value: null, failure: { status: 401 } });
  });

  test("an answer that was overtaken by a later one is forgotten", async () => {
    const waiting: ((response: Response) => void)[] = [];
    vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => waiting.push(resolve)));
    const first = client.session.refetch();
    const second = client.session.refetch();
    waiting[1]?.(new Response(JSON.stringify({ user: { id: "new" } })));
    await second;
    waiting[0]?.(new Response(JSON.stringify({ user: { id: "old" } })));
    await first;
    expect(client.session.get().value).toEqual({ user: { id: "new" } });
  });
});

describe("results", () => {
  test("are an ok value, which unwraps to the value", async () => {
    answers["/api/auth/sign-out"] = { json: { success: true } };
    const result = await client.requestAuth("POST", "/sign-out", {});
    expect(result).toEqual({ ok: true, value: { success: true } });
    expect(client.unwrapResult(result)).toEqual({ success: true });
  });

  test("or an error value with the server's message, code and time to wait, which unwrapping raises", async () => {
    const json = { code: "TOO_MANY_REQUESTS", message: "Too many requests" };
    answers["/api/auth/sign-in/email"] = { status: 429, json, headers: { "retry-after": "42" } };
    const result = await client.requestAuth("POST", "/sign-in/email", {});
    const failure = { status: 429, error: json.code, detail: json.message, faults: [], retry_after: 42 };
    expect(result).toEqual({ ok: false, failure });
    expect(() => client.unwrapResult(result)).toThrow(
      expect.objectContaining({ name: "AuthError", message: json.message, failure }),
    );
  });

  test("an unreachable server is an error value too", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed")));
    expect(await client.requestAuth("POST", "/sign-out", {})).toMatchObject({ ok: false, failure: { status: 0 } });
  });
});

describe("checkout", () => {
  const opened: unknown[] = [];
  beforeEach(() => {
    opened.length = 0;
    vi.stubGlobal("location", { origin: "https://shop.example" });
    const create = async (...given: unknown[]) => void opened.push(given);
    vi.stubGlobal("window", { Floe: { EmbedCheckout: { create } } });
  });

  test("sends the request with redirect false and this page's origin, and opens the url in the overlay", async () => {
    answers["/api/auth/checkout"] = { json: { url: "https://pay.example/checkout/1", redirect: false } };
    const { url } = await client.startCheckout({ products: ["p1"], metadata: { from: "test" } }, { theme: "dark" });
    expect(bodies["/api/auth/checkout"]).toEqual({
      products: ["p1"],
      metadata: { from: "test" },
      redirect: false,
      embedOrigin: "https://shop.example",
    });
    expect(url).toBe("https://pay.example/checkout/1");
    expect(opened).toEqual([["https://pay.example/checkout/1", { theme: "dark" }]]);
  });

  test("raises the message of the server's error, and opens nothing", async () => {
    answers["/api/auth/checkout"] = { status: 401, json: { code: "UNAUTHORIZED", message: "Sign in to buy." } };
    await expect(client.startCheckout({ slug: "guide" })).rejects.toThrow("Sign in to buy.");
    expect(opened).toEqual([]);
  });
});
