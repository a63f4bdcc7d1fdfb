import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { floe, folder, type Received, standIn } from "./support.ts";

const product = (number: number) => ({
  id: `0193a000-0000-7000-8000-00000000000${number}`,
  name: `Product ${number}`,
  created_at: "2026-01-15T10:00:00.000Z",
  is_archived: false,
  metadata: { tier: number },
  prices: [{ id: `p${number}`, amount_type: "fixed", price_amount: 1900, price_currency: "usd" }],
});

const { id } = product(1);
let answer: (request: Received) => { status?: number; json?: unknown; text?: string; headers?: Record<string, string> };
const server = await standIn((request) => answer(request));
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "floe_key" };
const pageOf = (items: unknown[], total = items.length, max_page = 1) => ({
  json: { items, pagination: { total_count: total, max_page } },
});

beforeEach(() => {
  server.received.length = 0;
  answer = () => ({ json: {} });
});

describe("a list", () => {
  test("is one JSON array in a pipe, and says nothing else", async () => {
    answer = () => pageOf([product(1), product(2)]);
    const { code, out, err } = await floe(["products", "list"], { env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual([product(1), product(2)]);
    expect(err).toBe("");
    expect(server.received).toHaveLength(1);
    expect(server.received[0]?.path).toBe("/v1/products/");
    expect(server.received[0]?.headers.authorization).toBe("Bearer floe_key");
  });

  test("is a table on a terminal, money in words", async () => {
    answer = () => pageOf([product(1)]);
    const { code, out } = await floe(["products", "list"], { env, tty: true });
    expect(code).toBe(0);
    const [head, row] = out.split("\n");
    expect(head).toMatch(/^NAME +PRICES +ARCHIVED +CREATED +ID$/);
    expect(row).toContain(product(1).id);
    expect(row).toContain("Product 1");
    expect(row).toContain("$19.00");
    expect(row).toContain(" no ");
  });

  test("fits a narrow terminal without cutting the name, which stands for the id wherever one is typed", async () => {
    const name = "A very long name that goes on and on and on and on";
    answer = () => pageOf([{ ...product(1), name }]);
    for (const columns of [120, 90, 60]) {
      const { out } = await floe(["products", "list"], { env, tty: true, columns });
      for (const line of out.trimEnd().split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      expect(out).toContain(name);
      expect(out).not.toContain("…");
    }
  });

  test("keeps the id of what has no name, however narrow the terminal is, and paints states", async () => {
    const id = product(1).id;
    answer = () =>
      pageOf([
        {
          id,
          status: "succeeded",
          method: "card",
          amount: 1900,
          currency: "usd",
          order_id: id,
          created_at: "2026-01-15T10:00:00Z",
        },
      ]);
    for (const columns of [110, 60]) {
      const { out } = await floe(["payments", "list"], { env, tty: true, columns });
      for (const line of out.trimEnd().split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      expect(out).toMatch(new RegExp(`\\nsucceeded .*${id}\\n$`));
    }
    const { out } = await floe(["payments", "list", "--color", "always"], { env, tty: true });
    expect(out).toContain("\u001b[32msucceeded\u001b[39m");
  });

  test("does not let a name of the server steer the terminal", async () => {
    answer = () => pageOf([{ ...product(1), name: "\u001b[2Jgone\u202e" }]);
    const { out } = await floe(["products", "list"], { env, tty: true });
    expect(out).not.toContain("\u001b");
    expect(out).not.toContain("\u202e");
    expect(out).toContain("gone");
  });

  test("says on stderr that there is more", async () => {
    answer = () => pageOf([product(1)], 53, 53);
    const { err } = await floe(["products", "list"], { env });
    expect(err).toBe("1 of 53 are shown; --all shows every one.\n");
  });

  test("--all walks every page into one array", async () => {
    answer = ({ query }) => pageOf([product(Number(query.get("page")))], 3, 3);
    const { out, err } = await floe(["products", "list", "--all"], { env });
    expect(JSON.parse(out)).toHaveLength(3);
    expect(server.received.map(({ query }) => [query.get("page"), query.get("limit")])).toEqual([
      ["1", "100"],
      ["2", "100"],
      ["3", "100"],
    ]);
    expect(err).toBe("");
  });

  test("--max stops where it is full", async () => {
    answer = ({ query }) => pageOf([product(1), product(2)].slice(0, Number(query.get("limit"))), 10, 5);
    const { out } = await floe(["products", "list", "--max", "3", "--limit", "2"], { env });
    expect(JSON.parse(out)).toHaveLength(3);
    expect(server.received).toHaveLength(2);
  });

  test("sends filters under the wire's names", async () => {
    answer = () => pageOf([]);
    await floe(
      [
        "products",
        "list",
        "--is-archived",
        "--id",
        "a,b",
        "--id",
        "c",
        "--metadata",
        "tier=2",
        "--sorting=-name",
        "--is-recurring",
        "false",
      ],
      { env },
    );
    const { query } = server.received[0] as Received;
    expect(query.get("is_archived")).toBe("true");
    expect(query.get("is_recurring")).toBe("false");
    expect(query.getAll("id")).toEqual(["a", "b", "c"]);
    expect(query.get("metadata[tier]")).toBe("2");
    expect(query.get("sorting")).toBe("-name");
  });
});

describe("--json", () => {
  test("picks fields, also dotted and through lists", async () => {
    answer = () => pageOf([product(1)]);
    const { out } = await floe(["products", "list", "--json", "name,prices.price_amount,metadata.tier"], { env });
    expect(JSON.parse(out)).toEqual([{ name: "Product 1", prices: [{ price_amount: 1900 }], metadata: { tier: 1 } }]);
  });

  test("alone gives everything, also on a terminal", async () => {
    answer = () => ({ json: product(1) });
    const { out } = await floe(["products", "get", "--json", product(1).id], { env, tty: true });
    expect(JSON.parse(out)).toEqual(product(1));
  });

  test("refuses an unknown field before anything is sent, and lists those there are", async () => {
    const { code, err } = await floe(["products", "list", "--json", "id,nope"], { env });
    expect(code).toBe(64);
    expect(JSON.parse(err)).toMatchObject({ error: "usage", exit_code: 64, message: "there is no field nope" });
    expect(err).toContain("is_archived");
    expect(server.received).toHaveLength(0);
  });
});

describe("writing", () => {
  test("flags and the price shorthand become the body of the wire", async () => {
    answer = () => ({ status: 201, json: product(1) });
    const argv = [
      "products",
      "create",
      "--name",
      "Pro",
      "--price",
      "19.00",
      "--price",
      "5.00+",
      "--price",
      "1900jpy",
      "--price",
      "free",
      "--metadata",
      "a=1",
      "--metadata",
      "b=x",
    ];
    const { code, out } = await floe(argv, { env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(product(1));
    // What a price without a currency is in is asked for first.
    expect(server.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /v1/organizations/",
      "POST /v1/products/",
      // Whether another product has the name.
      "GET /v1/products/",
      // Whether buyers can pay for the product.
      "GET /v1/organizations/",
    ]);
    expect(server.received[1]?.body).toEqual({
      name: "Pro",
      prices: [
        { amount_type: "fixed", price_amount: 1900, price_currency: "usd" },
        { amount_type: "custom", minimum_amount: 500, price_currency: "usd" },
        { amount_type: "fixed", price_amount: 1900, price_currency: "jpy" },
        { amount_type: "free", price_currency: "usd" },
      ],
      metadata: { a: 1, b: "x" },
    });
    expect(server.received[1]?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([["19.001"], ["1,50"], ["-5"], ["abc"], ["19usdd"], ["5/decade"]])(
    "the price %s is a usage error",
    async (price) => {
      const { code, err } = await floe(["products", "create", "--name", "Pro", "--price", price], { env });
      expect(code).toBe(64);
      expect(err).toContain("--price");
      expect(server.received).toHaveLength(0);
    },
  );

  test("--data takes a file, and flags win over it", async () => {
    const file = join(folder(), "product.json");
    writeFileSync(file, JSON.stringify({ name: "From file", prices: [], description: null }));
    await floe(["products", "create", "--data", `@${file}`, "--name", "From flag"], { env });
    expect(server.received[0]?.body).toEqual({ name: "From flag", prices: [], description: null });
  });

  test("a missing flag is named where nobody can be asked", async () => {
    const { code, out, err } = await floe(["products", "create", "--name", "Pro"], { env });
    expect(code).toBe(64);
    expect(out).toBe("");
    expect(err).toContain("a flag is missing: --price");
    expect(err).toContain("floe products create --name Pro --price 19.00");
    expect(server.received).toHaveLength(0);
  });

  test("an update without a change is refused", async () => {
    const { code, err } = await floe(["products", "update", id], { env });
    expect(code).toBe(64);
    expect(err).toContain("--name");
  });

  test("a boolean flag before the id does not swallow it, and false is sent as false", async () => {
    await floe(["products", "update", "--is-archived", id], { env });
    await floe(["products", "update", id, "--is-archived", "false"], { env });
    expect(server.received.map(({ path, body }) => [path, body])).toEqual([
      [`/v1/products/${id}`, { is_archived: true }],
      [`/v1/products/${id}`, { is_archived: false }],
    ]);
  });

  test("--dry-run shows the request and sends none", async () => {
    const { code, out } = await floe(
      ["webhooks", "create", "--url", "https://x.test/h", "--events", "order.paid,order.created", "--dry-run"],
      { env },
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      method: "POST",
      url: `${server.url}/v1/webhooks/endpoints`,
      body: { url: "https://x.test/h", events: ["order.paid", "order.created"] },
    });
    expect(server.received).toHaveLength(0);
  });

  test("a choice that is none is refused with those there are", async () => {
    const { code, err } = await floe(["webhooks", "create", "--url", "https://x.test", "--events", "order.payed"], {
      env,
    });
    expect(code).toBe(64);
    expect(err).toContain("order.payed");
    expect(err).toContain("order.paid");
  });
});

describe("a file", () => {
  test("CUS-27: is written to stdout as it is, for the organization in use", async () => {
    answer = () => ({ text: "ID,Name\r\n1,Ada\r\n", headers: { "content-type": "text/csv" } });
    const { code, out, err } = await floe(["customers", "export", "--org", id], { env });
    expect([code, out, err]).toEqual([0, "ID,Name\r\n1,Ada\r\n", ""]);
    expect(server.received.at(-1)).toMatchObject({ method: "GET", path: "/v1/customers/export" });
  });

  test("CUS-27, ORD-30: -o saves it whole or not at all, and says how much it is; a terminal sees it come", async () => {
    answer = () => ({ text: "ID,Name\r\n1,Ada\r\n2,Bob\r\n", headers: { "content-type": "text/csv" } });
    const path = join(folder(), "orders.csv");
    const { code, out, err } = await floe(["orders", "export", "--columns", "id,customer_name", "-o", path], { env });
    expect([code, out, err]).toEqual([0, "", `Saved ${path}: 2 rows, 23 B\n`]);
    expect(readFileSync(path, "utf8")).toBe("ID,Name\r\n1,Ada\r\n2,Bob\r\n");
    expect(server.received.at(-1)?.query.getAll("columns")).toEqual(["id", "customer_name"]);
    const seen = await floe(["orders", "export", "-o", path], { env, tty: true });
    expect(seen.err).toContain("\r\u001b[2K2 rows, 23 B");
    answer = () => ({ status: 403, json: { error: "insufficient_scope", detail: "This needs a scope." } });
    const refused = join(folder(), "none.csv");
    expect((await floe(["orders", "export", "-o", refused], { env })).code).toBe(5);
    expect(existsSync(refused)).toBe(false);
    const asked = server.received.length;
    const nowhere = await floe(["orders", "export", "-o", join(folder(), "none", "x.csv")], { env });
    expect([nowhere.code, nowhere.err]).toEqual([64, expect.stringContaining("cannot be written")]);
    expect(server.received).toHaveLength(asked);
  });

  test("CUS-27: that breaks off, or goes silent, is exit 9: a part is not taken for the whole; a refusal is told", async () => {
    for (const end of [true, false]) {
      const half = await standIn((_, response) => {
        response.writeHead(200, { "content-type": "text/csv" });
        response.write("ID,Name\r\n", () => end && response.destroy());
        return undefined;
      });
      const there = { env: { ...env, FLOE_SERVER: half.url } };
      const { code, out, err } = await floe(["customers", "export", "--timeout", "1"], there);
      expect([code, out]).toEqual([9, "ID,Name\r\n"]);
      expect(err).toContain(end ? "the file is not whole" : "said nothing for 1 s");
    }
    answer = () => ({ status: 403, json: { error: "insufficient_scope", detail: "This needs a scope." } });
    const { code, out, err } = await floe(["customers", "export"], { env });
    expect([code, out]).toEqual([5, ""]);
    expect(err).toContain("This needs a scope.");
  });
});

describe("what cannot be undone", () => {
  test.each([
    ["customers", "delete"],
    ["products", "archive"],
    ["webhooks", "delete"],
  ])("%s %s needs --yes where nobody can be asked", async (group, verb) => {
    const { code, err } = await floe([group, verb, id], { env });
    expect(code).toBe(64);
    expect(err).toContain("--yes");
    expect(server.received).toHaveLength(0);
  });

  test("with --yes it is done, and stdout stays empty", async () => {
    answer = () => ({ status: 204 });
    const { code, out, err } = await floe(["customers", "delete", id, "--yes"], { env });
    expect([code, out, err]).toEqual([0, "", "Deleted the customer.\n"]);
    expect(server.received[0]?.method).toBe("DELETE");
  });

  test("archive is an update of one field", async () => {
    answer = () => ({ json: product(1) });
    await floe(["products", "archive", id, "-y"], { env });
    await floe(["products", "unarchive", id], { env });
    expect(server.received.map(({ method, body }) => [method, body])).toEqual([
      ["PATCH", { is_archived: true }],
      ["PATCH", { is_archived: false }],
    ]);
  });
});

describe("faults", () => {
  const cases: [number, unknown, number, string][] = [
    [400, { error: "PaymentError", detail: "Declined." }, 1, "Declined."],
    [401, { error: "invalid_token", detail: "Expired." }, 4, "floe login"],
    [403, { error: "NotPermitted", detail: "Not permitted" }, 5, "Not permitted"],
    [404, { error: "ResourceNotFound", detail: "Not found" }, 6, `there is no product ${id} in this organization`],
    [409, { error: "ResourceAlreadyExists", detail: "There is one." }, 7, "There is one."],
    [
      422,
      { error: "RequestValidationError", detail: [{ loc: ["body", "name"], msg: "Too short", type: "x" }] },
      1,
      "--name: Too short",
    ],
  ];
  test.each(cases)("an answer of %i", async (status, json, exit, text) => {
    answer = () => ({ status, json });
    const { code, out, err } = await floe(["products", "update", id, "--name", "ab"], { env });
    expect(code).toBe(exit);
    expect(out).toBe("");
    expect(err).toContain(text);
    expect(server.received).toHaveLength(1);
  });

  test("a refused price is told under the flag that was typed", async () => {
    answer = () => ({
      status: 422,
      json: {
        error: "RequestValidationError",
        detail: [{ loc: ["body", "prices", 0, "price_amount"], msg: "Too small", type: "x" }],
      },
    });
    const { err } = await floe(["products", "create", "--name", "Pro", "--price", "0.01usd"], { env });
    expect(err).toContain("--price 0.01usd: Too small");
  });

  test("with --json a fault is one JSON object on stderr", async () => {
    answer = () => ({ status: 404, json: { error: "ResourceNotFound", detail: "Not found" } });
    const { out, err } = await floe(["products", "get", id, "--json"], { env });
    expect(out).toBe("");
    expect(JSON.parse(err)).toEqual({
      docs: `${server.url}/docs/cli.md#making-and-changing`,
      error: "ResourceNotFound",
      message: `there is no product ${id} in this organization`,
      exit_code: 6,
      status: 404,
      hint: "See: floe products list",
    });
  });

  test("a message of the server does not steer the terminal", async () => {
    answer = () => ({ status: 400, json: { error: "PaymentError", detail: "No\u001b[2Jo\u0007." } });
    const { err } = await floe(["products", "get", id], { env, tty: true });
    expect(err).toContain("No�[2Jo�.");
  });

  test("429 is tried again after the time that the server names, and then is exit 8", async () => {
    answer = () => ({
      status: 429,
      json: { error: "TooManyRequests", detail: "Slow down." },
      headers: { "retry-after": "0" },
    });
    const { code } = await floe(["products", "list"], { env });
    expect(code).toBe(8);
    expect(server.received).toHaveLength(3);
  });

  test("429 is waited for whatever the method, as nothing was done; over a second that is said (API-03)", async () => {
    const limited = { status: 429, json: { error: "TooManyRequests", detail: "Slow down." } };
    for (const argv of [
      ["products", "list"],
      ["customers", "create", "--email", "a@b.test"],
      ["customers", "update", id, "--name", "Ada"],
      ["customers", "delete", id, "--yes"],
    ]) {
      server.received.length = 0;
      answer = () =>
        server.received.length === 1
          ? { ...limited, headers: { "retry-after": argv[1] === "update" ? "1.01" : "0" } }
          : argv[1] === "list"
            ? pageOf([product(1)])
            : { json: product(1) };
      const { code, err } = await floe(argv, { env });
      expect([code, server.received.length], argv.join(" ")).toEqual([0, 2]);
      expect(err.includes("Too many requests; trying again in 2 s …"), err).toBe(argv[1] === "update");
    }
    server.received.length = 0;
    answer = () => ({ ...limited, headers: { "retry-after": "1800" } });
    const { code, err } = await floe(["products", "list"], { env });
    expect([code, server.received.length], "a block is told, not sat out").toEqual([8, 1]);
    expect(err).toContain("Try again in 1800 s");
  });

  test("a read that failed is tried again", async () => {
    answer = () => (server.received.length < 3 ? { status: 503, json: {} } : pageOf([product(1)]));
    const { code, out } = await floe(["products", "list"], { env });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toHaveLength(1);
  });

  test("a creation that failed is repeated with the same key, which is told in the end", async () => {
    answer = () => ({ status: 502, text: "Bad gateway" });
    const { code, err } = await floe(["customers", "create", "--email", "a@b.test"], { env });
    const keys = new Set(server.received.map(({ headers }) => headers["idempotency-key"]));
    expect(code).toBe(9);
    expect(server.received).toHaveLength(3);
    expect(keys.size).toBe(1);
    expect(err).toContain(`--idempotency-key ${[...keys][0]}`);
  });

  test("the key can be given, to repeat what was cut off", async () => {
    await floe(["customers", "create", "--email", "a@b.test", "--idempotency-key", "mine"], { env });
    expect(server.received[0]?.headers["idempotency-key"]).toBe("mine");
  });

  test("an update is not repeated: it has no key", async () => {
    answer = () => ({ status: 502, text: "" });
    const { code } = await floe(["products", "update", id, "--name", "Pro"], { env });
    expect(code).toBe(9);
    expect(server.received).toHaveLength(1);
  });

  test("no server: exit 9, at once, with the way to start one", async () => {
    const { code, err } = await floe(["products", "list"], { env: { ...env, FLOE_SERVER: "http://127.0.0.1:9" } });
    expect(code).toBe(9);
    expect(err).toContain("floe serve");
  });

  test("a server that does not answer in time is exit 9", async () => {
    const silent = await standIn(() => undefined);
    const { code, err } = await floe(["products", "list", "--timeout", "0.1"], {
      env: { ...env, FLOE_SERVER: silent.url },
    });
    expect(code).toBe(9);
    expect(err).toContain("did not answer within 0.1 s");
  });

  test("an answer that is not JSON is not taken for an empty one", async () => {
    answer = () => ({ text: "<html>", headers: { "content-type": "text/html" } });
    const { code, err } = await floe(["products", "list"], { env });
    expect(code).toBe(1);
    expect(err).toContain("floe server");
  });

  test.each([
    [["prodcts"], "products"],
    [["products", "lst"], "list"],
    [["products", "list", "--limt", "3"], "--limit"],
  ])("%j is a usage error with what was probably meant", async (argv, meant) => {
    const { code, err } = await floe(argv, { env });
    expect(code).toBe(64);
    expect(err).toContain(meant);
  });

  test("a group alone shows its commands, and is a usage error", async () => {
    const { code, out, err } = await floe(["products"], { env });
    expect(code).toBe(64);
    expect(out).toBe("");
    expect(err).toContain("archive");
  });
});

test("the proxy of the environment is used only where it is set, and not for what NO_PROXY names", async () => {
  const proxy = await standIn(({ url }) => ({
    json: { items: [{ id: url }], pagination: { total_count: 1, max_page: 1 } },
  }));
  answer = () => pageOf([product(1)]);
  const through = await floe(["products", "list"], { env: { ...env, HTTP_PROXY: proxy.url, NO_PROXY: "other.test" } });
  expect(JSON.parse(through.out)).toEqual([{ id: `${server.url}/v1/products/` }]);
  expect(server.received).toHaveLength(0);
  await floe(["products", "list"], { env: { ...env, HTTP_PROXY: proxy.url, NO_PROXY: "other.test,127.0.0.1" } });
  expect(server.received).toHaveLength(1);
  expect(proxy.received).toHaveLength(1);
});

describe("floe api", () => {
  test("sends what it is told and prints the answer", async () => {
    answer = () => ({ json: { ok: 1 } });
    const { out } = await floe(["api", "post", "/v1/products/", "--data", '{"name":"Pro"}', "-F", "price=3"], { env });
    expect(JSON.parse(out)).toEqual({ ok: 1 });
    expect(server.received[0]).toMatchObject({
      method: "POST",
      path: "/v1/products/",
      body: { name: "Pro", price: 3 },
    });
  });

  test("fields of a GET are its query", async () => {
    await floe(["api", "GET", "/v1/products/", "-F", "limit=3"], { env });
    expect(server.received[0]?.url).toBe("/v1/products/?limit=3");
  });

  test("without a method it reads, and with a body it posts", async () => {
    await floe(["api", "/v1/products/", "-F", "limit=3"], { env });
    await floe(["api", "/v1/products/", "--data", '{"name":"Pro"}'], { env });
    expect(server.received).toMatchObject([
      { method: "GET", url: "/v1/products/?limit=3" },
      { method: "POST", body: { name: "Pro" } },
    ]);
    expect((await floe(["api", "FETCH", "/v1/products/"], { env })).code).toBe(64);
  });

  test("--paginate reads every page of a list as one, and nothing that is none", async () => {
    answer = ({ query }) => ({
      json: { items: [{ id: query.get("page"), name: "x" }], pagination: { total_count: 3, max_page: 3 } },
    });
    const argv = ["api", "/v1/products/", "-F", "query=x", "--paginate", "--json", "id"];
    expect(JSON.parse((await floe(argv, { env })).out)).toEqual([{ id: "1" }, { id: "2" }, { id: "3" }]);
    expect(server.received.map(({ url }) => url)).toEqual(
      [1, 2, 3].map((page) => `/v1/products/?limit=100&query=x&page=${page}`),
    );
    answer = () => ({ json: { id: "p1" } });
    expect((await floe(["api", "/v1/products/p1", "--paginate"], { env })).code).toBe(64);
    expect((await floe(["api", "POST", "/v1/products/", "--paginate"], { env })).code).toBe(64);
  });

  test.each(["https://evil.test/v1", "//evil.test/v1", "evil.test/v1/products", "v1.evil.test/x"])(
    "%s is not sent a token",
    async (path) => {
      const { code } = await floe(["api", "GET", path], { env });
      expect(code).toBe(64);
    },
  );
});
