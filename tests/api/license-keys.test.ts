import { execFileSync } from "node:child_process";
import { createPublicKey, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { leaseKeys, licenseKeys } from "../../server/entitlements/license-keys/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";
import { payment } from "../support/rows.ts";
import { openShop } from "../support/story.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

const dayMs = 24 * 60 * 60 * 1000;

/** A key that was bought once; its benefit has these properties. */
async function buyKey(at: Floe, seller: Seller, properties: object = {}) {
  const { client, organization_id } = seller;
  const benefit = await client.benefits.create({ body: { type: "license_keys", description: "A key", properties } });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const product = await client.products.create({ body: { name: "App", prices } });
  await client.products.setBenefits({ params: { id: product.id }, body: { benefits: [benefit.id] } });
  const customer_email = `key-${newId()}@example.com`;
  const { client_secret } = await client.checkouts.create({ body: { products: [product.id], customer_email } });
  await at.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [key] = (await client.licenseKeys.list({ query: { benefit_id: [benefit.id] } })).items;
  if (!key) throw new Error("No key was granted.");
  const call = async (what: string, body: object = {}) => {
    const path = `/v1/customer-portal/license-keys/${what}`;
    const { status, json } = await at.request("POST", path, { body: { key: key.key, organization_id, ...body } });
    const said = json as { error?: string; detail?: string; id?: string } | undefined;
    return { status, json: said, line: `${status} ${said?.detail ?? ""}`.trim() };
  };
  const get = () => client.licenseKeys.get({ params: { id: key.id } });
  const update = (body: object) => client.licenseKeys.update({ params: { id: key.id }, body });
  return { seller, benefit, key, call, get, update };
}

test("BEN-30, BEN-31, BEN-32: a key has its prefix, its limits and its end", async () => {
  const seller = await floe.seller();
  const properties = {
    prefix: "book",
    expires: { ttl: 30, timeframe: "day" },
    activations: { limit: 2, enable_customer_admin: true },
    limit_usage: 10,
  };
  const { key } = await buyKey(floe, seller, properties);
  expect(key.key).toMatch(/^BOOK-[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/);
  expect(key).toMatchObject({
    ...{ display_key: `****-${key.key.slice(-6)}`, status: "granted", usage: 0, validations: 0 },
    ...{ limit_activations: 2, limit_usage: 10, expires_at: new Date(floe.clock.now().getTime() + 30 * dayMs) },
  });
  // At rest, nobody reads it.
  const [row] = await floe.deps.db.select().from(licenseKeys).where(eq(licenseKeys.id, key.id));
  expect(JSON.stringify(row)).not.toContain(key.key);
  const [grant] = (await seller.client.benefitGrants.list({ query: {} })).items;
  expect(grant?.properties).toMatchObject({ license_key_id: key.id, display_key: key.display_key });
});

test("BEN-35: a key is found in any case, and with the blanks, line breaks and dashes of whoever pastes it", async () => {
  const seller = await floe.seller();
  for (const prefix of [null, "my_app"]) {
    const { call, key } = await buyKey(floe, seller, {
      prefix,
      activations: { limit: 9, enable_customer_admin: false },
    });
    for (const spelling of [
      key.key.toLowerCase(),
      ` ${key.key}\n`,
      key.key.replaceAll("-", "‑"),
      key.key.replace(/(.{9})/g, "$1\r\n "),
    ])
      expect((await call("validate", { key: spelling })).line).toContain("200");
    const activated = await call("activate", { key: key.key.toLowerCase(), label: "Desk" });
    const activation_id = activated.json?.id;
    expect((await call("deactivate", { key: ` ${key.key.toLowerCase()}`, activation_id })).line).toContain("204");
    expect((await call("validate", { key: key.key.replace(/.$/, (last) => (last === "0" ? "1" : "0")) })).status).toBe(
      404,
    );
  }
});

test("BEN-35, BEN-36: a key is refused for the first reason of the order, and counts what it is used for", async () => {
  const { call, get, benefit, key } = await buyKey(floe, await floe.seller(), {
    activations: { limit: 5, enable_customer_admin: false },
    limit_usage: 3,
  });
  const activated = await call("activate", { label: "Desk", conditions: { machine: "a", cores: 8 } });
  const activation_id = activated.json?.id;
  expect(await call("validate", { key: "other" }).then(({ line }) => line)).toBe("404 Not found");
  expect(await call("validate", { organization_id: newId() }).then(({ status }) => status)).toBe(404);
  const wrong = { benefit_id: newId(), customer_id: newId(), increment_usage: 4 };
  const steps: [object, string][] = [
    [{ ...wrong, activation_id: newId() }, "404 License key activation not found."],
    [{ ...wrong, activation_id }, "404 License key does not match required conditions."],
    [{ ...wrong, activation_id, conditions: { machine: "a" } }, "404 License key does not match required conditions."],
    [
      { ...wrong, activation_id, conditions: { cores: 8, machine: "a" } },
      "404 License key does not match given benefit.",
    ],
    [{ ...wrong, benefit_id: benefit.id }, "404 License key does not match given customer."],
    [{ increment_usage: 4 }, "400 License key only has 3 more usages."],
    [{ increment_usage: 2, benefit_id: benefit.id, customer_id: key.customer_id }, "200"],
    [{ increment_usage: 2 }, "400 License key only has 1 more usages."],
    // Where nothing is asked for, what is sent besides does no harm.
    [{ conditions: { any: "thing" } }, "200"],
  ];
  for (const [body, line] of steps) expect((await call("validate", body)).line).toBe(line);
  expect(await get()).toMatchObject({ usage: 2, validations: 2, last_validated_at: floe.clock.now() });
  expect((await call("validate", { activation_id, conditions: { machine: "a", cores: 8 } })).json).toMatchObject({
    activation: { id: activation_id, label: "Desk", license_key_id: key.id },
  });
});

test("BEN-35: a key without a limit is refused what can no longer be counted", async () => {
  const { call, get } = await buyKey(floe, await floe.seller());
  expect((await call("validate", { increment_usage: 2_147_483_647 })).status).toBe(200);
  expect((await call("validate", { increment_usage: 1 })).line).toBe("400 License key only has 0 more usages.");
  expect((await call("validate")).status).toBe(200);
  expect(await get()).toMatchObject({ usage: 2_147_483_647, validations: 2 });
});

test("BEN-34, BEN-37, BEN-38: one judgement for validation and activation, and places that come free", async () => {
  const seller = await floe.seller();
  const { call, update, get } = await buyKey(floe, seller, { activations: { limit: 1, enable_customer_admin: true } });
  const first = await call("activate", { label: "One" });
  expect((await call("activate", { label: "Two" })).line).toBe("403 License key activation limit already reached.");
  expect((await call("deactivate", { activation_id: newId() })).status).toBe(404);
  expect((await call("deactivate", { activation_id: first.json?.id })).status).toBe(204);
  expect((await call("deactivate", { activation_id: first.json?.id })).status).toBe(404);
  expect((await call("activate", { label: "Two" })).status).toBe(200);
  expect((await get()).activations.map(({ label }) => label)).toEqual(["Two"]);
  await update({ limit_activations: null });
  expect((await call("activate", { label: "Three" })).line).toBe("403 This license key does not support activations.");
  for (const [body, words] of [
    [{ status: "disabled" }, "License key is no longer active."],
    [{ status: "granted", expires_at: floe.clock.now().toISOString() }, "License key has expired."],
    [{ expires_at: null, status: "revoked" }, "License key is no longer active."],
  ] as const) {
    await update(body);
    expect((await call("activate", { label: "Four" })).line).toBe(`403 ${words}`);
    expect((await call("validate")).line).toBe(`404 ${words}`);
    expect((await call("lease")).line).toBe(`404 ${words}`);
  }
  const grants = async () => (await seller.client.benefitGrants.list({ query: { is_granted: true } })).items.length;
  expect(await grants()).toBe(0);
  await update({ status: "granted" });
  expect(await grants()).toBe(1);
  expect((await call("validate")).status).toBe(200);
});

test("BEN-33: what is given again has its key again, with the limits of now; what was disabled stays so", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const benefit = await shop.accepted("POST", "/v1/benefits/", {
    ...{
      type: "license_keys",
      description: "A key",
      properties: { limit_usage: 5, expires: { ttl: 1, timeframe: "day" } },
    },
  });
  const product = await shop.sells("Pro", 1000);
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [benefit.id] });
  const id = await shop.subscribes(product);
  const one = async () => (await shop.seller.client.licenseKeys.list({ query: {} })).items[0];
  const had = await one();
  // It lasts as long as the subscription.
  expect(had).toMatchObject({ expires_at: null, status: "granted", subscription_id: id });
  const gives = async (benefits: unknown[]) => {
    await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits });
    await floe.runJobs();
  };
  await gives([]);
  expect(await one()).toMatchObject({ status: "revoked" });
  const properties = { limit_usage: 7, prefix: "NEW" };
  await shop.accepted("PATCH", `/v1/benefits/${benefit.id}`, { type: "license_keys", properties });
  await gives([benefit.id]);
  expect(await one()).toMatchObject({ id: had?.id, key: had?.key, status: "granted", limit_usage: 7 });
  await shop.told();
  await shop.accepted("PATCH", `/v1/benefits/${benefit.id}`, { type: "license_keys", properties: { limit_usage: 9 } });
  await floe.runJobs();
  expect(await one()).toMatchObject({ key: had?.key, limit_usage: 9 });
  expect(await shop.told()).toEqual(["benefit.updated", "benefit_grant.updated"]);
  await shop.accepted("PATCH", `/v1/license-keys/${had?.id}`, { status: "disabled" });
  await gives([]);
  await gives([benefit.id]);
  expect(await one()).toMatchObject({ status: "disabled" });
});

