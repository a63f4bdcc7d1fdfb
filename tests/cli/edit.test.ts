/** `floe edit`: one thing as YAML in an editor. What is typed is never lost, and nobody else's change is written over. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runEditor } from "../../cli/edit/run-editor.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { begin, floe, folder, type Place, until } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let product: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
});
afterAll(() => server.close());
beforeEach(async () => {
  seller = await server.seller("editor");
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, EDITOR: "ed" };
  const thanks = await seller.client.benefits.create({ body: { type: "custom", description: "Our thanks" } as never });
  await seller.client.benefits.create({ body: { type: "custom", description: "Priority support" } as never });
  const made = await seller.client.products.create({
    body: { name: "Pro", description: "For teams", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  product = made.id;
  await seller.client.products.setBenefits({ params: { id: product }, body: { benefits: [thanks.id] } });
});

/** What an editor is shown, one text after the other. */
let shown: string[];
/** A text that stays refused would be opened without end, and no limit of time would be reached. */
const roundsMax = 10;
beforeEach(() => {
  shown = [];
});
type Typing = (text: string, round: number) => string | Promise<string>;
const type =
  (typing: Typing): NonNullable<Place["edit"]> =>
  async (file) => {
    const text = readFileSync(file, "utf8");
    shown.push(text);
    if (shown.length > roundsMax) throw new Error("The editor is opened again and again.");
    writeFileSync(file, await typing(text, shown.length));
  };
const run = (argv: string[], typing: Typing, more: Place = {}) => {
  shown = [];
  return floe([...argv, "--yes"], { tty: true, env, edit: type(typing), ...more });
};
const get = () => seller.client.products.get({ params: { id: product } });
const findDraft = (err: string): string => / is in (\S+)/.exec(err)?.[1] ?? "";

test("shows a thing as floe.yaml has it, and writes what was changed, with a diff before it", async () => {
  const { code, err } = await run(["products", "edit", "Pro"], (text) =>
    text
      .replace("For teams", "For everyone")
      .replace("- our-thanks", "- our-thanks\n      - priority-support")
      .replace("19.00", "25.00"),
  );
  expect([code, shown[0]]).toEqual([
    0,
    `# product Pro, at ${server.url}\n# Save and close: floe shows what changes, and asks before it writes.\n# A line that you take out clears its field. An empty file changes nothing.\nproducts:\n  pro:\n    name: Pro\n    price: 19.00 usd\n    description: For teams\n    benefits:\n      - our-thanks\n`,
  ]);
  expect(err).toContain("~ change products.pro  Pro\n");
  expect(err).toContain("    description: For teams → For everyone\n");
  expect(err).toContain("$19.00 → $25.00, the old price stays with who has it");
  expect(err).toContain("✓ Changed the product Pro.\n");
  const { description, prices, benefits } = await get();
  expect([description, prices.map((price) => "price_amount" in price && price.price_amount), benefits.length]).toEqual([
    "For everyone",
    [2500],
    2,
  ]);
  // The thing is in nobody's catalog afterwards.
  expect((await seller.client.catalog.pull({ query: { catalog: "main" } })).entries).toEqual([]);
});

test("a line that is taken out clears its field; what must be there is asked for", async () => {
  const { code } = await run(["edit", "product", "Pro"], (text) =>
    text.replace(/ {4}description.*\n/, "").replace(/ {4}benefits:\n.*\n/, ""),
  );
  expect([code, await get()]).toMatchObject([0, { description: null, benefits: [] }]);
  const kept = await run(["edit", "product", "Pro"], (text, round) =>
    round === 1 ? text.replace(/ {4}name.*\n/, "") : text,
  );
  expect(kept.code).toBe(1);
  expect(shown.at(-1)).toContain("#!   products.pro.name");
});

test("a thing that a catalog has keeps its key", async () => {
  await seller.client.catalog.import({ body: { catalog: "shop", kind: "products", key: "best", id: product } });
  const { code } = await run(["edit", "products", product], (text) => text.replace("For teams", "For all"));
  expect([code, shown[0]]).toEqual([0, expect.stringContaining("  best:\n    name: Pro\n")]);
  expect(await get()).toMatchObject({ description: "For all" });
});

