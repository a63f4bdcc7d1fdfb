import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { dueWorkers } from "../../server/app/worker.ts";
import { linkDocument } from "../../server/billing/invoices/links.ts";
import { describeDocument } from "../../server/billing/invoices/rules.ts";
import { findOrder } from "../../server/billing/orders/store.ts";
import { orderConfirmations, orders } from "../../server/billing/orders/tables.ts";
import { buildPortalLink } from "../../server/customers/sessions/portal-link.ts";
import { customerSessions } from "../../server/customers/sessions/tables.ts";
import { findOrganization } from "../../server/identity/organizations/store.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { readPdf } from "../support/invoices.ts";
import { mailsTo } from "../support/mails.ts";

/** What a buyer gets of a sale: the mail, the documents behind its links, and what the page after the payment asks for. */

let floe: Floe;
let seller: Seller;
let number = 0;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
beforeEach(async () => {
  seller = await floe.seller();
});

type Sale = { price?: number; body?: object; confirm?: object; product?: object };
/** A sale; answers the buyer's address and the secret of the checkout. */
async function buy({ price = 1900, body = {}, confirm = {}, product = {} }: Sale = {}) {
  number += 1;
  const email = `reader-${number}@example.com`;
  const { id } = await seller.client.products.create({
    body: { name: "Guide <b>", prices: [{ amount_type: "fixed", price_amount: price }], ...product } as never,
  });
  const { client_secret, id: checkout_id } = await seller.client.checkouts.create({
    body: { products: [id], customer_email: email, ...body } as never,
  });
  const paid = { confirmation_token_id: "pm_card_visa", customer_name: "Ada", ...confirm };
  const address = { customer_billing_address: { country: "FR" as const } };
  await floe
    .client()
    .checkoutClient.confirm({ params: { client_secret }, body: { ...paid, ...address, ...confirm } as never })
    .catch(() => undefined);
  await floe.runJobs();
  return { email, client_secret, checkout_id };
}
const orderOf = async (checkout_id: string) => {
  const [order] = (await seller.client.orders.list({ query: { checkout_id } })).items;
  if (!order) throw new Error("There is no order.");
  return order;
};
const get = (path: string) => floe.request("GET", path.replace(floe.url, ""));
/** Follow an address of a mail as a browser does, until there is a file. */
async function openLink(address: string) {
  const first = await get(address);
  await floe.runJobs();
  const second = await get(address);
  const { status, payload } = await floe.app
    .inject({ method: "GET", url: String(second.headers.location).replace(floe.url, "") })
    .then((answer) => ({ status: answer.statusCode, payload: answer.rawPayload }));
  return { first, second, status, pdf: await readPdf(new Uint8Array(payload)) };
}
async function settings(changed: object) {
  const params = { id: seller.organization_id };
  const had = await seller.client.organizations.get({ params });
  const customer_email_settings = { ...had.customer_email_settings, ...changed };
  await seller.client.organizations.update({ params, body: { customer_email_settings } });
}

