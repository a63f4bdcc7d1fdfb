/** The seals of the audit log: what was changed or taken away is found, with the database or with an export alone. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { verifyAudit, verifyAuditFile } from "../../server/app/operator-audit.ts";
import { type AuditLine, accountsChain, canonicalize, createVerifier } from "../../server/operations/audit/rules.ts";
import { readSealed, removeOldEntries, sealNewEntries } from "../../server/operations/audit/store.ts";
import { auditSeals } from "../../server/operations/audit/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { record } from "../../server/platform/events/audit.ts";
import { describeCommandAnswer } from "../../shared/command-answers/index.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe;
let seller: Seller;
let url: string;
const folder = mkdtempSync(join(tmpdir(), "floe-audit-"));
beforeAll(async () => {
  url = await createPostgresDatabase();
  floe = await start({ databaseUrl: url });
});
afterAll(async () => {
  await floe.close();
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  seller = await floe.seller();
});

const change = (name = "Book") => seller.client.products.create({ body: { name, prices: [{ amount_type: "free" }] } });
const seal = (limit = 10_000) => sealNewEntries(floe.deps, floe.clock.now(), limit);
async function readLines(chain?: string): Promise<AuditLine[]> {
  const lines: AuditLine[] = [];
  for await (const line of readSealed(floe.deps.db, { chain, since: undefined })) lines.push(line);
  return lines;
}
function verify(lines: readonly AuditLine[], heads: string[] = []) {
  const verifier = createVerifier(heads);
  for (const line of lines) verifier.check(line);
  return verifier.finish();
}
const writeExport = (lines: readonly unknown[]): string => {
  const file = join(folder, `${Math.random()}.ndjson`);
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  return file;
};
/** A chain of three seals of this seller. */
async function sealThree(): Promise<AuditLine[]> {
  for (let round = 0; round < 3; round += 1) {
    for (const name of ["One", "Two", "Three"]) await change(name);
    await seal();
  }
  return readLines(seller.organization_id);
}

test("AUD-01: entries are sealed once, with the request that wrote them, and an export verifies without the database", async () => {
  await floe.request("POST", "/v1/products/", {
    token: seller.key,
    body: { name: "Book", prices: [{ amount_type: "free" }] },
    headers: { "x-request-id": "shop-7f3a-0001" },
  });
  expect(await seal()).toBeGreaterThan(0);
  expect(await seal()).toBe(0);
  const lines = await readLines();
  const ours = lines.filter((line) => line.chain === seller.organization_id);
  const entries = ours.flatMap((line) => (line.kind === "entry" ? [line.entry] : []));
  expect(entries.find(({ action }) => action === "product.created")).toMatchObject({ request_id: "shop-7f3a-0001" });
  expect(new Set(lines.map(({ chain }) => chain))).toContain(accountsChain);
  const check = new Ajv2020({ strict: false, validateFormats: false }).compile(
    describeCommandAnswer("audit export") as object,
  );
  expect(lines.filter((line) => !check(JSON.parse(JSON.stringify(line))))).toEqual([]);
  expect([check({ ...lines[0], extra: 1 }), check({ kind: "seal" })]).toEqual([false, false]);
  const report = await verifyAuditFile(writeExport(lines), []);
  expect(report.faults).toEqual([]);
  expect(report.chains.find(({ chain }) => chain === seller.organization_id)).toMatchObject({
    first: 1,
    last: 1,
    entries: entries.length,
  });
  expect(
    (
      await verifyAudit(
        { DATABASE_URL: url },
        undefined,
        report.chains.map(({ head }) => head),
      )
    ).faults,
  ).toEqual([]);
});

test("AUD-01: a hundred changes at once, and two processes that seal, make one chain without a gap", async () => {
  const changes = Array.from({ length: 100 }, (_, at) => change(`Book ${at}`));
  const seals = Array.from({ length: 20 }, () => seal(7));
  await Promise.all([...changes, ...seals]);
  await Promise.all(Array.from({ length: 10 }, () => seal(7)));
  while ((await seal(50)) > 0);
  const report = verify(await readLines(seller.organization_id));
  expect(report.faults).toEqual([]);
  const count = await floe.deps.db.$count(auditLog, eq(auditLog.organization_id, seller.organization_id));
  expect(report.chains[0]?.entries).toBe(count);
  expect(count).toBeGreaterThanOrEqual(100);
}, 60_000);

