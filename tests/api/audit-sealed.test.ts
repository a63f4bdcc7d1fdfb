/** AUD-05: owners read the sealed audit log of their organization over the API, and verify it themselves. */
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { verifyAuditLines } from "../../server/app/operator-audit.ts";
import { member } from "../../server/identity/accounts/tables.ts";
import type { AuditLine } from "../../server/operations/audit/rules.ts";
import { sealNewEntries } from "../../server/operations/audit/store.ts";
import { auditSealed, auditSeals } from "../../server/operations/audit/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ databaseUrl: await createPostgresDatabase() });
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
});

const change = () => seller.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
const seal = () => sealNewEntries(floe.deps, floe.clock.now(), 1000);
const read = (query: Record<string, string>, token = seller.session) =>
  floe.request("GET", `/api/auth/audit/sealed?${new URLSearchParams(query)}`, { token });
async function* readAll(after = 0): AsyncGenerator<AuditLine> {
  const { json } = await read({ organizationId: seller.organization_id, after: String(after) });
  const page = json as { lines: AuditLine[]; next: number | null };
  yield* page.lines;
  if (page.next !== null) yield* readAll(page.next);
}

test("an owner reads every seal behind its entries, in pages, and finds the log as it was sealed", async () => {
  for (let round = 0; round < 3; round += 1) {
    await change();
    await seal();
  }
  const { chains, faultCount } = await verifyAuditLines(readAll(), []);
  expect([faultCount, chains.length, chains[0]?.chain]).toEqual([0, 1, seller.organization_id]);
  expect(chains[0]?.entries).toBe(
    await floe.deps.db.$count(auditLog, eq(auditLog.organization_id, seller.organization_id)),
  );
  // The hash of the last seal is still there later, and one that is not is missed.
  const head = chains[0]?.head ?? "";
  await change();
  await seal();
  expect((await verifyAuditLines(readAll(), [head])).faultCount).toBe(0);
  expect((await verifyAuditLines(readAll(), ["0".repeat(64)])).faultCount).toBe(1);
  const lines: AuditLine[] = [];
  for await (const line of readAll()) lines.push(line);
  const numbers = lines.flatMap((line) => (line.kind === "seal" ? line.number : []));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
});

test("an entry that the operator changes is found by the owner", async () => {
  await change();
  await seal();
  const { db } = floe.deps;
  await db.execute(sql`alter table audit_log disable trigger all`);
  await db
    .update(auditLog)
    .set({ action: "product.deleted" })
    .where(eq(auditLog.organization_id, seller.organization_id));
  await db.execute(sql`alter table audit_log enable trigger all`);
  const { faults } = await verifyAuditLines(readAll(), []);
  expect(faults.map(({ fault }) => fault)).toContain("the entry was changed");
});

test("an answer has at most a hundred seals, and ends with the one that reaches 500 entries", async () => {
  const { db } = floe.deps;
  const chain = seller.organization_id;
  const at = floe.clock.now();
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";
  const makeSeal = (number: number, entries: number) => ({
    ...{ chain, number, entries, previous_hash: "", first_id: id, last_id: id, entries_hash: "", hash: String(number) },
    ...{ sealed_at: at, removed_at: at },
  });
  await db.delete(auditSeals).where(eq(auditSeals.chain, chain));
  await db.delete(auditSealed).where(eq(auditSealed.chain, chain));
  await db.insert(auditSeals).values(Array.from({ length: 150 }, (_, index) => makeSeal(index + 1, 1)));
  await db.insert(auditSeals).values([151, 152, 153].map((number) => makeSeal(number, 400)));
  const readNumbers = async (after: number) => {
    const { lines, next } = (await read({ organizationId: chain, after: String(after) })).json as {
      lines: AuditLine[];
      next: number | null;
    };
    return [lines[0]?.kind === "seal" && lines[0].number, lines.length, next];
  };
  expect(await readNumbers(0)).toEqual([1, 100, 100]);
  expect(await readNumbers(100)).toEqual([101, 52, 152]);
  expect(await readNumbers(152)).toEqual([153, 1, null]);
  expect(await readNumbers(153)).toEqual([false, 0, null]);
});

test("nobody else reads it: strangers, other sellers, members without the right, and keys", async () => {
  const organizationId = seller.organization_id;
  const other = await floe.seller("other");
  expect((await floe.request("GET", `/api/auth/audit/sealed?organizationId=${organizationId}`)).status).toBe(401);
  expect((await read({ organizationId }, other.session)).status).toBe(404);
  expect((await read({ organizationId: "accounts" })).status).toBe(404);
  expect((await read({ organizationId }, seller.key)).status).toBe(401);
  const row = { id: `m-${other.user_id}`, organizationId, userId: other.user_id, createdAt: floe.clock.now() };
  await floe.deps.db.insert(member).values({ ...row, role: "admin" });
  expect((await read({ organizationId }, other.session)).status).toBe(403);
});

test.each(["-1", "1.5", "x", "99999999999", "%00"])("after=%s is refused", async (after) => {
  expect((await read({ organizationId: seller.organization_id, after })).status).toBe(400);
});
