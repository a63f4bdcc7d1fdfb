/** TOK-16 to TOK-19: jobs of a repository exchange the token of their CI service for a short-lived key. */
import { eq } from "drizzle-orm";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { accountCleanup } from "../../server/identity/accounts/jobs.ts";
import { apikey, ciExchanges, ciRules, member, user } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { readJson } from "../../server/platform/external/read-json.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type CiIssuer, type Claims, startIssuer } from "../support/ci-issuer.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { makeCiRule } from "../support/people-rows.ts";

type Made = { token: string; scopes: string[]; expires_at: string; ci_rule_id: string; organization_id: string };
type Refused = { error: string; detail: string };

let floe: Floe;
let seller: Seller;
let issuer: CiIssuer;
let rule_id: string;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  const made = await makeCiRule(floe, seller, { scopes: ["products:write", "orders:read"] });
  issuer = made.issuer;
  rule_id = made.rule.id;
});

const send = (token: string, organization = seller.organization_id) =>
  floe.request("POST", "/v1/ci-rules/exchange", { body: { organization, token } });
async function exchange(claims: Claims = {}): Promise<Made> {
  const answer = await send(await issuer.sign(claims));
  expect(answer.text).toContain("floe_oat_");
  return answer.json as Made;
}
async function refuse(token: string, organization?: string): Promise<string> {
  const { status, json } = await send(token, organization);
  const { error, detail } = json as Refused;
  return `${status} ${error} ${detail}`;
}
const refuseClaims = async (claims: Claims) => refuse(await issuer.sign(claims));
const read = async (token: string, path = "/v1/products/") => (await floe.request("GET", path, { token })).status;
const seconds = (after = 0) => Math.floor(floe.clock.now().getTime() / 1000) + after;

describe("TOK-16: a rule", () => {
  test("gives a job a key with its scopes that ends by itself, and says so in the audit log", async () => {
    const made = await exchange();
    expect(made).toMatchObject({ organization_id: seller.organization_id, ci_rule_id: rule_id });
    expect(made.scopes.toSorted()).toEqual(["orders:read", "products:read", "products:write"]);
    expect(made.expires_at).toBe(new Date(floe.clock.now().getTime() + 900_000).toISOString());
    expect([await read(made.token), await read(made.token, "/v1/customers/")]).toEqual([200, 403]);
    const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, rule_id));
    expect(entries.map(({ action }) => action).toSorted()).toEqual(["ci_rule.created", "ci_rule.used"]);
    expect(JSON.stringify(entries)).not.toContain(made.token);
    const [listed] = (await seller.client.ciRules.list({ query: {} })).items;
    expect(listed).toMatchObject({ id: rule_id, last_used_at: floe.clock.now() });
    floe.clock.advance(899_000);
    expect(await read(made.token)).toBe(200);
    floe.clock.advance(2000);
    expect(await read(made.token)).toBe(401);
  });

  test("is named by the slug of the organization too", async () => {
    const { slug } = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    expect((await send(await issuer.sign(), slug.toUpperCase())).status).toBe(201);
  });

  test.each([
    [{ branch: null, environment: null }, "branch"],
    [{ branch: "a*b" }, "branch"],
    [{ branch: "a b" }, "branch"],
    [{ repository: "shop" }, "repository"],
    [{ scopes: ["organization_access_tokens:write"] }, "scopes"],
    [{ scopes: [] }, "scopes"],
    [{ lasts_seconds: 3601 }, "lasts_seconds"],
    [{ issuer: "ftp://ci.example.com" }, "issuer"],
    [{ provider: "jenkins" }, "provider"],
  ])("%j is a 422 at %s", async (more, field) => {
    const body = { repository: "acme/shop", branch: "main", scopes: ["products:read"], ...more };
    const { status, json } = await floe.request("POST", "/v1/ci-rules/", { token: seller.key, body });
    expect(status).toBe(422);
    expect((json as { detail: { loc: string[] }[] }).detail[0]?.loc).toContain(field);
  });

  test("gives no scope that its maker lacks, and needs the scope for keys", async () => {
    const weak = await floe.keyOf(seller, ["organization_access_tokens:write", "products:read"]);
    const body = { repository: "acme/shop", branch: "main", scopes: ["orders:read"] };
    expect((await floe.request("POST", "/v1/ci-rules/", { token: weak, body })).status).toBe(422);
    const reader = await floe.keyOf(seller, ["organization_access_tokens:read"]);
    expect((await floe.request("POST", "/v1/ci-rules/", { token: reader, body })).status).toBe(403);
    const { token } = await exchange();
    expect((await floe.request("POST", "/v1/ci-rules/", { token, body })).status).toBe(403);
  });

  test("of another organization is not there, and lets nobody in", async () => {
    const other = await floe.seller();
    const path = `/v1/ci-rules/${rule_id}`;
    expect((await floe.request("DELETE", path, { token: other.key })).status).toBe(404);
    expect(await refuse(await issuer.sign(), other.organization_id)).toContain("403 NotPermitted No CI rule");
    expect(await refuse(await issuer.sign(), "nowhere")).toContain("403 NotPermitted No CI rule");
  });

  test("there are at most a hundred of one organization, also when many are made at once", async () => {
    const [row] = await floe.deps.db.select().from(ciRules).where(eq(ciRules.id, rule_id));
    const rows = Array.from({ length: 97 }, () => ({ ...(row as NonNullable<typeof row>), id: newId() }));
    await floe.deps.db.insert(ciRules).values(rows);
    const body = { repository: "acme/shop", branch: "main", scopes: ["products:read"] };
    const made = await Promise.all(
      Array.from({ length: 6 }, () => floe.request("POST", "/v1/ci-rules/", { token: seller.key, body })),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422, 422, 422]);
  });
});

