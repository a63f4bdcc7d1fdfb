import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { findReach } from "../../server/platform/external/outbound.ts";
import { type Floe, start } from "../support/floe.ts";

/** What is for a developer's own screen: a demo shop, and an inbox with everybody's mail, the links in it included. */

const configOf = (given: Record<string, string>) =>
  completeConfig(readSettings({ FLOE_SECRET: "9f3a1c77e2b84d06a5c1f0de4b7799aa31", ...given }, {}));

test.each([
  [true, {}],
  [true, { HOST: "localhost", FLOE_URL: "http://localhost:4455" }],
  [true, { HOST: "::1", FLOE_URL: "http://[::1]:4455/" }],
  [false, { FLOE_URL: "https://pay.example.com" }],
  [false, { FLOE_URL: "http://localhost.example.com" }],
  [false, { FLOE_URL: "http://192.0.2.1:4455" }],
  [false, { HOST: "0.0.0.0" }],
  [false, { HOST: "0.0.0.0", FLOE_URL: "http://localhost:4455" }],
  [false, { HOST: "192.168.1.2" }],
  [false, { DATABASE_URL: "postgres://localhost/floe" }],
])("it is there: %s, with %j; and so are private receivers and requests without a limit", (expected, given) => {
  const config = configOf(given);
  expect(config.development).toBe(expected);
  expect(findReach(config).private_allowed).toBe(expected);
  expect(config.requests_per_minute === 0).toBe(expected);
});

describe("on a developer's own machine", () => {
  let floe: Floe;
  const web = mkdtempSync(join(tmpdir(), "floe-web-"));
  beforeAll(async () => {
    writeFileSync(join(web, "index.html"), "<!doctype html>the app");
    floe = await start({ development: true, web });
    const { email } = await floe.seller();
    const asked = { body: { email }, headers: { origin: floe.url } };
    expect((await floe.request("POST", "/api/auth/request-password-reset", asked)).status).toBe(200);
  });
  afterAll(async () => {
    await floe?.close();
    rmSync(web, { recursive: true });
  });
  const paths = ["/mail/messages.json", "/demo/products.json", "/mail", "/demo"];
  const get = (path: string, headers: Record<string, string>) =>
    floe.request("GET", path, { headers: { host: "localhost:4455", accept: "text/html", ...headers } });

  test("its screen sees it", async () => {
    for (const host of ["localhost:4455", "127.0.0.1:4455", "[::1]:4455", "localhost"])
      for (const path of paths) expect((await get(path, { host })).status, `${host}${path}`).toBe(200);
    expect((await get("/mail/messages.json", {})).text).toContain("reset-password");
    expect((await get("/", {})).headers.location).toBe("/demo");
  });

  test.each<Record<string, string>>([
    { host: "pay.example.com" },
    { host: "localhost.evil.example:4455" },
    { "x-forwarded-for": "203.0.113.9" },
    { "x-forwarded-host": "localhost" },
    { "x-forwarded-proto": "https" },
    { forwarded: "for=203.0.113.9" },
    { "x-real-ip": "127.0.0.1" },
    { via: "1.1 proxy" },
  ])("nobody sees it through a proxy or under another name: %j", async (headers) => {
    for (const path of paths) expect((await get(path, headers)).status, path).toBe(404);
    expect((await get("/", headers)).headers.location).toBe("/sign-in");
    const bought = await floe.request("POST", "/demo/checkout", {
      body: {},
      headers: { host: "localhost", ...headers },
    });
    expect(bought.status).toBe(404);
  });
});