test("a key that was rotated is another one, and all that counts goes on", async () => {
  const properties = { prefix: "APP", limit_usage: 5 };
  const { call, seller, key, get, update } = await buyKey(floe, await floe.seller(), properties);
  await call("validate", { increment_usage: 2 });
  const told = async () =>
    floe.deps.db
      .select()
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(asc(events.seq));
  const before = (await told()).length;
  const after = await seller.client.licenseKeys.rotate({ params: { id: key.id } });
  expect(after.key).toMatch(/^APP-[0-9A-F-]{36}$/);
  expect(after).toMatchObject({ id: key.id, usage: 2 });
  // Its grant says how it ends now, and whoever follows it hears of that.
  const [news, ...more] = (await told()).slice(before);
  expect([news?.type, more]).toEqual(["benefit_grant.updated", []]);
  expect(news?.data).toMatchObject({
    properties: { license_key_id: key.id, display_key: after.display_key },
    previous_properties: { license_key_id: key.id, display_key: key.display_key },
  });
  const [grant] = (await seller.client.benefitGrants.list({ query: {} })).items;
  expect(grant).toMatchObject({ is_granted: true, properties: { display_key: after.display_key } });
  expect((await call("validate")).status).toBe(404);
  expect((await call("validate", { key: after.key })).status).toBe(200);
  // What comes back is what its owner knows.
  await update({ status: "revoked" });
  await expect(seller.client.licenseKeys.rotate({ params: { id: key.id } })).rejects.toThrow("no longer active");
  expect((await get()).key).toBe(after.key);
});

