import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeText, parseCsv } from "../../cli/csv/parse.ts";
import { planCustomers } from "../../cli/customers/rows.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

/** `floe customers import`: what is sent, what a second run does, and every fault with its line. */

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key };
});
afterAll(() => server.close());

let files = 0;
const write = (content: string | Uint8Array): string => {
  const path = join(folder(), `customers-${files++}.csv`);
  writeFileSync(path, content);
  return path;
};
const run = async (content: string, ...more: string[]) => {
  const { code, out, err } = await floe(["customers", "import", write(content), ...more], { env });
  return { code, err, report: out ? JSON.parse(out) : undefined };
};
const counts = (report: { rejected: unknown[]; different: unknown[] } & Record<string, unknown>) => ({
  ...report,
  rejected: report.rejected.length,
  different: report.different.length,
});
const countCustomers = async () => (await seller.client.customers.list({ query: {} })).pagination.total_count;
const find = async (email: string) => (await seller.client.customers.list({ query: { email } })).items[0];

describe("the file", () => {
  const list = (text: string) => planCustomers(text).faults.map(({ line, column, message }) => [line, column, message]);
  test("has quotes, line breaks in cells, semicolons, a byte order mark and blank lines", () => {
    const text =
      '\ufeffemail;name\r\n"ada@example.com";"Ada ""L"";\nof Paris"\r\n\r\nbob@example.com;\r\nc@example.com;Cy';
    expect(parseCsv(decodeText(new TextEncoder().encode(text)))).toEqual([
      { line: 1, cells: ["email", "name"] },
      { line: 2, cells: ["ada@example.com", 'Ada "L";\nof Paris'] },
      { line: 5, cells: ["bob@example.com", ""] },
      { line: 6, cells: ["c@example.com", "Cy"] },
    ]);
    expect(parseCsv("a,b\n1,")).toEqual([
      { line: 1, cells: ["a", "b"] },
      { line: 2, cells: ["1", ""] },
    ]);
  });

  test.each([
    ['email\n"a@example.com', 2, "a quote is not closed"],
    ['email\na@example.com\nb"c', 3, "a quote stands inside a cell that is not quoted"],
    ['email\n"a"b', 2, "text follows the end of a quoted cell"],
  ])("%j is no CSV at line %i", (text, line, message) => {
    expect(() => parseCsv(text)).toThrow(expect.objectContaining({ line, message }));
  });

  test("is read as UTF-8 without NUL, or refused", () => {
    expect(() => decodeText(Buffer.from("email\nJos\xe9", "latin1"))).toThrow(/UTF-8/);
    expect(() => decodeText(Buffer.from("email\n\0"))).toThrow(expect.objectContaining({ line: 2 }));
  });

  test("has every fault named by its line and column", () => {
    expect(list("")).toEqual([[1, "email", "the file is empty"]]);
    expect(list("name,nmae,name\nx")).toEqual([
      [1, "nmae", "is no column of customers"],
      [1, "name", "stands twice"],
      [1, "email", "is missing"],
    ]);
    const rows = "email,external_id,city,type\n,1,,\nA@example.com,2,,\na@example.com,2,Paris,\n,,,team\na,b,c,d,e";
    expect(list(rows)).toEqual([
      [2, "email", "is empty"],
      [4, "country", "is needed with an address"],
      [4, "email", "stands in line 3 too"],
      [4, "external_id", "stands in line 3 too"],
      [6, "", "has more cells than the header (4)"],
      [6, "country", "is needed with an address"],
    ]);
  });
});

test("rows become customers with address, tax number and metadata; a second run changes nothing", async () => {
  const file = [
    "email,name,external_id,country,city,tax_id,metadata.plan",
    'Eva@example.com,"Eva, of Graz",eva-1,AT,Graz,ATU12345675,gold',
    "=cmd@example.com,=1+1,,,,,",
  ].join("\n");
  const before = await countCustomers();
  const first = await run(file);
  expect([first.code, counts(first.report)]).toEqual([
    0,
    { rows: 2, created: 2, updated: 0, unchanged: 0, different: 0, rejected: 0 },
  ]);
  expect(await find("eva@example.com")).toMatchObject({
    name: "Eva, of Graz",
    external_id: "eva-1",
    billing_address: { country: "AT", city: "Graz" },
    metadata: { plan: "gold" },
  });
  const again = await run(file);
  expect([again.code, counts(again.report)]).toEqual([
    0,
    { rows: 2, created: 0, updated: 0, unchanged: 2, different: 0, rejected: 0 },
  ]);
  expect(await countCustomers()).toBe(before + 2);
});

