/** Completion: what may stand next, how it is written for a shell, and what is kept of names. */
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { respondToShell } from "../../cli/completion/answer.ts";
import { complete, type NameSource } from "../../cli/completion/complete.ts";
import { buildCompletion } from "../../cli/completion/model.ts";
import { parseBashLine, quoteForBash, quoteForPowerShell, replaceBashWord } from "../../cli/completion/words.ts";
import { readTopics } from "../../cli/topics.ts";
import { scopes } from "../../shared/scopes.ts";
import { floe, folder, manifest, place, standIn } from "./support.ts";

const tree = await buildCommandTree(manifest);
const model = buildCompletion(tree, scopes);
const topics = Object.fromEntries(readTopics("docs"));
const whole = {
  ...manifest,
  read: (name: string): unknown =>
    name === "completion" ? model : name === "topics" ? topics : topics[name.replace(/^topic-/, "")],
};
const names: NameSource = {
  names: async (group) => [{ value: `${group} one` }, { value: "a, b" }],
  organizations: async () => [{ value: "acme" }],
  profiles: () => [{ value: "live" }],
  extensions: () => [{ value: "hello" }],
  topics: () => [{ value: "money" }],
};
const valuesOf = async (line: string): Promise<string[]> => {
  const words = line.split(" ");
  const { candidates, files } = await complete(model, words.slice(0, -1), words.at(-1) ?? "", names);
  return [...candidates.map(({ value }) => value), ...(files ? ["FILES"] : [])];
};

describe("what may stand next", () => {
  test.each<[line: string, values: string[]]>([
    ["custom-f", ["custom-fields"]],
    ["checkout-links g", ["get"]],
    ["products get ", ["products one", "a, b"]],
    ["products get x ", []],
    ["open ord", ["order"]],
    ["open order ", ["orders one", "a, b"]],
    ["open checkout-link ", ["checkout-links one", "a, b"]],
    ["open --debug customer ", ["customers one", "a, b"]],
    ["open store ", []],
    ["open toString ", []],
    ["edit prod", ["product"]],
    ["edit product ", ["products one", "a, b"]],
    ["edit product x ", []],
    ["extension remove ", ["hello"]],
    ["extension upgrade ", ["hello"]],
    ["extension install ", ["FILES"]],
    ["tax registrations d", ["delete"]],
    ["products create --vis", ["--visibility"]],
    ["products create --visibility p", ["private", "public"]],
    ["products create --visibility=p", ["--visibility=private", "--visibility=public"]],
    ["products create --visibility public --visib", []],
    ["products create --pric", ["--price"]],
    ["products create --price free --pric", ["--price"]],
    ["products create --benefits ", ["benefits one", String.raw`a\, b`]],
    [String.raw`products create --benefits a\,`, [String.raw`a\, b`]],
    ["products create --benefits x,ben", ["x,benefits one"]],
    ["products list --is-archived f", ["false"]],
    ["--profile l", ["live"]],
    ["products list --org a", ["acme"]],
    ["--org acme custom-f", ["custom-fields"]],
    ["profiles use ", ["live"]],
    ["orgs use ", ["acme"]],
    ["files upload ", ["FILES"]],
    ["files upload a.pdf ", ["FILES"]],
    ["plan --format m", ["markdown"]],
    ["api-keys create --scopes products:", ["products:read", "products:write"]],
    ["completion install f", ["fish"]],
    ["help m", ["money"]],
    ["products update --x -- ", ["products one", "a, b"]],
    ["nothing ", []],
    ["constructor toString --__proto__=", []],
  ])("%s", async (line, values) => {
    const found = await valuesOf(line);
    expect(values.length > 0 ? found.slice(0, values.length) : found).toEqual(values);
  });

  test("every command of the tree is reached by its words", async () => {
    const missing: string[] = [];
    for (const { path } of tree.commands)
      if (!(await valuesOf(path)).includes(path.split(" ").at(-1) ?? "")) missing.push(path);
    expect(tree.commands.length).toBeGreaterThan(200);
    expect(missing).toEqual([]);
  });
});

const breaks = " \t\n\"'@><=;|&(:";
describe("how a value is written", () => {
  test("a quoted text is read back as it was, whatever stands in it", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1 }).filter((one) => !/[\n\r]/.test(one));
    fc.assert(
      fc.property(text, fc.constantFrom("" as const, "'" as const, '"' as const), (value, quote) => {
        const written = quoteForBash(value, quote);
        // Only an exclamation mark cannot be said within double quotes.
        if (written === undefined) expect(value.includes("!") && quote === '"').toBe(true);
        else expect(parseBashLine(`floe ${quote}${written}${quote}`).last.text).toBe(value);
      }),
    );
  });

  test.each<[line: string, value: string, replaced: string | undefined]>([
    ["floe x Ni", "Night Sky", String.raw`Night\ Sky`],
    ['floe x "Ni', "Night $ky", String.raw`Night \$ky`],
    ["floe x 'Ni", "Night's", String.raw`Night'\''s`],
    ["floe x ada@ex", "ada@example.com", "example.com"],
    ["floe x --events=order.", "--events=order.paid", "order.paid"],
    [String.raw`floe x a\ b`, "a bc", String.raw`a\ bc`],
    ["floe x Other", "Night", undefined],
    ['floe x "Hey', "Hey!", undefined],
  ])("%s", (line, value, replaced) => {
    expect(replaceBashWord(parseBashLine(line).last, value, breaks)).toBe(replaced);
  });

  test("PowerShell gets what it would read otherwise in single quotes, typographic ones doubled", () => {
    expect(["plain-1", "a b", "it's $(x)", "it’s"].map(quoteForPowerShell)).toEqual([
      "plain-1",
      "'a b'",
      "'it''s $(x)'",
      "'it’’s'",
    ]);
  });
});

