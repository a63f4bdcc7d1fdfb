import { afterAll, beforeAll, expect, test } from "vitest";
import { describeDocument } from "../../server/billing/invoices/rules.ts";
import { findOrder } from "../../server/billing/orders/store.ts";
import { findOrganization } from "../../server/identity/organizations/store.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";

/** Where buyers learn who sells to them by law, and on which terms. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("frost");
});
afterAll(() => floe?.close());

const terms_url = "https://frost.example/terms";
const privacy_url = "https://frost.example/privacy";
const params = () => ({ id: seller.organization_id });
const update = (body: object) => seller.client.organizations.update({ params: params(), body });
const patch = (body: object) =>
  floe.request("PATCH", `/v1/organizations/${seller.organization_id}`, { token: seller.key, body });
async function buy(email: string) {
  const { id } = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] } as never,
  });
  const { client_secret, id: checkout_id } = await seller.client.checkouts.create({
    body: { products: [id] } as never,
  });
  const shown = await floe.client().checkoutClient.get({ params: { client_secret } });
  await floe.client().checkoutClient.confirm({
    params: { client_secret },
    body: {
      confirmation_token_id: "pm_card_visa",
      customer_name: "Ada",
      customer_email: email,
      customer_billing_address: { country: "GB" },
    } as never,
  });
  await floe.runJobs();
  const [order] = (await seller.client.orders.list({ query: { checkout_id } })).items;
  const sale = order && (await findOrder(floe.deps.db, seller.organization_id, order.id));
  const row = await findOrganization(floe.deps.db, seller.organization_id);
  if (!sale || !row) throw new Error("Nothing was sold.");
  const invoice = { kind: "invoice" as const, number: "1", created_at: sale.order.created_at };
  const sources = {
    sells_test: false,
    invoice,
    sale,
    seller: row,
    registrations: [],
    payment: undefined,
    refund: undefined,
  };
  return { shown: shown.organization, mail: (await mailsTo(floe, email))[0], document: describeDocument(sources) };
}

test("ORG-10: without legal settings the checkout, mails and invoices are as before", async () => {
  const { shown, mail, document } = await buy("first@example.com");
  expect(shown).toMatchObject({
    legal_name: null,
    legal_settings: { terms_url: null, privacy_url: null, imprint: null },
  });
  expect(document.footer).toBeNull();
  expect(mail?.text).toMatch(/-- \nSent by frost.* · \S+\n$/);
  expect(mail?.html).not.toContain("Terms and conditions");
});

test("ORG-10: terms, privacy policy, imprint and legal name are on the checkout, in mails and on invoices", async () => {
  await update({
    invoice_settings: { legal_name: "Frost GmbH" },
    legal_settings: { terms_url, privacy_url, imprint: " Hauptstr. 1, 10115 Berlin\n\nHRB 1 <b>B</b>\u202e " },
  });
  const { shown, mail, document } = await buy("second@example.com");
  expect(shown).toMatchObject({ legal_name: "Frost GmbH", legal_settings: { terms_url, privacy_url } });
  expect(mail?.text).toMatch(
    /\nFrost GmbH\nHauptstr\. 1, 10115 Berlin\nHRB 1 <b>B<\/b>.*\nTerms and conditions: https:\/\/frost\.example\/terms\nPrivacy policy: https:\/\/frost\.example\/privacy\n$/,
  );
  for (const url of [terms_url, privacy_url]) expect(mail?.html).toContain(`href="${url}"`);
  expect(mail?.html).toContain("Frost GmbH</span>");
  expect(mail?.html).toContain("&lt;b&gt;B");
  expect(document.footer).toBe(`Hauptstr. 1, 10115 Berlin HRB 1 <b>B</b> · Terms and conditions: ${terms_url}`);

  await update({ invoice_settings: { footer: "Small print" } });
  expect((await buy("third@example.com")).document.footer).toBe(`Small print · Terms and conditions: ${terms_url}`);
  await update({ invoice_settings: { footer: null }, legal_settings: { imprint: null } });
  const fourth = await buy("fourth@example.com");
  expect(fourth.document.footer).toBe(`Frost GmbH · Terms and conditions: ${terms_url}`);
  expect(fourth.shown.legal_settings).toEqual({ terms_url, privacy_url, imprint: null });
  await update({ legal_settings: { terms_url: null } });
  const fifth = await buy("fifth@example.com");
  expect(fifth.document.footer).toBeNull();
  expect(fifth.mail?.text).not.toContain("Terms and conditions");
  expect(fifth.mail?.text).toMatch(/\nFrost GmbH\nPrivacy policy: \S+\n$/);
});

test.each([
  ["terms_url", "http://frost.example/terms"],
  ["terms_url", "javascript:alert(1)"],
  ["privacy_url", "frost.example/privacy"],
  ["privacy_url", `https://frost.example/${"x".repeat(500)}`],
  ["imprint", "x".repeat(501)],
  ["imprint", "  "],
])("ORG-10: %s as %j is refused with its place, and nothing is changed", async (field, value) => {
  const before = await seller.client.organizations.get({ params: params() });
  const { status, json } = await patch({ name: "Changed", legal_settings: { [field]: value } });
  expect(status).toBe(422);
  expect((json as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc)).toEqual([
    ["body", "legal_settings", field],
  ]);
  expect(await seller.client.organizations.get({ params: params() })).toEqual(before);
});
