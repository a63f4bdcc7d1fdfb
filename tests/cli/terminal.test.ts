import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { run } from "../../cli/program.ts";
import { manifest, type Place, place, type Received, standIn, until } from "./support.ts";

const bodies: unknown[] = [];
let answer: (request: Received) => { status?: number; json?: unknown; headers?: Record<string, string> };
const server = await standIn((request) => {
  if (request.method !== "GET") bodies.push(request.body);
  return answer(request);
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };
const id = "0193a000-0000-7000-8000-000000000001";
const enter = "\r";
const leave = "\u001b";

beforeEach(() => {
  bodies.length = 0;
  server.received.length = 0;
  answer = () => ({ json: { id: "p1", name: "Pro", total_amount: 1900, currency: "usd" } });
});

/** Run on a terminal; `keys` are typed one after the other as soon as each question is on the screen. */
async function type(argv: string[], keys: [question: string, typed: string][], more: Place = {}) {
  const here = place({ ...more, tty: true, env: { ...env, ...more.env } });
  const ended = run(argv, here.io, manifest, "1.2.3");
  let over = false;
  const note = () => {
    over = true;
  };
  void ended.then(note, note);
  for (const [question, typed] of keys) {
    await until(() => over || (here.stderr.text + here.stdout.text).includes(question));
    // A key that comes in the frame of the question is the person's; the screen is drawn before it is read.
    await new Promise((resolve) => setTimeout(resolve, 60));
    here.stdin.write(typed);
  }
  return { code: await ended, out: here.stdout.text, err: here.stderr.text };
}

describe("a form", () => {
  test("asks for what is required and missing, and checks it", async () => {
    const { code, out, err } = await type(
      ["products", "create"],
      [
        ["How often is it paid?", enter],
        ["? name", "Pro"],
        ["Pro", enter],
        ["? price", "abc"],
        ["abc", enter],
        ["is not a price", "\u0015"],
        ["price", "19.00"],
        ["19.00", enter],
        ["? description", "A **soft** one\r"],
        ["? picture", enter],
      ],
    );
    expect(code).toBe(0);
    expect(bodies).toEqual([
      {
        name: "Pro",
        prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }],
        description: "A **soft** one",
      },
    ]);
    expect(err).toContain("Create a product");
    expect(err).toContain("✓ Created the product Pro.\nNext: floe checkout-links create --products Pro\n");
    expect(out).toBe("name  Pro\nid    p1\n");
  });

  test("uploads a picture that is on this machine, and asks again where there is none of that name", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "floe-picture-")), "cover, new.png");
    // The stand-in reads every body as JSON.
    writeFileSync(path, "123456789");
    answer = ({ method, path: at }) => {
      if (method === "GET") return { json: { items: [], pagination: { total_count: 0, max_page: 0 } } };
      if (method === "PUT") return { json: {}, headers: { etag: "e1" } };
      const part = { number: 1, chunk_start: 0, chunk_end: 9, url: `${server.url}/parts/1`, headers: {} };
      if (at === "/v1/files/") return { json: { id, upload: { id: "u1", path: "p", parts: [part] } } };
      return { json: at.endsWith("/uploaded") ? { id } : { id: "p1", name: "Pro" } };
    };
    const { code, err } = await type(
      ["products", "create", "--price", "9.00", "--name", "Pro", "--recurring-interval", "year"],
      [],
    );
    expect([code, err]).toEqual([0, expect.stringContaining("Created the product Pro")]);
    bodies.length = 0;
    const asked = await type(
      ["products", "create", "--price", "9.00"],
      [
        ["? name", "Pro\r"],
        ["? description", enter],
        ["? picture", "none.png\r"],
        ["none.png", `${path}\r`],
      ],
    );
    expect([asked.code, bodies.at(-1)]).toMatchObject([0, { name: "Pro", medias: [id] }]);
    expect(bodies).toContainEqual(
      expect.objectContaining({ service: "product_media", name: "cover, new.png", size: 9 }),
    );
  });

  test("lets the cursor go back to what was typed", async () => {
    const [left, home, end] = ["\u001b[D", "\u001b[H", "\u001b[F"];
    const { code } = await type(
      ["products", "create", "--price", "9.00"],
      [
        ["? name", "ro"],
        ["ro", home],
        ["ro", "P"],
        ["Pro", end],
        ["Pro", "x"],
        ["Prox", left],
        ["Prox", "\b"],
        ["Prx", enter],
        ["? description", enter],
        ["? picture", enter],
      ],
    );
    expect([code, bodies]).toMatchObject([0, [{ name: "Prx" }]]);
  });

  test("says at the question itself that an answer is too short", async () => {
    const { code, err } = await type(
      ["products", "create", "--price", "9.00"],
      [
        ["? name", "ab\r"],
        ["has at least 3 characters.", "c\r"],
        ["? description", enter],
        ["? picture", enter],
      ],
    );
    expect([code, bodies]).toMatchObject([0, [{ name: "abc" }]]);
    expect(err).toContain("has at least 3 characters.");
  });

  test("takes keys that come all at once, as a fast typist or a paste sends them", async () => {
    const { code } = await type(
      ["products", "create"],
      [
        ["How often is it paid?", "Mon\bnth\r"],
        ["? name", "Prx\u007fo\r"],
        ["? price each month\n  19.00, 19.00eur, 5.00+", "1\b9.00\rignored"],
        ["? description", enter],
        ["? picture", enter],
      ],
    );
    expect(code).toBe(0);
    expect(bodies).toMatchObject([{ name: "Pro", recurring_interval: "month", prices: [{ price_amount: 900 }] }]);
  });

  test("Escape leaves it: exit 2, nothing is sent", async () => {
    const { code, err } = await type(["products", "create", "--price", "9.00"], [["? name", leave]]);
    expect(code).toBe(2);
    expect(err).toContain("nothing was changed");
    expect(bodies).toEqual([]);
  });

  test("Ctrl-C leaves it: exit 130", async () => {
    const { code } = await type(["products", "create", "--price", "9.00"], [["? name", "\u0003"]]);
    expect(code).toBe(130);
  });

  test("is not shown on a build machine, also where it has a terminal", async () => {
    const { code, err } = await type(["products", "create"], [], { env: { CI: "true" } });
    expect(code).toBe(64);
    expect(err).toContain("--name, --price");
  });
});