describe("the mail of a paid order", () => {
  test("says once what was bought, what was paid and which tax is in it, and opens invoice and receipt", async () => {
    await seller.client.tax.createRegistration({ body: { country: "FR" } });
    await seller.client.discounts.create({
      body: { name: "Launch", code: "LAUNCH10", basis_points: 1000, duration: "once" },
    });
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { email: "help@frost.example", default_tax_behavior: "exclusive" },
    });
    const { email, checkout_id } = await buy({ body: { locale: "en" }, confirm: { discount_code: "LAUNCH10" } });
    await floe.runJobs();
    const [mail, ...more] = await mailsTo(floe, email);
    expect(more).toEqual([]);
    const order = await orderOf(checkout_id);
    expect(order).toMatchObject({
      total_amount: 2052,
      receipt_number: expect.stringMatching(/^RCPT-[0-9A-F]{12}-0001$/),
    });
    expect(mail?.subject).toContain(order.invoice_number);
    const words = ["$20.52", "-US$1.90", "LAUNCH10", "VAT 20%", "$3.42", "help@frost.example", "Guide <b>"];
    for (const word of words) expect(mail?.text).toContain(word);
    expect(mail?.html).toContain("Guide &lt;b&gt;");
    const [invoice = "", receipt = ""] = mail?.text.match(/https?:\/\/\S+\/documents\/\S+/g) ?? [];
    const { first, second, status, pdf } = await openLink(invoice);
    expect([first.status, first.headers.refresh, second.status, status]).toEqual([202, "2", 303, 200]);
    expect(first.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(pdf.files).toHaveLength(0);
    const proof = await openLink(receipt);
    expect([proof.first.status, proof.status, proof.pdf.pages]).toEqual([202, 200, 1]);
    // A mail scanner that only looks has nothing printed.
    expect((await floe.app.inject({ method: "HEAD", url: receipt.replace(floe.url, "") })).statusCode).toBe(200);
  });

  test.each([
    ["de", "Ihre Bestellung", "USt. 20\u00a0%", "Rechnung öffnen", "Gesendet von"],
    ["fr-CA", "Votre commande", "TVA 20\u00a0%", "Ouvrir la facture", "Envoyé par"],
  ])("is in the buyer's language: %s", async (locale, subject, tax, action, sent) => {
    await seller.client.tax.createRegistration({ body: { country: "FR" } });
    const { email } = await buy({ body: { locale }, confirm: { locale } });
    const [mail] = await mailsTo(floe, email);
    expect(mail?.subject).toContain(subject);
    expect(mail?.html).toContain(`lang="${locale.slice(0, 2)}"`);
    for (const word of [action, sent]) expect(mail?.text).toContain(word);
    expect(mail?.text.replaceAll("\u202f", "\u00a0")).toContain(
      locale === "de" ? "USt. 20 %" : tax.replace("\u00a0", " "),
    );
  });

  test("of what costs nothing speaks of no payment, and offers no receipt", async () => {
    const { email, checkout_id, client_secret } = await buy({
      product: { prices: [{ amount_type: "free" }] },
      body: { locale: "en" },
      confirm: { confirmation_token_id: null },
    });
    const [mail] = await mailsTo(floe, email);
    expect(mail?.text).toContain("Nothing was charged.");
    expect(mail?.text.match(/\/documents\//g)).toHaveLength(1);
    expect((await orderOf(checkout_id)).receipt_number).toBeNull();
    expect((await get(`/v1/checkouts/client/${client_secret}/order/receipt`)).status).toBe(404);
  });

  test("is not sent where the seller has switched it off, nor for a payment that failed", async () => {
    await settings({ order_confirmation: false });
    const { email, checkout_id, client_secret } = await buy();
    expect(await mailsTo(floe, email)).toEqual([]);
    const { json } = await get(`/v1/checkouts/client/${client_secret}/order`);
    expect(json).toMatchObject({ confirmation_email: null });
    // Switched on again it is not sent late.
    await settings({ order_confirmation: true });
    await floe.runJobs();
    expect(await mailsTo(floe, email)).toEqual([]);
    expect((await orderOf(checkout_id)).status).toBe("paid");
    const declined = await buy({ confirm: { confirmation_token_id: "pm_card_chargeDeclined" } });
    expect(await mailsTo(floe, declined.email)).toEqual([]);
  });

  test("the start of a subscription has a setting of its own", async () => {
    await settings({ order_confirmation: false });
    const monthly = { name: "News", recurring_interval: "month" };
    expect(await mailsTo(floe, (await buy({ product: monthly })).email)).toHaveLength(1);
    await settings({ subscription_confirmation: false });
    expect(await mailsTo(floe, (await buy({ product: monthly })).email)).toEqual([]);
  });

  test("two servers that look at the same time write one", async () => {
    const { email, checkout_id } = await buy();
    const { organization_id, id: order_id } =
      (await floe.deps.db.select().from(orders).where(eq(orders.checkout_id, checkout_id)))[0] ?? expect.fail();
    await floe.deps.db.insert(orderConfirmations).values({ organization_id, order_id, due_at: floe.clock.now() });
    await Promise.all([runWorkers(floe.deps, dueWorkers), runWorkers(floe.deps, dueWorkers)]);
    expect(await mailsTo(floe, email)).toHaveLength(2);
  });
});

describe("ORD-34: the mail of an order names the benefits", () => {
  const give = (type: string, description: string, properties: object = {}) =>
    seller.client.benefits.create({ body: { type, description, properties } as never });
  const sell = async (given: { id: string }[], product: object, checkout: object = {}) => {
    const { id } = await seller.client.products.create({
      body: { name: "Kit", prices: [{ amount_type: "fixed", price_amount: 500 }], ...product } as never,
    });
    const benefits = given.map((benefit) => benefit.id);
    await seller.client.products.setBenefits({ params: { id }, body: { benefits } });
    return buy({ body: { products: [id], ...checkout } });
  };

  test("and how the buyer gets each; a refunded order names none", async () => {
    const meter = await seller.client.meters.create({
      body: { name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
    });
    const given = [
      await give("license_keys", "Key <i>"),
      await give("custom", "Support", { note: "secret note" }),
      await give("meter_credit", "Calls", { units: 1500, rollover: false, meter_id: meter.id }),
    ];
    const { email, checkout_id } = await sell(given, {}, { locale: "de" });
    const [mail] = await mailsTo(floe, email);
    for (const words of [
      "- Key <i>: Ihr Lizenzschlüssel steht bei Ihren Käufen.",
      "- Support: Einzelheiten stehen bei Ihren Käufen.",
      "- Calls: Gutgeschriebene Einheiten: 1.500.",
    ])
      expect(mail?.text).toContain(words);
    expect(mail?.html).toContain("Key &lt;i&gt;");
    for (const text of [mail?.text, mail?.html]) expect(text).not.toContain("secret note");
    const order = await orderOf(checkout_id);
    await seller.client.refunds.create({ body: { order_id: order.id, reason: "other", amount: 500 } as never });
    await seller.client.orders.resendMail({ params: { id: order.id } });
    expect((await mailsTo(floe, email))[0]?.text).not.toContain("Lizenzschlüssel");
  });

  test("of seats, what the payer does and what each person gets; the cancellation still names them", async () => {
    const params = { id: seller.organization_id };
    const { feature_settings } = await seller.client.organizations.get({ params });
    await seller.client.organizations.update({
      params,
      body: { feature_settings: { ...feature_settings, seat_based_pricing_enabled: true } },
    });
    const given = [await give("license_keys", "Key"), await give("feature_flag", "Beta")];
    const prices = [{ amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, price_per_seat: 300 }] } }];
    const recurring = { recurring_interval: "month" };
    const { email } = await sell(given, { prices, ...recurring }, { seats: 3, locale: "en" });
    const [mail] = await mailsTo(floe, email);
    for (const words of ["- Seats: 3: Assign them in your purchases.", "- Key: For each person with a seat."])
      expect(mail?.text).toContain(words);
    const one = await sell([given[1] as { id: string }], recurring, { locale: "en" });
    expect((await mailsTo(floe, one.email))[0]?.text).toMatch(/^- Beta$/m);
    const { items } = await seller.client.subscriptions.list({ query: {} });
    const id = items.find(({ customer }) => customer.email === one.email)?.id ?? "";
    await seller.client.subscriptions.update({ params: { id }, body: { cancel_at_period_end: true } as never });
    await floe.runJobs();
    const [canceled] = await mailsTo(floe, one.email);
    expect([canceled?.subject, canceled?.text]).toEqual([
      expect.stringContaining("canceled"),
      expect.stringMatching(/^- Beta$/m),
    ]);
  });
});

