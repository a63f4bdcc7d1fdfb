import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { accountBase, accountCalls } from "../server/identity/accounts/calls.ts";
import { mapPath, parseMap } from "./support/test-map.ts";

/** The contexts of the server in their order. A context imports only itself and those before it. */
const contexts = [
  "platform",
  "identity",
  "customers",
  "usage",
  "catalog",
  "billing",
  "entitlements",
  "messaging",
  "checkout",
  "portal",
  "operations",
  "hosted",
  "app",
];
/** Imports against the order: each says why, and most read tables of a later context. */
const exceptions: Record<string, string> = {
  "bin/dev.mjs → server/app/launcher.ts": "the development loop ends with what started it, as the server does",
  "server/catalog/files/store.ts → server/operations/sandbox/tables.ts": "the bytes that a snapshot needs stay",
  "server/usage/meters/store.ts → server/catalog/benefits/tables.ts": "a meter that is used is not archived",
  "server/usage/meters/store.ts → server/catalog/products/tables.ts": "a meter that is used is not archived",
  "server/catalog/discounts/store.ts → server/billing/orders/tables.ts":
    "what was given back in full is not taken any more",
  "server/catalog/discounts/store.ts → server/billing/refunds/tables.ts": "but where it was to prevent a dispute",
  "server/customers/customers/store.ts → server/billing/subscriptions/tables.ts": "who has subscribed to something",
  "server/billing/subscriptions/seated.ts → server/entitlements/seats/tables.ts":
    "no fewer seats than are taken; what their holders use is billed",
  "server/billing/subscriptions/included-credit.ts → server/entitlements/grants/tables.ts":
    "no money goes back for a period whose included units were granted",
  "server/platform/db/due.ts → server/identity/organizations/tables.ts": "due work is looked for from seller to seller",
  "server/platform/events/epoch.ts → server/identity/organizations/tables.ts":
    "the newest event is looked for from seller to seller",
  "server/platform/db/counters.ts → server/identity/organizations/tables.ts": "rows are counted by seller",
  "server/platform/db/unit-of-work.ts → server/usage/events/tables.ts":
    "the transaction writes events to the list of events",
  "server/platform/db/unit-of-work.ts → server/messaging/webhooks/tables.ts":
    "the transaction writes no event that no endpoint asks for",
};
/** Tables that are written outside of their folder: where, and why. */
const writers: Record<string, string> = {
  "server/app → user": "the demo store's owner has a confirmed address",
  "server/identity/organizations → member": "the owner of a new organization",
  "server/identity/accounts → organization": "one row for accounts and billing",
  "server/identity/accounts → attempts": "wrong codes of devices are counted beside other tries",
  "server/identity/accounts → refusedCalls": "the audit log is kept by the account side",
  "server/platform/http → idempotencyKeys": "answers are kept by the requests they answer",
  "server/messaging/webhooks → events": "what was handed to the endpoints is marked",
  "server/operations/restore → restores": "whether a backup was restored is known by asking the processor",
  "server/app → upgrades": "one row for each upgrade that is done",
  "server/platform → usageEvents": "what is told is in the list of events, too",
  "server/platform → usageNames": "what is told is in the list of events, too",
};

