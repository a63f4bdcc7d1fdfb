import { and, eq, isNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeArchive } from "../../server/operations/archive/export.ts";
import { getSecretPlace, sealedColumns } from "../../server/operations/archive/kinds.ts";
import { deriveArchiveKey } from "../../server/operations/archive/signing.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import type { Ctx } from "../../server/platform/context.ts";
import { tryUnseal } from "../../server/platform/crypto/secrets.ts";
import { events } from "../../server/platform/db/tables.ts";
import {
  type Archive,
  activate,
  beginRestore,
  exportArchive,
  passphrase,
  restoreArchive,
  sendPart,
} from "../support/archives.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";
import { payment, rowOf } from "../support/rows.ts";

/** MOV-01 to MOV-07: an organization's data as an archive, and back from one on another server. */

let source: Floe;
let target: Floe;
let seller: Seller;
let other: Seller;
let into: Seller;
let archive: Archive;
let licenseKey: string;
beforeAll(async () => {
  source = await start();
  seller = await source.seller("ada");
  other = await source.seller("bob");
  for (const [name, make] of Object.entries(rowOf)) if (name !== "sandbox") await make(source, seller);
  await rowOf.customers(source, other);
  await subscribePaid(seller);
  await source.runJobs();
  const [key] = (await seller.client.licenseKeys.list({ query: {} })).items;
  licenseKey = key?.key ?? "";
  archive = await exportArchive(source, seller);
  const settings = {
    FLOE_SECRET: "the secret of another server, long enough",
    FLOE_TRUSTED_ARCHIVES: archive.header.key,
  };
  target = await start({ embedded: true, settings });
  target.clock.time = new Date(source.clock.time);
  into = await target.seller("ada-again");
});
afterAll(async () => {
  await source?.close();
  await target?.close();
});

/** A customer pays 9.00 a month from now on. */
async function subscribePaid({ client }: Seller): Promise<void> {
  const prices = [{ amount_type: "fixed" as const, price_amount: 900 }];
  const { id } = await client.products.create({ body: { name: "Paid", recurring_interval: "month", prices } });
  const { client_secret } = await client.checkouts.create({
    body: { products: [id], customer_email: "monthly@example.com" },
  });
  await source.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  await source.runJobs();
}

/** The rows of an archive by kind, with their secrets opened. */
async function openRows({ header, parts }: Archive): Promise<Record<string, string[]>> {
  const key = await deriveArchiveKey(passphrase, header.salt);
  const rows: Record<string, string[]> = {};
  for (const { kind, lines } of parts) {
    const opened = lines.map((line) => {
      const row = JSON.parse(line) as Record<string, unknown>;
      for (const { column, findRow } of sealedColumns[kind] ?? []) {
        if (typeof row[column] !== "string" || row[column] === "") continue;
        const place = getSecretPlace(kind, column, findRow(row, header.organization.id));
        const text = tryUnseal([key], "archive-value", place, row[column]);
        if (text === null) throw new Error(`A secret of ${kind} does not open.`);
        row[column] = `opened ${text}`;
      }
      return JSON.stringify(row);
    });
    rows[kind] = [...(rows[kind] ?? []), ...opened];
  }
  return rows;
}

const countRows = async ({ deps }: Floe, table: string): Promise<number> => {
  const found = await deps.db.select({ count: sql<number>`count(*)::int` }).from(sql`${sql.identifier(table)}`);
  return Number(found[0]?.count);
};
const refusal = ({ status, json }: { status: number; json: { error?: string; detail?: unknown } }) =>
  `${status} ${json.error}: ${typeof json.detail === "string" ? json.detail : JSON.stringify(json.detail)}`;