test("AUD-01: an entry that commits after younger ones were sealed is sealed next, and no change waits for a seal", async () => {
  const entry = {
    action: "product.late",
    actor: { kind: "system", user_id: null, key_id: null } as const,
    subject: null,
    ...{ organization_id: seller.organization_id, ip_address: null, user_agent: null },
  };
  const held = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const late = floe.deps.db.transaction(async (tx) => {
    await record(tx, floe.deps, entry);
    begun.resolve();
    await held.promise;
  });
  await begun.promise;
  await change();
  await seal();
  const before = verify(await readLines(seller.organization_id));
  held.resolve();
  await late;
  expect(await seal()).toBe(1);
  const after = verify(
    await readLines(seller.organization_id),
    before.chains.map(({ head }) => head),
  );
  expect(after.faults).toEqual([]);
  expect(after.chains[0]?.entries).toBe((before.chains[0]?.entries ?? 0) + 1);
  // While a process seals, a change commits.
  await floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(4459)`);
    await tx.execute(sql`select * from audit_seals for update`);
    await change("During");
  });
  await expect(transact(floe.deps, (tx) => record(tx, floe.deps, entry))).resolves.toBeUndefined();
});

const tampering: [string, string, RegExp][] = [
  [
    "an entry is changed",
    "update audit_log set action = 'nothing.done' where id = (select entry_id from audit_sealed where $ and number = 2 limit 1)",
    /was changed/,
  ],
  [
    "an entry is changed, and its hash made up",
    "update audit_sealed set hash = repeat('a', 64) where $ and number = 2",
    /was changed|not the 3/,
  ],
  [
    "an address is taken out",
    "update audit_log set ip_address = '203.0.113.1' where id = (select entry_id from audit_sealed where $ and number = 1 limit 1)",
    /was changed/,
  ],
  [
    "an entry is deleted",
    "delete from audit_log where id = (select entry_id from audit_sealed where $ and number = 3 limit 1)",
    /2 entries are not the 3/,
  ],
  [
    "an entry and what covers it are deleted",
    "with gone as (delete from audit_sealed where $ and number = 2 returning entry_id) delete from audit_log using gone where id = entry_id",
    /0 entries are not the 3/,
  ],
  ["a seal is deleted", "delete from audit_seals where $ and number = 2", /have no seal|are missing/],
  ["a seal is changed", "update audit_seals set entries = 2 where $ and number = 2", /was changed/],
  [
    "a seal is made for another slice",
    "update audit_seals set previous_hash = repeat('b', 64) where $ and number = 2",
    /does not follow/,
  ],
  [
    "an entry is moved to another slice",
    "update audit_sealed set number = 3 where entry_id = (select entry_id from audit_sealed where $ and number = 1 limit 1)",
    /not the 3/,
  ],
  [
    "the end of the chain is taken away",
    "with gone as (delete from audit_sealed where $ and number = 3 returning entry_id), seals as (delete from audit_seals where $ and number = 3) delete from audit_log using gone where id = entry_id",
    /the end of a chain was taken away/,
  ],
  [
    "entries are said to be removed by age, and others put there",
    "update audit_seals set removed_at = now(), entries_hash = repeat('c', 64) where $ and number = 2",
    /was changed/,
  ],
];
test.each(tampering)("AUD-02: %s by hand, past the triggers: verification finds it", async (_, statement, expected) => {
  const lines = await sealThree();
  const { chains } = verify(lines);
  const own = statement.replaceAll("$", `chain = '${seller.organization_id}'`);
  await floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql.raw(own));
  });
  const report = await verifyAudit(
    { DATABASE_URL: url },
    seller.organization_id,
    chains.map(({ head }) => head),
  );
  expect(report.faults.map(({ fault }) => fault).join("; ")).toMatch(expected);
});

test("AUD-02: lines of an export that are changed, left out, doubled or in another order are found", async () => {
  const lines = await sealThree();
  const [first, second, ...others] = lines;
  if (!first || !second) throw new Error("Nothing was sealed.");
  const isSeal = (line: AuditLine) => line.kind === "seal";
  const changed: AuditLine[][] = [
    [second, ...others],
    [second, first, ...others],
    [first, first, second, ...others],
    lines.filter((line) => !(line.kind === "seal" && line.number === 2)),
    lines.filter(({ number }) => number !== 2),
    lines.toSorted((a, b) => b.number - a.number),
    lines.map((line) => (line.kind === "entry" ? { ...line, entry: { ...line.entry, user_id: "other" } } : line)),
    [...lines, ...lines.filter(isSeal).slice(-1)],
    lines.slice(0, -1),
  ];
  for (const one of changed) expect(verify(one).faultCount).toBeGreaterThan(0);
  expect(verify(lines).faultCount).toBe(0);
  // An export that begins later is whole in itself.
  expect(verify(lines.filter(({ number }) => number > 1)).faultCount).toBe(0);
  await expect(verifyAuditFile(writeExport([first, { any: "thing" }]), [])).rejects.toThrow("Line 2");
});

test("AUD-02: an organization that is deleted leaves its chain, and an entry that nobody seals is found", async () => {
  await sealThree();
  await floe.deps.db.execute(sql`delete from organization where id = ${seller.organization_id}`);
  const report = await verifyAudit({ DATABASE_URL: url }, seller.organization_id, []);
  expect(report.faults).toEqual([]);
  expect(report.chains[0]?.last).toBe(3);
  const hourAgo = new Date(Date.now() - 2 * 3_600_000);
  const stale = { ...floe.deps, clock: { now: () => hourAgo } };
  await record(floe.deps.db, stale, {
    action: "x.y",
    actor: { kind: "system", user_id: null, key_id: null },
    subject: null,
    ...{ organization_id: null, ip_address: null, user_agent: null },
  });
  expect((await verifyAudit({ DATABASE_URL: url }, accountsChain, [])).faults).toEqual([
    expect.objectContaining({ fault: "the entry has had no seal for an hour" }),
  ]);
  await seal();
});

test("AUD-03: old entries are removed, and the rest of the chain verifies; entries whose seal is kept stay", async () => {
  await sealThree();
  floe.clock.advance(60_000);
  const border = floe.clock.now();
  floe.clock.advance(60_000);
  await change("Later");
  await seal();
  const { db } = floe.deps;
  const later = verify(await readLines(seller.organization_id)).chains[0];
  await expect(
    db.execute(sql`delete from audit_log where organization_id = ${seller.organization_id}`),
  ).rejects.toThrow();
  await expect(db.execute(sql`delete from audit_sealed where chain = ${seller.organization_id}`)).rejects.toThrow();
  await expect(db.execute(sql`update audit_seals set hash = ''`)).rejects.toThrow();
  await expect(db.execute(sql`truncate audit_seals`)).rejects.toThrow();
  expect(await removeOldEntries(floe.deps, border, floe.clock.now())).toBeGreaterThanOrEqual(9);
  const report = await verifyAudit({ DATABASE_URL: url }, seller.organization_id, [later?.head ?? ""]);
  expect(report.faults).toEqual([]);
  expect(report.chains[0]).toMatchObject({ first: 1, last: 4, removed: 3, entries: 1, head: later?.head });
  // What was removed cannot be said to be there again.
  await expect(db.update(auditSeals).set({ removed_at: null })).rejects.toThrow();
});

test.each([
  [{ b: 1, a: [2, { d: null, c: "é" }] }, '{"a":[2,{"c":"é","d":null}],"b":1}'],
  [{ a: undefined, b: false }, '{"b":false}'],
  ['a"b', '"a\\"b"'],
  [null, "null"],
])("AUD-01: the same value is always the same text: %j", (value, text) => {
  expect(canonicalize(value)).toBe(text);
});