test("an export of customers is read as it is: the same store has nothing to change, another one gets all", async () => {
  const address = { country: "FR" as const, line1: "1 rue du Lac", city: "Lyon", postal_code: "69001" };
  const metadata = { plan: "gold", seats: 3, is_vip: true };
  const body = { email: "export@example.com", name: "Eve", external_id: "eve-1", billing_address: address, metadata };
  await seller.client.customers.create({ body });
  const exported = (await floe(["customers", "export"], { env })).out;
  expect(exported).toMatch(/^ID,External ID,/);
  const again = await run(exported);
  expect([again.code, counts(again.report)]).toMatchObject([0, { created: 0, different: 0, rejected: 0 }]);
  const other = await server.seller();
  const there = { FLOE_SERVER: server.url, FLOE_API_KEY: other.key };
  expect((await floe(["customers", "import", write(exported)], { env: there })).code).toBe(0);
  expect((await other.client.customers.list({ query: { email: body.email } })).items[0]).toMatchObject(body);
});

test("metadata of an export that is no JSON object is a fault of its line", () => {
  const text = 'Email,Metadata\na@example.com,"{""a"":1}"\nb@example.com,[1]\nc@example.com,{';
  expect(planCustomers(text).faults.map(({ line, column }) => [line, column])).toEqual([
    [3, "metadata"],
    [4, "metadata"],
  ]);
});

test("a customer who differs is named, and changed only with --update, which keeps other metadata", async () => {
  await seller.client.customers.create({
    body: { email: "kim@example.com", name: "Kim", metadata: { tier: "1", kept: "yes" } },
  });
  const file = "email,name,metadata.tier\nkim@example.com,Kim L.,2\n";
  const refused = await run(file);
  expect([refused.code, refused.report.different]).toEqual([
    7,
    [{ line: 2, email: "kim@example.com", fields: ["name", "metadata.tier"] }],
  ]);
  expect(await find("kim@example.com")).toMatchObject({ name: "Kim", metadata: { tier: "1" } });
  expect(await run(file, "--update")).toMatchObject({ code: 0, report: { updated: 1, different: [] } });
  expect(await find("kim@example.com")).toMatchObject({ name: "Kim L.", metadata: { tier: "2", kept: "yes" } });
});

test("what the server refuses is told by line, column and value, and the other rows are there", async () => {
  const { code, report } = await run(
    "email,country,type\nnot an address,,\nlea@example.com,FR,\nmax@example.com,XX,\nteam@example.com,,robot\n",
  );
  expect([code, report.created]).toEqual([7, 1]);
  expect(
    report.rejected.map(({ line, column, value }: Record<string, unknown>) => [line, column, value]).sort(),
  ).toEqual([
    [2, "email", "not an address"],
    [4, "country", "XX"],
    [5, "type", "robot"],
  ]);
});

test("a file with faults sends nothing, and neither does --dry-run", async () => {
  const before = await countCustomers();
  const wrong = await run("email,name\nnew@example.com,A\nnew@example.com,B\n");
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("stands in line 2 too")]);
  const dry = await run("email\nnew@example.com\n", "--dry-run");
  expect([dry.code, dry.report.created]).toEqual([0, 0]);
  expect((await floe(["customers", "import", join(folder(), "none.csv")], { env })).code).toBe(64);
  expect(await countCustomers()).toBe(before);
});

test("300 rows, whose server goes away in the middle, are there once after the second run", async () => {
  const path = write(
    `email,name\n${Array.from({ length: 300 }, (_, i) => `row${i}@example.com,Row ${i}`).join("\n")}\n`,
  );
  const before = await countCustomers();
  let left = 100;
  const line = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", async () => {
      left -= 1;
      if (left < 0) {
        outgoing.writeHead(503, { "retry-after": "100" }).end();
        return;
      }
      const { method = "GET", url = "/", headers } = incoming;
      const body = chunks.length > 0 ? Buffer.concat(chunks).toString() : undefined;
      const answer = await fetch(server.url + url, {
        method,
        headers: { authorization: String(headers.authorization), "content-type": "application/json" },
        ...(body && { body }),
      });
      outgoing.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => void line.listen(0, "127.0.0.1", resolve));
  const away = { ...env, FLOE_SERVER: `http://127.0.0.1:${(line.address() as AddressInfo).port}` };
  const cut = await floe(["customers", "import", path], { env: away });
  line.closeAllConnections();
  line.close();
  expect([cut.code, cut.err]).toEqual([9, expect.stringContaining("Run the same command again: it goes on.")]);
  expect(await countCustomers()).toBe(before + 100);
  const rest = await floe(["customers", "import", path], { env });
  expect([rest.code, counts(JSON.parse(rest.out))]).toEqual([
    0,
    { rows: 300, created: 200, updated: 0, unchanged: 100, different: 0, rejected: 0 },
  ]);
  expect(rest.err).toMatch(/100 % of 300 rows\n/);
  expect(await countCustomers()).toBe(before + 300);
});