describe("an archive", () => {
  test("MOV-02: has no secret in the clear, and nothing of another organization", async () => {
    const { text } = archive;
    const customers = (await other.client.customers.list({ query: {} })).items;
    for (const foreign of [other.organization_id, ...customers.map(({ id }) => id)])
      expect(text).not.toContain(foreign);
    const endpoints = (await seller.client.webhooks.listEndpoints({ query: {} })).items;
    const secrets = [licenseKey, passphrase, source.deps.config.secret, ...endpoints.map(({ secret }) => secret)];
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(8);
      expect(text).not.toContain(secret);
    }
    const { license_keys, webhook_endpoints } = await openRows(archive);
    expect(license_keys?.join()).toContain(`opened ${licenseKey}`);
    for (const { secret } of endpoints) expect(webhook_endpoints?.join()).toContain(`opened ${secret}`);
    expect(source.logged.join("\n")).not.toContain(passphrase);
    const entries = await source.deps.db
      .select({ details: sql`details` })
      .from(sql`audit_log where action = 'archive.exported' and organization_id = ${seller.organization_id}`);
    expect(entries).toHaveLength(1);
  });

  test("MOV-01: is of one moment, also where the organization goes on while it is written", async () => {
    const floe = await startOnPostgres();
    const { organization_id, client, key } = await floe.seller();
    await client.customers.create({ body: { email: "before@example.com" } });
    let text = "";
    const ctx = { ...floe.deps, actor: { organization_id } } as unknown as Ctx;
    await writeArchive(ctx, organization_id, passphrase, async (piece) => {
      // The first piece is the header: no row is read yet.
      if (text === "") await client.customers.create({ body: { email: "in-between@example.com" } });
      text += piece;
    });
    expect([text.includes("before@example.com"), text.includes("in-between@example.com")]).toEqual([true, false]);
    expect((await exportArchive(floe, { key })).text).toContain("in-between@example.com");
    await floe.close();
  });

  test("MOV-04: damaged, changed, cut off or signed by nobody who is trusted, restores nothing", async () => {
    const { headerLine, end, header, parts } = archive;
    const begin = async (made: Partial<Archive>, phrase?: string) =>
      refusal(await beginRestore(target, into.key, { headerLine, end, ...made }, phrase));
    const changed = (change: object) => JSON.stringify({ ...header, ...change });
    expect(await begin({}, "not the passphrase")).toMatch(/^422 .*not the passphrase/);
    expect(await begin({ headerLine: changed({ taken_at: "2030-01-01T00:00:00.000Z" }) })).toMatch(
      /^409 .*what was signed/,
    );
    expect(await begin({ end: { ...end, parts: end.parts - 1 } })).toMatch(/^409 .*what was signed/);
    expect(await begin({ end: { ...end, rows: -1 } })).toMatch(/^422 /);
    expect(await begin({ headerLine: changed({ floe_archive: 2 }) })).toMatch(/^409 .*format 2/);
    expect(await begin({ headerLine: "{" })).toMatch(/^422 .*not JSON/);
    expect(await begin({ headerLine: changed({ path: "../../etc/passwd" }) })).toMatch(/^422 /);
    const foreign = await start({
      embedded: true,
      settings: { FLOE_SECRET: "the secret of a third server, long enough" },
    });
    const stranger = await foreign.seller("mallory");
    const theirs = await exportArchive(foreign, stranger);
    await foreign.close();
    expect(await begin(theirs)).toContain(`FLOE_TRUSTED_ARCHIVES=${theirs.header.key}`);
    expect(await begin({ ...theirs, headerLine: theirs.headerLine.replace(theirs.header.key, header.key) })).toMatch(
      /^409 .*what was signed/,
    );
    const filled = await target.seller("filled");
    await filled.client.customers.create({ body: { email: "there@example.com" } });
    expect(refusal(await beginRestore(target, filled.key, archive))).toMatch(/^409 .*not empty: it has customers/);
    await target.deps.db.execute(sql`delete from customers`);
    expect(await countRows(target, "archive_restores")).toBe(0);

    expect((await beginRestore(target, into.key, archive)).status).toBe(200);
    const [settings, first] = parts;
    if (!settings || !first) throw new Error("The archive has no parts.");
    const send = async (made: object) => refusal(await sendPart(target, into.key, { ...settings, ...made }));
    expect(await send({ lines: settings.lines.map((line) => line.replace("ada", "eve")) })).toMatch(
      /^409 .*Part 0 .*changed/,
    );
    expect(await send({ signature: first.signature })).toMatch(/^409 .*changed/);
    expect(await send({ kind: "customers" })).toMatch(/^409 .*changed/);
    expect(await send({ lines: [...settings.lines, "{}"], rows: 2 })).toMatch(/^409 .*changed/);
    expect(await send({ ...first })).toBe("409 ArchiveRefused: Part 0 is next.");
    expect(await countRows(target, "customers")).toBe(0);
  });

  test("MOV-03: needs every scope, and is restored into an empty organization of one's own alone", async () => {
    const every = source.deps.config && (await target.keyOf(into, ["organizations:read", "organizations:write"]));
    expect((await beginRestore(target, every, archive)).status).toBe(403);
    const weak = await source.keyOf(seller, ["organizations:read", "customers:read"]);
    const body = { passphrase };
    expect((await source.request("POST", "/v1/archives/export", { token: weak, body })).status).toBe(403);
    expect((await source.request("POST", "/v1/archives/export", { body })).status).toBe(401);
    const foreign = { passphrase, organization_id: other.organization_id };
    const asked = await source.request("POST", "/v1/archives/export", { token: seller.key, body: foreign });
    expect(asked.status).toBe(422);
    expect(
      (await source.request("POST", "/v1/archives/export", { token: seller.key, body: { passphrase: "short" } }))
        .status,
    ).toBe(422);
    // On the server that it comes from, both would charge its customers.
    const copy = await source.seller("copy");
    expect(refusal(await beginRestore(source, copy.key, archive))).toMatch(/^409 .*is on this server/);
    const twice = await target.seller("twice");
    expect(refusal(await beginRestore(target, twice.key, archive))).toMatch(/^409 .*already, or was/);
    const newer = await exportArchive(source, other);
    expect(refusal(await beginRestore(target, into.key, newer))).toMatch(/^409 .*Another archive/);
  });

  test("MOV-05: of which each part is restored once, in its order, by two at once and after a lost answer", async () => {
    const half = archive.parts.slice(0, Math.floor(archive.parts.length / 2));
    const answers = await Promise.all(
      half.slice(0, 1).flatMap((part) => [1, 2].map(() => sendPart(target, into.key, part))),
    );
    expect(answers.map(({ status }) => status).toSorted()[0]).toBe(200);
    for (const part of half) {
      await sendPart(target, into.key, part);
      expect((await sendPart(target, into.key, part)).json.next_part).toBe(part.index + 1);
    }
    const { json } = await beginRestore(target, into.key, archive);
    expect(json).toMatchObject({ status: "restoring", next_part: half.length });
    expect(refusal(await activate(target, into.key))).toMatch(/^409 .*not restored yet/);
    const asked = await target.request("POST", "/v1/archives/export", { token: into.key, body: { passphrase } });
    expect(asked.status).toBe(409);
  });

  test("MOV-07: of which customers are erased again who were erased at this server since", async () => {
    const third = await start({ embedded: true, settings: { FLOE_SECRET: source.deps.config.secret } });
    const owner = await third.seller("third");
    const [customer] = (await seller.client.customers.list({ query: { email: "monthly@example.com" } })).items;
    const bytes = Buffer.from(`${seller.organization_id} ${customer?.id}\n`);
    const log = { path: "erasures/log.txt", name: "log.txt", mime_type: "text/plain", size: bytes.byteLength };
    await third.deps.storage.write(log, bytes);
    await restoreArchive(third, owner.key, archive);
    const rows = await third.deps.db
      .select({ email: sql<string>`email`, anonymized_at: sql`anonymized_at` })
      .from(sql`customers where id = ${customer?.id}::uuid`);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.email).not.toBe("monthly@example.com");
    expect(rows[0]?.anonymized_at).not.toBeNull();
    await third.close();
  });

  test("MOV-01: restored on another server, and exported there, is the same, kind by kind", async () => {
    const restored = await restoreArchive(target, into.key, archive);
    expect(restored).toMatchObject({ status: "held", rows: archive.end.rows, next_part: archive.end.parts });
    const again = await exportArchive(target, into);
    const [before, after] = [await openRows(archive), await openRows(again)];
    expect(Object.keys(after)).toEqual(Object.keys(before));
    for (const [kind, rows] of Object.entries(before)) expect({ kind, rows: after[kind] }).toEqual({ kind, rows });
    const verify = ({ deps }: Floe, { organization_id }: Seller) =>
      verifyOrganization(deps.db, {
        ...{ organization_id, kept_since: null, statementMs: 10_000 },
        rest: async () => undefined,
      });
    const range = { start_date: "2026-01-01", end_date: "2026-12-31", interval: "month" as const };
    const [sums, original] = await Promise.all(
      [into, seller].map(async ({ client }) => (await client.metrics.get({ query: range as never })).totals),
    );
    expect(sums).toEqual(original);
    // Deliveries stay where they were made.
    const isMoved = ({ table }: { table: string }) => table !== "webhook_events";
    expect((await verify(target, into)).filter(isMoved)).toEqual((await verify(source, seller)).filter(isMoved));
  });
});