describe("a picker shows what is known of the current choice", () => {
  const rows = ["Alpha", "Beta\u001b[31m"].map((name, index) => ({
    ...{ id: `0193a000-0000-7000-8000-00000000000${index}`, name, description: `About ${name}` },
    ...{ created_at: "2026-11-01T10:00:00Z", prices: [], is_archived: false },
  }));
  /** The lines of the last frame. */
  const readFrame = (text: string): string[] => text.slice(text.lastIndexOf("Which product?")).split("\n");
  const open = async (columns: number, high: number, more: Place = {}) => {
    answer = () => ({ json: { items: rows, pagination: { total_count: 2, max_page: 1 } } });
    const here = place({ tty: true, columns, ...more, env: { ...env, ...more.env } });
    for (const screen of [here.stdout, here.stderr]) screen.rows = high;
    const ended = run(["products", "get"], here.io, manifest, "1.2.3");
    await until(() => here.stderr.text.includes("esc leaves"));
    await new Promise((resolve) => setTimeout(resolve, 60));
    const leaveIt = async () => {
      here.stdin.write(leave);
      expect(await ended).toBe(2);
    };
    return { ...here, ended, leaveIt };
  };

  test("beside the list where the terminal is wide, and it follows the arrows", async () => {
    const here = await open(120, 30);
    expect(readFrame(here.stderr.text).find((line) => line.includes("❯ Alpha"))).toMatch(/│ name +Alpha$/);
    here.stdin.write("\u001b[B");
    await until(() => readFrame(here.stderr.text).some((line) => line.includes("About Beta")));
    const frame = readFrame(here.stderr.text);
    expect(frame.join("\n")).not.toContain("\u001b[31m");
    expect(frame.filter((line) => line.length > 130)).toEqual([]);
    await here.leaveIt();
  });

  test("below the list where it is narrow, and nowhere where there is no room", async () => {
    const below = await open(80, 30);
    const frame = readFrame(below.stderr.text);
    expect(frame.findIndex((line) => /^name +Alpha/.test(line))).toBeGreaterThan(
      frame.findIndex((line) => line.includes("Beta")),
    );
    await below.leaveIt();
    for (const [columns, high] of [
      [80, 15],
      [39, 40],
    ] as const) {
      const none = await open(columns, high);
      expect(none.stderr.text).not.toContain("About Alpha");
      await none.leaveIt();
    }
  });

  test("a terminal that gets another size shows it at its new place", async () => {
    const here = await open(80, 30);
    for (const screen of [here.stdout, here.stderr]) screen.columns = 120;
    here.stderr.emit("resize");
    await until(() => readFrame(here.stderr.text).some((line) => /│ name +Alpha/.test(line)));
    await here.leaveIt();
  });
});

