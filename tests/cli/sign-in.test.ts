import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { begin, floe, folder, type Received, standIn, until } from "./support.ts";

const code = {
  device_code: "device-secret",
  user_code: "ABCD-EFGH",
  verification_uri: "http://localhost:4455/device",
  verification_uri_complete: "http://localhost:4455/device?user_code=ABCD-EFGH",
  expires_in: 600,
  interval: 0.01,
};
const acme = { id: "0193a000-0000-7000-8000-0000000000aa", name: "Acme", slug: "acme" };
const beta = { id: "0193a000-0000-7000-8000-0000000000bb", name: "Beta", slug: "beta" };
const user = { id: "u1", email: "ada@example.test", name: "Ada" };

let polls: { status?: number; json: unknown }[];
let organizations: (typeof acme)[];
let device = code;
const fault = (error: string) => ({ status: 400, json: { error, error_description: `described ${error}` } });

const server = await standIn((request: Received) => {
  switch (request.path) {
    case "/api/auth/device/code":
      return { json: device };
    case "/api/auth/device/token":
      return polls.shift() ?? { json: { access_token: "token-1", token_type: "Bearer", expires_in: 604_800 } };
    case "/api/auth/get-session":
      return {
        json:
          request.headers.authorization === "Bearer token-1"
            ? { user, session: { expiresAt: "2026-12-01T00:00:00.000Z" } }
            : null,
      };
    case "/api/auth/organization/list":
      return { json: organizations };
    case "/api/auth/organization/create":
      return { json: { ...(request.body as object), id: beta.id } };
    case "/api/auth/api-key/create":
      return { json: { id: "key1", key: "floe_secret_key", name: "ci" } };
    case "/api/auth/api-key/list":
      return { json: { apiKeys: [{ id: "key1", name: "ci", start: "floe_" }], total: 1 } };
    case "/v1/organizations/":
      return { json: { items: [acme], pagination: { total_count: 1, max_page: 1 } } };
    default:
      return { json: { items: [], pagination: { total_count: 0, max_page: 0 } } };
  }
});

let config: string;
let env: Record<string, string>;
beforeEach(() => {
  server.received.length = 0;
  polls = [];
  organizations = [acme];
  device = code;
  config = join(folder(), "floe");
  env = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: config };
});
const stored = (): Record<string, Record<string, { token: string }>> =>
  JSON.parse(readFileSync(join(config, "credentials.json"), "utf8"));

