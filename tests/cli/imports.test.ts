import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileNames, formatTemplate, readImportFile } from "../../cli/imports/files.ts";
import { type ImportKind, importKinds } from "../../shared/api/imports.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

/** `floe import`: the files of a shop, every fault of them by file, line and column, and the steps until it is billed here. */

let server: Floe;
beforeAll(async () => {
  server = await start({ listen: true });
  server.clock.time = new Date("2026-03-20T12:00:00Z");
});
afterAll(() => server?.close());

const envOf = (seller: Seller) => ({ FLOE_SERVER: server.url, FLOE_API_KEY: seller.key });
const texts = {
  product: "id,name,price,currency,interval\npro,Pro,24.50,eur,month\npro,Pro,26.00,usd,month\n",
  customer: "id,email,name,country\nc1,ada@example.com,Ada,DE\nc2,bob@example.com,Bob,\n",
  subscription:
    "id,customer,product,status,price,currency,started_at,current_period_start,current_period_end\n" +
    "s1,c1,pro,active,24.50,eur,2026-01-15,2026-03-15,2026-04-15\n" +
    "s2,c2,pro,past_due,24.50,eur,2026-01-15,2026-03-15,2026-04-15T10:00:00+02:00\n",
};
let shops = 0;
function writeShop(files: Partial<Record<ImportKind, string | Uint8Array>>): string {
  const place = join(folder(), `shop-${shops++}`);
  mkdirSync(place);
  for (const [kind, content] of Object.entries(files))
    writeFileSync(join(place, fileNames[kind as ImportKind]), content);
  return place;
}
const listFaults = (kind: ImportKind, content: string | Uint8Array) =>
  readImportFile(kind, typeof content === "string" ? new TextEncoder().encode(content) : content).faults.map(
    ({ file, line, column, message }) => `${file} ${line} ${column}: ${message}`,
  );

describe("the files", () => {
  test("MOV-09: have examples that are right, and a byte order mark, quotes and semicolons if they like", () => {
    for (const kind of importKinds) expect(listFaults(kind, formatTemplate(kind))).toEqual([]);
    expect(listFaults("customer", '\ufeffid;email;name\r\nc1;a@example.com;"=1+1;\n""x"""\r\n')).toEqual([]);
    const file = readImportFile(
      "product",
      new TextEncoder().encode("id,name,price,currency,interval\nyen,Yen,500,jpy,month"),
    );
    expect(file.rows[0]?.row).toMatchObject({ prices: [{ amount: 500, currency: "jpy" }] });
    const { rows, unknown } = readImportFile(
      "customer",
      new TextEncoder().encode("id,email,metadata.plan,note\nc1,a@b.co,x,y"),
    );
    expect([rows[0]?.row, unknown]).toMatchObject([{ metadata: { plan: "x" } }, ["note"]]);
  });

  const subscription = (more: string) => `${texts.subscription.split("\n")[0]}\n${more}\n`;
  test.each<[ImportKind, string | Uint8Array, string]>([
    ["customer", "", "customers.csv 1 id: the file is empty"],
    ["customer", "email\na@example.com", "customers.csv 1 id: is missing"],
    ["customer", "id,email,email\n1,a@b.co,a@b.co", "customers.csv 1 email: stands twice"],
    ["customer", "id,email\n1,a@b.co\n1,c@b.co", "customers.csv 3 id: stands in line 2 too"],
    ["customer", "id,email\n1,", "customers.csv 2 email: is empty"],
    ["customer", "id,email\n1,a@b.co,x", "customers.csv 2 : has more cells than the header (2)"],
    ["customer", 'id,email\n1,"a@b.co', "customers.csv 2 : a quote is not closed"],
    ["customer", "id,email,city\n1,a@b.co,Berlin", "customers.csv 2 country: is needed with an address"],
    ["customer", Uint8Array.of(105, 100, 44, 0xe9), "customers.csv 1 : the file is not UTF-8: save it as CSV UTF-8"],
    ["customer", "id,email\n1,a\0b", "customers.csv 2 : the file contains a NUL character"],
    [
      "product",
      "id,name,price,currency,interval\n1,Pro,12.345,usd,month",
      "products.csv 2 price: usd has 2 decimals at most.",
    ],
    [
      "product",
      "id,name,price,currency,interval\n1,Pro,5.5,jpy,month",
      "products.csv 2 price: jpy has no decimals: write 5.",
    ],
    [
      "product",
      "id,name,price,currency,interval\n1,Pro,-5.00,usd,month",
      'products.csv 2 price: "-5.00" is not an amount: write 25.00.',
    ],
    [
      "product",
      "id,name,price,currency,interval\n1,Pro,5.00,xyz,month",
      "products.csv 2 currency: is no currency of floe",
    ],
    [
      "subscription",
      subscription("s,c,p,active,5.00,usd,03/04/2026,2026-03-15,2026-04-15"),
      "subscriptions.csv 2 started_at: is no time: write 2026-03-01 or 2026-03-01T12:00:00Z",
    ],
    [
      "subscription",
      subscription("s,c,p,active,5.00,usd,2026-02-30,2026-03-15,2026-04-15"),
      "subscriptions.csv 2 started_at: is no time: write 2026-03-01 or 2026-03-01T12:00:00Z",
    ],
    [
      "subscription",
      subscription("s,c,p,active,5.00,usd,2026-02-20,2026-03-15,2026-04-15T10:00:00"),
      "subscriptions.csv 2 current_period_end: is no time: write 2026-03-01 or 2026-03-01T12:00:00Z",
    ],
    [
      "product",
      "id,name,price,currency,interval\n1,Pro,5.00,usd,month\n1,Max,5.00,eur,month",
      "products.csv 3 id: is another product than in line 2",
    ],
  ])("MOV-09: a fault of %s is named by its line and column: %j", (kind, content, fault) => {
    expect(listFaults(kind, content)).toEqual([fault]);
  });

  test("MOV-09: what the server refuses is named by the file's line and column, too, and nothing is created", async () => {
    const seller = await server.seller("refused");
    const place = writeShop({
      ...texts,
      product: `${texts.product}bad,Bad,24.50,eur,fortnight\n`,
      customer: `${texts.customer}c3,nobody,Nobody,\n`,
      subscription: `${texts.subscription}s3,c1,pro,sleeping,24.50,eur,2026-01-15,2026-03-15,2026-04-15\n`,
    });
    const { code, err } = await floe(["import", "csv", place], { env: envOf(seller) });
    expect(code).toBe(1);
    expect(err).toContain('products.csv, line 4, interval "fortnight"');
    expect(err).toContain('customers.csv, line 4, email "nobody"');
    expect(err).toContain('subscriptions.csv, line 4, status "sleeping"');
    expect((await seller.client.customers.list({ query: {} })).pagination.total_count).toBe(0);
    expect((await floe(["import", "csv", folder()], { env: envOf(seller) })).code).toBe(64);
    expect((await floe(["import", "csv", join(place, "products.csv")], { env: envOf(seller) })).code).toBe(64);
  });
});