test("a question after a picker is waited for, and names what was picked", async () => {
  answer = ({ method }) => ({
    json:
      method === "GET"
        ? { items: [{ id, name: "Pro" }], pagination: { total_count: 1, max_page: 1 } }
        : { id, name: "Pro" },
  });
  const here = place({ tty: true, env });
  const ended = run(["products", "archive"], here.io, manifest, "1.2.3");
  await until(() => here.stderr.text.includes("Which product?"));
  await new Promise((resolve) => setTimeout(resolve, 60));
  here.stdin.write(enter);
  await until(() => here.stderr.text.includes("[y/N]"));
  expect([here.stdin.isHeld, here.stderr.text.includes("undefined")]).toEqual([true, false]);
  here.stdin.write("y\r");
  expect([await ended, bodies]).toEqual([0, [{ is_archived: true }]]);
});

/** The name that something is looked up by, and what there is. */
const listOf = (...items: object[]) => ({ json: { items, pagination: { total_count: items.length, max_page: 1 } } });

describe("a form asks what decides the rest first, and then only what that needs", () => {
  const down = "\u001b[B";
  const cases: [argv: string[], keys: [string, string][], body: object][] = [
    [
      ["benefits", "create"],
      [
        ["What does it give?", down],
        ["❯ License keys", enter],
        ["? description", "API key\r"],
        ["? prefix", "ACME\r"],
        ["? expires", "soon\r"],
        ["is not a time. Write 30days", "\u00151year\r"],
        ["? activations", enter],
        ["? limit usage", enter],
      ],
      {
        type: "license_keys",
        description: "API key",
        properties: { prefix: "ACME", expires: { ttl: 1, timeframe: "year" } },
      },
    ],
    [
      ["benefits", "create", "--type", "github_repository", "--description", "Sources"],
      [
        ["? repository", "acme/book\r"],
        ["? permission ‹ pull ›", "\u001b[C"],
        ["‹ triage ›", enter],
      ],
      {
        type: "github_repository",
        description: "Sources",
        properties: { repository_owner: "acme", repository_name: "book", permission: "triage" },
      },
    ],
    [
      ["custom-fields", "create", "--slug", "size"],
      [
        ["What does it ask for?", "several\r"],
        ["? name", "Size\r"],
        ["? options", "s=Small,m=Large\r"],
      ],
      {
        type: "select",
        slug: "size",
        name: "Size",
        properties: {
          options: [
            { value: "s", label: "Small" },
            { value: "m", label: "Large" },
          ],
        },
      },
    ],
    [
      ["discounts", "create", "--name", "Launch"],
      [
        ["What is taken off?", down],
        ["❯ An amount", enter],
        ["? amount off", "5eur\r"],
        ["of which invoices?", "months\r"],
        ["? duration in months", "3\r"],
        ["? code", enter],
      ],
      { type: "fixed", name: "Launch", amount: 500, currency: "eur", duration: "repeating", duration_in_months: 3 },
    ],
    [
      ["products", "create", "--name", "Pro"],
      [
        ["How often is it paid?", "year\r"],
        ["? price", "9.00/month\r"],
        ["says month for the recurring interval, where year was said before", "\u00159.00\r"],
        ["? description", enter],
        ["? picture", enter],
      ],
      {
        name: "Pro",
        recurring_interval: "year",
        prices: [{ amount_type: "fixed", price_amount: 900, price_currency: "usd" }],
      },
    ],
  ];
  test.each(cases)("%j", async (argv, keys, body) => {
    const { code } = await type(argv, keys);
    expect([code, bodies]).toEqual([0, [body]]);
  });

  test("a name that is not known is asked for again, and the other answers stay", async () => {
    const meter = { id, name: "API calls" };
    answer = ({ method, query }) =>
      method === "GET" ? listOf(...("api calls".includes(query.get("query") ?? "") ? [meter] : [])) : { json: { id } };
    const { code, err } = await type(
      ["benefits", "create", "--type", "meter_credit", "--description", "Units"],
      [
        ["? meter", "cals\r"],
        ["? units", "5\r"],
        ["? rollover", enter],
        ["Did you mean", "api-calls\r"],
      ],
    );
    expect([code, err]).toEqual([0, expect.stringContaining('there is no meter "cals" in this organization')]);
    expect(bodies.at(-1)).toEqual({
      type: "meter_credit",
      description: "Units",
      properties: { meter_id: id, units: 5, rollover: false },
    });
  });
});

