import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { account_base, accountCalls } from "../server/identity/accounts/calls.ts";
import { mapPath, parseMap } from "./support/test-map.ts";

/** The domains of the server in their one order. A domain calls to its left; to its right it speaks by events. */
const domains = [
  "organizations",
  "webhooks",
  "files",
  "customers",
  "members",
  "customer-sessions",
  "customer-accounts",
  "meters",
  "events",
  "custom-fields",
  "benefits",
  "products",
  "discounts",
  "tax",
  "orders",
  "payments",
  "refunds",
  "tax-reports",
  "disputes",
  "subscriptions",
  "seats",
  "license-keys",
  "downloads",
  "grants",
  "invoices",
  "letters",
  "portal",
  "checkouts",
  "checkout-links",
  "catalog",
  "metrics",
  "privacy",
  "sandbox",
];
/** The rooms that a domain may have, besides those that only one of them has. */
const rooms = /^(tables|rules|store|service|jobs|serialize|reactions|routes)$/;
const own_rooms: Record<string, RegExp> = {
  webhooks: /^(messages|queue|sender|worker)$/,
  customers: /^(holdings|tax-id-checks|tax-ids)$/,
  "customer-accounts": /^vendors$/,
  "customer-sessions": /^portal-link$/,
  meters: /^(matching|consumption|counting|credits|landing|late|lots|paying|uses|verifying|windows)$/,
  events: /^(ingest|lanes|lists|parts|receipts)$/,
  products: /^(price-rules|lines)$/,
  orders: /^(balances|credits|numbers|recalls|reductions)$/,
  tax: /^(computed|rates|registrations|territories)$/,
  payments: /^(settlement|setups|methods|notices)$/,
  discounts: /^redemption$/,
  checkouts: /^(access|choose|confirm|customer|deliveries|plan-update|quote|signed-quote|stream|tax)$/,
  subscriptions:
    /^(card-link|credits|meter-clock|metering|plan|proration|update|change|billing|dunning|follow|forecast|ground|lists|preview|reductions|seated|sold|tax|trials)$/,
  invoices: /^(document|electronic|fonts|links|page|pdf|printer|shaping|sums|words|worker)$/,
  grants: /^(accesses|engine|outside|runs)$/,
  letters: /^(life|order|seats|words)$/,
  portal:
    /^(access|accounts|cards|code-limits|grants|holdings|members|orders|seats|sign-in|stream|subscriptions|wallets|words)$/,
  catalog: /^(current|changes|rehearsal)$/,
  metrics: /^periods$/,
  privacy: /^log$/,
  sandbox: /^(erasure|walk|snapshots)$/,
};
/** Where a store reads tables that are not to its left, and why. */
const reads: Record<string, string> = {
  "server/entitlements/license-keys/store.ts → server/entitlements/grants/tables.ts": "a key shows what it came with",
  "server/catalog/files/store.ts → server/operations/sandbox/tables.ts": "the bytes that a snapshot needs stay",
  "server/usage/meters/store.ts → server/catalog/benefits/tables.ts": "a meter that is used is not archived",
  "server/usage/meters/store.ts → server/usage/events/tables.ts": "a meter counts what came before it",
  "server/usage/meters/verifying.ts → server/usage/events/tables.ts": "what is counted is recounted from the events",
  "server/usage/meters/store.ts → server/catalog/products/tables.ts": "a meter that is used is not archived",
  "server/catalog/discounts/store.ts → server/billing/orders/tables.ts":
    "what was given back in full is not taken any more",
  "server/catalog/discounts/store.ts → server/billing/refunds/tables.ts": "but where it was to prevent a dispute",
  "server/billing/payments/store.ts → server/billing/subscriptions/tables.ts":
    "a payment settles an order with all that it is answered with",
  "server/customers/customers/store.ts → server/billing/subscriptions/tables.ts": "who has subscribed to something",
  "server/customers/customers/holdings.ts → server/billing/subscriptions/tables.ts": "what a customer holds",
  "server/customers/customers/holdings.ts → server/catalog/benefits/tables.ts": "what a customer holds",
  "server/customers/customers/holdings.ts → server/entitlements/grants/tables.ts": "what a customer holds",
  "server/customers/customers/holdings.ts → server/usage/meters/tables.ts": "what a customer holds",
  "server/customers/customers/holdings.ts → server/catalog/products/tables.ts": "what a customer holds",
  "server/billing/subscriptions/seated.ts → server/entitlements/seats/tables.ts":
    "no fewer seats than are taken; what their holders use is billed",
  "server/billing/orders/rules.ts → server/billing/subscriptions/tables.ts":
    "an order is answered with its subscription",
  "server/billing/orders/store.ts → server/billing/subscriptions/tables.ts":
    "an order is answered with its subscription",
  "server/identity/organizations/store.ts → server/identity/accounts/tables.ts": "whose organizations they are",
  "server/messaging/webhooks/store.ts → server/identity/accounts/tables.ts":
    "who is told that an endpoint was switched off",
  "server/catalog/benefits/store.ts → server/identity/accounts/tables.ts": "the seller's own account at the code host",
  "server/billing/refunds/store.ts → server/billing/disputes/tables.ts": "a refund shows the dispute that it prevented",
  "server/checkout/checkouts/store.ts → server/identity/accounts/tables.ts": "the buyer who is signed in",
};
/** Tables that are written outside of their folder: where, and why. */
const writers: Record<string, string> = {
  "server/identity/organizations → member": "the owner of a new organization",
  "server/identity/accounts → organization": "one row for accounts and billing",
  "server/identity/accounts → attempts": "wrong codes of devices are counted beside other tries",
  "server/identity/accounts → refusedCalls": "the audit log is kept by the account side",
  "server/platform/http → idempotencyKeys": "answers are kept by the requests they answer",
  "server/messaging/webhooks → events": "what was handed to the endpoints is marked",
  "server/platform → usageEvents": "what is told is in the list of events, too",
  "server/platform → usageNames": "what is told is in the list of events, too",
};