describe("CHK-67: consent to immediate delivery", () => {
  const confirm = async (country: string, body: object, price = 900) => {
    const { id } = await seller.client.products.create({
      body: {
        name: "File",
        prices: [price ? { amount_type: "fixed", price_amount: price } : { amount_type: "free" }],
      } as never,
    });
    number += 1;
    const customer_email = `consumer-${number}@example.com`;
    const { client_secret, id: checkout_id } = await seller.client.checkouts.create({
      body: { products: [id], customer_email },
    });
    const state = country === "US" ? "US-CA" : null;
    const address = { country, state, line1: "1 Main", city: "Town", postal_code: "94105" };
    const { status, json } = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
      body: { confirmation_token_id: "pm_card_visa", customer_name: "Ada", customer_billing_address: address, ...body },
    });
    await floe.runJobs();
    return { status, detail: (json as { detail?: unknown }).detail, checkout_id, customer_email };
  };

  test.each<[string, string, object, number?]>([
    ["of a business", "DE", { is_business_customer: true, customer_billing_name: "Ice" }],
    ["outside of the European Union", "US", {}],
    ["for what costs nothing", "DE", { confirmation_token_id: null }, 0],
  ])("is not asked %s", async (_name, country, body, price) => {
    const { status, checkout_id } = await confirm(country, { ...body, withdrawal_consent: null }, price);
    expect(status).toBe(200);
    expect((await orderOf(checkout_id)).withdrawal_consent).toBeNull();
  });

  test("missing, it refuses the page's confirmation and changes nothing; other clients are not asked", async () => {
    for (const country of ["DE", "FR"]) {
      const refused = await confirm(country, { withdrawal_consent: null });
      expect([refused.status, refused.detail]).toEqual([
        422,
        [expect.objectContaining({ loc: ["body", "withdrawal_consent"], type: "missing" })],
      ]);
      expect((await seller.client.orders.list({ query: { checkout_id: refused.checkout_id } })).items).toEqual([]);
    }
    expect((await confirm("DE", { withdrawal_consent: "2099-01" })).status).toBe(422);
    const unasked = await confirm("DE", {});
    expect([unasked.status, (await orderOf(unasked.checkout_id)).withdrawal_consent]).toEqual([200, null]);
    expect((await mailsTo(floe, unasked.customer_email))[0]?.text).not.toContain("Widerruf");
  });

  test("given, it is in the order with its time, and in the mail", async () => {
    const { status, checkout_id, customer_email } = await confirm("DE", {
      withdrawal_consent: "2026-11",
      locale: "en-GB",
    });
    expect(status).toBe(200);
    const { withdrawal_consent } = await orderOf(checkout_id);
    expect(withdrawal_consent).toEqual({ version: "2026-11", agreed_at: expect.stringMatching(/Z$/) });
    const [mail] = await mailsTo(floe, customer_email);
    const year = withdrawal_consent?.agreed_at.slice(0, 4);
    expect(mail?.text).toMatch(new RegExp(`On \\d+ \\w+ ${year}.* you agreed that delivery begins at once`));
  });
});

