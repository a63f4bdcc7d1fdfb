import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  type ActivationRow,
  checkActivation,
  checkRotation,
  checkUse,
  computeExpiry,
  getPrefix,
  hashKeyWithEach,
  type KeyRow,
  type KeyTerms,
  type LeaseClaims,
  makeKey,
  openSeed,
  signLease,
  validateKey,
} from "../../server/entitlements/license-keys/rules.ts";

const now = new Date("2028-02-29T12:00:00Z");
const [before, after] = [new Date(now.getTime() - 1), new Date(now.getTime() + 1)];
const key = (over: object = {}): KeyRow =>
  ({
    id: "k",
    status: "granted",
    expires_at: null,
    limit_activations: null,
    limit_usage: null,
    usage: 0,
    benefit_id: "b",
    customer_id: "c",
    ...over,
  }) as KeyRow;
const refusalOf = (act: () => void): string | undefined => {
  try {
    act();
  } catch (error) {
    return `${(error as { error: string }).error}: ${(error as Error).message}`;
  }
  return undefined;
};

test.each<[string, object, ReturnType<typeof validateKey>]>([
  ["without an end", {}, "usable"],
  ["a millisecond before its end", { expires_at: after }, "usable"],
  ["at its end", { expires_at: now }, "expired"],
  ["a millisecond after it", { expires_at: before }, "expired"],
  ["revoked", { status: "revoked" }, "not_granted"],
  ["disabled", { status: "disabled" }, "not_granted"],
  ["BEN-35: disabled and expired: the first reason", { status: "disabled", expires_at: before }, "not_granted"],
])("a key %s", (_, over, judged) => expect(validateKey(key(over), now)).toBe(judged));

describe("BEN-37: activating", () => {
  test.each<[string, object, number, RegExp | undefined]>([
    ["the first", { limit_activations: 2 }, 0, undefined],
    ["the last", { limit_activations: 2 }, 1, undefined],
    ["one more", { limit_activations: 2 }, 2, /limit already reached/],
    ["where the limit was lowered since", { limit_activations: 1 }, 2, /limit already reached/],
    ["without activations", {}, 0, /does not support/],
    ["at the end of the key", { limit_activations: 2, expires_at: now }, 0, /has expired/],
    ["a revoked key", { limit_activations: 2, status: "revoked" }, 0, /no longer active/],
    ["a full key that has expired: that it has expired", { limit_activations: 0, expires_at: now }, 0, /has expired/],
  ])("%s", (_, over, active, refusal) => {
    const refused = refusalOf(() => checkActivation(key(over), active, now));
    if (refusal) expect(refused).toMatch(refusal);
    else expect(refused).toBeUndefined();
  });
});

test("BEN-33: a key that was taken back is not replaced; a disabled one is", () => {
  expect(refusalOf(() => checkRotation(key({ status: "revoked" })))).toMatch(/^RotateNotPermitted/);
  expect(refusalOf(() => checkRotation(key({ status: "disabled" })))).toBeUndefined();
  expect(refusalOf(() => checkRotation(key()))).toBeUndefined();
});

describe("BEN-32: when a key ends", () => {
  const terms = (ttl: number, timeframe: string) => ({ expires: { ttl, timeframe } }) as KeyTerms;
  test.each<[string, KeyTerms, boolean, string | null]>([
    ["after a day", terms(1, "day"), false, "2028-03-01T12:00:00.000Z"],
    ["after a month", terms(1, "month"), false, "2028-03-29T12:00:00.000Z"],
    ["after a year that is shorter", terms(1, "year"), false, "2029-02-28T12:00:00.000Z"],
    ["after four years", terms(4, "year"), false, "2032-02-29T12:00:00.000Z"],
    ["with its subscription", terms(1, "day"), true, null],
    ["never", { expires: null } as KeyTerms, false, null],
  ])("%s", (_, given, isSubscribed, end) =>
    expect(computeExpiry(given, now, isSubscribed)?.toISOString() ?? null).toBe(end),
  );
});

