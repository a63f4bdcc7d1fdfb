import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";
import { type Fake, startFake } from "./support/fake.ts";
import { id } from "./support/sample.ts";

let browser: Browser;
let web: string;
let fake: Fake;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  [web, browser] = await Promise.all([buildWeb(), openChromium()]);
});
afterAll(async () => {
  await closePages(browser);
});
beforeEach(async () => {
  fake = await startFake(web);
  complaints = [];
  page = await openPage(browser, complaints);
});
afterEach(async () => {
  await page.context().close();
  await fake.close();
  expect(complaints).toEqual([]);
});

async function fill(number = "4242424242424242"): Promise<void> {
  await page.fill("[name=email]", "ada@example.com");
  await page.fill("[name=name]", "Ada Lovelace");
  if (await page.locator("[name=country]").count()) await page.selectOption("[name=country]", "DE");
  if (await page.locator("[name=consent]").count()) await page.check("[name=consent]");
  if (await page.getByRole("heading", { name: "Payment" }).count()) {
    await page.fill("[name=card_number]", number);
    await page.fill("[name=card_expiry]", "1240");
    await page.fill("[name=card_cvc]", "123");
  }
}
/** Between 2 and 40 seats, $10.00 each; 2 to begin with. */
function sellSeats() {
  const made = fake.checkout({ seats: 2, min_seats: 2, price_per_seat: 1000, amount: 2000 });
  const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
  const seat_tiers = { seat_tier_type: "volume" as const, tiers, minimum_seats: 1, maximum_seats: 40 };
  const price = { ...made.product_price, amount_type: "seat_based" as const, seat_tiers };
  return Object.assign(made, { product_price: price, prices: { [made.product_id]: [price] }, total_amount: 2000 });
}
const pay = () => page.click("button[type=submit]");
const thanks = () => expect(page.getByRole("heading", { name: "Thank you" }).waitFor()).resolves.toBeUndefined();
const bodyOf = (end: string) => fake.bodies.filter(({ path }) => path.endsWith(end)).at(-1)?.body;
const focused = () => page.evaluate(() => (document.activeElement as HTMLInputElement | null)?.name);