/** Words with one home: what, where it may stand, why. */
const homes: [RegExp, RegExp, string][] = [
  [
    /\bnew Date\(\)|\bDate\.now\(/,
    /^(server\/lib\/clock|tests\/|web\/|cli\/|bin\/|bench\/)/,
    "time comes from the clock",
  ],
  [
    /\bMath\.(round|floor|ceil|trunc)\(|\.toFixed\(/,
    /^(shared\/money|tests\/|bin\/|bench\/|web\/|cli\/)/,
    "rounding has names in shared/money.ts",
  ],
  [
    /\bprocess\.env\b/,
    /^(server\/config|cli\/environment|cli\/bundle|bin\/|tests\/|bench\/)/,
    "settings are read in one place",
  ],
  [/\bas any\b|@ts-(ignore|nocheck)|\bas unknown as\b/, /^(tests\/|web\/stripe)/, "a cast here hides a fault"],
  [
    /\bdb\.transaction\(|\bdb: tx\b/,
    /^(server\/lib\/(unit-of-work|database|pool)|server\/processors\/test(-returns)?\.ts|tests\/|bench\/)/,
    "a transaction is begun by transact, and handed on by within",
  ],
  [
    /\bObject\.create\((?!null\))|\bnew Proxy\b/,
    /^(server\/lib\/(database|pool)|tests\/(tidy|support\/memory-database))/,
    "what looks like a thing and does otherwise is not seen by who reads it",
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

/** The floor of a file: its folder, and inside the server its room. */
const floorOf = (file: string): string => /^server\/[^/]+(?=\/)|^server(?=\/[^/]+$)|^[^/]+/.exec(file)?.[0] ?? file;
/** From which floors each may import, besides itself. A domain's own rule is below. */
const arrows: Record<string, RegExp> = {
  shared: /^$/,
  web: /^shared$/,
  cli: /^shared$/,
  "server/platform": /^(shared|server|server\/processors|server\/storage)$/,
  "server/platform/processors": /^(shared|server|server\/lib)$/,
  "server/platform/storage": /^(shared|server|server\/lib)$/,
  "server/identity/accounts": /^(shared|server|server\/lib|server\/organizations)$/,
  "server/platform/http": /^(shared|server|server\/lib|server\/providers|server\/processors|server\/storage)$/,
  "server/app/providers": /^(shared|server|server\/[^/]+)$/,
  server: /^(shared|server\/[^/]+)$/,
  tests: /./,
  bench: /./,
  bin: /^(cli|shared)$/,
};
/** Arrows that are one file's own: why each is right stands there. */
const exceptions = new Set([
  "cli/commands/serve.ts → server/app/main.ts",
  "server/platform/db/due.ts → server/identity/organizations/tables.ts",
  "server/platform/db/tallies.ts → server/identity/organizations/tables.ts",
  "server/platform/db/unit-of-work.ts → server/usage/events/tables.ts",
  "server/platform/db/unit-of-work.ts → server/messaging/webhooks/tables.ts",
  "server/app/providers/embedded.ts → server/app/worker.ts",
]);

function mayImport(from: string, to: string): boolean {
  const [a, b] = [floorOf(from), floorOf(to)];
  if (a === b || exceptions.has(`${from} → ${to}`)) return true;
  // Foreign keys cross the order of domains; so do the tables that hold them.
  if (to.endsWith("/tables.ts") && (from.endsWith("/tables.ts") || a === "server")) return true;
  if (`${from} → ${to}` in reads) return true;
  const rank = domains.indexOf(a.replace("server/", ""));
  if (a.startsWith("server/") && rank >= 0) {
    const other = domains.indexOf(b.replace("server/", ""));
    // Of the root of the server, only the settings' type.
    if (b === "server") return to === "server/platform/config.ts";
    if (
      /\/(routes|stream)\.ts$/.test(from) &&
      (b === "server/platform/http" || arrows["server/platform/http"]?.test(b))
    )
      return true;
    return (
      b === "shared" ||
      b === "server/platform" ||
      b === "server/platform/processors" ||
      (b.startsWith("server/") && other >= 0 && other < rank)
    );
  }
  if (b === "server" && a.startsWith("server/")) return to === "server/platform/config.ts";
  return arrows[a]?.test(b) ?? false;
}

/** Tables of another folder that a file writes to, without being one of those that may. */
function foreignWrites(file: string, text: string): string[] {
  const folder = floorOf(file);
  const foreign = new Set(
    [...text.matchAll(/import \{([^}]*)\} from "(?:\.\.\/)+[\w-]+\/tables\.ts"/g)].flatMap(([, names = ""]) =>
      names.match(/\w+/g),
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
const lines_max = (file: string) => (file.startsWith("tests/") ? 600 : 400);

test("the house is tidy", () => {
  const faults: string[] = [];
  for (const file of sources) {
    const text = readFileSync(file, "utf8");
    for (const [, target = ""] of text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*"(\.[^"]+)"/gm)) {
      const to = normalize(join(dirname(file), target)).replaceAll("\\", "/");
      if (!mayImport(file, to)) faults.push(`${file} may not import ${to}`);
    }
    faults.push(...misplaced(file, text));
    if (file.startsWith("server/"))
      for (const name of foreignWrites(file, text)) faults.push(`${file} writes to ${name}, which is another's`);
    const [, domain = "", room = ""] = /^server\/([^/]+)\/([^/]+)\.ts$/.exec(file) ?? [];
    if (domains.includes(domain) && !rooms.test(room) && !own_rooms[domain]?.test(room))
      faults.push(`${file} is not a room of a domain`);
    const lines = text.split("\n").length;
    if (lines > lines_max(file)) faults.push(`${file} has ${lines} lines; ${lines_max(file)} is the limit`);
  }
  expect(faults).toEqual([]);
});

test("the check saw the house, and each of its rules can fail", () => {
  expect(sources.length).toBeGreaterThan(100);
  for (const domain of domains) expect(sources.some((file) => file.startsWith(`server/${domain}/`))).toBe(true);
  expect(mayImport("server/billing/orders/service.ts", "server/checkout/checkouts/service.ts")).toBe(false);
  expect(mayImport("server/checkout/checkouts/service.ts", "server/billing/orders/service.ts")).toBe(true);
  expect(mayImport("shared/money.ts", "server/platform/clock.ts")).toBe(false);
  expect(mayImport("web/main.tsx", "server/app/app.ts")).toBe(false);
  expect(mayImport("cli/commands/login.ts", "server/app/main.ts")).toBe(false);
  expect(mayImport("server/platform/http/mount.ts", "server/catalog/products/service.ts")).toBe(false);
  expect(mayImport("server/catalog/files/routes.ts", "server/platform/http/limits.ts")).toBe(true);
  expect(mayImport("server/catalog/files/routes.ts", "server/checkout/checkouts/service.ts")).toBe(false);
  expect(mayImport("server/catalog/files/service.ts", "server/platform/http/limits.ts")).toBe(false);
  expect(mayImport("server/platform/db/page.ts", "server/catalog/products/store.ts")).toBe(false);
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
  expect(mayImport("server/catalog/discounts/store.ts", "server/catalog/products/tables.ts")).toBe(true);
  const importing = 'import { orders } from "../orders/tables.ts";\n';
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}tx.update(orders).set({})`)).toEqual([
    "orders",
  ]);
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}sql\`delete from \${orders}\``)).toEqual([
    "orders",
  ]);
  expect(foreignWrites("server/billing/payments/store.ts", `${importing}tx.select().from(orders)`)).toEqual([]);
  for (const read of Object.keys(reads)) {
    const [from = "", to = ""] = read.split(" → ");
    const name = to.replace("server/", "../");
    expect(readFileSync(from, "utf8"), `${read} is not needed any more`).toContain(`from "${name}"`);
  }
});

test("a path that the account side spells is one of its calls, or begins some", () => {
  const calls = Object.keys(accountCalls);
  const isKnown = (path: string) => calls.some((call) => call === path || call.startsWith(path.replace(/\/?$/, "/")));
  const unknown = sources
    .filter((file) => file.startsWith("server/identity/accounts/") && file !== "server/identity/accounts/calls.ts")
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(/"(\/[a-z][^"\s]*)"/g)].map(([, path = ""]) => path))
    .filter((path) => path !== account_base && !isKnown(path));
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
  expect(lock).not.toMatch(/"resolved":/);
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
  for (const page of files.filter((file) => /^(README\.md|docs\/.*\.md)$/.test(file))) {
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