describe("what the server refuses of the answers is asked again in its place", () => {
  const refuse = (...faults: [(string | number)[], string][]) => ({
    status: 422,
    json: {
      error: "PolarRequestValidationError",
      detail: faults.map(([loc, msg]) => ({ type: "value_error", loc: ["body", ...loc], msg })),
    },
  });
  const product: [string, string][] = [
    ["How often is it paid?", "Every m\r"],
    ["? name", "Pro\r"],
    ["? price", "0.10\r"],
    ["? description", "Kept\r"],
    ["? picture", enter],
  ];

  test("with what was answered, and what is wrong with it; the rest stays", async () => {
    let asked = 0;
    answer = ({ method }) => {
      if (method === "GET") return { json: {} };
      asked++;
      return asked === 1
        ? refuse([["prices", 0, "price_amount"], "Amount must be 0 or at least $0.50."])
        : { json: { id: "p1", name: "Pro" } };
    };
    const { code, err } = await type(
      ["products", "create"],
      [...product, ["Amount must be 0 or at least $0.50.", "\b\b\b\b1.50\r"]],
    );
    expect([code, err]).toEqual([0, expect.stringContaining("✓ Created the product Pro.")]);
    expect(bodies[1]).toEqual({
      ...(bodies[0] as object),
      prices: [{ amount_type: "fixed", price_amount: 150, price_currency: "usd" }],
    });
    expect(bodies[1]).toMatchObject({ name: "Pro", description: "Kept", recurring_interval: "month" });
    expect(bodies).toHaveLength(2);
  });

  test("several times, and Escape leaves it", async () => {
    answer = ({ method }) => (method === "GET" ? { json: {} } : refuse([["name"], `Taken ${bodies.length}.`]));
    const { code } = await type(["products", "create"], [...product, ["Taken 1.", "x\r"], ["Taken 2.", leave]]);
    expect([code, bodies.map((one) => (one as { name: string }).name)]).toEqual([2, ["Pro", "Prox"]]);
  });

  test("but not where nobody was asked for what is wrong", async () => {
    const both = refuse([["name"], "Taken."], [["metadata", "a"], "Too long."]);
    answer = ({ method }) => (method === "GET" ? { json: {} } : both);
    const { code, err } = await type(["products", "create", "--metadata", "a=b"], product);
    expect([code, bodies.length, err]).toEqual([1, 1, expect.stringContaining("Too long.")]);
    bodies.length = 0;
    answer = ({ method }) => (method === "GET" ? { json: {} } : refuse([["name"], "Taken."]));
    const given = await type(
      ["products", "create", "--name", "Pro"],
      product.filter(([question]) => question !== "? name"),
    );
    expect([given.code, bodies.length]).toEqual([1, 1]);
  });
});

