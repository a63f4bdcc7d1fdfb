/** `--as`: a role goes along with each request that says who asks, and with nothing else. */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder, standIn } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: folder() };
});
afterAll(() => server.close());
const run = (argv: string[], more = {}) => floe(argv, { env: { ...env, ...more } });
const create = ["products", "create", "--name", "Pro", "--price", "9.00usd"];

test("a role that may not is exit code 5, says as whom, and one that may does it", async () => {
  expect(await run([...create, "--as", "admin"])).toMatchObject({ code: 0 });
  const refused = await run([...create, "--as", "viewer"]);
  expect(refused).toMatchObject({ code: 5, out: "", err: expect.stringContaining("You asked as viewer") });
  expect((await run(["--as", "viewer", ...create])).code).toBe(5);
  expect((await run(["products", "--as", "viewer", ...create.slice(1)])).code).toBe(5);
  expect((await run(["products", "list", "--as", "viewer", "--quiet"])).out).toMatch(/^[0-9a-f-]{36}\n$/);
});

test("a role that there is not is exit code 6, and what is no name of one is never sent", async () => {
  const unknown = await run(["products", "list", "--as", "nobody"]);
  expect(unknown).toMatchObject({ code: 6, err: expect.stringContaining("floe roles list") });
  const silent = await standIn(() => ({ json: { items: [], pagination: { total_count: 0, max_page: 0 } } }));
  for (const role of ["", " ", "viewer\r\nx: y", "-viewer"])
    expect([role, (await run(["products", "list", `--as=${role}`], { FLOE_SERVER: silent.url })).code]).toEqual([
      role,
      64,
    ]);
  expect(silent.received).toEqual([]);
});

test("the role is in each request that says who asks, and a command's own --as is no role", async () => {
  const server = await standIn(() => ({ json: { items: [], pagination: { total_count: 0, max_page: 0 } } }));
  const more = { FLOE_SERVER: server.url };
  await run(["products", "list", "--as", "viewer"], more);
  await run(["products", "list"], more);
  const bought = await run(["sandbox", "buy", "Pro", "--as", "ada@example.com"], more);
  expect(bought.err).not.toContain("--as");
  const roles = [...new Set(server.received.map(({ headers }) => headers["floe-as-role"]))];
  expect(roles).toEqual(["viewer", undefined]);
  expect(server.received.filter(({ headers }) => headers["floe-as-role"] === "viewer").length).toBe(1);
});

test("as a signed-in person too: what is read of the account, and that a change is not made", async () => {
  const config = folder();
  const login = {
    FLOE_CONFIG_DIR: config,
    FLOE_API_KEY: "",
    FLOE_SERVER: server.url,
    FLOE_ORG: seller.organization_id,
    FLOE_KEYCHAIN: "off",
  };
  mkdirSync(config, { recursive: true });
  writeFileSync(
    `${config}/credentials.json`,
    JSON.stringify({ default: { [server.url]: { token: seller.session } } }),
    { mode: 0o600 },
  );
  expect((await run(["members", "list", "--as", "viewer"], login)).code).toBe(0);
  expect((await run(["roles", "create", "clerk", "--allow", "orders:read", "--as", "viewer"], login)).code).toBe(5);
  const told = await run(["roles", "create", "clerk", "--allow", "orders:read", "--as", "admin"], login);
  expect(told).toMatchObject({ code: 1, err: expect.stringContaining("The role may do this") });
  expect((await run(["roles", "list"], login)).out).not.toContain("clerk");
  expect((await run(["products", "list", "--as", "member"], login)).code).toBe(0);
});
