import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { exportWorker } from "../../server/billing/invoices/jobs.ts";
import { collectDue } from "../../server/billing/invoices/service.ts";
import { invoices } from "../../server/billing/invoices/tables.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { fileWorkers } from "../../server/catalog/files/jobs.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { events, failedWork } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { computeQuote } from "../../shared/pricing.ts";
import { upload } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { deflatedZeros, png } from "../support/images.ts";
import { isDrawn, readPage, readPdf, readXml, schemaFaults } from "../support/invoices.ts";
import { sellOrder } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
beforeEach(async () => {
  seller = await floe.seller();
});

const address = { country: "FR" as const, line1: "3 rue de la Paix", postal_code: "75002", city: "Paris" };
const details = { billing_name: "Éditions & Fils", billing_address: address };

/** A sale with what an invoice needs. */
async function sellTo(given: object = details): Promise<string> {
  const id = await sellOrder(floe, seller);
  await seller.client.orders.update({ params: { id }, body: given as never });
  return id;
}
const call = async (method: string, path: string, token = seller.key) => {
  const { status, json } = await floe.request(method, path, { token });
  return { status, json: json as { url?: string; error?: string } | null };
};
/** The bytes behind a link, fetched without any token. */
async function fetched(url = ""): Promise<{ status: number; bytes: Uint8Array; headers: Record<string, unknown> }> {
  const answer = await floe.app.inject({ method: "GET", url: url.slice(floe.url.length) });
  return { status: answer.statusCode, bytes: new Uint8Array(answer.rawPayload), headers: answer.headers };
}
async function printed(path: string) {
  await floe.runJobs();
  const { status, json } = await call("GET", path);
  expect(status).toBe(200);
  const { bytes, headers } = await fetched(json?.url);
  return { ...(await readPdf(bytes)), disposition: String(headers["content-disposition"]), url: json?.url ?? "" };
}
const rows = () => floe.deps.db.select().from(invoices).where(eq(invoices.organization_id, seller.organization_id));
const updates = () =>
  floe.deps.db
    .select({ id: events.id })
    .from(events)
    .where(and(eq(events.organization_id, seller.organization_id), eq(events.type, "order.updated")));