test("MOV-12: a shop moves from its files until it is billed here, and each step answers JSON", async () => {
  const seller = await server.seller("moving");
  const env = envOf(seller);
  const place = writeShop(texts);
  const ask = async (...words: string[]) => {
    const { code, out, err } = await floe(["import", ...words, "--json"], { env });
    return { code, err, json: out ? JSON.parse(out) : undefined };
  };
  expect((await ask("apply", "--yes")).code).toBe(6);
  const planned = await ask("csv", place);
  expect(planned.json.run.status).toBe("planned");
  expect(planned.json.blocked).toMatchObject([{ source_id: "s2", line: 3, reason: "status" }]);
  expect(planned.json.comparison.unregistered).toEqual([{ country: "DE", subscriptions: 1 }]);
  const again = await floe(["import", "csv", place], { env, tty: true });
  expect(`${again.err}${again.out}`).toContain("EUR: 1 subscriptions with €24.50 a month at the source");
  expect(again.out).toContain("It is past_due at the source");
  expect((await ask("apply")).code).toBe(64);
  expect((await ask("apply", "--yes")).json).toMatchObject({ status: "applied", has_more: false });
  expect(await ask("status")).toMatchObject({ code: 0, json: { differences_total: 0, without_card: 1 } });
  const unsaid = await ask("switch", "--yes");
  expect([unsaid.code, unsaid.err]).toEqual([64, expect.stringContaining("--source-has-stopped")]);
  expect(await ask("switch", "--source-has-stopped", "--yes")).toMatchObject({
    code: 7,
    json: { switched: [], refused: [{ source_id: "s1", reason: "no_card" }] },
  });
  const [ada] = (await seller.client.customers.list({ query: { email: "ada@example.com" } })).items;
  await seller.client.customers.update({ params: { id: ada?.id ?? "" }, body: { email: "eve@example.com" } });
  expect(await ask("status")).toMatchObject({
    code: 1,
    json: { differences: [{ field: "email", source: "ada@example.com", floe: "eve@example.com" }] },
  });
  await seller.client.customers.update({ params: { id: ada?.id ?? "" }, body: { email: "ada@example.com" } });
  expect((await ask("finish", "--yes")).code).toBe(7);
  const switched = await ask("switch", "--id", "s1", "--source-has-stopped", "--without-card", "--yes");
  expect(switched.json).toEqual({ switched: ["s1"], refused: [] });
  expect((await ask("finish", "--yes")).json.status).toBe("finished");
  expect((await ask("status")).code).toBe(6);
});

test("MOV-13: the commands of docs/moving.md do what it says, in their order", async () => {
  const seller = await server.seller("manual");
  const env = envOf(seller);
  const place = folder();
  const page = readFileSync("docs/moving.md", "utf8");
  const lines = page.split("\n").filter((line) => line.startsWith("floe import"));
  expect(lines.length).toBeGreaterThan(6);
  for (const line of lines) {
    const [command = ""] = line.split(/\s+#/);
    const words = command.split(" ").slice(1);
    const isFirst = words.includes("--examples");
    if (isFirst) mkdirSync(join(place, "shop"));
    else for (const kind of importKinds) writeFileSync(join(place, "shop", fileNames[kind]), texts[kind]);
    const asked = words.map((word) => (word === "shop" ? join(place, "shop") : word));
    const isAsking = ["apply", "switch", "finish", "rollback"].includes(words[1] ?? "");
    const { code, err } = await floe([...asked, ...(isAsking && !asked.includes("--yes") ? ["--yes"] : [])], { env });
    expect([line, code, code === 0 ? "" : err]).toEqual([line, 0, ""]);
  }
});