describe("the checkout", () => {
  test("ORG-10: says who sells by law, and links terms and privacy policy; what is not set is not there", async () => {
    const sold = fake.checkout();
    await page.goto(sold.url);
    await page.getByText("Sold by Demo Store.").waitFor();
    expect(await page.getByRole("link", { name: "Terms" }).count()).toBe(0);
    const legal_settings = {
      terms_url: "https://demo.example/terms",
      privacy_url: "https://demo.example/privacy",
      imprint: `1 Main St${"x".repeat(100)}\n<b>Register</b> 1`,
    };
    const other = fake.checkout();
    Object.assign(other.organization, { legal_name: "Demo Ltd", legal_settings });
    await page.setViewportSize({ width: 320, height: 900 });
    await page.goto(other.url);
    await page.getByText("Sold by Demo Ltd.").waitFor();
    expect(await page.getByRole("link", { name: "Terms" }).getAttribute("href")).toBe(legal_settings.terms_url);
    expect(await page.getByRole("link", { name: "Privacy" }).getAttribute("href")).toBe(legal_settings.privacy_url);
    expect(await page.getByText("<b>Register</b> 1").count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test.each([
    ["en", "What you get", "License key for 3 devices, valid for one year", "2 files to download"],
    ["de", "Das erhalten Sie", "Lizenzschlüssel für 3 Geräte, ein Jahr gültig", "2 Dateien zum Herunterladen"],
    ["fr", "Ce que vous recevez", "Clé d’activation pour 3 appareils, valable un an", "2 fichiers à télécharger"],
  ])("in %s each benefit is said by its description and by what it is", async (locale, ...texts) => {
    const sold = fake.checkout({ locale });
    const none = { activations: null, expires: null, limit_usage: null, files: null };
    const benefit = (type: string, description: string, terms: object | null) => ({
      ...{ id: id(), created_at: sold.created_at, modified_at: null, organization_id: sold.organization.id },
      ...{ selectable: true, deletable: true, is_deleted: false, type, description, terms },
    });
    const benefits = [
      benefit("license_keys", "App key", { ...none, activations: 3, expires: { ttl: 1, timeframe: "year" } }),
      benefit("downloadables", "The book", { ...none, files: 2 }),
      benefit("custom", "Our thanks", null),
    ];
    Object.assign(sold, { product: { ...sold.product, benefits } });
    await page.goto(sold.url);
    const [heading = "", ...sentences] = texts;
    await page.getByRole("heading", { name: heading }).waitFor();
    const said = await page.locator(".gets li").allInnerTexts();
    expect(said).toEqual([`App key\n${sentences[0]}`, `The book\n${sentences[1]}`, "Our thanks"]);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("keyboard alone completes a purchase, and the card number never reaches the checkout", async () => {
    await page.goto(fake.checkout().url);
    await page.getByLabel("E-mail").waitFor();
    // Past the way to enter a code, to the form.
    await page.keyboard.press("Tab");
    const type = async (text: string): Promise<void> => {
      await page.keyboard.press("Tab");
      await page.keyboard.type(text);
    };
    await type("ada@example.com");
    await type("Ada Lovelace");
    await type("Germany");
    // Not for a business.
    await type("");
    await type("4242424242424242");
    await type("12/40");
    await type("123");
    // The consent of a consumer in the European Union, then the button.
    await type(" ");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await thanks();
    await page.getByText("ada@example.com").first().waitFor();
    await page.getByText("$19.00").first().waitFor();
    await page.getByText("DEMO-0042").waitFor();
    await page.getByText("A confirmation is on its way to ada@example.com.").waitFor();
    expect(bodyOf("/confirmation-tokens")).toEqual({
      card: { number: "4242424242424242", exp_month: 12, exp_year: 2040, cvc: "123" },
      billing_name: "Ada Lovelace",
    });
    const confirm = bodyOf("/confirm");
    expect(confirm).toMatchObject({ customer_email: "ada@example.com", customer_billing_address: { country: "DE" } });
    expect(JSON.stringify(confirm)).not.toContain("4242");
    expect(page.url()).toMatch(/\/confirmation$/);
  });

  test("empty fields are named beside themselves, and the focus goes to the first", async () => {
    await page.goto(fake.checkout().url);
    await page.getByLabel("E-mail").waitFor();
    await pay();
    expect(await focused()).toBe("email");
    const email = page.locator("[name=email]");
    expect(await email.getAttribute("aria-invalid")).toBe("true");
    const id = await email.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${id}"]`).textContent()).toBe("Enter your e-mail address.");
    expect(await page.getByRole("alert").textContent()).toBe("6 fields need your attention.");
    expect(fake.bodies).toEqual([]);
    await email.fill("ada@example.com");
    expect(await email.getAttribute("aria-invalid")).toBeNull();
  });

  test("faults of the server stand beside their fields", async () => {
    await page.goto(fake.checkout().url);
    await fill("5555555555554444");
    await pay();
    await page.getByText("Only test cards are taken here.").waitFor();
    expect(await focused()).toBe("card_number");
    await fill();
    await page.fill("[name=email]", "ada@blocked.example");
    await pay();
    await page.getByText("This address cannot receive mail.").waitFor();
    expect(await focused()).toBe("email");
  });

  test("a declined card is told beside the card, and another one can be tried", async () => {
    await page.goto(fake.checkout().url);
    await fill("4000000000000002");
    await pay();
    const alert = page.locator("#card-fault");
    await alert.waitFor();
    expect(await alert.textContent()).toBe("Your card was declined.");
    expect(await alert.getAttribute("role")).toBe("alert");
    expect(await focused()).toBe("card_number");
    expect(await page.locator("[name=card_number]").getAttribute("aria-describedby")).toContain("card-fault");
    await page.fill("[name=card_number]", "4242424242424242");
    expect(await alert.count()).toBe(0);
    await pay();
    await thanks();
  });

  test("a bank's question is asked: approved it is paid, declined the form is there again", async () => {
    await page.goto(fake.checkout().url);
    await fill("4000000000003220");
    await pay();
    const dialog = page.getByRole("dialog", { name: "Your bank asks you to approve this payment" });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    // A second Escape closes a dialog unasked; it has to come back.
    await expect.poll(() => dialog.isVisible()).toBe(true);
    await dialog.getByRole("button", { name: "Decline" }).click();
    await page.locator("#card-fault").waitFor();
    await pay();
    await dialog.getByRole("button", { name: "Approve" }).click();
    await thanks();
  });

  test("a page that is loaded anew while the bank asks, asks again", async () => {
    await page.goto(fake.checkout().url);
    await fill("4000000000003220");
    await pay();
    await page.getByRole("dialog").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Approve" }).click();
    await thanks();
  });

  test("without the event stream it asks every two seconds", async () => {
    fake.streams = false;
    fake.slow = true;
    await page.goto(fake.checkout().url);
    await fill();
    await pay();
    await page.getByText("Completing your purchase").waitFor();
    fake.settle();
    await thanks();
  });

  test("an answer that never comes is given up, and the end of the purchase is asked for again", async () => {
    fake.slow = true;
    await page.clock.install();
    const { url, client_secret } = fake.checkout();
    await page.goto(url);
    await fill();
    await pay();
    await page.getByText("Completing your purchase").waitFor();
    const held: (() => void)[] = [];
    let isHolding = true;
    await page.route(`**/v1/checkouts/client/${client_secret}`, async (route) => {
      if (isHolding) await new Promise<void>((done) => held.push(done));
      else await route.continue();
    });
    fake.settle();
    // What was said of it meanwhile has it ask once more; of the second there is nobody to say anything.
    await expect.poll(() => held.length).toBe(1);
    await page.clock.fastForward(15_000);
    await expect.poll(() => held.length).toBe(2);
    isHolding = false;
    await page.clock.fastForward(15_000);
    await page.clock.fastForward(2_000);
    await thanks();
  });

  test("a country that needs an address asks for it, and a discount and the amount change the total", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await page.selectOption("[name=country]", "US");
    await page.selectOption("[name=state]", "US-NY");
    await page.getByLabel("Second line (optional)").waitFor();
    await page.getByRole("button", { name: "Add a discount code" }).click();
    await page.keyboard.type("FROST");
    await page.keyboard.press("Enter");
    await page.getByText("Discount does not exist.").waitFor();
    expect(await focused()).toBe("discount_code");
    expect(await page.inputValue("[name=discount_code]")).toBe("FROST");
    await page.fill("[name=discount_code]", "THAW");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("button", { name: "Pay $15.00" }).waitFor();
    await page.getByText("Discount (Spring thaw)").waitFor();
    // The keyboard is on what took the field's place, and who listens is told.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Remove");
    await page.getByText("The discount code THAW is applied. Due today: $15.00.").waitFor();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("button", { name: "Pay $19.00" }).waitFor()).resolves.toBeUndefined();
  });

  test("where the buyer sets the price, too little is refused beside the amount", async () => {
    const made = fake.checkout();
    const price = {
      ...made.product_price,
      amount_type: "custom" as const,
      minimum_amount: 500,
      maximum_amount: null,
      preset_amount: 1900,
    };
    Object.assign(made, { product_price: price, prices: { [made.product_id]: [price] } });
    await page.goto(made.url);
    const amount = page.getByLabel("Amount in USD");
    await amount.fill("2");
    await amount.blur();
    await page.getByText("greater than or equal to 500").waitFor();
    await amount.fill("25");
    await amount.blur();
    await expect(page.getByRole("button", { name: "Pay $25.00" }).waitFor()).resolves.toBeUndefined();
  });

  test("what costs nothing asks for no card and no address", async () => {
    const free = {
      amount: 0,
      net_amount: 0,
      total_amount: 0,
      is_payment_required: false,
      is_payment_form_required: false,
    };
    await page.goto(fake.checkout({ ...free, is_free_product_price: true }).url);
    await page.getByRole("button", { name: "Get it for free" }).waitFor();
    expect(await page.locator("[name=card_number], [name=country]").count()).toBe(0);
    await fill();
    await pay();
    await thanks();
    await page.getByText("Complete", { exact: true }).waitFor();
  });

  test("where no payment can be taken the page says so before a card is asked for; what is free is still given", async () => {
    const made = fake.checkout({ is_payment_available: false });
    await page.goto(made.url);
    await page.getByText("This seller cannot take payments at the moment").waitFor();
    expect(await page.locator("[name=card_number], button[type=submit]").count()).toBe(0);
    Object.assign(made, { is_payment_required: false, is_payment_form_required: false });
    await page.goto(made.url);
    await page.getByRole("button", { name: "Get it for free" }).waitFor();
    expect(await page.getByText("cannot take payments").count()).toBe(0);
  });

  test("a seller's own page is where the buyer goes, with the session token", async () => {
    await page.goto(fake.checkout({ success_url: `${fake.url}/error?error=stand-in` }).url);
    await fill();
    await pay();
    await expect(
      page.waitForURL(`${fake.url}/error?error=stand-in&customer_session_token=polar_cst_1`),
    ).resolves.toBeUndefined();
  });

  test.each([
    [410, "ExpiredCheckoutError", "This checkout has expired"],
    [404, "ResourceNotFound", "There is no such checkout"],
    [500, "InternalServerError", "The checkout could not be loaded"],
  ])("a checkout answered with %i says so", async (status, error, title) => {
    fake.refuse = { status, error };
    await page.goto(fake.checkout().url);
    await expect(page.getByRole("heading", { name: title }).waitFor()).resolves.toBeUndefined();
  });

  test("a checkout that was completed elsewhere shows its confirmation", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    Object.assign(made, { status: "succeeded", customer_email: "ada@example.com" });
    await pay();
    await thanks();
  });

  test("the caret stays where a digit is mended in the middle of a card number", async () => {
    await page.goto(fake.checkout().url);
    const number = page.locator("[name=card_number]");
    await number.fill("4242 4242 4442 4242");
    await number.evaluate((input: HTMLInputElement) => input.setSelectionRange(12, 12));
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    await page.keyboard.type("42");
    expect(await number.inputValue()).toBe("4242 4242 4242 4242");
  });

  test("what changed after it was shown is shown and said, asked again, and nothing is charged before", async () => {
    const made = fake.checkout();
    await page.goto(made.url);
    await fill();
    made.amount = 2500;
    await pay();
    const changed = page.getByRole("alert").filter({ hasText: "Due today is now $25.00. Nothing was charged" });
    await changed.waitFor();
    expect(made.status).toBe("open");
    // What was typed is still there, and the new terms are what the button says.
    expect(await page.inputValue("[name=card_number]")).toBe("4242 4242 4242 4242");
    await page.getByRole("button", { name: "Pay $25.00" }).click();
    await thanks();
    const quotes = fake.bodies.filter(({ path }) => path.endsWith("/confirm")).map(({ body }) => body.quote);
    expect(quotes).toEqual(["quote.1900.null", "quote.2500.null"]);
  });

  test("what the buyer changes while it is under way is shown before it is paid", async () => {
    const made = sellSeats();
    await page.goto(made.url);
    await fill();
    // Both at once, before any answer.
    await page.evaluate(() => {
      document.querySelector<HTMLElement>('[aria-label="One seat more"]')?.click();
      document.querySelector<HTMLElement>("button[type=submit]")?.click();
    });
    await page.getByRole("alert").filter({ hasText: "Due today is now $30.00" }).waitFor();
    expect(bodyOf("/confirm")).toBeUndefined();
    await page.getByRole("button", { name: "Pay $30.00" }).click();
    await thanks();
    expect(bodyOf("/confirm")).toMatchObject({ quote: "quote.3000.3" });
  });

  test("seats are changed by buttons, arrow keys and digits, within their bounds, and each change is said", async () => {
    const made = sellSeats();
    await page.goto(made.url);
    const seats = page.getByRole("spinbutton", { name: "Seats" });
    await seats.waitFor();
    expect(await page.getByRole("button", { name: "One seat fewer" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "One seat more" }).click();
    await page.getByRole("status").filter({ hasText: "3 seats. Due today: $30.00." }).waitFor();
    await seats.focus();
    await page.keyboard.press("PageUp");
    await page.keyboard.press("ArrowDown");
    await page.getByRole("button", { name: "Pay $120.00" }).waitFor();
    await page.getByText("12 seats × $10.00").waitFor();
    await seats.fill("1");
    await page.keyboard.press("Enter");
    await page.getByText("Between 2 and 40 seats.").waitFor();
    expect(await seats.getAttribute("aria-invalid")).toBe("true");
    await seats.fill("40");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Pay $400.00" }).waitFor();
    expect(await page.getByRole("button", { name: "One seat more" }).isDisabled()).toBe(true);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("one of several products is chosen by its price", async () => {
    const made = fake.checkout();
    const other = { ...made.product, id: id(), name: "Atlas of Drift" };
    const price = { ...made.product_price, id: id(), product_id: other.id, price_amount: 4900 };
    made.products.push(other);
    Object.assign(made.prices, { [other.id]: [price] });
    await page.goto(made.url);
    await page.getByRole("radio", { name: "Atlas of Drift $49.00" }).check();
    await page.getByRole("button", { name: "Pay $49.00" }).waitFor();
    await expect(page.getByRole("heading", { name: "Atlas of Drift", level: 1 }).waitFor()).resolves.toBeUndefined();
  });

  test("a trial asks for the card, says what is due when, and says so in the language of the checkout", async () => {
    const trial = {
      active_trial_interval: "day" as const,
      active_trial_interval_count: 14,
      trial_end: "2027-01-08T12:00:00.000Z",
      is_payment_required: false,
      is_payment_setup_required: true,
    };
    for (const [locale, later, button, lang] of [
      ["en", "14 days free, then $19.00 a month from January 8, 2027.", "Start free trial", "en"],
      ["de-DE", "14 Tage kostenlos, danach 19,00\u00a0$ pro Monat ab 8. Januar 2027.", "Kostenlos testen", "de"],
      [
        "fr",
        "14 jours d’essai gratuit, puis 19,00\u00a0$US par mois à partir du 8 janvier 2027.",
        "Commencer l’essai gratuit",
        "fr",
      ],
    ] as const) {
      const made = fake.checkout({ ...trial, locale });
      Object.assign(made.product, { recurring_interval: "month", recurring_interval_count: 1, is_recurring: true });
      await page.goto(made.url);
      await page.getByRole("button", { name: button }).waitFor();
      expect(await page.locator(".later").textContent()).toBe(later);
      // What is charged after the trial, and what today: the price itself is not a third line.
      expect(await page.locator(".lines dt").count()).toBe(2);
      expect(await page.getAttribute("html", "lang")).toBe(lang);
      await page.locator("[name=card_number]").waitFor();
      expect(await seriousFaults(page)).toEqual([]);
    }
  });

  test("a trial can be left out: what is due is due today then, and the keyboard goes on from the heading", async () => {
    const trial = {
      trial_end: "2027-01-08T12:00:00.000Z",
      is_payment_required: false,
      is_payment_setup_required: true,
    };
    const made = fake.checkout(trial);
    Object.assign(made.product, { recurring_interval: "month", recurring_interval_count: 1, is_recurring: true });
    await page.goto(made.url);
    await page.getByRole("button", { name: "Start free trial" }).waitFor();
    await page.getByRole("button", { name: "Buy now, without the free trial" }).click();
    await page.getByRole("button", { name: "Subscribe for $19.00 a month" }).waitFor();
    expect(bodyOf(made.client_secret)).toEqual({ allow_trial: false });
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
    expect(await page.getByRole("button", { name: "Buy now, without" }).count()).toBe(0);
  });

  test("whoever had a trial before is offered to buy without it, where they are told so", async () => {
    const made = fake.checkout({ trial_end: "2027-01-08T12:00:00.000Z", is_payment_required: false });
    Object.assign(made.product, { recurring_interval: "month", recurring_interval_count: 1, is_recurring: true });
    await page.goto(made.url);
    await fill();
    const refusal = { error: "TrialAlreadyRedeemed", detail: "You have had a trial before. You can buy without it." };
    await page.route("**/confirm", (route) => route.fulfill({ status: 403, json: refusal }));
    await pay();
    await page.getByRole("alert").filter({ hasText: "You have had a trial before." }).waitFor();
    await page.locator("form").getByRole("button", { name: "Buy now, without the free trial" }).click();
    await page.unroute("**/confirm");
    await page.getByRole("button", { name: "Subscribe for $19.00 a month" }).click();
    await thanks();
  });

  test("what is mistyped is told when it is left, what is missing is not", async () => {
    await page.goto(fake.checkout().url);
    await page.getByLabel("E-mail").fill("ada@");
    await page.getByLabel("Name on card").click();
    await page.getByText("Write it like name@example.com.").waitFor();
    expect(await page.locator("[name=email]").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Card number").fill("4242 4242 4242 4241");
    await page.getByLabel("Expiry date").click();
    await page.getByText("This card number is not valid.").waitFor();
    await page.getByLabel("Security code").click();
    await page.getByLabel("Name on card").click();
    // Nobody is told that everything is wrong before they have pressed the button.
    expect(await page.locator(".message.fault").count()).toBe(2);
    expect(await page.getByRole("alert").textContent()).toBe("");
  });

  test("what a seller writes in Markdown is drawn as such, and leads nowhere but to pages and mail", async () => {
    const made = fake.checkout();
    made.product.description =
      "A **soft** shirt, *see* [care](https://care.example/) <b>x</b>\n\n- organic\n- `fair`\n\n## More\n[x](javascript:alert(1)) ![p](https://p.example/p.png) 2 * 3 * 4";
    await page.goto(made.url);
    const text = page.locator(".description");
    expect(await text.locator("strong").textContent()).toBe("soft");
    expect(await text.locator("li").allTextContents()).toEqual(["organic", "fair"]);
    expect(await text.locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href")))).toEqual([
      "https://care.example/",
    ]);
    expect(await text.locator(".heading").textContent()).toBe("More");
    expect(await text.locator("b, img, h2").count()).toBe(0);
    expect(await text.textContent()).toContain("<b>x</b>");
    expect(await text.textContent()).toContain("2 * 3 * 4");
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("summary and form stand on one edge, however wide the page", async () => {
    await page.goto(fake.checkout().url);
    await page.getByLabel("E-mail").waitFor();
    for (const width of [320, 500, 700, 768, 830]) {
      await page.setViewportSize({ width, height: 800 });
      const left = (selector: string) =>
        page
          .locator(selector)
          .first()
          .evaluate((element) => Math.round(element.getBoundingClientRect().left));
      expect(await left(".ice h2"), `${width} px`).toBe(await left(".water h1"));
    }
  });

  test("the tax of a buyer whose country is not known is said to come, and is not in the total", async () => {
    const made = fake.checkout({ tax_amount: null });
    await page.goto(made.url);
    await page.getByText("Once we know your country").waitFor();
    made.tax_amount = 361;
    await page.selectOption("[name=country]", "DE");
    await expect(page.getByRole("button", { name: "Pay $22.61" }).waitFor()).resolves.toBeUndefined();
    Object.assign(made, { tax_behavior: "inclusive", total_amount: 1900, net_amount: 1539, tax_amount: 361 });
    await page.reload();
    await expect(page.getByText("Including tax").waitFor()).resolves.toBeUndefined();
  });

  test("a business says its name and its number", async () => {
    await page.goto(fake.checkout().url);
    await fill();
    await page.getByLabel("I am buying for a business").check();
    await pay();
    await page.getByText("Enter the name of your company.").waitFor();
    expect(await focused()).toBe("company");
    await page.fill("[name=company]", "Ice & Sons");
    await page.fill("[name=tax_id]", "DE136695976");
    await pay();
    await thanks();
    expect(bodyOf("/confirm")).toMatchObject({
      is_business_customer: true,
      customer_billing_name: "Ice & Sons",
      customer_tax_id: "DE136695976",
    });
  });

  test("on a telephone the sum stands above the form, its parts unfold, and nothing scrolls sideways", async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(fake.checkout().url);
    const details = page.getByRole("button", { name: "Details" });
    await details.waitFor();
    expect(await page.getByText("84 pages").isVisible()).toBe(false);
    await details.click();
    expect(await page.getByText("84 pages").isVisible()).toBe(true);
    expect(await details.getAttribute("aria-expanded")).toBe("true");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  });
});