describe("floe login", () => {
  test("prints address and code on stderr, waits, and keeps the sign-in and the only organization", async () => {
    polls = [fault("authorization_pending"), fault("authorization_pending")];
    const { code: exit, out, err, opened } = await floe(["login", "--wait"], { env });
    expect(exit).toBe(0);
    expect(out).toBe("");
    expect(err).toContain("Open   http://localhost:4455/device?user_code=ABCD-EFGH");
    expect(err).toContain("Code   ABCD-EFGH");
    expect(err).toContain(`Signed in at ${server.url} as ada@example.test.`);
    expect(err).toContain("Organization: Acme (acme).");
    expect(opened).toEqual([]);
    expect(server.received.filter(({ path }) => path.endsWith("/token"))).toHaveLength(3);
    expect(server.received[0]?.body).toEqual({ client_id: "floe-cli" });
    expect(server.received[1]?.body).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: "device-secret",
      client_id: "floe-cli",
    });
    expect(err).not.toContain("device-secret");
    expect(stored().default?.[server.url]?.token).toBe("token-1");

    await floe(["products", "list"], { env });
    const last = server.received.at(-1);
    expect(last?.headers.authorization).toBe("Bearer token-1");
    expect(last?.headers["polar-organization"]).toBe(acme.id);
  });

  test("keeps the token where only its owner can read it", async () => {
    mkdirSync(config, { recursive: true, mode: 0o755 });
    await floe(["login", "--wait"], { env });
    expect(statSync(config).mode & 0o777).toBe(0o700);
    expect(statSync(join(config, "credentials.json")).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, "config.json")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(config, "config.json"), "utf8")).not.toContain("token-1");
    expect(readdirSync(config).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  const ends: [string, number, string][] = [
    ["access_denied", 5, "denied in the browser"],
    ["expired_token", 4, "has expired before it was confirmed"],
    ["invalid_client", 1, "described invalid_client"],
  ];
  test.each(ends)("%s has its own message", async (error, exit, text) => {
    polls = [fault(error)];
    const { code: ended, err } = await floe(["login", "--wait"], { env });
    expect(ended).toBe(exit);
    expect(err).toContain(text);
    expect(existsSync(join(config, "credentials.json"))).toBe(false);
  });

  test("a number that only the terminal shows is printed, and is not in the address that is opened", async () => {
    device = { ...code, user_code: "ABCDEFGH", confirmation_number: "42" } as typeof code;
    const { err, opened } = await floe(["login"], { env, tty: true });
    expect(err).toContain("Code   ABCD-EFGH");
    expect(err).toContain("Enter 42 in the browser.");
    expect(opened).toEqual([code.verification_uri_complete]);
    device = code;
    expect((await floe(["login", "--wait"], { env })).err).not.toContain("in the browser");
  });

  test("--scopes asks for no more than these, and says what was given", async () => {
    polls = [{ json: { access_token: "token-1", token_type: "Bearer", scope: "products:read orders:read" } }];
    const { code: exit, err } = await floe(["login", "--wait", "--scopes", "products:read, orders:read"], { env });
    expect(exit).toBe(0);
    expect(server.received[0]?.body).toEqual({ client_id: "floe-cli", scope: "products:read orders:read" });
    expect(err).toContain("Limited to: products:read, orders:read.");
  });

  test("--scopes without a name is wrong use, and asks for nothing", async () => {
    expect((await floe(["login", "--wait", "--scopes", " ,"], { env })).code).toBe(64);
    expect(server.received).toHaveLength(0);
  });

  test("says what program on what system it is, for the page that asks whether to trust it", async () => {
    await floe(["login", "--wait"], { env });
    expect(server.received[0]?.headers["user-agent"]).toBe(`floe-cli/1.2.3 (${process.platform})`);
  });

  test("slow_down makes it ask less often", async () => {
    polls = [fault("slow_down")];
    const stop = new AbortController();
    const { ended, stderr } = begin(["login", "--wait", "--debug"], { env, signal: stop.signal });
    await until(() => stderr.text.includes("asks to wait 5.01 s"));
    stop.abort();
    expect(await ended).toBe(130);
    expect(server.received.filter(({ path }) => path.endsWith("/token"))).toHaveLength(1);
  });

  test("a network that is gone for a moment does not end it", async () => {
    polls = [
      { status: 503, json: {} },
      { status: 503, json: {} },
      { status: 503, json: {} },
    ];
    const { code: exit } = await floe(["login", "--wait"], { env });
    expect(exit).toBe(0);
  });

  test("with several organizations it says how to choose, and --org chooses", async () => {
    organizations = [acme, beta];
    const { err } = await floe(["login", "--wait"], { env });
    expect(err).toContain("acme, beta");
    expect(err).toContain("floe orgs use SLUG");
    const { code: exit, err: needs } = await floe(["products", "list"], { env });
    expect(exit).toBe(64);
    expect(needs).toContain("floe orgs use");
    await floe(["login", "--wait", "--org", "beta"], { env });
    await floe(["products", "list"], { env });
    expect(server.received.at(-1)?.headers["polar-organization"]).toBe(beta.id);
  });

  test("does not open a browser for a program, nor with --no-browser", async () => {
    const { opened } = await floe(["login", "--no-browser"], { env, tty: true });
    expect(opened).toEqual([]);
    const here = await floe(["login"], { env, tty: true });
    expect(here.opened).toEqual([code.verification_uri_complete]);
  });

  test("goes on where no browser can be opened", async () => {
    const { code: exit, err } = await floe(["login"], {
      env,
      tty: true,
      openBrowser: () => Promise.reject(new Error("none")),
    });
    expect(exit).toBe(0);
    expect(err).toContain("open the address yourself");
  });
});

