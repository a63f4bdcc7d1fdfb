/** The manuals of the command line, done as they say: docs/catalogue.md with its two keys, docs/cli.md line by line. */
import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCli } from "../../cli/bundle.ts";
import { exitCodes } from "../../cli/fault.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { member, user } from "../../server/identity/accounts/tables.ts";
import { api } from "../../shared/api/index.ts";
import { kinds } from "../../shared/catalog/kinds/kind.ts";
import type { Scope } from "../../shared/scopes.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { floe, folder, splitWords } from "./support.ts";

const blocksOf = (page: string) =>
  [...readFileSync(page, "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", body = ""]) => ({
    language,
    body,
  }));
const blocks = blocksOf("docs/catalogue.md");
const [file] = blocks.filter(({ language }) => language === "yaml");
const [onPullRequest, onMain, everyNight] = blocks.filter(({ language }) => language === "sh").map(({ body }) => body);

let server: Floe;
let bin: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true, worker: true });
  bin = folder();
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  // The built program is found as people find it; packages that it leaves outside are this project's.
  writeFileSync(join(bin, "floe"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "cli.cjs")}" "$@"\n`);
  chmodSync(join(bin, "floe"), 0o755);
  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
});
afterAll(() => server?.close());

test("the catalogue's file and lines do what they say: planned by a key that can only read, applied by one that can write", async () => {
  const seller = await server.seller("docs");
  const reads = kinds.map((kind): Scope => `${kind}:read`);
  const planKey = await server.keyOf(seller, reads);
  const applyKey = await server.keyOf(seller, [...reads, ...kinds.map((kind): Scope => `${kind}:write`)]);
  const place = folder();
  writeFileSync(join(place, "floe.yaml"), file?.body ?? "");

  const shell = (lines: string | undefined, key: string) =>
    promisify(execFile)("sh", ["-e", "-c", lines ?? "exit 99"], {
      cwd: place,
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: place,
        FLOE_SERVER: server.url,
        FLOE_API_KEY: key,
        APP_URL: "http://127.0.0.1:9",
      },
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  expect(await shell(onPullRequest, planKey)).toMatchObject({ code: 0 });
  const comment = readFileSync(join(place, "plan.md"), "utf8");
  expect(comment).toMatch(/^### Catalogue `shop`: 8 to create, 0 to change, 0 to remove, 0 unchanged\n/);
  expect(comment).toContain("| create | `products.pro` Pro |");
  expect((await shell(onMain, planKey)).code).toBe(5);
  expect(await shell(onMain, applyKey)).toMatchObject({ code: 0, stderr: expect.stringContaining("Applied 8 steps.") });
  expect(await shell(onMain, applyKey)).toMatchObject({ code: 0, stderr: expect.stringContaining("Nothing to do.") });
  expect(await shell(everyNight, planKey)).toMatchObject({ code: 0 });
  const [pro] = (await seller.client.products.list({ query: {} })).items;
  await seller.client.products.update({ params: { id: pro?.id ?? "" }, body: { name: "Pro 2" } });
  expect((await shell(everyNight, planKey)).code).toBe(10);
});

const manuals: [page: string, lines: number][] = [
  ["docs/cli.md", 40],
  ["docs/accounts.md", 20],
];
test.each(manuals)(
  "every line of %s does what it says, one after the other, for a seller who has signed in",
  async (page, least) => {
    const seller = await server.seller("manual");
    const place = folder();
    const env = { FLOE_CONFIG_DIR: place, HOME: place, SHELL: "/bin/bash" };
    const files = ["book.pdf", "book.epub", "cover.png"];
    for (const name of files) writeFileSync(join(place, name), name);
    const organization = { id: seller.organization_id, slug: "manual", name: "Manual" };
    const colleague = await server.seller();
    const named = { email: "lin@example.com" };
    await server.deps.db
      .update(user)
      .set({ email: `${newId()}@example.com` })
      .where(eq(user.email, named.email));
    await server.deps.db.update(user).set(named).where(eq(user.id, colleague.user_id));
    const membership = { id: newId(), organizationId: seller.organization_id, userId: colleague.user_id };
    await server.deps.db.insert(member).values({ ...membership, role: "member", createdAt: new Date() });
    const config = { profile: "default", profiles: { default: { server: server.url, organization } } };
    writeFileSync(join(place, "config.json"), JSON.stringify(config));
    const credentials = { default: { [server.url]: { token: seller.session } } };
    writeFileSync(join(place, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
    const lines = blocksOf(page).flatMap(({ language, body }) => (language === "sh" ? body.trim().split("\n") : []));
    expect(lines.length).toBeGreaterThan(least);
    const failed: string[] = [];
    for (const line of lines) {
      const [command = ""] = line.split(/\s+#/);
      // What belongs to another server or to a browser, or never ends, is held to be a command and flags that there are.
      const elsewhere = /https:\/\/pay|--profile|\/run\/|…|^floe (login|orgs create|logs tail)/.test(command);
      const words = splitWords(command.replace(/^.*?\bfloe /, ""));
      if (elsewhere) {
        const flags = words.filter((word) => word.startsWith("--"));
        const called = words.filter((_, index) => !words.slice(0, index + 1).some((word) => word.startsWith("-")));
        const { out, code } = await floe([...called, "--help"]);
        const known = `${out}${(await floe(["--help"])).out}`;
        if (code !== 0 || !flags.every((flag) => known.includes(`${flag} `))) failed.push(line);
      } else if (/ [|>] |^floe (alias|commands|extension|hello|man|paid|skills) /.test(command)) {
        const options = { cwd: place, env: { PATH: `${bin}:${process.env.PATH}`, ...env } };
        await promisify(execFile)("sh", ["-c", command], options).catch((error: Error) => failed.push(error.message));
      } else {
        const here =
          words[0] === "files" || words[1] === "import"
            ? words.map((word) => (/\.(csv|epub|pdf|png)$/.test(word) ? join(place, word) : word))
            : words;
        const { code, err } = await floe(here, { env });
        if (code !== 0) failed.push(`${line}\n${err}`);
      }
    }
    expect(failed).toEqual([]);
  },
);

test("what is said to go wrong is what the programs say", () => {
  const sources = ["cli", "server", "shared"].flatMap((name) =>
    readdirSync(name, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile() && one.name.endsWith(".ts"))
      .map((one) => readFileSync(join(one.parentPath, one.name), "utf8")),
  );
  const told = [...readFileSync("docs/troubleshooting.md", "utf8").matchAll(/^### `(.*)`$/gm)].map(
    ([, text = ""]) => text,
  );
  expect(told.length).toBeGreaterThan(10);
  // Names, numbers and kinds are filled in.
  const parts = told
    .flatMap((text) => text.split(/ ?…|4455|25\.00 or 0\.25|product$/))
    .filter((part) => part.trim() !== "");
  expect(parts.filter((part) => !sources.some((source) => source.includes(part.trim())))).toEqual([]);
});

test("the manual has every exit code", () => {
  const told = [...readFileSync("docs/cli.md", "utf8").matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
  expect(told).toEqual(Object.values(exitCodes).map(([code]) => code));
});