describe("ORD-35: mails are in the language and the formats of the page of the confirmation", () => {
  const localeOf = async (checkout_id: string) => (await orderOf(checkout_id)).customer.locale;

  test.each([
    [
      "en-US",
      "US",
      "Order",
      /of (January|February|March|April|May|June|July|August|September|October|November|December) \d/,
      "$19.00",
    ],
    ["en-GB", "DE", "Order", /of \d+ [A-Z]/, "US$19.00"],
    ["de-AT", "US", "Bestellung", /vom \d+\. /, "$ 19,00"],
    ["en-ZZ", "DE", "Order", /of \d+ [A-Z]/, "US$19.00"],
    ["no such locale", "DE", "Order", /of \d+ [A-Z]/, "US$19.00"],
  ])("%s", async (locale, country, order, date, amount) => {
    const address = {
      country,
      ...(country === "US" ? { state: "US-CA", postal_code: "94105", line1: "1 Main", city: "SF" } : {}),
    };
    const { email, checkout_id } = await buy({ confirm: { locale, customer_billing_address: address } });
    expect(await localeOf(checkout_id)).toBe(locale);
    const [mail] = await mailsTo(floe, email);
    const text = (mail?.text ?? "").replaceAll("\u00a0", " ");
    expect(text).toContain(order);
    expect(text).toMatch(date);
    expect(text).toContain(amount);
  });

  test("whoever types the address of a customer does not change that customer's language; the seller does", async () => {
    const customer = await seller.client.customers.create({ body: { email: "owner@example.com", locale: "fr" } });
    await buy({ body: { customer_email: customer.email }, confirm: { locale: "de-DE" } });
    expect((await seller.client.customers.get({ params: { id: customer.id } })).locale).toBe("fr");
    await buy({ body: { customer_id: customer.id }, confirm: { locale: "de-DE" } });
    expect((await seller.client.customers.get({ params: { id: customer.id } })).locale).toBe("de-DE");
  });
});