const row = (name: string, id: string) => ({ id, name });
/** Ask as fish does, in an environment that keeps names. */
async function ask(words: string[], env: Record<string, string | undefined>): Promise<string[]> {
  const { io, stdout, stderr } = place({ env });
  await respondToShell(io, whole, "1.0.0", "fish", `${words.join("\0")}\0`);
  expect(stderr.text).toBe("");
  return stdout.text.trimEnd().split("\n").slice(1);
}

describe("names of the server", () => {
  test("are kept for five minutes, for this user and this key alone, and forgotten with the sign-in", async () => {
    let answers = true;
    const server = await standIn(({ path }) => {
      if (path === "/api/auth/device/token/revoke") return { json: {} };
      return answers ? { json: { items: [row("Pro", "1")], pagination: { max_page: 1 } } } : { status: 503 };
    });
    const cache = folder();
    const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "one", XDG_CACHE_HOME: cache, FLOE_CONFIG_DIR: folder() };
    const get = ["products", "get", ""];
    expect(await ask(get, env)).toEqual(["Pro\tproduct"]);
    expect(await ask(get, env)).toEqual(["Pro\tproduct"]);
    expect(server.received.length).toBe(1);
    const kept = join(cache, "floe/names");
    const [file = ""] = readdirSync(kept);
    expect([statSync(kept).mode & 0o777, statSync(join(kept, file)).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readFileSync(join(kept, file), "utf8") + file).not.toContain("one");
    await ask(get, { ...env, FLOE_API_KEY: "other" });
    expect(server.received.length).toBe(2);

    const past = (minutes: number) => {
      for (const name of readdirSync(kept)) {
        const at = (Date.now() - minutes * 60_000) / 1000;
        utimesSync(join(kept, name), at, at);
      }
    };
    past(6);
    answers = false;
    expect(await ask(get, env), "older names are better than none").toEqual(["Pro\tproduct"]);
    past(25 * 60);
    expect(await ask(get, env)).toEqual([]);
    writeFileSync(
      join(env.FLOE_CONFIG_DIR, "credentials.json"),
      JSON.stringify({ default: { [server.url]: { token: "t" } } }),
    );
    expect((await floe(["logout"], { env: { ...env, FLOE_API_KEY: undefined } })).code).toBe(0);
    expect(() => readdirSync(kept)).toThrow("ENOENT");
  });

  test("that would steer a terminal or that two have are not offered: their ids are", async () => {
    const items = [
      row("Same", "1"),
      row("Same", "2"),
      row("Red \u001b[31m", "3"),
      row("Two\nlines", "4"),
      row("Pro", "5"),
    ];
    const server = await standIn(() => ({ json: { items, pagination: { max_page: 1 } } }));
    const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };
    const lines = await ask(["products", "get", ""], env);
    expect(lines.map((line) => line.split("\t")[0])).toEqual(["1", "2", "3", "4", "Pro"]);
    expect(lines.join("")).not.toContain("\u001b");
  });

  test("of a long list are searched for", async () => {
    const server = await standIn(({ query }) => ({
      json: { items: [row(query.get("query") === "Z" ? "Zebra" : "Ape", "1")], pagination: { max_page: 9 } },
    }));
    expect(await ask(["products", "get", "Z"], { FLOE_SERVER: server.url, FLOE_API_KEY: "k" })).toEqual([
      "Zebra\tproduct",
    ]);
  });

  test.each<[what: string, env: Record<string, string>, words: string[]]>([
    ["nobody is signed in", {}, ["products", "get", ""]],
    ["no server answers", { FLOE_API_KEY: "k", FLOE_SERVER: "http://127.0.0.1:9" }, ["products", "get", ""]],
    ["the settings are broken", { FLOE_SERVER: "ftp://x" }, ["products", "get", ""]],
    [
      "the server of the line may not have the key",
      { FLOE_API_KEY: "k" },
      ["--server", "https://x", "products", "get", ""],
    ],
  ])("are none, without a word, where %s", async (_, env, words) => {
    expect(await ask(words, env)).toEqual([]);
  });

  test("a server that does not answer is waited for a second at most", async () => {
    const server = await standIn(() => undefined);
    const started = Date.now();
    expect(await ask(["products", "get", ""], { FLOE_SERVER: server.url, FLOE_API_KEY: "k" })).toEqual([]);
    expect(Date.now() - started).toBeLessThan(3000);
    server.server.closeAllConnections();
  });
});

describe("floe completion install", () => {
  test.each([
    ["bash", ".bashrc"],
    ["zsh", ".zshrc"],
    ["fish", ".config/fish/completions/floe.fish"],
    ["powershell", ".config/powershell/Microsoft.PowerShell_profile.ps1"],
  ])("sets %s up once, and keeps what stands in its file", async (shell, file) => {
    const home = folder();
    const path = join(home, file);
    if (file.endsWith("rc")) writeFileSync(path, "mine");
    const env = { HOME: home, SHELL: `/bin/${shell}` };
    const first = await floe(["completion", "install"], { env });
    const text = readFileSync(path, "utf8");
    expect({ code: first.code, mine: text.includes("mine") }).toEqual({ code: 0, mine: file.endsWith("rc") });
    expect(text).toMatch(/floe/);
    expect(await floe(["completion", "install", shell], { env })).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  test("names the shells where yours is another", async () => {
    const { code, err } = await floe(["completion", "install"], { env: { SHELL: "/bin/tcsh" } });
    expect([code, err]).toEqual([
      64,
      expect.stringMatching(/no completion for tcsh[\s\S]*bash, zsh, fish, powershell/),
    ]);
  });
});
