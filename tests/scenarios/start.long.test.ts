import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sbom } from "../../cli/sbom.ts";
import type { Sheet } from "../../server/billing/invoices/worker.ts";
import { openLimitedProcess } from "../../server/platform/jobs/limited-process.ts";
import { freePort } from "../support/free-port.ts";
import { installBuilt, measureFolder } from "../support/installed.ts";
import { readPdf, sampleDocument } from "../support/invoices.ts";

/** What goes wrong at the start is said in one line, with exit code 1. */

const folder = mkdtempSync(join(tmpdir(), "floe-start-"));
const installed = installBuilt(join(folder, "lib/node_modules/floe"));
const executable = join(installed, "bin/floe.js");
let taken: Server;
let port: number;
beforeAll(async () => {
  taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const address = taken.address();
  port = address && typeof address === "object" ? address.port : 0;
  writeFileSync(join(folder, "file"), "");
});
afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true, force: true });
});

const serve = (env: Record<string, string>, ...flags: string[]) =>
  execa(process.execPath, [executable, "serve", ...flags], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    extendEnv: false,
    reject: false,
    timeout: 120_000,
  });
const secret = "a secret for tests, long enough to be one";

describe("a server that cannot start", () => {
  test.each([
    [
      "a port in use",
      () => ({ FLOE_DATA_DIR: join(folder, "data"), PORT: String(port) }),
      /^floe: Port \d+ is in use\. .*--port/,
    ],
    [
      "a data folder that cannot be written",
      () => ({ FLOE_DATA_DIR: join(folder, "file") }),
      /^floe: The data folder .* cannot be written .*--data-dir/,
    ],
    [
      "a database that is not there",
      () => ({
        DATABASE_URL: `postgres://floe@127.0.0.1:${port === 1 ? 2 : 1}/floe`,
        FLOE_SECRET: secret,
        FLOE_DATABASE_START_SECONDS: "0",
      }),
      /^floe: The database floe at 127\.0\.0\.1:1 cannot be reached: .*DATABASE_URL/,
    ],
    [
      "a database address that is none",
      () => ({ DATABASE_URL: "mysql://x", FLOE_SECRET: secret }),
      /^floe: Wrong setting\. DATABASE_URL: must begin with postgres/,
    ],
    [
      "PostgreSQL without a secret",
      () => ({ DATABASE_URL: "postgres://127.0.0.1:1/floe" }),
      /^floe: FLOE_SECRET is required/,
    ],
    [
      "a secret that is too short",
      () => ({ FLOE_SECRET: "short" }),
      /^floe: Wrong setting\. FLOE_SECRET: must be at least 32/,
    ],
    ["an empty secret", () => ({ FLOE_SECRET: "" }), /^floe: Wrong setting\. FLOE_SECRET: is empty/],
    ["a blank secret", () => ({ FLOE_SECRET: " ".repeat(40) }), /^floe: Wrong setting\. FLOE_SECRET: is empty/],
    [
      "a secret of one character",
      () => ({ FLOE_SECRET: "a".repeat(64) }),
      /^floe: Wrong setting\. FLOE_SECRET: is too easy to guess/,
    ],
    [
      "an earlier secret that was none",
      () => ({ FLOE_SECRET: secret, FLOE_SECRET_PREVIOUS: "short" }),
      /^floe: Wrong setting\. FLOE_SECRET_PREVIOUS: must be earlier secrets/,
    ],
    [
      "a proxy that is no address",
      () => ({ TRUST_PROXY: "everybody" }),
      /^floe: Wrong setting\. TRUST_PROXY: must be addresses or ranges/,
    ],
    ["a port that is none", () => ({ PORT: "many" }), /^floe: Wrong setting\. PORT: /],
    [
      "half of Stripe's keys",
      () => ({ STRIPE_SECRET_KEY: "sk_test_x" }),
      /^floe: STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY go together/,
    ],
    [
      "Stripe's keys of two modes",
      () => ({ STRIPE_SECRET_KEY: "rk_live_x", STRIPE_PUBLISHABLE_KEY: "pk_test_x" }),
      /^floe: STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY are of one mode/,
    ],
    [
      "Polar without its token",
      () => ({ FLOE_BILLING: "polar" }),
      /^floe: FLOE_BILLING=polar needs POLAR_ACCESS_TOKEN/,
    ],
  ])("%s", async (_name, env, line) => {
    const { exitCode, stderr, stdout } = await serve(env());
    const said = stderr.split("\n").filter((text) => text !== "" && !text.endsWith("…"));
    expect([exitCode, said.length, stdout]).toEqual([1, 1, ""]);
    expect(said[0]).toMatch(line);
  });

  test("what it keeps in the data folder is for its owner alone", () => {
    for (const name of ["secret", "demo.json"]) expect(statSync(join(folder, "data", name)).mode & 0o077).toBe(0);
  });
});

