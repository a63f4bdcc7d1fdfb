/** A CI job works without a stored key: floe exchanges the token of the job for one that ends by itself. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CiIssuer } from "../support/ci-issuer.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { makeCiRule } from "../support/people-rows.ts";
import { folder, floe as runFloe, standIn } from "./support.ts";

let server: Floe;
let seller: Seller;
let issuer: CiIssuer;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
});
afterAll(() => server.close());
beforeEach(async () => {
  seller = await server.seller();
  ({ issuer } = await makeCiRule(server, seller, { scopes: ["products:read", "organizations:read"] }));
});

const request_token = "the token by which the job asks GitHub";
/** GitHub as a job asks it for a token. */
const startGitHub = (claims: object = {}) =>
  standIn(async ({ query, headers }) =>
    headers.authorization === `Bearer ${request_token}`
      ? { json: { value: await issuer.sign({ aud: query.get("audience"), ...claims }) } }
      : { status: 401, json: {} },
  );
const placeOf = (more: Record<string, string | undefined> = {}) => ({
  FLOE_CONFIG_DIR: folder(),
  FLOE_SERVER: server.url,
  FLOE_ORG: seller.organization_id,
  FLOE_DEBUG: "1",
  CI: "true",
  ...more,
});
const ofGitHub = (url: string, more = {}) =>
  placeOf({
    GITHUB_ACTIONS: "true",
    ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/token?api-version=2`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: request_token,
    ...more,
  });
const list = (env: Record<string, string | undefined>) => runFloe(["products", "list"], { env });

test("TOK-16: a job of GitHub's gets one key for its commands, kept for it alone and told to nobody", async () => {
  const github = await startGitHub();
  const env = ofGitHub(github.url);
  const [first, second] = [await list(env), await list(env)];
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(github.received.map(({ url }) => url)).toEqual([
    `/token?api-version=2&audience=${encodeURIComponent(server.url)}`,
  ]);
  const file = join(env.FLOE_CONFIG_DIR, "job-keys.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const [{ token }] = Object.values(JSON.parse(readFileSync(file, "utf8"))) as [{ token: string }];
  for (const { out, err } of [first, second]) expect(out + err).not.toContain(token);
  expect(first.out + first.err).not.toContain(request_token);
  const who = await runFloe(["whoami", "--json", "signed_in_by,organization.id"], { env });
  expect(JSON.parse(who.out)).toEqual({
    signed_in_by: "ci_job",
    organization: { id: seller.organization_id },
  });
});

test("TOK-18: five commands of one GitLab job at once share the key that its one token is good for", async () => {
  const env = placeOf({ GITLAB_CI: "true", FLOE_ID_TOKEN: await issuer.sign() });
  const runs = await Promise.all(Array.from({ length: 5 }, () => list(env)));
  expect(runs.map(({ code, err }) => (code === 0 ? 0 : err))).toEqual([0, 0, 0, 0, 0]);
  expect((await list(env)).code).toBe(0);
});

test("TOK-18: GitHub is asked for another token where the answer to the first was lost", async () => {
  const used = await issuer.sign();
  const body = { organization: seller.organization_id, token: used };
  await server.request("POST", "/v1/ci-rules/exchange", { body });
  let asked = 0;
  const github = await standIn(async () => ({ json: { value: asked++ === 0 ? used : await issuer.sign() } }));
  expect((await list(ofGitHub(github.url))).code).toBe(0);
  expect(asked).toBe(2);
});

test("TOK-17: a job that no rule lets in is told what its token says, and where the rules are", async () => {
  const github = await startGitHub({ ref: "refs/heads/feature" });
  const { code, err } = await list(ofGitHub(github.url));
  expect(code).toBe(5);
  expect(err).toContain('Its ref is "refs/heads/feature"');
  expect(err).toContain("floe ci-rules list");
});

test("a job that names no organization, or may ask for no token, is told what to set", async () => {
  const github = await startGitHub();
  const nowhere = await list(ofGitHub(github.url, { FLOE_ORG: undefined }));
  expect([nowhere.code, nowhere.err]).toEqual([64, expect.stringContaining("FLOE_ORG")]);
  const closed = await list(placeOf({ GITHUB_ACTIONS: "true" }));
  expect([closed.code, closed.err]).toEqual([4, expect.stringContaining("id-token: write")]);
  const without = await list(placeOf({ GITLAB_CI: "true" }));
  expect([without.code, without.err]).toEqual([4, expect.stringContaining("FLOE_ID_TOKEN")]);
  expect(github.received).toEqual([]);
});

test("a key that is set is used, and the token of the job is not asked for", async () => {
  const github = await startGitHub();
  expect((await list(ofGitHub(github.url, { FLOE_API_KEY: seller.key, FLOE_ORG: undefined }))).code).toBe(0);
  expect(github.received).toEqual([]);
});

test("the token by which a job asks goes to no address without https, and no answer of another kind is sent on", async () => {
  const open = await list(ofGitHub("http://token.example.com"));
  expect([open.code, open.err]).toEqual([64, expect.stringContaining("https")]);
  const broken = await standIn(() => ({ text: "<html>" }));
  const answer = await list(ofGitHub(broken.url));
  expect([answer.code, answer.err]).toEqual([9, expect.stringContaining("GitHub gave the job no token")]);
});

test("what concerns people stays closed to a job", async () => {
  const github = await startGitHub();
  const { code, err } = await runFloe(["api-keys", "list"], { env: ofGitHub(github.url) });
  expect([code, err]).toEqual([4, expect.stringContaining("belongs to an organization")]);
});