/** Words with one home: what, where it may stand, why. */
const homes: [RegExp, RegExp, string][] = [
  [
    /\bnew Date\(\)|\bDate\.now\(/,
    /^(server\/platform\/clock|tests\/|web\/|cli\/|bin\/|bench\/)/,
    "time comes from the clock",
  ],
  [
    /\bMath\.(round|floor|ceil|trunc)\(|\.toFixed\(/,
    /^(shared\/money|tests\/|bin\/|bench\/|web\/|cli\/)/,
    "rounding has names in shared/money.ts",
  ],
  [
    /\bprocess\.env\b/,
    /^(server\/platform\/config|cli\/environment|cli\/bundle|bin\/|tests\/|bench\/)/,
    "settings are read in one place",
  ],
  [/\bas any\b|@ts-(ignore|nocheck)|\bas unknown as\b/, /^(tests\/|web\/stripe)/, "a cast here hides a fault"],
  [
    /\bdb\.transaction\(|\bdb: tx\b/,
    /^(server\/platform\/db\/(unit-of-work|database|pool)|server\/platform\/processors\/test(-returns)?\.ts|tests\/|bench\/)/,
    "a transaction is begun by transact, and handed on by within",
  ],
  [
    /\bObject\.create\((?!null\))|\bnew Proxy\b/,
    /^(server\/platform\/db\/(database|pool)|tests\/(tidy|support\/memory-database))/,
    "what looks like a thing and does otherwise is not seen by who reads it",
  ],
  [
    /^import (?!type).* from "node:(https?|http2|tls|dns|dgram)";|\bfetch\(|\bcreateTransport\(|\bnew (Stripe|S3Client)\(/m,
    /^(server\/platform\/(external\/(outbound|read-json|services)|mail-transport\/mail|processors\/stripe|storage\/s3|telemetry\/ops-server)|server\/identity\/accounts\/sign-in\/oauth|server\/hosted\/relay\/send|server\/app\/control|shared\/|cli\/|web\/|bin\/|bench\/|examples\/|tests\/)/,
    "what calls another service asks assertOutsideTransaction first",
  ],
  [/\b(TODO|FIXME|XXX)\b/, /^tests\/tidy/, "unfinished work has an issue, not a comment"],
  [/\/(work|root|home)\/\w+\//, /^tests\/tidy/, "no machine's paths"],
  [/\b(it|test|describe)\.(only|skip|todo)\(/, /^tests\/tidy/, "every test runs"],
];

/** What a file says that stands elsewhere. */
const misplaced = (file: string, text: string): string[] =>
  homes.flatMap(([word, home, why]) => {
    const found = home.test(file) ? null : word.exec(text);
    return found ? [`${file} says ${found[0]}: ${why}`] : [];
  });

/** The unit that a file belongs to: a context of the server, or a top-level folder. */
const findUnit = (file: string): string => /^server\/[^/]+(?=\/)|^[^/]+/.exec(file)?.[0] ?? file;
/** What a top-level folder may import besides itself. */
const allowedImports: Record<string, RegExp> = {
  shared: /^$/,
  web: /^shared$/,
  cli: /^shared$/,
  tests: /./,
  bench: /./,
  bin: /^(cli|shared)$/,
};
const getRank = (unit: string): number => contexts.indexOf(unit.replace("server/", ""));

function mayImport(from: string, to: string): boolean {
  const [a, b] = [findUnit(from), findUnit(to)];
  if (a === b || `${from} → ${to}` in exceptions) return true;
  if (/^cli\/commands\/(serve|verify|migrate|admin-place)\.ts$/.test(from) && to === "server/app/main.ts") return true;
  // Foreign keys cross the order of contexts, and so do the files that declare tables.
  if (from.endsWith("/tables.ts") && to.endsWith("/tables.ts")) return true;
  if (!a.startsWith("server/")) return allowedImports[a]?.test(b) ?? false;
  return b === "shared" || (getRank(b) >= 0 && getRank(b) < getRank(a));
}

/** Circles of imports among these files: each group of files that import each other, directly or through others. */
function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const [index, low] = [new Map<string, number>(), new Map<string, number>()];
  const [stack, circles]: [string[], string[][]] = [[], []];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.size - 1);
    stack.push(file);
    for (const to of imports.get(file) ?? []) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(file, Math.min(low.get(file) ?? 0, low.get(to) ?? 0));
    }
    if (low.get(file) !== index.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1) circles.push(group.sort());
  };
  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return circles;
}

/** Tables of another folder that a file writes to, without being one of those that may. */
function foreignWrites(file: string, text: string): string[] {
  const folder = /^server\/(?:platform|app|portal)(?=\/)|^server\/[^/]+\/[^/]+/.exec(file)?.[0] ?? file;
  const foreign = new Set(
    [...text.matchAll(/import \{([^}]*)\} from "((?:\.\.\/)+(?:[\w-]+\/)+tables\.ts)"/g)].flatMap(
      ([, names = "", target = ""]) =>
        normalize(join(dirname(file), target)).startsWith(`${folder}/`) ? [] : (names.match(/\w+/g) ?? []),
    ),
  );
  const written = [
    ...text.matchAll(/\.(?:insert|update|delete)\((\w+)\)/g),
    ...text.matchAll(/\b(?:insert into|update|delete from)\s+\$\{(\w+)\}/gi),
  ].map(([, name = ""]) => name);
  return written.filter((name) => foreign.has(name) && !(`${folder} → ${name}` in writers));
}

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" })
  .split("\n")
  .filter((file) => existsSync(file));
const sources = files.filter((file) => /^(shared|server|cli|web|tests|bin|bench)\/.*\.(ts|tsx|js|mjs)$/.test(file));
const linesMax = (file: string) => (file.startsWith("tests/") ? 600 : 400);

/** What a file imports of this repository, by its static imports: types alone, and values. */
const listImports = (file: string, text: string): { to: string; isType: boolean }[] =>
  [...text.matchAll(/(?:(import|export)( type)?[^"';]*?\bfrom|\bimport\(|^import)\s*"(\.[^"]+)"/gm)].map(
    ([, , type, target = ""]) => ({
      to: normalize(join(dirname(file), target)).replaceAll("\\", "/"),
      isType: type !== undefined,
    }),
  );

test("each file imports what its place allows, and keeps its length", () => {
  const faults: string[] = [];
  const used = new Set<string>();
  for (const file of sources) {
    const text = readFileSync(file, "utf8");
    for (const { to } of listImports(file, text)) {
      used.add(`${file} → ${to}`);
      if (!mayImport(file, to)) faults.push(`${file} may not import ${to}`);
    }
    faults.push(...misplaced(file, text));
    if (file.startsWith("server/"))
      for (const name of foreignWrites(file, text)) faults.push(`${file} writes to ${name}, which is another's`);
    const lines = text.split("\n").length;
    if (lines > linesMax(file)) faults.push(`${file} has ${lines} lines; ${linesMax(file)} is the limit`);
  }
  expect(faults).toEqual([]);
  expect(
    Object.keys(exceptions).filter((exception) => !used.has(exception)),
    "exceptions that nothing needs",
  ).toEqual([]);
});

test("no files import each other in a circle", () => {
  const imports = new Map(
    sources
      .filter((file) => !/\/tables\.ts$/.test(file))
      .map((file) => [
        file,
        listImports(file, readFileSync(file, "utf8")).flatMap(({ to, isType }) => (isType ? [] : [to])),
      ]),
  );
  expect(findCircles(imports)).toEqual([]);
  expect(
    findCircles(
      new Map([
        ["a", ["b"]],
        ["b", ["c"]],
        ["c", ["a", "d"]],
        ["d", []],
      ]),
    ),
  ).toEqual([["a", "b", "c"]]);
});

test("every rule about places can fail", () => {
  expect(sources.length).toBeGreaterThan(100);
  for (const context of contexts) {
    expect(
      sources.some((file) => file.startsWith(`server/${context}/`)),
      context,
    ).toBe(true);
  }
  const folders = new Set(sources.flatMap((file) => /^server\/([^/]+)/.exec(file)?.[1] ?? []));
  expect([...folders].sort()).toEqual([...contexts].sort());
  expect(mayImport("server/billing/orders/service.ts", "server/checkout/checkouts/service.ts")).toBe(false);
  expect(mayImport("server/checkout/checkouts/service.ts", "server/billing/orders/service.ts")).toBe(true);
  expect(mayImport("shared/money.ts", "server/platform/clock.ts")).toBe(false);
  expect(mayImport("web/main.tsx", "server/app/app.ts")).toBe(false);
  expect(mayImport("cli/commands/login.ts", "server/app/main.ts")).toBe(false);
  expect(mayImport("server/platform/http/mount.ts", "server/catalog/products/service.ts")).toBe(false);
  expect(mayImport("server/catalog/files/routes.ts", "server/platform/http/limits.ts")).toBe(true);
  expect(mayImport("server/catalog/files/routes.ts", "server/checkout/checkouts/service.ts")).toBe(false);
  for (const [text, home] of [
    ["const db = Object.create(ctx.db)", "server/platform/db/database.ts"],
    ["return new Proxy<PGlite>(pglite, {})", "server/platform/db/database-embedded.ts"],
    ["await ctx.db.transaction(work)", "server/platform/db/unit-of-work.ts"],
    ["const inner = { ...ctx, db: tx }", "server/platform/db/unit-of-work.ts"],
    ["const now = new Date()", "server/platform/clock.ts"],
  ] as const)
    expect([misplaced("server/platform/http/audit.ts", text).length, misplaced(home, text).length], text).toEqual([
      1, 0,
    ]);
  expect(misplaced("server/platform/http/query.ts", "const query = Object.create(null)")).toEqual([]);
  expect(mayImport("server/billing/payments/settlement.ts", "server/checkout/checkouts/store.ts")).toBe(false);
  expect(mayImport("server/catalog/products/store.ts", "server/checkout/checkouts/tables.ts")).toBe(false);
  const importing = 'import { orders } from "../orders/tables.ts";\n';
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}tx.update(orders).set({})`)).toEqual([
    "orders",
  ]);
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}sql\`delete from \${orders}\``)).toEqual([
    "orders",
  ]);
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}tx.select().from(orders)`)).toEqual([]);
});

test("a path that the account side spells is one of its calls, or begins some", () => {
  const calls = Object.keys(accountCalls);
  const isKnown = (path: string) => calls.some((call) => call === path || call.startsWith(path.replace(/\/?$/, "/")));
  const unknown = sources
    .filter((file) => file.startsWith("server/identity/accounts/") && file !== "server/identity/accounts/calls.ts")
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/"(\/[a-z][^"\s]*)"/g)].map(([, path = ""]) => path))
    .filter((path) => path !== accountBase && !isKnown(path));
  expect(unknown).toEqual([]);
  expect([isKnown("/sign-in"), isKnown("/callback/"), isKnown("/sign-i"), isKnown("/sign-in/e-mail")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("the lock file names no download address", () => {
  const lock = readFileSync("package-lock.json", "utf8");
  // A workspace is a folder of this repository.
  expect(lock.match(/"resolved": .*/g)).toEqual(['"resolved": "bundled",']);
  expect(readFileSync(".npmrc", "utf8")).toContain("omit-lockfile-registry-resolved=true");
});

/** The rules that a text cites by their numbers, `CHK-34` alone or `SUB-12 to SUB-15` and `API-20..25` with those between. */
function citedIn(text: string, kinds: readonly string[]): string[] {
  const kind = kinds.join("|");
  const citation = new RegExp(`\\b(${kind})-(\\d+)\\b(?:(?: to |\\.\\.)(?:(?:${kind})-)?(\\d+)\\b)?`, "g");
  return [...text.matchAll(citation)].flatMap(([, prefix, first, last = first]) =>
    Array.from(
      { length: Math.max(1, Number(last) - Number(first) + 1) },
      (_, index) => `${prefix}-${String(Number(first) + index).padStart(2, "0")}`,
    ),
  );
}

test("every rule of docs/rules.md stands there once and is cited by a test, and nothing else is cited", () => {
  const text = readFileSync("docs/rules.md", "utf8");
  const kinds = [...text.matchAll(/^## .* \(([A-Z]+)\)$/gm)].map(([, kind = ""]) => kind);
  const defined = [...text.matchAll(/^- \*\*([A-Z]+-\d{2})\*\* \S/gm)].map(([, number = ""]) => number);
  expect(kinds.length).toBeGreaterThan(15);
  expect(defined, "each stands there once").toEqual([...new Set(defined)]);
  expect(citedIn("SUB-12 to SUB-14, API-20..21 (CHK-34), SHA-256", kinds)).toEqual([
    "SUB-12",
    "SUB-13",
    "SUB-14",
    "API-20",
    "API-21",
    "CHK-34",
  ]);
  const citing = files.filter(
    (file) => /\.(ts|tsx|js|mjs|md)$/.test(file) && !/^(docs\/rules\.md|tests\/tidy\.test\.ts)$/.test(file),
  );
  const cited = new Set(citing.flatMap((file) => citedIn(readFileSync(file, "utf8"), kinds)));
  expect(defined.length).toBeGreaterThan(400);
  expect(
    [...cited].filter((number) => !defined.includes(number)),
    "cited, and not in docs/rules.md",
  ).toEqual([]);
  const tests = citing.filter((file) => file.startsWith("tests/"));
  const tested = new Set(tests.flatMap((file) => citedIn(readFileSync(file, "utf8"), kinds)));
  expect(
    defined.filter((number) => !tested.has(number)),
    "in docs/rules.md, and cited by no test",
  ).toEqual([]);
});

test("every link from one document to another, or to a place in it, leads there", () => {
  const toAnchor = (title: string) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-");
  const anchors = (path: string): string[] =>
    [
      ...readFileSync(path, "utf8")
        .replace(/^```.*?^```/gms, "")
        .matchAll(/^#+ (.*)$/gm),
    ].map(([, title = ""]) => toAnchor(title.trim()));
  const broken: string[] = [];
  let seen = 0;
  for (const page of files.filter((file) => /^([A-Z]+\.md|(docs|examples)\/.*\.md)$/.test(file))) {
    for (const [, link = ""] of readFileSync(page, "utf8").matchAll(/\]\(((?!https?:)[^)\s]+)\)/g)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      const leads = existsSync(target) && (anchor === undefined || anchors(target).includes(anchor));
      if (!leads) broken.push(`${page}: ${link}`);
      seen += 1;
    }
  }
  expect(seen).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});

/** The pages that describe the code: one for each context, and those for all of it. */
const serverPages = [
  ...contexts.map((context) => `server/${context}/README.md`),
  ...["docs/architecture.md", "CONTRIBUTING.md", "AGENTS.md"],
];

/** Paths in backticks that lead nowhere: from the repository, from `server/` or from the page's own folder. */
function listDeadPaths(page: string, text: string): string[] {
  const prose = text.replace(/^```.*?^```/gms, "");
  const names = new Set(files.map((file) => basename(file)));
  return (
    [...prose.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)]
      .map(([, path = ""]) => path)
      .filter((path) => path.includes("/") || /\.(ts|tsx|mjs|md|json)$/.test(path))
      // Folders that a build or a run of floe makes.
      .filter((path) => !/^(\.floe(-dev)?|dist)\/$/.test(path))
      .filter((path) => !["", "server", dirname(page)].some((folder) => existsSync(join(folder, path))))
      .filter((path) => path.includes("/") || !names.has(path))
  );
}

test("each context has a page of its own, and every path on these pages exists", () => {
  const faults = serverPages.flatMap((page) => {
    const text = readFileSync(page, "utf8");
    const lines = text.trimEnd().split("\n").length;
    const tooLong = page.endsWith("README.md") && lines > 70 ? [`${page} has ${lines} lines; 70 is the limit`] : [];
    return [...tooLong, ...listDeadPaths(page, text).map((path) => `${page} names ${path}, which does not exist`)];
  });
  expect(faults).toEqual([]);
  expect(
    listDeadPaths("server/billing/README.md", "`orders/rules.ts`, `billing/`, `orders/nothing.ts`, `nil.ts`"),
  ).toEqual(["orders/nothing.ts", "nil.ts"]);
});

test("the map of the tests names files that are there, and knows every folder of the server and the command line", () => {
  const map = parseMap(readFileSync(mapPath, "utf8"));
  const named = [...map].flatMap(([source, tests]) => [source, ...tests]);
  expect([...new Set(named)].filter((path) => !existsSync(path))).toEqual([]);
  const folders = new Set([...map.keys()].map((path) => dirname(path)));
  const unknown = sources
    .filter((path) => /^(server|cli|shared)\//.test(path))
    .map((path) => dirname(path))
    .filter((folder) => !folders.has(folder));
  expect(unknown).toEqual([]);
});
