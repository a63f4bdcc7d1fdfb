import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listFilesOfCustomer } from "../../server/entitlements/downloads/service.ts";
import { downloadables } from "../../server/entitlements/downloads/tables.ts";
import { upload } from "../support/files.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { payment } from "../support/rows.ts";

/** What customers download of what they bought (BEN-20 to BEN-23). */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

async function sells(texts: string[]) {
  const seller = await floe.seller();
  const { client, organization_id } = seller;
  const files: string[] = [];
  for (const text of texts) files.push((await upload(floe, client, Buffer.from(text), { name: `${text}.txt` })).id);
  const benefit = await client.benefits.create({
    body: { type: "downloadables", description: "The book", properties: { files } },
  });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await client.products.create({ body: { name: "Book", prices } });
  await client.products.setBenefits({ params: { id }, body: { benefits: [benefit.id] } });
  const customer = await client.customers.create({ body: { email: `reader-${newId()}@example.com` } });
  const buys = async () => {
    const { client_secret } = await client.checkouts.create({ body: { products: [id], customer_id: customer.id } });
    await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
    return (await client.orders.list({ query: {} })).items[0]?.id ?? "";
  };
  const held = async () =>
    (await listFilesOfCustomer(floe.deps, { organization_id, customer_id: customer.id }, { page: 1, limit: 10 })).items;
  const names = async () => (await held()).map(({ file }) => file.name).toSorted();
  const changes = async (properties: object) => {
    await client.benefits.update({ params: { id: benefit.id }, body: { properties: { files, ...properties } } });
    await floe.runJobs();
  };
  return { seller, client, files, buys, held, names, changes, product_id: id };
}
const pathOf = (url: string) => url.slice(floe.url.length);
const get = (path: string, headers = {}) => floe.app.inject({ method: "GET", url: path, headers });
const follow = async (url: string, headers = {}) => {
  const found = await get(pathOf(url), headers);
  return found.statusCode === 302 ? get(pathOf(String(found.headers.location)), headers) : found;
};

test("BEN-21, BEN-22: a file is had for an hour by its address, in ranges, and each download is counted once", async () => {
  const { client, buys, held, files } = await sells(["Hello world"]);
  await buys();
  const [grant] = (await client.benefitGrants.list({ query: {} })).items;
  expect(grant?.properties.files).toEqual(files);
  const [one] = await held();
  const url = one?.file.download.url ?? "";
  expect(one?.file.download.expires_at).toEqual(new Date(floe.clock.now().getTime() + 3600_000));
  const all = await follow(url);
  expect([all.statusCode, all.body, all.headers["accept-ranges"]]).toEqual([200, "Hello world", "bytes"]);
  const later = await follow(url, { range: "bytes=6-" });
  expect([later.statusCode, later.body, later.headers["content-range"]]).toEqual([206, "world", "bytes 6-10/11"]);
  const counted = async () =>
    (
      await floe.deps.db
        .select()
        .from(downloadables)
        .where(eq(downloadables.id, one?.id ?? ""))
    )[0]?.downloads;
  expect(await counted()).toBe(1);
  expect((await follow(url, { range: "bytes=0-4" })).body).toBe("Hello");
  expect(await counted()).toBe(2);
  floe.clock.advance(3600_000);
  expect((await follow(url)).statusCode).toBe(410);
  const token = url.split("/").at(-1) ?? "";
  // The last letter of a text of bytes has bits that say nothing: another one of those is the same token.
  const changed = token.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
  for (const [text, status] of [
    [changed, 404],
    [`${token.slice(0, 40)}${token.slice(41)}`, 404],
    ["x", 400],
    ["a.b", 400],
    ["__proto__", 400],
  ] as const)
    expect([text, (await get(`/v1/customer-portal/downloadables/${text}`)).statusCode]).toEqual([text, status]);
});

test("BEN-20, BEN-21: what is put away goes, what comes back comes, and what is refunded with it is gone", async () => {
  const { client, buys, held, names, changes, files } = await sells(["One", "Two"]);
  const order_id = await buys();
  expect(await names()).toEqual(["One.txt", "Two.txt"]);
  const url = (await held()).find(({ file }) => file.name === "One.txt")?.file.download.url ?? "";
  await changes({ archived: { [files[0] ?? ""]: true } });
  expect(await names()).toEqual(["Two.txt"]);
  expect((await follow(url)).statusCode).toBe(404);
  await changes({ archived: {} });
  expect(await names()).toEqual(["One.txt", "Two.txt"]);
  expect((await follow(url)).statusCode).toBe(200);
  // A second purchase of the same keeps it while the first is refunded.
  const second = await buys();
  const gives = (id: string) =>
    client.refunds.create({
      body: { order_id: id, reason: "customer_request", amount: 1900, revoke_benefits: true },
    });
  await gives(order_id);
  expect(await names()).toEqual(["One.txt", "Two.txt"]);
  await gives(second);
  expect(await names()).toEqual([]);
  expect((await follow(url)).statusCode).toBe(404);
});

test("a deleted file is had by nobody, and another seller's files are no benefit", async () => {
  const { client, buys, names, held, files } = await sells(["One", "Two"]);
  await buys();
  const url = (await held()).find(({ file }) => file.name === "Two.txt")?.file.download.url ?? "";
  await client.files.delete({ params: { id: files[1] ?? "" } });
  expect(await names()).toEqual(["One.txt"]);
  expect((await follow(url)).statusCode).toBe(404);
});