describe("ORD-33: a mail is in the name of the seller", () => {
  test("with name, logo, color and the address for answers; that of a sandbox says that it is a test", async () => {
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { email: "help@frost.example", branding: { accent_color: "#f2c400" } },
    });
    const { name } = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    const real = (await mailsTo(floe, (await buy({ body: { locale: "de" } })).email))[0];
    expect(real).toMatchObject({ reply_to: "help@frost.example", subject: expect.stringMatching(/^Ihre Bestellung/) });
    for (const text of [real?.html, real?.text]) expect(text).toContain(`${name} · ${floe.url}`);
    // Black letters on yellow: white ones cannot be read.
    expect(real?.html).toMatch(/background-color:#f2c400;color:#000000/);
    await floe.deps.db.update(organization).set({ sandbox: true }).where(eq(organization.id, seller.organization_id));
    const bought = await buy({ body: { locale: "de" } });
    const [test] = await mailsTo(floe, bought.email);
    const { organization_id } = seller;
    const sale = await findOrder(floe.deps.db, organization_id, (await orderOf(bought.checkout_id)).id);
    const row = await findOrganization(floe.deps.db, organization_id);
    if (!sale || !row) throw new Error("The sale is gone.");
    const invoice = { kind: "invoice" as const, number: "1", created_at: sale.order.created_at };
    const sources = { invoice, sale, registrations: [], payment: undefined, refund: undefined };
    expect(describeDocument({ ...sources, sells_test: false, seller: row })).toMatchObject({
      is_test: true,
      note: expect.stringMatching(/^TEST: Dieses/),
    });
    expect(test).toMatchObject({ is_test: true, subject: expect.stringMatching(/^Ihre Bestellung/) });
    expect(test?.text).toMatch(/^Dies ist ein Test:/);
  });
});

describe("ORD-32: a seller has the mail of an order sent again", () => {
  const resend = (id: string, by: Seller = seller) =>
    by.client.orders.resendMail({ params: { id } }).then(
      (answer) => answer,
      ({ status }) => status,
    );

  test("to the current address, as the order is now, though the first was switched off; the log says who asked", async () => {
    await settings({ order_confirmation: false });
    const { email, checkout_id } = await buy({ body: { locale: "en" } });
    const order = await orderOf(checkout_id);
    const moved = `moved-${email}`;
    await seller.client.customers.update({ params: { id: order.customer_id }, body: { email: moved } });
    expect(await resend(order.id)).toMatchObject({ order_id: order.id, email: moved });
    expect(await mailsTo(floe, email)).toEqual([]);
    const [mail, ...more] = await mailsTo(floe, moved);
    expect([more.length, mail?.subject]).toEqual([0, expect.stringContaining(order.invoice_number)]);
    for (const word of ["$19.00", "/portal#link=", "/documents/"]) expect(mail?.text).toContain(word);
    const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, order.id));
    expect(entries.filter(({ action }) => action === "order.mail_resent")).toHaveLength(1);
  });

  test("five times an hour; refused requests send nothing and are not counted", async () => {
    const { email, checkout_id } = await buy();
    const { id } = await orderOf(checkout_id);
    expect(await resend(id, await floe.seller())).toBe(404);
    const answers = await Promise.all(Array.from({ length: 7 }, () => resend(id)));
    expect(answers.filter((answer) => answer === 429)).toHaveLength(2);
    expect(await mailsTo(floe, email)).toHaveLength(6);
    floe.clock.advance(61 * 60 * 1000);
    expect(await resend(id)).toMatchObject({ email });
  });

  test("not of a customer who is gone, nor by a key that only reads", async () => {
    const { checkout_id } = await buy();
    const { id, customer_id } = await orderOf(checkout_id);
    const reader = floe.client(await floe.keyOf(seller, ["orders:read"]));
    expect(await resend(id, { ...seller, client: reader })).toBe(403);
    await seller.client.customers.delete({ params: { id: customer_id }, query: { anonymize: true } });
    expect(await resend(id)).toBe(400);
  });
});