describe("TOK-17: which jobs a rule lets in", () => {
  test("keeps the id of the repository, and lets in no other repository that takes over the name", async () => {
    await exchange({ repository_id: "74" });
    const [listed] = (await seller.client.ciRules.list({ query: {} })).items;
    expect(listed?.repository_id).toBe("74");
    expect(await refuseClaims({ repository_id: "75" })).toContain('Its repository_id is "75"');
    expect(await refuseClaims({})).toContain("Its repository_id is nothing");
    await exchange({ repository_id: "74" });
    // A project of GitLab has its id as a number or a text.
    const made = await makeCiRule(floe, seller, { provider: "gitlab" });
    const claims = { project_path: "acme/shop", ref_path: "refs/heads/main" };
    const ask = async (project_id: unknown) => (await send(await made.issuer.sign({ ...claims, project_id }))).status;
    expect([await ask(9), await ask(10), await ask("9")]).toEqual([201, 403, 201]);
  });

  test("of two repositories that are the first at once, one is let in", async () => {
    const tokens = await Promise.all(["1", "2", "3", "4"].map((repository_id) => issuer.sign({ repository_id })));
    const statuses = (await Promise.all(tokens.map((token) => send(token)))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 403, 403, 403]);
  });

  test.each([
    ["another repository", { repository: "acme/other" }, "No CI rule of this organization lets this token in. See"],
    ["another case", { repository: "Acme/shop" }, "No CI rule"],
    ["another branch", { ref: "refs/heads/mainx" }, 'Its ref is "refs/heads/mainx"'],
    ["a tag of the same name", { ref: "refs/tags/main" }, 'Its ref is "refs/tags/main"'],
    ["a pull request", { ref: "refs/pull/7/merge" }, "Its ref"],
    ["no branch", { ref: undefined }, "Its ref is nothing"],
    ["a foreign pull request", { event_name: "pull_request_target" }, "Its event_name"],
    ["another audience", { aud: "https://elsewhere.example" }, "Its aud"],
  ])("not %s", async (_, claims, said) => {
    expect(await refuseClaims(claims)).toContain(said);
    expect(await floe.deps.db.$count(ciExchanges, eq(ciExchanges.organization_id, seller.organization_id))).toBe(0);
  });

  test("one of several audiences is enough", async () => {
    await exchange({ aud: ["https://elsewhere.example", floe.deps.config.url] });
  });

  test("branches by their beginning, environments, and the stricter of two rules", async () => {
    const add = async (more: object) => {
      const body = { issuer: issuer.url, repository: "acme/shop", scopes: ["orders:read"] as const, ...more };
      return (await seller.client.ciRules.create({ body: { ...body, scopes: ["orders:read"] } })).id;
    };
    const releases = await add({ branch: "release/*" });
    const production = await add({ environment: "production" });
    expect((await exchange({ ref: "refs/heads/release/2" })).ci_rule_id).toBe(releases);
    expect((await exchange()).ci_rule_id).toBe(rule_id);
    expect((await exchange({ environment: "production" })).ci_rule_id).toBe(production);
    expect(await refuseClaims({ ref: "refs/heads/x", environment: "staging" })).toContain("Its ref");
    const every = await makeCiRule(floe, seller, { branch: "*" });
    for (const ref of ["refs/tags/v1", "refs/pull/7/merge"])
      expect(await refuse(await every.issuer.sign({ ref }))).toContain("Its ref");
    expect((await send(await every.issuer.sign({ ref: "refs/heads/x" }))).status).toBe(201);
  });

  test("GitLab's by the path of the project and the full name of the branch", async () => {
    const gitlab = await makeCiRule(floe, seller, { provider: "gitlab", repository: "acme/web/shop" });
    const job = { project_path: "acme/web/shop", repository: undefined, ref: "main" };
    const signed = (more: Claims) => gitlab.issuer.sign({ ...job, ...more });
    expect((await send(await signed({ ref_path: "refs/heads/main" }))).status).toBe(201);
    expect(await refuse(await signed({ ref_path: "refs/merge-requests/1/head" }))).toContain("Its ref_path");
    expect(await refuse(await signed({}))).toContain("Its ref_path is nothing");
  });
});

