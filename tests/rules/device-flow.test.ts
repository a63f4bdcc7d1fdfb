import { describe, expect, test } from "vitest";
import {
  countSeconds,
  findCodeFault,
  findTokenFault,
  getClientName,
  hashConfirmation,
  listScopeNames,
  readAgentName,
} from "../../server/identity/accounts/device/protocol.ts";
import { findDenial, listMissing } from "../../server/identity/accounts/identity/permissions-guard.ts";
import { getPermissions, getScopes, readRoles } from "../../shared/permissions.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const token = { grant_type: grantType, device_code: "x", client_id: "floe-cli" };

test.each<[string, object, string | undefined]>([
  ["all of it", {}, undefined],
  ["no grant", { grant_type: undefined }, "invalid_request"],
  ["an empty code", { device_code: "" }, "invalid_request"],
  ["a code that is no text", { device_code: 5 }, "invalid_request"],
  ["no client", { client_id: undefined }, "invalid_request"],
  ["another grant", { grant_type: "password" }, "unsupported_grant_type"],
  ["another client", { client_id: "other" }, "invalid_client"],
  ["a client that every object has", { client_id: "constructor" }, "invalid_client"],
  [
    "another grant of another client: the grant first",
    { grant_type: "password", client_id: "other" },
    "unsupported_grant_type",
  ],
])("a request for a token with %s", (_, over, error) =>
  expect(findTokenFault({ ...token, ...over })?.error).toBe(error),
);

test.each<[string, Record<string, unknown>, string | undefined]>([
  ["without scopes", { client_id: "floe-cli" }, undefined],
  ["with no scope", { client_id: "floe-cli", scope: " " }, undefined],
  ["with scopes", { client_id: "floe-cli", scope: "products:read  orders:read" }, undefined],
  ["with one that is none", { client_id: "floe-cli", scope: "products:read x:y" }, "invalid_scope"],
  ["with scopes that are no text", { client_id: "floe-cli", scope: ["products:read"] }, "invalid_request"],
  ["without a client", { scope: "products:read" }, "invalid_request"],
  ["of another client", { client_id: "toString" }, "invalid_client"],
])("a request for a code %s", (_, body, error) => expect(findCodeFault(body)?.error).toBe(error));

test.each<[number, number]>([
  [-1000, 0],
  [-1, 0],
  [0, 0],
  [999, 0],
  [1000, 1],
  [1999, 1],
])("of %i ms whole seconds are left: %i", (ms, seconds) =>
  expect(countSeconds(new Date(5000), new Date(5000 + ms))).toBe(seconds),
);

test("a client is called by words of ours, whatever it writes", () => {
  expect(getClientName("floe-cli")).toBe("floe command line");
  expect(getClientName("hasOwnProperty")).toBeNull();
  expect(getClientName(null)).toBeNull();
  expect(readAgentName("floe-cli/1.20 (darwin)")).toBe("floe command line 1.20 on macOS");
  expect(readAgentName("floe-cli/12345")).not.toContain("12345");
  expect(readAgentName("evil floe-cli/1.0")).toBe("another program");
  expect(readAgentName("Linux; Android 14")).toBe("another program on Android");
  expect(readAgentName(null)).toBe("another program");
  expect(listScopeNames(" a b  a ")).toEqual(["a", "b"]);
});

test("a number is kept for its code alone, by each secret", () => {
  const kept = hashConfirmation(["s"], "1", "42");
  expect(hashConfirmation(["t", "s"], "1", "42")).toContain(kept[0]);
  expect(hashConfirmation(["s"], "2", "42")).not.toEqual(kept);
  expect(hashConfirmation(["s"], "1", "43")).not.toEqual(kept);
});

describe("permissions", () => {
  const held = { products: ["read", "write"], orders: ["read"] };
  test.each<[string, Record<string, string[]>, string[]]>([
    ["nothing", {}, []],
    ["all that is held", held, []],
    ["one action more", { orders: ["read", "write"] }, ["orders:write"]],
    ["another resource", { customers: ["read"] }, ["customers:read"]],
    ["a resource that every object has", { constructor: ["read"] }, ["constructor:read"]],
  ])("nobody gives what they lack: %s", (_, wanted, missing) => expect(listMissing(held, wanted)).toEqual(missing));

  test.each<[string, Record<string, string[]>, "AND" | "OR" | undefined, boolean]>([
    ["one that is held", { products: ["write"] }, undefined, true],
    ["one that is not", { orders: ["write"] }, undefined, false],
    ["all of two, of which one is held", { orders: ["read", "write"] }, "AND", false],
    ["any of two, of which one is held", { orders: ["read", "write"] }, "OR", true],
    ["any of two resources", { customers: ["read"], products: ["read"] }, "OR", true],
    ["all of two resources", { customers: ["read"], products: ["read"] }, "AND", false],
    ["a resource that every object has", { toString: ["read"] }, undefined, false],
  ])("%s", (_, asked, connector, allowed) => expect(findDenial(held, asked, connector) === undefined).toBe(allowed));

  test("several roles give together what each gives; no role, nothing", () => {
    expect(readRoles(" member , admin,,")).toEqual(["member", "admin"]);
    expect(readRoles("")).toEqual([]);
    expect(getPermissions("")).toEqual({});
    expect(getPermissions("constructor")).toEqual({});
    expect(getPermissions("admin").organization).toEqual(["update"]);
    expect(getPermissions("owner").organization).toEqual(["update", "delete"]);
    expect(getPermissions("member").member).toEqual([]);
    expect(getPermissions("member,admin").member).toEqual(["create", "update", "delete"]);
    const own = new Map([
      ["reader", { orders: ["read"] }],
      ["writer", { orders: ["read", "write"] }],
      ["owner", { orders: ["read"] }],
    ]);
    expect(getPermissions("reader,writer", own)).toEqual({ orders: ["read", "write"] });
    expect(getPermissions("owner", own).products).toEqual(["read", "write"]);
    const scopes = getScopes({ orders: ["read"] });
    expect([scopes.has("orders:read"), scopes.has("orders:write"), scopes.has("products:read")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