describe("nothing changes", () => {
  test.each<[string, Typing]>([
    ["an editor that leaves the text as it is", (text) => text],
    ["a comment alone", (text) => `${text}# A note\n`],
    ["an empty file", () => ""],
    ["the same in other words", (text) => text.replace("name: Pro", 'name: "Pro"')],
  ])("%s", async (_, typing) => {
    const before = await get();
    const { code, err } = await run(["edit", "product", "Pro"], typing);
    expect([code, err, await get()]).toEqual([0, expect.stringMatching(/Nothing was changed\.\n$/), before]);
  });

  test("an editor that fails, or is not there", async () => {
    const before = await get();
    const failed = await floe(["edit", "product", "Pro", "--yes"], { tty: true, env, edit: () => 3 });
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining("the editor ed ended with exit code 3")]);
    let typed = "";
    const late = await floe(["edit", "product", "Pro", "--yes"], {
      tty: true,
      env,
      edit: (file) => {
        typed = readFileSync(file, "utf8").replace("For teams", "Long work");
        writeFileSync(file, typed);
        return 1;
      },
    });
    expect(readFileSync(findDraft(late.err), "utf8")).toBe(typed);
    // As vim does where a signal ends it.
    const ended = await floe(["edit", "product", "Pro", "--yes"], {
      tty: true,
      env,
      edit: (file) => {
        writeFileSync(join(file, "../.pro.yaml.swp"), "unsaved");
        return 1;
      },
    });
    expect(readFileSync(join(findDraft(ended.err), ".pro.yaml.swp"), "utf8")).toBe("unsaved");
    const absent = await floe(["edit", "product", "Pro", "--yes"], { tty: true, env, edit: () => 127 });
    expect([absent.code, absent.err]).toEqual([1, expect.stringContaining("cannot be started")]);
    expect(await get()).toEqual(before);
  });
});

