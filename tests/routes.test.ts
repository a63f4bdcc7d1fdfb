/** The typed client: its paths follow from the contract, and no other text of the command line or the pages names one. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { splitRoute } from "../shared/request.ts";
import * as routes from "../shared/routes.ts";
import { operations } from "./support/operations.ts";

/** Paths that are still written out, for each file. A count may only shrink; remove a line with its last path. */
const literalCounts: Record<string, number> = {
  // Operations for who operates the server, which the contract of sellers does not have.
  "cli/commands/doctor.ts": 1,
  "cli/commands/jobs.ts": 2,
  // A page that a browser opens, and no operation of the contract.
  "cli/commands/open.ts": 1,
};

const countLiterals = (text: string): number => (text.match(/["`]\/v1\//g) ?? []).length;

test("shared/routes has the method and the path of each operation, and no others", () => {
  const written = Object.entries(routes as Record<string, Record<string, ReturnType<typeof String>>>).flatMap(
    ([resource, entries]) => Object.entries(entries).map(([name, route]) => `${resource}.${name} ${route}`),
  );
  const declared = operations.map(({ title, op }) => `${title} ${op.method} ${op.path}`);
  // Where they differ: node bin/write-routes.mjs
  expect(written.sort()).toEqual(declared.sort());
  expect(splitRoute(routes.orders.get)).toEqual({ method: "GET", path: "/v1/orders/:id" });
});

test("bin/write-routes.mjs writes the files as they are", () => {
  const folder = mkdtempSync(join(tmpdir(), "floe-routes-"));
  try {
    mkdirSync(join(folder, "bin"));
    execFileSync("cp", ["bin/write-routes.mjs", join(folder, "bin")]);
    execFileSync("cp", ["-r", "shared", folder]);
    symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
    execFileSync(process.execPath, [join(folder, "bin/write-routes.mjs")]);
    const files = ["shared/routes.ts", ...readdirSync("shared/routes").map((file) => join("shared/routes", file))];
    expect(files).toHaveLength(4);
    for (const file of files) expect(readFileSync(join(folder, file), "utf8")).toBe(readFileSync(file, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the paths of the API that the command line and the pages write out only become fewer", () => {
  const files = execFileSync("git", ["ls-files", "cli", "web"], { encoding: "utf8" })
    .split("\n")
    .filter((file) => /\.tsx?$/.test(file));
  expect(files.length).toBeGreaterThan(200);
  const found = files.map((file) => [file, countLiterals(readFileSync(file, "utf8"))] as const);
  expect(Object.fromEntries(found.filter(([, count]) => count > 0))).toEqual(literalCounts);
  expect(countLiterals('call("/v1/orders/"), call(`/v1/orders/$' + "{id}`); // /v1/orders/")).toBe(2);
});
