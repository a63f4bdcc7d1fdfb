import { API_KEY_ERROR_CODES, apiKeyClient } from "@better-auth/api-key/client";
import { createAuthClient } from "better-auth/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";

/** The published client of API keys, against a listening server, with the cookie of a browser. */
let floe: Accounts;
let seller: Seller;
let client: ReturnType<typeof clientOf>;
const clientOf = (cookie: string) =>
  createAuthClient({
    baseURL: floe.url,
    plugins: [apiKeyClient()],
    fetchOptions: { headers: { cookie, origin: floe.url } },
  });
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
  seller = await floe.seller();
  client = clientOf(await floe.browser(seller));
});
afterAll(() => floe.close());

const products = (token: string) => floe.request("GET", "/v1/products/", { token });

test("it makes, gets, lists, changes and deletes a personal key", async () => {
  const made = await client.apiKey.create({ configId: "default", name: "mine", expiresIn: 60 * 60 * 24 });
  expect(made.error).toBeNull();
  const key = made.data;
  if (!key) throw new Error("No key.");
  expect(key).toMatchObject({
    id: expect.any(String),
    name: "mine",
    prefix: "floe_pat_",
    referenceId: seller.user_id,
    enabled: true,
    requestCount: 0,
    remaining: null,
    rateLimitEnabled: false,
    permissions: expect.objectContaining({ products: expect.arrayContaining(["read", "write"]) }),
  });
  expect((await products(key.key)).status).toBe(200);

  const { data: one } = await client.apiKey.get({ query: { id: key.id } });
  expect(one).toMatchObject({ id: key.id, name: "mine", start: key.start });
  expect(one).not.toHaveProperty("key");

  const { data: changed } = await client.apiKey.update({ keyId: key.id, name: "renamed", enabled: false });
  expect(changed).toMatchObject({ id: key.id, name: "renamed", enabled: false });
  expect((await products(key.key)).status).toBe(401);

  const listed = await client.apiKey.list({ query: { configId: "default", limit: 1, offset: 0 } });
  expect(listed.data).toMatchObject({ apiKeys: [{ id: key.id, name: "renamed" }], total: 1, limit: 1, offset: 0 });

  const gone = await client.apiKey.delete({ keyId: key.id });
  expect(gone.data).toEqual({ success: true });
  expect((await client.apiKey.get({ query: { id: key.id } })).error).toMatchObject({
    status: 404,
    code: "KEY_NOT_FOUND",
    message: "Key not found",
  });
});

test("it makes and lists an organization's keys", async () => {
  const { organization_id: organizationId } = seller;
  const { data: made } = await client.apiKey.create({ configId: "organization", organizationId, name: "ci" });
  expect(made).toMatchObject({ configId: "organization", referenceId: organizationId, prefix: "floe_oat_" });
  const { data: listed } = await client.apiKey.list({
    query: { organizationId, sortBy: "name", sortDirection: "asc" },
  });
  expect(listed?.apiKeys.map(({ name }) => name)).toEqual(["ci", "test"]);
  expect(listed?.apiKeys.every(({ referenceId }) => referenceId === organizationId)).toBe(true);
});

test("without a session it is told so in the client's own code", async () => {
  const visitor = clientOf("");
  const { error } = await visitor.apiKey.create({ name: "x" });
  expect(error).toMatchObject({ status: 401, code: API_KEY_ERROR_CODES.UNAUTHORIZED_SESSION.code });
  expect((await visitor.apiKey.list()).error).toMatchObject({ status: 401 });
});

test("a person without an organization gets a personal key when none is named", async () => {
  const body = { name: "Alone", email: "alone@example.com", password: "correct horse battery" };
  expect((await floe.request("POST", "/api/auth/sign-up/email", { body, headers: { origin: floe.url } })).status).toBe(
    200,
  );
  const alone = clientOf(await floe.browser(body));
  const { data } = await alone.apiKey.create({ name: "x" });
  expect(data).toMatchObject({ configId: "default", prefix: "floe_pat_" });
});