describe("an invoice", () => {
  test("ORD-22 to ORD-24: asked for, printed, told of, and fetched by a link that is its own permission", async () => {
    const id = await sellTo();
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: {
        invoice_settings: {
          legal_name: "Frost GmbH",
          tax_id: "DE123456788",
          address: { country: "DE", city: "Berlin" },
        },
      },
    });
    expect((await call("GET", `/v1/orders/${id}/invoice`)).status).toBe(404);
    const told = (await updates()).length;
    expect(await call("POST", `/v1/orders/${id}/invoice`)).toEqual({ status: 202, json: null });
    const pdf = await printed(`/v1/orders/${id}/invoice`);
    const order = await seller.client.orders.get({ params: { id } });
    expect(order.is_invoice_generated).toBe(true);
    expect((await updates()).length).toBe(told + 1);
    expect(pdf.disposition).toContain(`${order.invoice_number}.pdf`);
    const [file] = pdf.files;
    expect(await schemaFaults(file?.text ?? "")).toEqual([]);
    expect(readXml(file?.text ?? "")).toMatchObject({
      number: order.invoice_number,
      order_id: id,
      seller: { name: "Frost GmbH", country: "DE" },
      buyer: { name: "Éditions & Fils", city: "Paris" },
      lines: [{ name: "Book", amount: "19.00" }],
      totals: { GrandTotalAmount: "19.00", DuePayableAmount: "0.00" },
    });
    expect((await fetched(pdf.url.slice(0, -4))).status).toBe(403);
    floe.clock.advance(61 * 60 * 1000);
    expect((await fetched(pdf.url)).status).toBe(403);
  });

  test.each<[string | null, string, string, string]>([
    ["de-AT", "de-AT", "Rechnung", "$ 19,00"],
    ["en-US", "en-US", "Invoice", "$19.00"],
    ["en", "en-GB", "Invoice", "US$19.00"],
    [null, "fr-FR", "Facture", "19,00 $US"],
  ])(
    "ORD-35: a buyer in France with the locale %s gets one as it is written in %s",
    async (locale, formats, ...texts) => {
      const id = await sellTo();
      const { customer, created_at } = await seller.client.orders.get({ params: { id } });
      const words = [
        ...texts,
        new Intl.DateTimeFormat(formats, { dateStyle: "long", timeZone: "UTC" }).format(new Date(created_at)),
      ];
      await seller.client.customers.update({ params: { id: customer.id }, body: { locale } });
      await call("POST", `/v1/orders/${id}/invoice`);
      const { url } = await printed(`/v1/orders/${id}/invoice`);
      const { text } = await readPage((await fetched(url)).bytes);
      for (const word of words) expect([word, isDrawn(word, text)]).toEqual([word, true]);
    },
  );

  test("says of tax what the order says: the rate and the registration's number, or who pays it instead", async () => {
    const { client, organization_id } = seller;
    await client.organizations.update({
      params: { id: organization_id },
      body: { country: "DE", invoice_settings: { tax_id: "DE123456788" } },
    });
    await client.tax.createRegistration({ body: { country: "DE", tax_id: "DE136695976" } });
    await client.tax.createRegistration({ body: { country: "DE", scheme: "oss" } });
    const sold = async (reason: "standard" | "reverse_charge", tax_amount: number) => {
      const id = await sellTo();
      const { db } = floe.deps;
      const [order] = await db.select().from(orders).where(eq(orders.id, id));
      if (!order) throw new Error("The order is gone.");
      const rate = { name: "VAT", country: "DE", state: null, rate: "19" };
      const rates = tax_amount === 0 ? [] : [rate];
      const tax = { behavior: "exclusive" as const, reason, rates, source: null };
      const derivation = computeQuote({ ...order.derivation, tax });
      const customer_tax_id: [string, string] = ["FR40303265045", "eu_vat"];
      await db
        .update(orders)
        .set({ tax_amount, tax_behavior: tax.behavior, derivation, customer_tax_id })
        .where(eq(orders.id, id));
      await call("POST", `/v1/orders/${id}/invoice`);
      const [file] = (await printed(`/v1/orders/${id}/invoice`)).files;
      expect(await schemaFaults(file?.text ?? "")).toEqual([]);
      return readXml(file?.text ?? "");
    };
    expect(await sold("standard", 361)).toMatchObject({
      seller: { tax_ids: ["VA DE136695976"] },
      tax: [{ category: "S", rate: "19", base: "19.00", amount: "3.61" }],
      totals: { GrandTotalAmount: "22.61", TotalPrepaidAmount: "22.61" },
    });
    expect(await sold("reverse_charge", 0)).toMatchObject({
      seller: { tax_ids: ["VA DE123456788"] },
      buyer: { tax_ids: ["VA FR40303265045"] },
      tax: [{ category: "AE", base: "19.00", amount: "0.00", reason: "VATEX-EU-AE" }],
    });
  });

  test("asking again makes nothing new; what has changed makes it anew, under the same number", async () => {
    const id = await sellTo();
    const path = `/v1/orders/${id}/invoice`;
    await call("POST", path);
    await floe.runJobs();
    const [first] = await rows();
    await call("POST", path);
    await floe.runJobs();
    expect(await rows()).toEqual([first]);
    const told = (await updates()).length;
    await seller.client.orders.update({ params: { id }, body: { billing_name: "Another", billing_address: null } });
    await floe.runJobs();
    // WHK-40: the change is one event, and printing it again changes nothing of the order.
    expect((await updates()).length).toBe(told + 1);
    const [second, ...more] = await rows();
    expect(more).toEqual([]);
    expect(second).toMatchObject({ id: first?.id, number: first?.number, due_at: null });
    expect([second?.file_id === first?.file_id, second?.digest === first?.digest]).toEqual([false, false]);
    // The seller's own details are asked for anew: until then the old page is not shown as the new one.
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { invoice_settings: { footer: "New small print" } },
    });
    await call("POST", path);
    expect((await call("GET", path)).status).toBe(404);
    await printed(path);
    expect((await rows())[0]?.number).toBe(first?.number);
    await runWorkers(floe.deps, fileWorkers);
    const kept = await floe.deps.db
      .select()
      .from(files)
      .where(and(eq(files.organization_id, seller.organization_id), eq(files.is_uploaded, true)));
    expect(kept.filter(({ purged_at }) => purged_at === null)).toHaveLength(1);
  });

  test("without name or address it is refused, and another seller's order is not there", async () => {
    const id = await sellOrder(floe, seller);
    await floe.deps.db.execute(
      `update orders set billing_name = null where organization_id = '${seller.organization_id}'`,
    );
    expect(await call("POST", `/v1/orders/${id}/invoice`)).toMatchObject({
      status: 422,
      json: { error: "MissingInvoiceBillingDetails" },
    });
    const other = await floe.seller();
    for (const [method, path] of [
      ["POST", `/v1/orders/${id}/invoice`],
      ["GET", `/v1/orders/${id}/invoice`],
      ["GET", `/v1/orders/${id}/receipt`],
      ["POST", `/v1/orders/${newId()}/invoice`],
    ] as const)
      expect((await call(method, path, other.key)).status).toBe(404);
    expect(await rows()).toEqual([]);
  });

  test("a file that we made is in no list of files, and is no picture for everybody", async () => {
    await call("POST", `/v1/orders/${await sellTo()}/invoice`);
    await floe.runJobs();
    expect((await seller.client.files.list({ query: {} })).items).toEqual([]);
    const [file] = await floe.deps.db.select().from(files).where(eq(files.organization_id, seller.organization_id));
    expect((await floe.request("GET", `/media/${file?.path}`)).status).toBe(404);
    const patched = await floe.request("PATCH", `/v1/files/${file?.id}`, { token: seller.key, body: { name: "x" } });
    expect(patched.status).toBe(404);
  });

  test("asked for many times at once it is one", async () => {
    const id = await sellTo();
    const asked = await Promise.all(Array.from({ length: 8 }, () => call("POST", `/v1/orders/${id}/invoice`)));
    expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 202));
    await floe.runJobs();
    expect(await rows()).toHaveLength(1);
  });

  test("the seller's picture is printed, and one that is broken is left out", async () => {
    const pixel = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    for (const bytes of [pixel, pixel.subarray(0, 40), Buffer.from("<svg/>")]) {
      const given = { service: "organization_avatar", name: "logo.png", mime_type: "image/png" } as const;
      const { public_url } = (await upload(floe, seller.client, bytes, given)) as never as { public_url: string };
      await seller.client.organizations.update({
        params: { id: seller.organization_id },
        body: { branding: { logo_url: public_url, accent_color: "#7A3E9D" } },
      });
      const id = await sellTo();
      await call("POST", `/v1/orders/${id}/invoice`);
      expect((await printed(`/v1/orders/${id}/invoice`)).pages).toBe(1);
    }
  });

  test("a picture that cannot be decoded within the limits is left out, and holds up nobody", async () => {
    const given = { service: "organization_avatar", name: "logo.png", mime_type: "image/png" } as const;
    const file = (await upload(floe, seller.client, png(2, 2), given)) as never as { public_url: string; path: string };
    const branding = { logo_url: file.public_url };
    await seller.client.organizations.update({ params: { id: seller.organization_id }, body: { branding } });
    const print = async (bytes: Uint8Array, crashes = 0) => {
      // As it was kept before there was a limit.
      const object = join(floe.deps.config.FLOE_FILES_DIR ?? "", "objects", file.path);
      await writeFile(object, bytes);
      const id = await sellTo();
      await call("POST", `/v1/orders/${id}/invoice`);
      await floe.deps.db.update(invoices).set({ crashes }).where(eq(invoices.order_id, id));
      const { url } = await printed(`/v1/orders/${id}/invoice`);
      expect((await rows()).find(({ order_id }) => order_id === id)?.crashes).toBe(0);
      return Buffer.from((await fetched(url)).bytes).includes("/Subtype /Image");
    };
    expect(await print(png(2, 2))).toBe(true);
    expect(await print(png(16_000, 16_000, Buffer.alloc(1)))).toBe(false);
    expect(await print(png(2, 2, deflatedZeros(900)))).toBe(false);
    expect(await print(png(2, 2), 1)).toBe(false);
  });

  test("a document that has ended its process three times is a dead letter, and another is printed", async () => {
    const [bad, good] = [await sellTo(), await sellTo()];
    for (const id of [bad, good]) await call("POST", `/v1/orders/${id}/invoice`);
    await floe.deps.db.update(invoices).set({ crashes: 3 }).where(eq(invoices.order_id, bad));
    await floe.runJobs();
    const row = (await rows()).find(({ order_id }) => order_id === bad);
    const dead = await floe.deps.db
      .select()
      .from(failedWork)
      .where(eq(failedWork.row_id, row?.id ?? ""));
    expect(dead).toMatchObject([{ attempts: 1, retry_at: null }]);
    expect((await call("GET", `/v1/orders/${bad}/invoice`)).status).toBe(404);
    expect((await printed(`/v1/orders/${good}/invoice`)).pages).toBe(1);
    // The seller asks once more.
    await call("POST", `/v1/orders/${bad}/invoice`);
    expect((await printed(`/v1/orders/${bad}/invoice`)).pages).toBe(1);
  });
});