test("a key whose secret is gone shows its end, and is replaced under the prefix of its benefit", async () => {
  const { seller, key } = await buyKey(floe, await floe.seller(), { prefix: "APP" });
  await floe.deps.db.update(licenseKeys).set({ key_sealed: "gone" }).where(eq(licenseKeys.id, key.id));
  const params = { id: key.id };
  expect((await seller.client.licenseKeys.get({ params })).key).toBe(key.display_key);
  expect((await seller.client.licenseKeys.rotate({ params })).key).toMatch(/^APP-[0-9A-F-]{36}$/);
});

test("leases whose key was sealed with a secret that is gone are refused with who has to see to it", async () => {
  const { seller, call } = await buyKey(floe, await floe.seller());
  const { organization_id } = seller;
  expect((await call("lease", { seconds: 60 })).status).toBe(200);
  await floe.deps.db
    .update(leaseKeys)
    .set({ seed_sealed: "gone" })
    .where(eq(leaseKeys.organization_id, organization_id));
  const { status, json } = await call("lease", { seconds: 60 });
  expect([status, json]).toMatchObject([503, { detail: expect.stringContaining("FLOE_SECRET_PREVIOUS") }]);
});

test("another seller's key is nobody's, whoever asks", async () => {
  const { key, call } = await buyKey(floe, await floe.seller());
  const other = await floe.seller("other");
  const asks = (method: string, path: string, body?: object) =>
    floe.request(method, path, { token: other.key, ...(body ? { body } : {}) }).then(({ status }) => status);
  expect(await asks("GET", `/v1/license-keys/${key.id}`)).toBe(404);
  expect(await asks("PATCH", `/v1/license-keys/${key.id}`, { status: "disabled" })).toBe(404);
  expect(await asks("POST", `/v1/license-keys/${key.id}/rotate`)).toBe(404);
  const { organization_id } = other;
  expect(await asks("POST", "/v1/license-keys/validate", { key: key.key, organization_id })).toBe(404);
  expect((await call("validate", { organization_id })).status).toBe(404);
});