describe("floe login where no person is", () => {
  test("waits for nobody: wrong use, at once, with what to do instead, and nothing is asked of the server", async () => {
    for (const where of [{ env }, { env: { ...env, CI: "1" }, tty: true }]) {
      const { code: exit, err } = await floe(["login", "--profile", "ci"], where);
      expect([exit, server.received]).toEqual([64, []]);
      expect(err).toContain("floe login --start --profile ci");
      expect(err).toContain("floe login --wait --profile ci");
    }
  });

  test("is done in two steps: the code as JSON, and later the sign-in; what redeems it is shown nowhere", async () => {
    const started = await floe(["login", "--start"], { env });
    expect(started.code).toBe(0);
    expect(JSON.parse(started.out)).toMatchObject({
      user_code: code.user_code,
      verification_uri_complete: code.verification_uri_complete,
      next: "floe login --finish",
    });
    expect(started.out + started.err).not.toContain(code.device_code);
    expect(statSync(join(config, "pending.json")).mode & 0o777).toBe(0o600);
    expect((await floe(["login", "--finish", "--profile", "other"], { env })).code).toBe(64);
    polls = [fault("authorization_pending")];
    expect((await floe(["login", "--finish"], { env })).code).toBe(0);
    expect(stored().default?.[server.url]?.token).toBe("token-1");
    expect((await floe(["login", "--finish"], { env })).code).toBe(64);
  });

  test("takes a token from standard input: of a session, or an API key, which then speaks for its organization", async () => {
    const withToken = async (token: string) => {
      const here = begin(["login", "--with-token"], { env });
      here.stdin.end(token);
      return { code: await here.ended, err: here.stderr.text };
    };
    expect(await withToken("token-1\n")).toMatchObject({
      code: 0,
      err: expect.stringContaining("as ada@example.test"),
    });
    expect(await withToken("floe_oat_1")).toMatchObject({ code: 0, err: expect.stringContaining("with an API key") });
    await floe(["products", "list"], { env });
    expect(server.received.at(-1)?.headers).toMatchObject({ authorization: "Bearer floe_oat_1" });
    expect(server.received.at(-1)?.headers["polar-organization"]).toBeUndefined();
    const person = await floe(["orgs", "list"], { env });
    expect([person.code, person.err]).toEqual([4, expect.stringContaining("an API key cannot do this")]);
    expect((await withToken("\n")).code).toBe(64);
    expect((await floe(["logout"], { env })).code).toBe(0);
    expect((await floe(["whoami"], { env })).code).toBe(4);
  });
});

describe("what a person is told to type", () => {
  test("keeps the profile, server and organization that were named", async () => {
    await floe(["login", "--wait", "--profile", "work"], { env });
    const other = await standIn(() => ({ json: {} }));
    const { err } = await floe(["products", "list", "--profile", "work", "--server", other.url, "--org", "it's me"], {
      env: { FLOE_CONFIG_DIR: config },
    });
    expect(err).toContain(`Run: floe login --profile work --server ${other.url} --org 'it'\\''s me'   (or set`);
    const plain = await floe(["whoami"], { env: { FLOE_CONFIG_DIR: folder() } });
    expect(plain.err).toContain("Run: floe login   (or set");
    const asJson = await floe(["products", "list", "--profile", "work", "--server", other.url, "--json"], { env });
    expect(JSON.parse(asJson.err.split("\n").at(-2) ?? "")).toMatchObject({
      hint: `Run: floe login --profile work --server ${other.url}   (or set FLOE_API_KEY)`,
    });
  });
});