describe("using a key", () => {
  const activation = (conditions: object = {}) => ({ id: "x", conditions }) as ActivationRow;
  const limited = key({ limit_usage: 3, usage: 1 });
  type Asked = Parameters<typeof checkUse>[2];
  test.each<[string, KeyRow, ActivationRow | undefined, Partial<Asked>, RegExp | undefined]>([
    ["BEN-35: all that is left", limited, undefined, { increment_usage: 2 }, undefined],
    ["BEN-35: one more than is left", limited, undefined, { increment_usage: 3 }, /only has 2 more/],
    ["BEN-35: nothing of none", key({ limit_usage: 1, usage: 1 }), undefined, { increment_usage: 0 }, undefined],
    ["BEN-35: one of none", key({ limit_usage: 1, usage: 1 }), undefined, { increment_usage: 1 }, /only has 0 more/],
    [
      "BEN-35: used beyond a limit of now",
      key({ limit_usage: 1, usage: 5 }),
      undefined,
      { increment_usage: 1 },
      /has 0 more/,
    ],
    [
      "without a limit, up to what can be counted",
      key({ usage: 2_147_483_646 }),
      undefined,
      { increment_usage: 1 },
      undefined,
    ],
    ["and no further", key({ usage: 2_147_483_647 }), undefined, { increment_usage: 1 }, /only has 0 more/],
    ["BEN-35: an unknown activation", key(), undefined, { activation_id: "x" }, /activation not found/],
    ["BEN-36: where it has none, any are fine", key(), activation(), { conditions: { major: 1 } }, undefined],
    ["BEN-36: its own", key(), activation({ major: 1 }), { conditions: { major: 1 } }, undefined],
    ["BEN-36: another value", key(), activation({ major: 1 }), { conditions: { major: 2 } }, /required conditions/],
    ["BEN-36: more than its own", key(), activation({ major: 1 }), { conditions: { major: 1, os: "x" } }, /required/],
    ["BEN-36: none of them", key(), activation({ major: 1 }), {}, /required conditions/],
    ["BEN-35: another benefit", key(), undefined, { benefit_id: "z" }, /given benefit/],
    ["BEN-35: another customer", key(), undefined, { customer_id: "z" }, /given customer/],
    ["BEN-35: both: the benefit first", key(), undefined, { benefit_id: "z", customer_id: "z" }, /given benefit/],
    ["BEN-35: expired before all else", key({ expires_at: now }), undefined, { activation_id: "x" }, /has expired/],
    ["BEN-35: its own benefit and customer", key(), undefined, { benefit_id: "b", customer_id: "c" }, undefined],
  ])("%s", (_, row, active, asked, refusal) => {
    const refused = refusalOf(() => checkUse(row, active, { conditions: {}, ...asked }, now));
    if (refusal) expect(refused).toMatch(refusal);
    else expect(refused).toBeUndefined();
  });
});

test("BEN-31: a key begins with its prefix in capitals, which is read from it again", () => {
  expect(makeKey(" shop ")).toMatch(/^SHOP-[0-9A-F-]{36}$/);
  expect(makeKey(null)).toMatch(/^[0-9A-F-]{36}$/);
  expect(makeKey("")).toMatch(/^[0-9A-F-]{36}$/);
  expect(getPrefix(makeKey("a-b"))).toBe("A-B");
  expect(getPrefix(makeKey(null))).toBeNull();
});

test("a key is found however it was typed, by each secret, and only in its organization", () => {
  const [printed] = hashKeyWithEach(["s"], "o", "SHOP-1");
  for (const typed of [" shop-1 ", "SHOP\u20131", "sh\nop-1", "SHOP\u200b-1"])
    expect(hashKeyWithEach(["s"], "o", typed)).toContain(printed);
  expect(hashKeyWithEach(["t", "s"], "o", "SHOP-1")).toHaveLength(2);
  expect(hashKeyWithEach(["t", "s"], "o", "SHOP-1")).toContain(printed);
  expect(hashKeyWithEach(["s"], "p", "SHOP-1")).not.toContain(printed);
  expect(hashKeyWithEach(["s"], "o", "SHOP-2")).not.toContain(printed);
});

test("a lease verifies with the public key of its seed, and not once a letter of it is another", () => {
  const { private_key, public_key } = openSeed(Buffer.alloc(32, 7));
  const claims = { v: 1, iss: "x", key_id: "k", exp: 9 } as LeaseClaims;
  const [payload = "", signature = ""] = signLease(claims, private_key).split(".");
  const open = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: public_key }, format: "jwk" });
  const isSigned = (text: string) => verify(null, Buffer.from(text), open, Buffer.from(signature, "base64url"));
  expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toEqual(claims);
  expect(isSigned(payload)).toBe(true);
  expect(isSigned(`${payload}A`)).toBe(false);
});