describe("a lease", () => {
  /** As a program checks it, with nothing but the seller's public key. */
  function read(lease: string, public_key: string) {
    const [payload = "", signature = ""] = lease.split(".");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: public_key }, format: "jwk" });
    const isGood = verify(null, Buffer.from(payload), key, Buffer.from(signature, "base64url"));
    return isGood ? JSON.parse(Buffer.from(payload, "base64url").toString()) : undefined;
  }

  test("says what the key is good for, is the seller's, and takes its budget off the key", async () => {
    const seller = await floe.seller();
    const { call, get, key } = await buyKey(floe, seller, { limit_usage: 100, expires: { ttl: 1, timeframe: "day" } });
    const asked = await call("lease", { seconds: 3600, usage_budget: 60 });
    const { lease, public_key } = asked.json as unknown as { lease: string; public_key: string };
    const now = Math.trunc(floe.clock.now().getTime() / 1000);
    expect(read(lease, public_key)).toMatchObject({
      ...{ v: 1, iss: seller.organization_id, key_id: key.id, usage_budget: 60, seats: null, features: {} },
      ...{ iat: now, nbf: now, exp: now + 3600, activation_id: null },
    });
    expect(
      read(
        lease.replace(/^./, (first) => (first === "e" ? "f" : "e")),
        public_key,
      ),
    ).toBeUndefined();
    expect((await get()).usage).toBe(60);
    expect((await call("lease", { usage_budget: 60 })).line).toBe("400 License key only has 40 more usages.");
    // It is good for no longer than the key itself.
    const long = (await call("lease", { seconds: 31 * 24 * 3600 })).json as unknown as { lease: string };
    expect(read(long.lease, public_key)).toMatchObject({ exp: now + 24 * 3600 });
    // The key that signs is the same for good, and another seller's is another.
    const { call: elsewhere } = await buyKey(floe, await floe.seller());
    expect(((await elsewhere("lease")).json as unknown as { public_key: string }).public_key).not.toBe(public_key);
  });
});

test("the example of the documentation checks a lease without network, and refuses what was bent, is over, or where the clock was set back", async () => {
  const { call } = await buyKey(floe, await floe.seller(), { activations: { limit: 1, enable_customer_admin: true } });
  const activation_id = (await call("activate", { label: "Desk" })).json?.id ?? "";
  const leaseOf = async (body: object) =>
    (await call("lease", body)).json as unknown as { lease: string; public_key: string };
  const { lease, public_key } = await leaseOf({ seconds: 3600 });
  const { lease: of_desk } = await leaseOf({ seconds: 3600, activation_id });
  const [, example = ""] = /```js\n([\s\S]*?)```/.exec(readFileSync("docs/benefits.md", "utf8")) ?? [];
  const folder = mkdtempSync(join(tmpdir(), "floe-lease-"));
  try {
    writeFileSync(join(folder, "check.mjs"), example);
    const checks = (...argv: string[]) =>
      execFileSync(process.execPath, ["check.mjs", ...argv], {
        ...{ cwd: folder, encoding: "utf8" },
        env: { ...process.env, LEASE_KEY: public_key },
      }).trim();
    expect([checks(lease), checks(of_desk, activation_id)]).toEqual(["good", "good"]);
    // One that is of a desk is good there alone, and what was written by others nowhere.
    expect([checks(of_desk), checks(lease, activation_id)]).toEqual(["refused", "refused"]);
    expect(checks(lease.replace(/^./, (first) => (first === "e" ? "f" : "e")))).toBe("refused");
    const now = Math.trunc(Date.now() / 1000);
    writeFileSync(join(folder, ".lease-time"), String(now + 1000));
    expect(checks(lease)).toBe("refused");
    // A clock that is a little behind is fine, and the later time stays known.
    writeFileSync(join(folder, ".lease-time"), String(now + 100));
    expect([checks(lease), readFileSync(join(folder, ".lease-time"), "utf8")]).toEqual(["good", String(now + 100)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the limits of a key hold while a hundred ask at once", async () => {
  const real = await startOnPostgres();
  try {
    const { call, get } = await buyKey(real, await real.seller(), {
      activations: { limit: 7, enable_customer_admin: true },
      limit_usage: 13,
    });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        index % 2 === 0 ? call("activate", { label: `Desk ${index}` }) : call("validate", { increment_usage: 1 }),
      ),
    );
    const counted = Object.groupBy(answers, ({ status }) => String(status));
    expect(Object.fromEntries(Object.entries(counted).map(([status, all]) => [status, all?.length]))).toEqual({
      ...{ 200: 7 + 13, 400: 37, 403: 43 },
    });
    const after = await get();
    expect([after.activations.length, after.usage, after.validations]).toEqual([7, 13, 13]);
  } finally {
    await real.close();
  }
});