describe("CUP-28: the link to the portal in a mail", () => {
  const linkIn = async (email: string) => {
    const [mail] = await mailsTo(floe, email);
    return /https?:\/\/\S+\/portal#link=([^&\s]+)/.exec(mail?.text ?? "") ?? expect.fail(`no link in ${mail?.text}`);
  };
  const open = async (token: string) => {
    const answer = await floe.request("POST", "/v1/customer-portal/customer-session/link", { body: { token } });
    return answer as { status: number; json: { token: string; error?: string } };
  };

  test("opens the session of its customer once, then asks for a code; loading the page uses nothing up", async () => {
    const { email, checkout_id } = await buy();
    const { customer_id } = await orderOf(checkout_id);
    const [link = "", token = ""] = await linkIn(email);
    const sessions = () =>
      floe.deps.db.select().from(customerSessions).where(eq(customerSessions.customer_id, customer_id));
    const before = (await sessions()).length;
    for (const method of ["GET", "HEAD"] as const)
      await floe.app.inject({ method, url: link.replace(floe.url, ""), headers: { accept: "text/html" } });
    expect(await sessions()).toHaveLength(before);
    // Of ten at once, one.
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(token)));
    const [opened, ...more] = answers.filter(({ status }) => status === 200);
    expect([more.length, opened?.json.token]).toEqual([0, expect.stringMatching(/^polar_cst_/)]);
    for (const { status, json } of answers.filter((answer) => answer !== opened))
      expect([status, json.error]).toEqual([401, "CustomerSessionCodeInvalidOrExpired"]);
    const me = await floe.client(opened?.json.token ?? "").customerPortal.getMe({});
    expect(me).toMatchObject({ id: customer_id, email, email_verified: false });
    expect(await sessions()).toHaveLength(before + 1);
    expect(floe.logged.join("\n")).not.toContain(token);
    // A day later, also with another spelling of the token; the next mail has a link of its own.
    floe.clock.advance(24 * 60 * 60 * 1000);
    await floe.runJobs();
    for (const again of [token, `${token}=`]) expect((await open(again)).status).toBe(401);
    await seller.client.orders.resendMail({ params: { id: (await orderOf(checkout_id)).id } });
    const second = /portal#link=([^&\s]+)/.exec((await mailsTo(floe, email)).at(0)?.text ?? "")?.[1] ?? "";
    expect(second).not.toBe(token);
    expect((await open(second)).status).toBe(200);
  });

  test.each([
    ["a subscription that begins", { recurring_interval: "month" }],
    ["a trial", { recurring_interval: "month", trial_interval: "day", trial_interval_count: 3 }],
  ])("is in the mail of %s, and of its cancellation", async (_name, product) => {
    const { email, checkout_id } = await buy({ product });
    await linkIn(email);
    const [subscription] = (await seller.client.subscriptions.list({ query: {} })).items;
    await seller.client.subscriptions.update({
      params: { id: subscription?.id ?? "" },
      body: { cancel_at_period_end: true } as never,
    });
    await floe.runJobs();
    const mails = await mailsTo(floe, email);
    expect(mails.length).toBeGreaterThan(1);
    for (const { text } of mails) expect(text).toContain("/portal#link=");
    expect((await orderOf(checkout_id)).customer_id).toBe(subscription?.customer_id);
  });

  test("ends after 30 days, with another address and with the customer, and nobody can make one", async () => {
    const { email, checkout_id } = await buy();
    const { customer_id: id } = await orderOf(checkout_id);
    const [, token = ""] = await linkIn(email);
    const named = { organization_id: seller.organization_id, customer_id: id, email, email_version: 0, slug: "shop" };
    const tokenOf = (link: string) => link.slice(link.indexOf("#link=") + "#link=".length);
    const [config, now] = [floe.deps.config, floe.clock.now()];
    const day_ms = 24 * 60 * 60 * 1000;
    const foreign = { ...named, organization_id: (await floe.seller()).organization_id };
    for (const wrong of [
      tokenOf(buildPortalLink(config, named, new Date(now.getTime() - 30 * day_ms))),
      tokenOf(buildPortalLink({ ...config, secret: "another secret, long enough to be one" }, named, now)),
      tokenOf(buildPortalLink(config, foreign, now)),
      linkDocument(config, { ...named, order_id: id, kind: "invoice" }, now)
        .split("/")
        .at(-1) ?? "",
      token.replace(/.(?=.{5}$)/, (one) => (one === "x" ? "y" : "x")),
      "__proto__",
    ]) {
      const { status, json } = await open(wrong);
      expect([status, json.error], wrong).toEqual([401, "CustomerSessionCodeInvalidOrExpired"]);
    }
    expect((await open(tokenOf(buildPortalLink(config, named, new Date(now.getTime() - 29 * day_ms))))).status).toBe(
      200,
    );
    await seller.client.customers.update({ params: { id }, body: { email: `moved-${email}` } });
    expect((await open(token)).status).toBe(401);
    // The first address again is one that the link was never mailed to.
    await seller.client.customers.update({ params: { id }, body: { email } });
    expect((await open(token)).status).toBe(401);
    expect((await open(tokenOf(buildPortalLink(config, { ...named, email_version: 2 }, now)))).status).toBe(200);
    await seller.client.customers.update({ params: { id }, body: { email: email.toUpperCase() } });
    expect((await open(tokenOf(buildPortalLink(config, { ...named, email_version: 2 }, now)))).status).toBe(200);
    const gone = await buy();
    const [, last = ""] = await linkIn(gone.email);
    const { customer_id } = await orderOf(gone.checkout_id);
    await seller.client.customers.delete({ params: { id: customer_id }, query: { anonymize: true } });
    expect((await open(last)).status).toBe(401);
  });
});