describe("a receipt", () => {
  test("ORD-26: is printed when it is first asked for, with a number of the customer's own", async () => {
    const id = await sellOrder(floe, seller);
    const path = `/v1/orders/${id}/receipt`;
    expect(await call("GET", path)).toEqual({ status: 202, json: null });
    expect(await call("GET", path)).toEqual({ status: 202, json: null });
    const pdf = await printed(path);
    expect(pdf.disposition).toMatch(/RCPT-[0-9A-F]{12}-0001\.pdf/);
    expect(pdf.files).toEqual([]);
    expect(pdf.metadata).toContain("<pdfaid:part>3</pdfaid:part>");
  });

  test("what nothing was paid for has none", async () => {
    const product = await seller.client.products.create({ body: { name: "Gift", prices: [{ amount_type: "free" }] } });
    const { client_secret, id: checkout_id } = await seller.client.checkouts.create({
      body: { products: [product.id], customer_email: "free@example.com" },
    });
    await floe.client().checkoutClient.confirm({
      params: { client_secret },
      body: { customer_name: "Free", customer_billing_address: { country: "FR" } },
    });
    await floe.runJobs();
    const [order] = (await seller.client.orders.list({ query: { checkout_id } })).items;
    expect((await call("GET", `/v1/orders/${order?.id}/receipt`)).status).toBe(404);
  });
});

