/** docs/catalogue.md, done as it says: its file, with its two keys, line by line in a shell. */
import { execFile } from "node:child_process";
import { chmodSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeManifest } from "../../cli/build-manifest.ts";
import { bundleCli } from "../../cli/bundle.ts";
import { api } from "../../shared/api/index.ts";
import { kinds } from "../../shared/catalog/document.ts";
import type { Scope } from "../../shared/scopes.ts";
import { type Floe, start } from "../support/floe.ts";
import { folder } from "./support.ts";

const text = readFileSync("docs/catalogue.md", "utf8");
const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", body = ""]) => ({
  language,
  body,
}));
const [file] = blocks.filter(({ language }) => language === "yaml");
const [onPullRequest, onMain, everyNight] = blocks.filter(({ language }) => language === "sh").map(({ body }) => body);

let server: Floe;
let bin: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
  bin = folder();
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  // The built program is found as people find it; packages that it leaves outside are this project's.
  writeFileSync(join(bin, "floe"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "cli.cjs")}" "$@"\n`);
  chmodSync(join(bin, "floe"), 0o755);
});
afterAll(() => server?.close());

test("its file and its lines do what they say: planned by a key that can only read, applied by one that can write", async () => {
  const seller = await server.seller("docs");
  const reads = kinds.map((kind): Scope => `${kind}:read`);
  const planKey = await server.keyOf(seller, reads);
  const applyKey = await server.keyOf(seller, [...reads, ...kinds.map((kind): Scope => `${kind}:write`)]);
  const place = folder();
  writeFileSync(join(place, "floe.yaml"), file?.body ?? "");

  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
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
  expect(comment).toMatch(/^### Catalogue `shop`: 6 to create, 0 to change, 0 to remove, 0 unchanged\n/);
  expect(comment).toContain("| create | `products.pro` Pro |");
  expect((await shell(onMain, planKey)).code).toBe(5);
  expect(await shell(onMain, applyKey)).toMatchObject({ code: 0, stderr: expect.stringContaining("Applied 6 steps.") });
  expect(await shell(onMain, applyKey)).toMatchObject({ code: 0, stderr: expect.stringContaining("Nothing to do.") });
  expect(await shell(everyNight, planKey)).toMatchObject({ code: 0 });
  const [pro] = (await seller.client.products.list({ query: {} })).items;
  await seller.client.products.update({ params: { id: pro?.id ?? "" }, body: { name: "Pro 2" } });
  expect((await shell(everyNight, planKey)).code).toBe(10);
});