describe("a restored organization", () => {
  const moneyTables = ["payments", "mails", "webhook_events", "events", "orders"];
  test("MOV-05: charges, mails and sends nothing, sells nothing and takes no change until it is activated", async () => {
    const checkouts = (await seller.client.checkouts.list({ query: { status: ["open"], limit: 100 } })).items;
    const secret = checkouts.at(-1)?.client_secret ?? "";
    const confirmed = await target.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body: payment });
    expect(refusal(confirmed as never)).toMatch(/^403 .*cannot sell/);
    const before = await Promise.all(moneyTables.map((table) => countRows(target, table)));
    // What the source has told already is told by nobody again, whatever endpoints there are later.
    const { organization_id } = into;
    const untold = and(eq(events.organization_id, organization_id), isNull(events.dispatched_at));
    expect(await target.deps.db.$count(events, eq(events.organization_id, organization_id))).toBeGreaterThan(5);
    expect(await target.deps.db.$count(events, untold)).toBe(0);
    target.clock.advance(3 * 24 * 60 * 60 * 1000);
    await target.runJobs();
    expect(await Promise.all(moneyTables.map((table) => countRows(target, table)))).toEqual(before);
    expect((await into.client.customers.list({ query: {} })).items.length).toBeGreaterThan(0);
    const create = await target.request("POST", "/v1/customers/", {
      token: into.key,
      body: { email: "new@example.com" },
    });
    expect(refusal(create as never)).toMatch(/^409 OrganizationHeld/);
    const byPerson = await target.request("POST", "/v1/customers/", {
      token: into.session,
      body: { email: "new@example.com", organization_id: into.organization_id },
    });
    expect(byPerson.status).toBe(409);
    const [link] = (await into.client.checkoutLinks.list({ query: {} })).items;
    const opened = await target.request("GET", new URL(link?.url ?? "").pathname);
    expect(opened.text).not.toMatch(/checkout\/polar_c/);
    expect(opened.status).toBeGreaterThanOrEqual(400);
  });

  test("MOV-06: asks before it charges what fell due since the export, and charges a period once", async () => {
    const monthMs = 32 * 24 * 60 * 60 * 1000;
    target.clock.advance(monthMs);
    await target.runJobs();
    const { json } = await target.request("GET", "/v1/archives/restore", { token: into.key });
    expect((json as { overdue_subscriptions: number }).overdue_subscriptions).toBeGreaterThan(0);
    expect(refusal(await activate(target, into.key))).toMatch(/^409 .*fell due since the export/);
    const paid = async () =>
      (await into.client.orders.list({ query: { limit: 100 } })).items.filter(({ product }) => product?.name === "Paid")
        .length;
    expect(await paid()).toBe(1);
    expect((await activate(target, into.key, { charge_overdue: true })).json.status).toBe("active");
    await target.runJobs();
    await target.runJobs();
    expect(await paid()).toBe(2);
    expect((await activate(target, into.key)).json.status).toBe("active");
    target.clock.advance(monthMs);
    await target.runJobs();
    expect(await paid()).toBe(3);
  });

  test("MOV-07: works as before: its license keys are valid, its files are there, its endpoints are off", async () => {
    const [held, original] = await Promise.all(
      [into, seller].map(async ({ client }) => (await client.licenseKeys.list({ query: { limit: 100 } })).items),
    );
    expect(held?.map(({ id, key }) => [id, key])).toEqual(original?.map(({ id, key }) => [id, key]));
    const granted = held?.find(({ status }) => status === "granted");
    const body = { key: granted?.key, organization_id: into.organization_id };
    const validated = await target.request("POST", "/v1/customer-portal/license-keys/validate", { body });
    expect(validated.status).toBe(200);
    const endpoints = (await into.client.webhooks.listEndpoints({ query: {} })).items;
    expect(new Set(endpoints.map(({ enabled }) => enabled))).toEqual(new Set([false]));
    const originals = (await seller.client.webhooks.listEndpoints({ query: {} })).items;
    expect(endpoints.map(({ secret }) => secret).toSorted()).toEqual(originals.map(({ secret }) => secret).toSorted());
    const [file] = (await into.client.files.list({ query: {} })).items;
    const stored = await target.deps.storage.read(file?.path ?? "");
    expect(stored).toBeDefined();
    expect(file?.path).toContain(into.organization_id);
  });
});
