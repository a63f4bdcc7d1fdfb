/** A plan knows all that apply refuses, and what to type about it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
let seller: Seller;
let env: Record<string, string>;
let file: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
});
afterAll(() => server?.close());
beforeEach(async () => {
  seller = await server.seller("plans");
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  file = join(folder(), "floe.yaml");
});
const run = (...argv: string[]) => floe([...argv, "-f", file], { env });
const write = (rest: string) => writeFileSync(file, `version: 1\ncatalog: shop\n${rest}`);
const upload = async (name: string, ...more: string[]) => {
  const path = join(folder(), name);
  writeFileSync(path, name);
  expect((await floe(["files", "upload", path, ...more], { env })).code).toBe(0);
};

describe("what apply would refuse is in the plan, at its line, with what to type", () => {
  test("a picture that is not there, or was uploaded as a download", async () => {
    write('products:\n  pro: { name: Pro, price: free, medias: ["my cover.png"] }\n');
    const hint = "Run: floe files upload 'my cover.png' --service product_media\n";
    const none = await run("plan");
    expect([none.code, none.out]).toEqual([7, expect.stringContaining('There is no uploaded file "my cover.png".')]);
    expect(none.out).toContain(hint);
    await upload("my cover.png");
    const wrong = await run("plan");
    expect([wrong.code, wrong.out]).toEqual([7, expect.stringContaining("is uploaded, but not as a picture.")]);
    expect(wrong.out).toContain(`! ${file}:4:43  products.pro.medias.0: `);
    expect(wrong.out).toContain(hint);
    await upload("my cover.png", "--service", "product_media");
    expect((await run("plan")).code).toBe(0);
    expect((await run("apply", "--yes")).code).toBe(0);
  });

  test("a setting that is switched off", async () => {
    const seats =
      "products:\n  team: { name: Team, recurring: month, prices: [{ seats: [{ from: 1, price: 9.00 }] }] }\n";
    write(seats);
    const { code, out, err } = await run("plan");
    expect([code, err]).toEqual([7, "floe: one thing keeps this from being applied\n"]);
    expect(out).toContain("products.team.prices.0: Seat-based pricing is not enabled for this organization.\n");
    const [, command = ""] = /Run: floe (.*)\n/.exec(out) ?? [];
    expect((await floe(command.split(" "), { env })).code).toBe(0);
    expect((await run("apply", "--yes")).code).toBe(0);
  });

  test("all of it at once, each where it is written and in its own words; what only needs the refused is not told too", async () => {
    write(`meters:
  calls: { name: Calls, filter: tokens gt 0, aggregation: count }
products:
  cheap: { name: Cheap, price: 0.10 }
  club: { name: Club, price: 5.00 eur }
  pro: { name: Pro, recurring: month, prices: [20.00, { metered: calls, unit_price: 0.002, cap: 50.00 }] }
discounts:
  one: { name: One, code: SAME, percent: 5, duration: once, products: [cheap] }
  two: { name: Two, code: SAME, percent: 5, duration: once }
  three: { name: Three, code: SAME, percent: 5, duration: once }
`);
    const { out, code } = await run("plan", "--json");
    expect(code).toBe(7);
    const { issues, steps } = JSON.parse(out);
    expect(issues.map(({ path, message }: { path: string; message: string }) => `${path}: ${message}`)).toEqual([
      "products.cheap.prices.0.fixed: Amount must be 0 or at least $0.50.",
      "products.club.prices: There must be a price in the organization's default currency, usd.",
      "discounts.three.code: Discount with this code already exists.",
    ]);
    expect(steps.every(({ id }: { id: unknown }) => id === null)).toBe(true);
  });

  test("and nothing of the rehearsal stays", async () => {
    write("products:\n  pro: { name: Pro, price: 20.00 }\n");
    expect((await run("plan")).code).toBe(0);
    expect((await seller.client.products.list({ query: {} })).items).toEqual([]);
    expect((await run("plan", "--exit-code")).code).toBe(10);
  });
});