describe("who is signed in", () => {
  test("nobody: exit 4", async () => {
    const { code: exit, out, err } = await floe(["whoami"], { env });
    expect([exit, out]).toEqual([4, ""]);
    expect(err).toContain("floe login");
  });

  test("a person, with the organization", async () => {
    await floe(["login", "--wait"], { env });
    const { out } = await floe(["whoami"], { env });
    expect(JSON.parse(out)).toEqual({
      server: server.url,
      profile: "default",
      signed_in_by: "session",
      user,
      organization: acme,
      expires_at: "2026-12-01T00:00:00.000Z",
    });
  });

  test("a session that was ended on the server: exit 4", async () => {
    await floe(["login", "--wait"], { env });
    writeFileSync(join(config, "credentials.json"), JSON.stringify({ default: { [server.url]: { token: "old" } } }));
    const { code: exit } = await floe(["whoami"], { env });
    expect(exit).toBe(4);
  });

  test("a key", async () => {
    const { out } = await floe(["whoami"], { env: { ...env, FLOE_API_KEY: "floe_key" } });
    expect(JSON.parse(out)).toMatchObject({ signed_in_by: "api_key", organization: acme });
  });

  test("after logout nobody", async () => {
    await floe(["login", "--wait"], { env });
    const { code: exit, err } = await floe(["logout"], { env });
    expect([exit, err]).toEqual([0, `Signed out at ${server.url}.\n`]);
    expect(server.received.at(-1)).toMatchObject({ path: "/api/auth/device/token/revoke", method: "POST" });
    expect(server.received.at(-1)?.headers.authorization).toBe("Bearer token-1");
    expect((await floe(["whoami"], { env })).code).toBe(4);
  });
});

describe("which settings are in force", () => {
  test("a token is never sent to another server than its own", async () => {
    await floe(["login", "--wait"], { env });
    const other = await standIn(() => ({ json: {} }));
    const { code: exit } = await floe(["products", "list", "--server", other.url], { env });
    expect(exit).toBe(4);
    expect(other.received).toHaveLength(0);
  });

  test("the flag wins over the environment, which wins over the profile; a difference is said", async () => {
    await floe(["login", "--wait"], { env });
    const key = join(folder(), "key");
    writeFileSync(key, "from-file\n");
    const { err } = await floe(["products", "list", "--api-key-file", key], {
      env: { ...env, FLOE_API_KEY: "from-env" },
    });
    expect(server.received.at(-1)?.headers.authorization).toBe("Bearer from-file");
    expect(err).toContain("--api-key-file is used, not FLOE_API_KEY");
    await floe(["products", "list"], { env: { ...env, FLOE_API_KEY: "from-env" } });
    expect(server.received.at(-1)?.headers.authorization).toBe("Bearer from-env");
    expect(server.received.at(-1)?.headers["polar-organization"]).toBeUndefined();
  });

  test("flags of every command may stand before it", async () => {
    const { code: exit } = await floe(["--server", server.url, "products", "list"], {
      env: { FLOE_CONFIG_DIR: config, FLOE_API_KEY: "k" },
    });
    expect(exit).toBe(0);
    expect(server.received).toHaveLength(1);
  });

  test("the server of a profile is used without a flag", async () => {
    await floe(["login", "--wait", "--profile", "work"], { env });
    const { code: exit } = await floe(["products", "list", "--profile", "work"], { env: { FLOE_CONFIG_DIR: config } });
    expect(exit).toBe(0);
    const mistyped = await floe(["products", "list", "--profile", "wrok"], { env });
    expect([mistyped.code, mistyped.err]).toEqual([64, expect.stringContaining('there is no profile "wrok"')]);
    expect(mistyped.err).toContain("There are: work. Make it: floe login --profile wrok\n");
  });

  test.each(["http://floe.example.com", "ftp://localhost", "nonsense", "https://user:pw@floe.example.com"])(
    "%s is refused as a server",
    async (address) => {
      const { code: exit } = await floe(["products", "list", "--server", address], {
        env: { FLOE_CONFIG_DIR: config, FLOE_API_KEY: "k" },
      });
      expect(exit).toBe(64);
    },
  );

  test("a broken settings file is named, not overwritten", async () => {
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "config.json"), "{ not json");
    const { code: exit, err } = await floe(["login", "--wait"], { env });
    expect(exit).toBe(1);
    expect(err).toContain("config.json");
    expect(readFileSync(join(config, "config.json"), "utf8")).toBe("{ not json");
  });
});