describe("a thing that is not named is picked from a list", () => {
  const [first, second] = [id, id.replace(/1$/, "2")];
  const customers = [
    { id: first, email: "ada@example.com", name: "Ada", created_at: "2026-01-01T00:00:00Z" },
    { id: second, email: "bob@example.com", name: "Bob", created_at: "2026-01-01T00:00:00Z" },
  ];

  test("by arrows or a part of what stands there", async () => {
    answer = ({ path }) => (path.endsWith(second) ? { json: customers[1] } : listOf(...customers));
    const { code, out, err } = await type(
      ["customers", "get"],
      [
        ["Which customer?", "bob"],
        ["❯ bob@example.com  Bob", enter],
      ],
    );
    expect([code, out]).toEqual([0, expect.stringContaining("bob@example.com")]);
    expect(err).toContain("Which customer?");
    expect(server.received.map(({ path }) => path)).toEqual(["/v1/customers/", `/v1/customers/${second}`]);
  });

  test("before what is asked, sent or changed; nothing is done where it is left", async () => {
    answer = ({ method }) => (method === "DELETE" ? { status: 204 } : listOf(...customers));
    const { code } = await type(
      ["customers", "delete"],
      [
        ["Which customer?", enter],
        ["[y/N]", "y\n"],
      ],
    );
    expect([code, server.received.at(-1)?.path]).toEqual([0, `/v1/customers/${first}`]);
    server.received.length = 0;
    expect((await type(["customers", "delete"], [["Which customer?", leave]])).code).toBe(2);
    expect(server.received.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("where there is none, and where nobody can be asked, that is said", async () => {
    answer = () => listOf();
    const none = await type(["customers", "get"], []);
    expect([none.code, none.err]).toEqual([6, expect.stringContaining("there is no customer yet")]);
    const { code, err } = await type(["customers", "get"], [], { env: { CI: "1" } });
    expect([code, err]).toEqual([64, expect.stringContaining("missing required argument 'id'")]);
  });
});

describe("a question before what cannot be undone", () => {
  test("yes", async () => {
    answer = () => ({ status: 204 });
    const { code } = await type(["customers", "delete", id], [["[y/N]", "y\n"]]);
    expect(code).toBe(0);
    expect(server.received).toHaveLength(1);
  });

  test.each(["n\n", "\n", "yess\n"])("anything else is exit 2: %j", async (typed) => {
    const { code, err } = await type(["customers", "delete", id], [["[y/N]", typed]]);
    expect(code).toBe(2);
    expect(err).toContain("nothing was changed");
    expect(server.received).toHaveLength(0);
  });
});

describe("color", () => {
  const paints = async (argv: string[], set: Record<string, string | undefined>) =>
    (await type(["products", "get", id, ...argv], [], { env: { NO_COLOR: undefined, ...set } })).out.includes(
      "\u001b[",
    );
  test("follows flag, NO_COLOR, FORCE_COLOR and the terminal, in this order", async () => {
    expect(await paints([], {})).toBe(true);
    expect(await paints([], { TERM: "dumb" })).toBe(false);
    expect(await paints([], { TERM: "dumb", FORCE_COLOR: "1" })).toBe(true);
    expect(await paints([], { NO_COLOR: "1", FORCE_COLOR: "1" })).toBe(false);
    expect(await paints(["--color", "always"], { NO_COLOR: "1" })).toBe(true);
    expect(await paints(["--color", "never"], { FORCE_COLOR: "1" })).toBe(false);
  });
});

test("a list of nothing says how to make the first, and one that filters left empty does not", async () => {
  answer = () => listOf();
  const shown = async (argv: string[]) => (await type(argv, [])).err;
  expect(await shown(["products", "list"])).toBe("There are none yet. Make one: floe products create\n");
  expect(await shown(["products", "list", "--query", "x"])).toBe("There are none.\n");
  expect(await shown(["orders", "list"])).toBe("There are none.\n");
});

test("one object is its fields, money in words", async () => {
  const { out } = await type(["orders", "get", "0193a000-0000-7000-8000-0000000000aa"], []);
  expect(out).toBe("name          Pro\ntotal amount  $19.00\ncurrency      usd\nid            p1\n");
});

test("things inside it are told by their names, and long texts wrapped", async () => {
  answer = () => ({
    json: {
      id: "p1",
      items: [{ id: "i1", label: "Pro", amount: 1900 }, { id: "i2" }],
      customer: { id: "c1", email: "ada@example.com", name: null },
      billing_address: { country: "US", line2: null, city: "New York" },
      description: "word ".repeat(12).trim(),
    },
  });
  const { out } = await type(["orders", "get", "0193a000-0000-7000-8000-0000000000aa"], [], { columns: 60 });
  expect(out).toBe(
    [
      "description      word word word word word word word word",
      "                 word word word word",
      "items            Pro, i2",
      "customer         ada@example.com",
      "billing address  New York, US",
      "id               p1",
      "",
    ].join("\n"),
  );
});

test("an organization is picked from several after signing in", async () => {
  const all = [
    { id: "0193a000-0000-7000-8000-0000000000aa", name: "Acme", slug: "acme" },
    { id: "0193a000-0000-7000-8000-0000000000bb", name: "Beta", slug: "beta" },
  ];
  answer = ({ path }) => {
    if (path.endsWith("/code"))
      return {
        json: {
          device_code: "d",
          user_code: "C",
          verification_uri: `${server.url}/device`,
          expires_in: 60,
          interval: 0.01,
        },
      };
    if (path.endsWith("/token")) return { json: { access_token: "t" } };
    return { json: path.endsWith("/list") ? all : null };
  };
  const { code, err } = await type(
    ["login"],
    [
      ["Which organization?", "\u001b[B"],
      ["❯ Beta", enter],
    ],
  );
  expect(code).toBe(0);
  expect(err).toContain("Organization: Beta (beta).");
});