describe("what npm installs", () => {
  test("is small", () => {
    expect(measureFolder(installed) / 1e6).toBeLessThan(150);
    // Fonts and packages of others are shipped with their licenses.
    const notices = readFileSync(join(installed, "dist/THIRD_PARTY_NOTICES"), "utf8");
    for (const name of ["react-dom", "fastify", "ink", "@fontsource-variable/noto-sans"])
      expect(notices).toMatch(new RegExp(`^${name} \\S+ \\((MIT|OFL-1\\.1)\\)$`, "m"));
  });

  test("says what it is shipped with: in notices for people, and in a bill of materials for programs", async () => {
    const print = async (...flags: string[]) =>
      (await execa(process.execPath, [executable, "notices", ...flags], { env: { HOME: folder } })).stdout;
    const { components } = JSON.parse(await print("--sbom")) as Sbom;
    const listed = components.map(({ group, name, version }) => `${group ? `${group}/` : ""}${name} ${version}`);
    const noticed = [...(await print()).matchAll(/^={80}\n(.+ \S+) \([^\n]*\)$/gm)].map(([, title]) => title);
    expect([...new Set(noticed)].sort()).toEqual(listed.sort());
    // An audit of the repository without development dependencies sees all of them.
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
      packages: Record<string, { version?: string; dev?: boolean }>;
    };
    const audited = Object.entries(packages).flatMap(([path, { version, dev }]) =>
      dev ? [] : [`${path.split("node_modules/").at(-1)} ${version}`],
    );
    expect(listed.filter((title) => !audited.includes(title))).toEqual([]);
  });

  test("serves with the packages that it names and no others", async () => {
    const port = String(await freePort());
    const server = serve({ FLOE_DATA_DIR: join(folder, "served"), PORT: port });
    const get = async (path: string) => {
      const answer = await fetch(`http://localhost:${port}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    try {
      await new Promise<void>((resolve, reject) => {
        server.stdout.on("data", (part) => String(part).includes("floe is ready") && resolve());
        server.on("exit", (code) => reject(new Error(`The server ended with ${code}.`)));
      });
      expect((await get("/openapi.json")).status).toBe(200);
      expect((await get("/api/reference/")).text).toContain("floe API");
      expect((await get("/llms.txt")).text).toBe(readFileSync("llms.txt", "utf8"));
      expect((await get("/docs/usage.md")).text).toBe(readFileSync("docs/usage.md", "utf8"));
      const script = await get("/api/reference/js/scalar.js");
      expect([script.status, script.text.length > 1e6]).toEqual([200, true]);
      const weak = await fetch(`http://localhost:${port}/api/auth/sign-up/email`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name: "A", email: "a@example.com", password: "password1234" }),
      });
      expect([weak.status, await weak.json()]).toEqual([
        400,
        expect.objectContaining({ code: "PASSWORD_COMPROMISED" }),
      ]);
    } finally {
      server.kill("SIGINT");
    }
    expect(await server).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining("Cannot find") });
  });

  test("prints invoices", async () => {
    const program = pathToFileURL(join(installed, "dist/invoice-worker.js"));
    const limits = { idleMs: 100, jobTimeoutMs: 60_000, memoryMb: 512 };
    const printing = openLimitedProcess<Sheet, Uint8Array>(program, limits);
    const printed = await printing.run({ document: sampleDocument({}), logo: null });
    expect(await readPdf(printed)).toMatchObject({ intents: 1, pages: 1, files: [{ name: "factur-x.xml" }] });
  });
});