describe("organizations and keys", () => {
  test("orgs list says which one is in use; use and create change it", async () => {
    organizations = [acme, beta];
    await floe(["login", "--wait", "--org", "acme"], { env });
    const { out } = await floe(["orgs", "list"], { env });
    expect(JSON.parse(out)).toEqual([
      { ...acme, current: true },
      { ...beta, current: false },
    ]);
    await floe(["orgs", "use", "beta"], { env });
    expect(JSON.parse((await floe(["orgs", "list", "--json", "slug,current"], { env })).out)).toEqual([
      { slug: "acme", current: false },
      { slug: "beta", current: true },
    ]);
    expect((await floe(["orgs", "use", "nobody"], { env })).code).toBe(6);
    await floe(["orgs", "create", "Ünder Wood & Co"], { env });
    expect(server.received.at(-1)?.body).toEqual({ name: "Ünder Wood & Co", slug: "under-wood-co" });
  });

  test("--org names an organization by its slug for one command", async () => {
    organizations = [acme, beta];
    await floe(["login", "--wait", "--org", "acme"], { env });
    await floe(["products", "list", "--org", "beta"], { env });
    expect(server.received.at(-1)?.headers["polar-organization"]).toBe(beta.id);
  });

  test("a key is made for the organization and shown once, alone on stdout", async () => {
    await floe(["login", "--wait"], { env });
    const { out, err } = await floe(
      ["api-keys", "create", "ci", "--expires-in", "30d", "--scopes", "products:read,orders:read"],
      { env, tty: true },
    );
    expect(out).toBe("floe_secret_key\n");
    expect(err).toContain("You will not see it again");
    expect(server.received.at(-1)?.body).toEqual({
      name: "ci",
      configId: "organization",
      organizationId: acme.id,
      expiresIn: 2_592_000,
      scopes: ["products:read", "orders:read"],
    });
    const { out: picked } = await floe(["api-keys", "create", "--name", "ci", "--json", "key"], { env });
    expect(JSON.parse(picked)).toEqual({ key: "floe_secret_key" });
  });

  test("a key without a name is a usage error", async () => {
    await floe(["login", "--wait"], { env });
    expect((await floe(["api-keys", "create"], { env })).code).toBe(64);
  });

  test("keys are listed for the organization, and revoked only when it is meant", async () => {
    await floe(["login", "--wait"], { env });
    const { out } = await floe(["api-keys", "list"], { env });
    expect(JSON.parse(out)).toHaveLength(1);
    expect(server.received.at(-1)?.query.get("organizationId")).toBe(acme.id);
    expect((await floe(["api-keys", "revoke", "key1"], { env })).code).toBe(64);
    expect((await floe(["api-keys", "revoke", "key1", "--yes"], { env })).code).toBe(0);
    expect(server.received.at(-1)).toMatchObject({ path: "/api/auth/api-key/delete", body: { keyId: "key1" } });
  });

  test("an API key cannot manage keys or organizations: exit 4, with the reason", async () => {
    for (const argv of [
      ["orgs", "list"],
      ["api-keys", "list"],
    ]) {
      const { code: exit, err } = await floe(argv, { env: { ...env, FLOE_API_KEY: "k" } });
      expect(exit).toBe(4);
      expect(err).toContain("floe login");
    }
  });
});
