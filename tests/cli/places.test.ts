/** Where a command works: profiles, pages that are opened, words that are meant otherwise. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { floe, folder, standIn } from "./support.ts";

const ended: (string | undefined)[] = [];
const server = await standIn(({ path, headers }) => {
  if (path === "/api/auth/sign-out") ended.push(headers.authorization);
  return { json: { success: true } };
});

/** Settings with two profiles, one of which is signed in to two servers. */
function settings() {
  const FLOE_CONFIG_DIR = folder();
  const organization = { id: "o1", slug: "acme", name: "Acme" };
  const config = {
    profile: "live",
    profiles: { live: { server: server.url, organization }, try: { server: "http://localhost:1" } },
  };
  const credentials = {
    live: { [server.url]: { token: "t1" }, "http://127.0.0.1:2": { token: "k", is_key: true } },
    try: { "http://localhost:1": { token: "t2" } },
  };
  writeFileSync(join(FLOE_CONFIG_DIR, "config.json"), JSON.stringify(config));
  writeFileSync(join(FLOE_CONFIG_DIR, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  const read = (name: string): unknown => JSON.parse(readFileSync(join(FLOE_CONFIG_DIR, name), "utf8"));
  return { env: { FLOE_CONFIG_DIR }, read };
}

test("profiles are listed without what signs them in", async () => {
  const { env } = settings();
  const { code, out } = await floe(["profiles", "list"], { env });
  expect([code, JSON.parse(out)]).toEqual([
    0,
    [
      { name: "live", current: true, server: server.url, organization: "acme", signed_in_by: "session" },
      { name: "try", current: false, server: "http://localhost:1", organization: null, signed_in_by: "session" },
    ],
  ]);
  expect((await floe(["profiles", "list"])).out).toBe("[]\n");
});

test("another profile is used where none is named", async () => {
  const { env, read } = settings();
  expect((await floe(["profiles", "use", "tyr"], { env })).err).toContain("There are: live, try");
  expect((await floe(["profiles", "use", "try"], { env })).code).toBe(0);
  expect(read("config.json")).toMatchObject({ profile: "try" });
});

test("a removed profile is signed out at its server, and nothing of it is left; the others stay", async () => {
  const { env, read } = settings();
  ended.length = 0;
  expect((await floe(["profiles", "remove", "live"], { env })).code).toBe(64);
  const { code, err } = await floe(["profiles", "remove", "live", "--yes"], { env });
  expect([code, err, ended]).toEqual([0, "Forgot the profile live.\n", ["Bearer t1"]]);
  expect(read("credentials.json")).toEqual({ try: { "http://localhost:1": { token: "t2" } } });
  expect(read("config.json")).toEqual({ profiles: { try: { server: "http://localhost:1" } } });
});

test("a server that is away does not keep a profile from being forgotten, and that is said", async () => {
  const { env, read } = settings();
  const { code, err } = await floe(["profiles", "remove", "try", "--yes"], { env });
  expect([code, err]).toEqual([0, expect.stringContaining("http://localhost:1 could not be told")]);
  expect(Object.keys(read("credentials.json") as object)).toEqual(["live"]);
});

test("a page is opened for a person, and its address said to everybody", async () => {
  const env = { FLOE_SERVER: server.url };
  const opened = await floe(["open", "reference"], { env, tty: true });
  expect([opened.code, opened.opened, opened.out]).toEqual([
    0,
    [`${server.url}/api/reference`],
    `${server.url}/api/reference\n`,
  ]);
  const piped = await floe(["open"], { env });
  expect([piped.opened, JSON.parse(piped.out)]).toEqual([[], { url: `${server.url}/account` }]);
  expect((await floe(["open", "nowhere"], { env })).code).toBe(64);
  expect((await floe(["open", "metrics", "Pro"], { env })).err).toContain("it takes no name");
  // A page about an organization names it, whichever the browser stands in.
  const organization_id = "0199c1f0-0000-7000-8000-000000000001";
  const discord = await floe(["open", "discord", "--org", organization_id], {
    env: { ...env, FLOE_API_KEY: "floe_pat_x" },
  });
  expect(JSON.parse(discord.out)).toEqual({
    url: `${server.url}/v1/integrations/discord/bot/authorize?organization_id=${organization_id}`,
  });
});

describe("the page of one thing", () => {
  const id = "0199c1f0-0000-7000-8000-000000000001";
  const customer_id = "0199c1f0-0000-7000-8000-000000000002";
  const link = { id, url: "https://pay.example.com/polar_cl_x", customer_id, name: "Pro", email: "ada@example.com" };
  let rows: object[] = [link];
  const store = standIn(({ path, method }) => {
    expect(method).toBe("GET");
    const isList = path.endsWith("/");
    return { json: isList ? { items: rows, pagination: { total_count: rows.length, max_page: 1 } } : link };
  });
  const open = async (argv: string[], tty = true) =>
    floe(["open", ...argv], { tty, env: { FLOE_SERVER: (await store).url, FLOE_API_KEY: "k" } });

  test.each([
    [["customer", "ada@example.com"], `/store/customers/${id}`],
    [["order", id], `/store/orders/${id}`],
    [["subscription", id], `/store/customers/${customer_id}`],
    [["checkout-link", id], link.url],
    [["product", "Pro"], link.url],
    [["metrics"], "/metrics"],
    [["store"], "/"],
  ])("%j is opened, by id or name", async (argv, page) => {
    rows = [link];
    const { code, opened, out } = await open(argv);
    const { href } = new URL(page, (await store).url);
    expect([code, opened, out]).toEqual([0, [href], `${href}\n`]);
  });

  test("that cannot be bought yet says how to make a link; without a name and a terminal the flag is missing", async () => {
    rows = [];
    const { code, opened, err } = await open(["product", id]);
    expect([code, opened, err]).toEqual([6, [], expect.stringContaining(`checkout-links create --products ${id}`)]);
    expect(await open(["order"], false)).toMatchObject({ code: 64, opened: [] });
  });

  test("is not opened where its address is none of a page, and stays within the server", async () => {
    rows = [{ ...link, url: "file:///etc/passwd" }];
    expect((await open(["product", id])).opened).toEqual([]);
    expect((await open(["order", "../../v1/x"])).opened).toEqual([]);
  });
});

test.each([
  [["products", "delete", "x"], "Did you mean floe products archive?"],
  [["products", "rm", "x"], "Did you mean floe products archive?"],
  [["customers", "remove", "x"], "Did you mean floe customers delete?"],
  [["customers", "show", "x"], "Did you mean floe customers get?"],
  [["orders", "ls"], "Did you mean floe orders list?"],
  [["products", "new"], "Did you mean floe products create?"],
  [["members", "delete", "x"], "Did you mean floe members remove?"],
  [["products", "lost"], "(Did you mean list?)".slice(1, -1)],
  [["webhooks", "create", "--url", "https://a.example", "--events", "order.pd"], "Did you mean order.paid?"],
  [["webhooks", "create", "--url", "https://a.example", "--events", "zzz"], "is none of checkout.created"],
])("%j is told what was meant", async (argv, said) => {
  const { code, err } = await floe(argv, { env: { FLOE_SERVER: server.url, FLOE_API_KEY: "k" } });
  expect(code).toBe(64);
  expect(err).toContain(said);
});

test("floe version, and a path of floe api without its first stroke", async () => {
  expect(await floe(["version"])).toMatchObject({ code: 0, out: "1.2.3\n" });
  server.received.length = 0;
  expect((await floe(["api", "v1/products/"], { env: { FLOE_SERVER: server.url } })).code).toBe(0);
  expect(server.received[0]?.path).toBe("/v1/products/");
  expect((await floe(["api", "example.com/v1/"], { env: { FLOE_SERVER: server.url } })).code).toBe(64);
});