describe("TOK-18: a token that is not good", () => {
  test.each([
    ["expired", { exp: -31 }, "has expired"],
    ["not valid yet", { nbf: 31 }, '"nbf" claim'],
    ["without an end", { exp: undefined }, '"exp" claim'],
    ["without a subject", { sub: undefined }, '"sub" claim'],
  ])("%s is refused", async (_, times, said) => {
    const claims = Object.entries(times).map(([name, at]) => [name, at === undefined ? at : seconds(at)]);
    expect(await refuseClaims(Object.fromEntries(claims))).toContain(said);
  });

  test("without a signature, or signed with the public key as a secret, is refused", async () => {
    const claims = issuer.getClaims();
    expect(await refuse(new UnsecuredJWT(claims).encode())).toMatch(/^403 .*not accepted/);
    const [pair] = issuer.state.keys;
    for (const secret of [JSON.stringify(pair?.jwk), String(pair?.jwk.n)]) {
      const forged = new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "first" });
      expect(await refuse(await forged.sign(new TextEncoder().encode(secret)))).toMatch(/^403 .*not accepted/);
    }
  });

  test("of another key under the same name, changed, or no token at all is refused", async () => {
    const stranger = await issuer.makePair("first", "RS256");
    expect(await refuse(await issuer.sign({}, stranger))).toContain("signature verification failed");
    const [head, , signature] = (await issuer.sign()).split(".");
    const body = Buffer.from(JSON.stringify(issuer.getClaims({ jti: newId() }))).toString("base64url");
    expect(await refuse(`${head}.${body}.${signature}`)).toContain("signature verification failed");
    for (const text of ["x", "a.b.c", "…", `${"a".repeat(15_000)}`]) expect(await refuse(text)).toContain("no token");
    expect((await send("a".repeat(16_001))).status).toBe(422);
  });

  test("is exchanged once, also when it is sent ten times at once", async () => {
    const token = await issuer.sign();
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(token)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array(9).fill(403)]);
    expect(await refuse(token)).toContain("exchanged before");
    // The same job may not have its token signed again under the same id.
    expect(await refuseClaims({ jti: JSON.parse(atob(token.split(".")[1] ?? "")).jti })).toContain("exchanged before");
    const without = await issuer.sign({ jti: undefined });
    expect((await send(without)).status).toBe(201);
    expect(await refuse(without)).toContain("exchanged before");
  });

  test("is remembered until it has ended by itself", async () => {
    await exchange();
    const count = () => floe.deps.db.$count(ciExchanges, eq(ciExchanges.organization_id, seller.organization_id));
    floe.clock.advance(299_000);
    await runWorkers(floe.deps, accountCleanup);
    expect(await count()).toBe(1);
    floe.clock.advance(20 * 60_000);
    await runWorkers(floe.deps, accountCleanup);
    expect(await count()).toBe(0);
  });
});