describe("a credit note", () => {
  test("of each refund, numbered without a gap though asked for at once", async () => {
    const refunds: string[] = [];
    for (let index = 0; index < 3; index++) {
      const order_id = await sellTo();
      const { id } = await seller.client.refunds.create({
        body: { order_id, amount: 500, reason: "customer_request" },
      });
      refunds.push(id);
    }
    await floe.runJobs();
    const asked = refunds.flatMap((id) => [id, id, id]).map((id) => call("POST", `/v1/refunds/${id}/credit-note`));
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([202]));
    await floe.runJobs();
    const numbers = (await rows()).map(({ number }) => number.replace(/^.*-CN-/, "")).toSorted();
    expect(numbers).toEqual(["0001", "0002", "0003"]);
    const pdf = await printed(`/v1/refunds/${refunds[0]}/credit-note`);
    expect(pdf.disposition).toContain("-CN-");
  });

  test("another seller's refund is not there", async () => {
    expect((await call("POST", `/v1/refunds/${newId()}/credit-note`)).status).toBe(404);
    expect((await call("GET", `/v1/refunds/${newId()}/credit-note`)).status).toBe(404);
  });
});

describe("what an invoice says of the seller", () => {
  const update = (body: object) =>
    floe.request("PATCH", `/v1/organizations/${seller.organization_id}`, { token: seller.key, body });

  test("is kept in parts: what is not named stays, null takes it away", async () => {
    await update({ invoice_settings: { legal_name: "Frost GmbH", footer: "Small print" } });
    await update({ invoice_settings: { legal_name: null, tax_id: " DE123456788 " } });
    const { invoice_settings } = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    expect(invoice_settings).toEqual({ legal_name: null, address: null, tax_id: "DE123456788", footer: "Small print" });
  });

  test("takes no address of a picture elsewhere, and no word for a color", async () => {
    for (const branding of [{ logo_url: "https://elsewhere.example/logo.png" }, { accent_color: "red" }])
      expect((await update({ branding })).status).toBe(422);
  });
});

