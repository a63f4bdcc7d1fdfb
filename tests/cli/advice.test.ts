/** What a person is told to do next can be done as it is told. */
import { describe, expect, test } from "vitest";
import { Fault, renderFault } from "../../cli/fault.ts";
import { completeNamedCommand, insertWholeCommands } from "../../cli/suggestions.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { freePort } from "../support/free-port.ts";
import { floe, standIn } from "./support.ts";

const nowhere = `http://127.0.0.1:${await freePort()}`;
const lost = await standIn((_, response) => {
  response.destroy();
  return undefined;
});

test("what was just made is named so that the shell and lists take it as one", () => {
  expect(completeNamedCommand("floe products get NAME", "Ann's, 2")).toBe("`floe products get 'Ann'\\''s, 2'`");
  expect(completeNamedCommand("floe x --benefits NAMES", "10,000 tokens")).toBe(
    "`floe x --benefits '10\\,000 tokens'`",
  );
  expect(completeNamedCommand("floe x --benefits NAMES", "NAMES")).toBe("`floe x --benefits NAMES`");
});

describe("an idempotency key is offered", () => {
  const create = ["customers", "create", "--email", "ada@example.com"];
  const told = async (argv: string[], server: string) =>
    (await floe(argv, { env: { FLOE_API_KEY: "k", FLOE_SERVER: server }, tty: true })).err;

  test("where an answer was lost, so that nobody knows whether it was done", async () => {
    expect(await told(create, lost.url)).toMatch(/--idempotency-key [0-9a-f-]{36}\n/);
    expect(await told(["api", "POST", "/v1/customers/"], lost.url)).toMatch(/--idempotency-key /);
  });
  test("not where nothing was sent", async () => {
    const err = await told(create, nowhere);
    expect(err).toContain("nothing answers at");
    expect(err).not.toContain("idempotency");
  });
  test("not by a command that cannot take one", async () => {
    for (const argv of [["login"], ["invitations", "create", "ada@example.com"]])
      expect(await told(argv, lost.url)).not.toContain("idempotency");
  });
});

describe("a wrong use names the help of the command that was reached", () => {
  const cases: [argv: string[], help: string][] = [
    [["api", "/v1/products/", "--pages"], "floe api --help"],
    [["promote", "default", "second", "--format", "text"], "floe promote --help"],
    [["products", "get", "Pro", "--colr"], "floe products get --help"],
    [["products", "mak"], "floe products --help"],
    [["prodcts"], "floe --help"],
  ];
  test.each(cases)("%j", async (argv, help) => {
    const { code, err } = await floe(argv);
    expect([code, err]).toEqual([64, expect.stringContaining(`See: ${help}\n`)]);
  });
});

describe("ORG-05: who makes an offer that nobody could pay for is told so with its address", () => {
  const link = { id: "l1", label: "newsletter", products: [], url: "https://pay.example.com/buy/x", created_at: null };
  let organizations: { status?: number; json: unknown };
  const shop = standIn(({ method, path }) => {
    if (path === "/v1/organizations/") return organizations;
    if (method === "GET" && path === "/v1/checkout-links/") return { json: { items: [link], pagination: {} } };
    return { json: { ...link, name: "Pro" } };
  });
  const takes = (checkout_payments: boolean) => ({
    json: { items: [{ id: "o1", capabilities: { checkout_payments } }] },
  });
  const commands = [
    ["products", "create", "--name", "Pro", "--price", "19.00usd"],
    ["checkout-links", "create", "--products", "00000000-0000-4000-8000-000000000001"],
    ["checkout-links", "get", "00000000-0000-4000-8000-000000000002"],
    ["checkout-links", "list"],
  ];
  test.each(commands)("%s %s", async (...argv) => {
    const env = { FLOE_API_KEY: "k", FLOE_SERVER: (await shop).url };
    const warning = "Buyers cannot pay yet: this server has no card processor.";
    organizations = takes(false);
    for (const tty of [true, false]) {
      const { code, err } = await floe(argv, { env, tty });
      expect([code, err]).toEqual([0, expect.stringContaining(warning)]);
    }
    // Where they can pay, and where the key may not know, nothing is said, and nothing fails.
    for (const answer of [takes(true), { status: 403, json: { error: "insufficient_scope" } }]) {
      organizations = answer;
      const { code, err } = await floe(argv, { env, tty: true });
      expect([code, err]).toEqual([0, expect.not.stringContaining("cannot pay")]);
    }
    if (argv[1] !== "create") return;
    organizations = takes(false);
    expect((await floe([...argv, "--dry-run"], { env })).err).not.toContain("cannot pay");
  });
});

test.each([
  [
    ["advance", "1day"],
    'floe: "1day" is more than floe advance takes\n  Give it to a flag: --to <date>, --by <length>  See: floe advance --help\n',
  ],
  [["logout", "a\u001bb"], 'floe: "a\ufffdb" is more than floe logout takes\n  See: floe logout --help\n'],
  [
    ["orders", "get", "ACME-0001", "ACME-0002"],
    expect.stringContaining('floe: "ACME-0002" is more than floe orders get takes'),
  ],
])("a word too many is named, with the flags that it may belong to: %j", async (argv, err) => {
  expect(await floe(argv, { env: { FLOE_API_KEY: "k", FLOE_SERVER: nowhere } })).toMatchObject({
    code: 64,
    out: "",
    err,
  });
});

test("-q and a server that fails name what to do", async () => {
  expect((await floe(["products", "list", "-q"])).err).toContain("--quiet has no short form.");
  const broken = await standIn((_, response) => {
    response.writeHead(503, { "content-type": "text/html" }).end("<html>bad gateway</html>");
    return undefined;
  });
  const { code, err } = await floe(["products", "list"], { env: { FLOE_API_KEY: "k", FLOE_SERVER: broken.url } });
  expect([code, err]).toEqual([9, expect.stringContaining("floe: the server failed (503)\n  Try again later.")]);
});

test("on a terminal no line breaks within a command, unless the command alone is wider", () => {
  const say = (text: string, columns: number | undefined): string =>
    insertWholeCommands(text, columns, { org: "acme" });
  const text = "  See it: `floe orders list`. Keep it: `floe sandbox save demo`\nDone\n";
  expect(say(text, undefined)).toBe(
    "  See it: floe orders list --org acme. Keep it: floe sandbox save demo --org acme\nDone\n",
  );
  expect(say(text, 60)).toBe(
    "  See it: floe orders list --org acme. Keep it:\n  floe sandbox save demo --org acme\nDone\n",
  );
  expect(say(text, 24)).toBe(
    "  See it:\n  floe orders list --org acme.\n  Keep it:\n  floe sandbox save demo --org acme\nDone\n",
  );
  // A line without a command is the terminal's to break: it may be an address.
  expect(say(`${"x ".repeat(40)}\n`, 20)).toBe(`${"x ".repeat(40)}\n`);
  const fault = new Fault("error", "no", { hint: "Enable it again when it answers: `floe webhooks enable URL`" });
  const shown = renderFault(fault, false, createPaint({}, "never", {}), {}, 40);
  expect(shown).toContain("\n  floe webhooks enable URL\n");
});