describe("TOK-18: the keys of an issuer", () => {
  test("that changes them are read again, not more often than twice a minute", async () => {
    await exchange();
    issuer.state.keys.push(await issuer.makePair("second", "ES256"));
    expect(await refuse(await issuer.sign())).toContain("no applicable key");
    floe.clock.advance(31_000);
    await exchange();
    const asked = issuer.state.asked.length;
    const stranger = await issuer.makePair("third", "ES256");
    for (let tries = 0; tries < 5; tries++) await refuse(await issuer.sign({}, stranger));
    expect(issuer.state.asked.length).toBe(asked);
    // A key that was withdrawn is no good ten minutes later.
    const [first] = issuer.state.keys.splice(0, 1);
    floe.clock.advance(601_000);
    expect(await refuse(await issuer.sign({}, first))).toContain("no applicable key");
  });

  test("are read once for a hundred tokens at once", async () => {
    const tokens = await Promise.all(Array.from({ length: 100 }, () => issuer.sign({ repository: "acme/x" })));
    await Promise.all(tokens.map((token) => send(token)));
    expect(issuer.state.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  test.each<[string, CiIssuer["state"]["behave"], RegExp]>([
    ["that never answers", () => true, /did not answer within 5 seconds/],
    [
      "that leads elsewhere",
      (_, response) => {
        response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
        return true;
      },
      /answered with status 302/,
    ],
    [
      "that answers without end",
      (_, response) => {
        const more = (): void => void (response.destroyed || response.write("a".repeat(65_536), more));
        more();
        return true;
      },
      /more than 256 kB/,
    ],
    [
      "that answers with a page",
      (_, response) => {
        response.end("<html>");
        return true;
      },
      /did not answer with JSON/,
    ],
    [
      "that speaks for another",
      (_, response) => {
        response.end(JSON.stringify({ issuer: "https://token.actions.githubusercontent.com", jwks_uri: "http://x" }));
        return true;
      },
      /of another issuer/,
    ],
    [
      "that breaks off",
      (path, response) => {
        if (path === "/keys") response.destroy();
        return path === "/keys";
      },
      /cannot be reached/,
    ],
  ])("of one %s cannot be read, which is a 503 and no rule's fault", async (_, behave, said) => {
    issuer.state.behave = behave;
    const answer = await send(await issuer.sign());
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "30"]);
    expect((answer.json as Refused).detail).toMatch(said);
    // It is not asked again at once, and is good again once it answers.
    issuer.state.behave = () => false;
    expect((await send(await issuer.sign())).status).toBe(503);
    floe.clock.advance(31_000);
    await exchange();
  });

  test("are asked of no issuer that no rule trusts", async () => {
    const stranger = await startIssuer(floe);
    expect(await refuse(await stranger.sign())).toContain("No CI rule");
    expect(stranger.state.asked).toEqual([]);
    stranger.close();
  });

  test.each([
    ["http://ci.example.com", /https/],
    ["https://127.0.0.1/", /public internet/],
    ["https://10.0.0.7/", /public internet/],
    ["https://169.254.169.254/", /public internet/],
    ["https://localhost/", /public/],
    ["https://ci.internal/", /public/],
    ["https://rebound.example.com/", /not on the public internet/],
    ["https://ci.example.com:5432/", /Port 5432/],
  ])("are not read at %s", async (address, said) => {
    const lookup = (_: string, __: object, done: (error: null, found: { address: string; family: number }[]) => void) =>
      done(null, [{ address: "10.0.0.7", family: 4 }]);
    await expect(readJson(address, { private_allowed: false, lookup: lookup as never })).rejects.toThrow(said);
  });

  test("may be on a private address that the operator allows, by https alone", async () => {
    const receivers_allowed = { ranges: ["127.0.0.0/8"], hosts: [] };
    const reach = { private_allowed: false, receivers_allowed };
    await expect(readJson(issuer.url, reach)).rejects.toThrow(/https/);
    // It is called, and speaks no TLS.
    await expect(readJson(issuer.url.replace("http:", "https:"), reach)).rejects.toThrow(/cannot be reached/);
  });

  test("a public server takes no rule for an issuer without https, or on a private address", async () => {
    const settings = {
      FLOE_URL: "https://pay.example.com",
      FLOE_TEST_CARDS: "on",
      FLOE_WEBHOOK_ALLOW: "10.0.0.0/8",
    };
    const strict = await start({ settings });
    try {
      const { key } = await strict.seller();
      for (const address of ["http://ci.example.com", "http://10.0.0.7", "https://192.168.0.7"]) {
        const body = { issuer: address, repository: "acme/shop", branch: "main", scopes: ["products:read"] };
        const { status, text } = await strict.request("POST", "/v1/ci-rules/", { token: key, body });
        expect([status, text]).toEqual([422, expect.stringContaining('"issuer"')]);
      }
    } finally {
      await strict.close();
    }
  });
});

describe("TOK-19: the keys of a rule", () => {
  test("end with it, at once", async () => {
    const { token } = await exchange();
    expect(await read(token)).toBe(200);
    await seller.client.ciRules.delete({ params: { id: rule_id } });
    expect(await read(token)).toBe(401);
    expect(await refuse(await issuer.sign())).toContain("No CI rule");
  });

  test("do no more than the person who made it may now", async () => {
    const { token } = await exchange();
    const setRole = (role: string) =>
      floe.deps.db.update(member).set({ role }).where(eq(member.userId, seller.user_id));
    await setRole("viewer");
    const write = () => floe.request("POST", "/v1/products/", { token, body: {} });
    expect([await read(token), (await write()).status]).toEqual([200, 403]);
    expect((await exchange()).scopes.toSorted()).toEqual(["orders:read", "products:read"]);
    await setRole("owner");
    expect((await write()).status).toBe(422);
  });

  test.each([
    ["is banned", () => floe.deps.db.update(user).set({ banned: true }).where(eq(user.id, seller.user_id))],
    ["has left", () => floe.deps.db.delete(member).where(eq(member.userId, seller.user_id))],
  ])("are no good once that person %s", async (_, change) => {
    const { token } = await exchange();
    await change();
    expect(await read(token)).toBe(401);
    expect(await refuse(await issuer.sign())).toContain("may no longer do");
  });

  test("are at most fifty at a time, and those that have ended make room", async () => {
    const [first] = await floe.deps.db
      .select()
      .from(apikey)
      .where(eq(apikey.ciRuleId, (await exchange()).ci_rule_id));
    const copy = () => ({ ...(first as NonNullable<typeof first>), id: newId(), key: newId() });
    await floe.deps.db.insert(apikey).values(Array.from({ length: 49 }, copy));
    const refused = await send(await issuer.sign());
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "60"]);
    floe.clock.advance(901_000);
    await exchange();
    expect(await floe.deps.db.$count(apikey, eq(apikey.ciRuleId, rule_id))).toBe(1);
  });
});