test("a text with something wrong in it is opened again with what that is, and nothing typed is lost", async () => {
  const { code, err } = await run(["edit", "product", "Pro"], (text, round) => {
    if (round === 1) return text.replace("name: Pro", "name: [Pro");
    if (round === 2) return text.replace("name: [Pro", "nam: Pro");
    if (round === 3) return text.replace("nam: Pro", "name: Professional").replace("- our-thanks", "- our-thank");
    return text.replace("- our-thank\n", "- our-thanks\n");
  });
  expect([code, err]).toEqual([0, expect.stringContaining("Changed the product Pro.")]);
  expect(shown[1]).toMatch(/^#! .*wrong with pro\.yaml:\n/);
  expect(shown[1]).toContain("name: [Pro");
  const line = (shown[2]?.split("\n").indexOf("    nam: Pro") ?? -1) + 1;
  expect(shown[2]).toContain(`#!   products.pro.nam (line ${line}): There is no field "nam" here. Did you mean name?`);
  expect(shown[3]).toContain('There is no "our-thank" under benefits in this file. Did you mean "our-thanks"?');
  expect(shown[3]).toContain("name: Professional");
  expect(shown[3]).not.toContain("There is no field");
  expect(await get()).toMatchObject({ name: "Professional" });
});

test("what only the server refuses is opened again too; who gives up finds the text again", async () => {
  const { code, err } = await run(["edit", "product", "Pro"], (text, round) =>
    round === 1 ? text.replace("19.00 usd", "19.00 usd/month") : text,
  );
  expect([code, err]).toEqual([1, expect.stringContaining("the text still has something wrong in it")]);
  expect(shown[1]).toContain("#! the server does not accept this:");
  expect(shown[1]).toContain("recurring cannot change");
  const draft = findDraft(err);
  expect(readFileSync(draft, "utf8")).toContain("19.00 usd/month");
  expect(statSync(draft).mode & 0o077).toBe(0);
  expect(await get()).toMatchObject({ is_recurring: false });
});

test("only the thing that was opened is edited", async () => {
  const { code } = await run(["edit", "product", "Pro"], (text, round) =>
    round === 1
      ? text.replace("  pro:", "  other:")
      : round === 2
        ? text.replace("  other:", "  pro:").concat("benefits: {}\n")
        : text,
  );
  expect(code).toBe(1);
  expect(shown[1]).toContain("only products.pro is edited here");
  expect(shown[2]).toContain("only products.pro is edited here");
});

test("a change of another person meanwhile is not written over: while the editor was open, and after the diff", async () => {
  const during = await run(["edit", "product", "Pro"], async (text) => {
    await seller.client.products.update({ params: { id: product }, body: { description: "Theirs" } });
    return text.replace("name: Pro", "name: Mine");
  });
  expect([during.code, during.err]).toEqual([7, expect.stringContaining("changed meanwhile; nothing was written")]);
  expect(readFileSync(findDraft(during.err), "utf8")).toContain("name: Mine");
  expect(await get()).toMatchObject({ name: "Pro", description: "Theirs" });
  const typing = type((text) => text.replace("name: Pro", "name: Mine"));
  const { ended, stdin, stderr } = begin(["edit", "product", "Pro"], { tty: true, env, edit: typing });
  await until(() => stderr.text.includes("[y/N]"));
  await seller.client.products.update({ params: { id: product }, body: { description: "Later" } });
  stdin.write("y\r");
  expect(await ended).toBe(7);
  expect(await get()).toMatchObject({ name: "Pro", description: "Later" });
});

test("a no, and Ctrl-C at the question, write nothing and keep the text", async () => {
  for (const [key, expected] of [
    ["n\r", 2],
    ["\u0003", 130],
  ] as const) {
    const edit = type((text) => text.replace("name: Pro", "name: Mine"));
    const { ended, stdin, stderr } = begin(["edit", "product", "Pro"], { tty: true, env, edit });
    await until(() => stderr.text.includes("[y/N]"));
    stdin.write(key);
    expect(await ended).toBe(expected);
    expect(readFileSync(findDraft(stderr.text), "utf8")).toContain("name: Mine");
  }
  expect(await get()).toMatchObject({ name: "Pro" });
});

test("what floe.yaml does not hold is edited by the fields of its update", async () => {
  const { id } = await seller.client.customers.create({
    body: { email: "ada@example.com", name: "Ada", metadata: { plan: "gold" } },
  });
  const { code, err } = await run(["edit", "customer", "ada@example.com"], (text, round) =>
    round === 1
      ? text.replace("name: Ada", "nme: Ada L.")
      : text.replace("\nnme:", "\nname:").replace(/metadata:\n.*\n/, ""),
  );
  expect(code).toBe(0);
  expect(shown[0]).toContain("email: ada@example.com\nname: Ada\n");
  expect(shown[0]).toContain("# Not set: billing_address, tax_id");
  expect(shown[1]).toContain("#!   nme: There is no such field that can be changed. Did you mean name?");
  expect(err).toContain("    name: Ada → Ada L.\n");
  const { name, metadata } = await seller.client.customers.get({ params: { id } });
  expect([name, metadata]).toEqual(["Ada L.", {}]);
  const stale = await run(["customers", "edit", id], async (text) => {
    await seller.client.customers.update({ params: { id }, body: { name: "Theirs" } });
    return text.replace("Ada L.", "Mine");
  });
  expect([stale.code, existsSync(findDraft(stale.err))]).toEqual([7, true]);
  const refused = await run(["customers", "edit", id], (text, round) =>
    round === 1 ? text.replace("email: ada@", "email: ada at ") : text,
  );
  expect([refused.code, shown.at(-1)]).toEqual([1, expect.stringContaining("#!   email: ")]);
});

test("a change of another person is not written over in the organization either, and none between reading and writing", async () => {
  const path = { params: { id: seller.organization_id } };
  const during = await run(["organization", "edit"], async (text) => {
    await seller.client.organizations.update({ ...path, body: { email: "theirs@example.com" } });
    return text.replace(/^name: .*$/m, "name: Mine");
  });
  expect([during.code, during.err]).toEqual([7, expect.stringContaining("changed meanwhile; nothing was written")]);
  const edit = type((text) => text.replace(/^name: .*$/m, "name: Mine"));
  const { ended, stdin, stderr } = begin(["edit", "organization"], { tty: true, env, edit });
  await until(() => stderr.text.includes("[y/N]"));
  await seller.client.organizations.update({ ...path, body: { email: "later@example.com" } });
  stdin.write("y\r");
  expect(await ended).toBe(7);
  const { name, email } = await seller.client.organizations.get(path);
  expect([name === "Mine", email]).toEqual([false, "later@example.com"]);
  expect(readFileSync(findDraft(stderr.text), "utf8")).toContain("name: Mine");
});

test("the organization is edited without a name", async () => {
  const { code } = await run(["organization", "edit"], (text) => text.replace(/^name: .*$/m, "name: Renamed"));
  expect(code).toBe(0);
  expect(await seller.client.organizations.get({ params: { id: seller.organization_id } })).toMatchObject({
    name: "Renamed",
  });
});

test("without a terminal it is refused with the command to use", async () => {
  for (const more of [{ tty: false }, { tty: true, env: { ...env, CI: "1" } }]) {
    const { code, err } = await run(["products", "edit", "Pro"], (text) => text, more);
    expect([code, err]).toEqual([64, expect.stringContaining("Use: floe products update Pro --data -")]);
  }
  const agent = await floe(["edit", "product", "Pro", "--agent", "yes"], { env });
  expect(JSON.parse(agent.out)).toMatchObject({
    status: "action_required",
    next: [{ command: "floe products update Pro --data -" }, {}],
  });
  expect(shown).toEqual([]);
  const unknown = await floe(["edit", "subscription", "x"], { env, tty: true });
  expect([unknown.code, unknown.err]).toEqual([64, expect.stringContaining("there is no editing of subscription")]);
});

test("VISUAL comes before EDITOR", async () => {
  const { err } = await floe(["edit", "product", "Pro"], {
    tty: true,
    env: { ...env, VISUAL: "code --wait" },
    edit: () => 9,
  });
  expect(err).toContain("the editor code --wait ended with exit code 9");
});

describe("the editor gets the terminal", () => {
  const write = (text: string): string => {
    const path = join(folder(), "editor.sh");
    writeFileSync(path, text, { mode: 0o755 });
    return path;
  };

  test("with its flags and the file, and its exit code counts", async () => {
    const file = join(folder(), "with space.yaml");
    writeFileSync(file, "a: 1\n");
    const program = write('#!/bin/sh\n[ "$1" = --wait ] || exit 9\necho "b: 2" >> "$2"\nexit 4\n');
    expect(await runEditor(`${program} --wait`, file, process.env)).toEqual({ code: 4, isTerminated: false });
    expect(readFileSync(file, "utf8")).toBe("a: 1\nb: 2\n");
    expect((await runEditor("no-such-editor-here", file, process.env)).code).toBe(127);
  });

  test("and a signal to end, which floe waits for; Ctrl-C ends neither", async () => {
    const said = join(folder(), "said");
    const program = write(
      `#!/bin/sh\ntrap 'echo ended >> ${said}; exit 0' TERM\ntrap 'echo key >> ${said}' INT\necho started >> ${said}\nwhile true; do sleep 0.05; done\n`,
    );
    const code = `const { runEditor } = await import(${JSON.stringify(join(import.meta.dirname, "../../cli/edit/run-editor.ts"))});
      console.log(JSON.stringify(await runEditor(${JSON.stringify(program)}, "none", process.env)));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const out = textOf(child.stdout);
    await until(() => existsSync(said));
    child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect(JSON.parse(await out)).toEqual({ code: 0, isTerminated: true });
    expect(readFileSync(said, "utf8")).toBe("started\nended\n");
  });
});