describe("the invoices of many orders", () => {
  const collect = () => runWorkers(floe.deps, [exportWorker]);

  test("are printed as one piece of work that says how far it is; what is there is not printed again", async () => {
    const ids = [await sellTo(), await sellTo()];
    const nameless = await sellOrder(floe, seller);
    await floe.deps.db.update(orders).set({ billing_name: null }).where(eq(orders.id, nameless));
    await call("POST", `/v1/orders/${ids[0]}/invoice`);
    await floe.runJobs();
    const [before] = await rows();
    const { createExport, getExport, listExported } = seller.client.invoices;
    const begun = await createExport({ body: {} });
    expect(begun).toMatchObject({ status: "collecting", total: 0, done: 0 });
    const params = { id: begun.id };
    await collect();
    expect(await getExport({ params })).toMatchObject({ status: "printing", total: 2, done: 0, skipped: 1 });
    // Who asks for one of them goes before them all.
    const third = await sellTo();
    await call("POST", `/v1/orders/${third}/invoice`);
    const [asked] = (await rows()).filter(({ order_id }) => order_id === third);
    expect(asked?.due_at).toEqual(new Date(0));
    await floe.runJobs();
    expect(await getExport({ params })).toMatchObject({ status: "done", total: 2, done: 2, skipped: 1 });
    const { items } = await listExported({ params, query: {} });
    expect(items.map(({ order_id }) => order_id)).toEqual(ids);
    expect((await readPdf((await fetched(items[1]?.url ?? "")).bytes)).pages).toBe(1);
    expect((await rows()).find(({ id }) => id === before?.id)).toEqual(before);
    const other = await floe.seller();
    for (const path of [`/v1/invoice-exports/${begun.id}`, `/v1/invoice-exports/${begun.id}/invoices`])
      expect((await call("GET", path, other.key)).status).toBe(404);
    const theirs = await other.client.invoices.createExport({ body: {} });
    await floe.runJobs();
    expect(await other.client.invoices.getExport({ params: { id: theirs.id } })).toMatchObject({
      total: 0,
      status: "done",
    });
  });

  test("are those of the filter, and not of what is sold later", async () => {
    const { createExport, getExport } = seller.client.invoices;
    const id = await sellTo();
    const { customer_id, product_id, created_at } = await seller.client.orders.get({ params: { id } });
    const soon = new Date(created_at.getTime() + 1000).toISOString();
    const filters = [{ customer_id: [customer_id] }, { product_id: [product_id] }, { created_before: soon }];
    const none = [{ customer_id: [newId()] }, { created_after: soon }, { created_before: "2020-01-01T00:00:00Z" }];
    const begun = [];
    for (const body of [...filters, ...none]) begun.push((await createExport({ body })).id);
    floe.clock.advance(5000);
    await sellTo();
    await floe.runJobs();
    const totals = [];
    for (const each of begun) totals.push((await getExport({ params: { id: each } })).total);
    expect(totals).toEqual([1, 1, 1, 0, 0, 0]);
  });

  test("are refused with 429 beyond ten exports that wait, of one's own alone", async () => {
    const [one, two] = [await floe.seller(), await floe.seller()];
    const begin = async ({ key }: Seller) => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await floe.app.inject({ method: "POST", url: "/v1/invoice-exports/", headers, payload: {} });
      return [answer.statusCode, answer.headers["retry-after"]];
    };
    for (let n = 0; n < 10; n += 1) expect(await begin(one)).toEqual([202, undefined]);
    expect(await begin(one)).toEqual([429, "60"]);
    expect(await begin(two)).toEqual([202, undefined]);
    await collect();
    expect(await begin(one)).toEqual([202, undefined]);
    await floe.runJobs();
  });

  test("are collected some at a time; where the process dies, none is missed or doubled", async () => {
    const id = await sellTo();
    const names = (await floe.deps.db.execute(sql`
      select string_agg('"' || column_name || '"', ', ') as list from information_schema.columns
      where table_schema = 'public' and table_name = 'orders'
        and column_name not in ('id', 'invoice_number', 'checkout_id', 'receipt_number')`)) as unknown as {
      list: string;
    }[];
    const list = names[0]?.list ?? "";
    await floe.deps.db.execute(
      sql.raw(`insert into orders (id, invoice_number, ${list})
        select gen_random_uuid(), 'COPY-' || n, ${list} from orders, generate_series(1, 449) as n where id = '${id}'`),
    );
    const { organization_id } = seller;
    const begun = await seller.client.invoices.createExport({ body: {} });
    const key = { organization_id, id: begun.id };
    await collectDue(floe.deps, key);
    // Killed on its way: nothing of the second step is written.
    const failing = { ...floe.deps, jobs: { ...floe.deps.jobs, wake: () => failNow() } };
    await expect(collectDue(failing, key)).rejects.toThrow("killed");
    expect(await rows()).toHaveLength(200);
    await Promise.all([collectDue(floe.deps, key), collectDue(floe.deps, key)]);
    await collectDue(floe.deps, key);
    const all = await rows();
    expect([all.length, new Set(all.map(({ order_id }) => order_id)).size]).toEqual([450, 450]);
    const standing = await seller.client.invoices.getExport({ params: { id: begun.id } });
    expect(standing).toMatchObject({ status: "printing", total: 450 });
    await floe.deps.db.update(invoices).set({ due_at: null }).where(eq(invoices.organization_id, organization_id));
  });
});

function failNow(): never {
  throw new Error("killed");
}