describe("the address of a document", () => {
  test("is good for a year, for that document alone, and nobody can make one", async () => {
    const { checkout_id } = await buy();
    const order = await orderOf(checkout_id);
    const named = { organization_id: seller.organization_id, order_id: order.id, kind: "receipt" as const };
    const now = floe.clock.now();
    const good = linkDocument(floe.deps.config, named, now);
    const old = linkDocument(floe.deps.config, named, new Date(now.getTime() - 366 * 24 * 60 * 60 * 1000));
    const foreign = linkDocument(
      floe.deps.config,
      { ...named, organization_id: (await floe.seller()).organization_id },
      now,
    );
    const forged = linkDocument({ ...floe.deps.config, secret: "another secret, long enough to be one" }, named, now);
    const changed = good.replace(/.(?=.{5}$)/, (one) => (one === "x" ? "y" : "x"));
    expect((await get(good)).status).toBe(202);
    for (const address of [
      old,
      foreign,
      forged,
      changed,
      `${floe.url}/documents/__proto__`,
      `${floe.url}/documents/%00`,
    ])
      expect((await get(address)).status, address).toBe(404);
  });
});

describe("receipt numbers", () => {
  test("ORD-26: are each customer's own, taken with the payment, without a gap though some are declined", async () => {
    const { id: customer_id } = await seller.client.customers.create({ body: { email: "regular@example.com" } });
    const of = { body: { customer_id, customer_email: "regular@example.com" } };
    const first = await orderOf((await buy(of)).checkout_id);
    await buy({ ...of, confirm: { confirmation_token_id: "pm_card_chargeDeclined" } });
    await buy({ ...of, product: { prices: [{ amount_type: "free" }] } });
    const second = await orderOf((await buy(of)).checkout_id);
    const other = await orderOf((await buy()).checkout_id);
    expect([first, second, other].map((order) => order.receipt_number?.slice(-4))).toEqual(["0001", "0002", "0001"]);
    expect(first.receipt_number?.slice(0, -4)).toBe(second.receipt_number?.slice(0, -4));
    expect(other.receipt_number?.slice(0, -4)).not.toBe(first.receipt_number?.slice(0, -4));
    const rows = await floe.deps.db
      .select({ receipt_number: orders.receipt_number })
      .from(orders)
      .where(and(eq(orders.organization_id, seller.organization_id), eq(orders.customer_id, customer_id)));
    expect(rows.flatMap((row) => row.receipt_number ?? [])).toHaveLength(2);
  });
});

describe("what the page after a payment asks for", () => {
  test("is the order with its number and amounts, and each document; before the payment there is none", async () => {
    const { id } = await seller.client.products.create({
      body: { name: "Map", prices: [{ amount_type: "fixed", price_amount: 700 }] },
    });
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
    const at = `/v1/checkouts/client/${client_secret}/order`;
    for (const path of [at, `${at}/invoice`, `${at}/receipt`]) expect((await get(path)).status).toBe(404);
    const bought = await buy();
    const there = `/v1/checkouts/client/${bought.client_secret}/order`;
    const order = await orderOf(bought.checkout_id);
    const { status, json, text } = await get(there);
    expect([status, json]).toEqual([
      200,
      {
        id: order.id,
        created_at: expect.any(String),
        status: "paid",
        invoice_number: order.invoice_number,
        receipt_number: order.receipt_number,
        currency: "usd",
        subtotal_amount: 1900,
        discount_amount: 0,
        net_amount: 1900,
        tax_amount: 0,
        total_amount: 1900,
        due_amount: 1900,
        refunded_amount: 0,
        refunded_tax_amount: 0,
        items: [{ label: "Guide <b>", amount: 1900 }],
        is_invoice_available: true,
        confirmation_email: bought.email,
      },
    ]);
    expect(text).not.toContain("metadata");
    for (const kind of ["invoice", "receipt"]) {
      expect((await get(`${there}/${kind}`)).status).toBe(202);
      await floe.runJobs();
      const { status, json } = await get(`${there}/${kind}`);
      expect([status, json]).toEqual([200, { url: expect.stringContaining("/storage/download") }]);
    }
  });
});
