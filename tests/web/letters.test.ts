/** The mails of the account side, and those to buyers, as a mail program shows them. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  writeChangeMail,
  writeDeletionMail,
  writeInvitationMail,
  writeResetMail,
  writeVerificationMail,
} from "../../server/identity/accounts/mails.ts";
import { writeDisabledMail } from "../../server/messaging/webhooks/messages.ts";
import { type EmailContent, renderLetter } from "../../server/platform/mail-transport/email-layout.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

const to = "ada@example.com";
const url = `https://pay.example.com/api/auth/verify-email?token=${"a.b-c".repeat(60)}&callbackURL=%2F`;
const from = "https://pay.example.com";
const letters: Record<string, EmailContent & { to: string }> = {
  verification: writeVerificationMail(to, url),
  reset: writeResetMail(to, url),
  change: writeChangeMail(to, "new@example.com", url),
  deletion: writeDeletionMail(to, url),
  invitation: writeInvitationMail(to, "Ice & <Sea>", 'Olga "O"', url),
  // What of an order is in its mail is tested with the sale: here is how figures and several links look.
  "an order": {
    to,
    subject: "Ihre Bestellung FROST-0001 bei Frost & Söhne",
    paragraphs: ["Vielen Dank. Frost & Söhne hat Ihre Zahlung von 1.234,56 € erhalten."],
    table: {
      caption: "Bestellung FROST-0001 vom 22. November 2026",
      rows: [
        { label: `Der große Leitfaden ${"Donaudampfschifffahrt".repeat(4)}`, amount: "1.037,45 €", isStrong: false },
        { label: "USt. 19 % auf 1.037,45 €", amount: "197,11 €", isStrong: false },
        { label: "Gesamtbetrag", amount: "1.234,56 €", isStrong: true },
      ],
    },
    delivery: {
      caption: "Das haben Sie jetzt",
      items: [
        {
          label: `PDF und ${"Donaudampfschifffahrt".repeat(4)}`,
          text: "Laden Sie die Dateien bei Ihren Käufen herunter.",
        },
        { label: "Beta", text: null },
      ],
    },
    action: { label: "Rechnung öffnen", url },
    links: [{ label: "Zahlungsbeleg öffnen", url: `${url}&x` }],
    note: "Die Links gelten ein Jahr lang.",
    speech: {
      language: "de",
      fallback: "Falls die Schaltfläche nicht geht, öffnen Sie diese Adresse:",
      sent_by: "Gesendet von",
    },
  },
  "a seller with a color of their own, in a test": {
    to,
    subject: "[TEST] Your order FROST-0002 from Frost",
    paragraphs: ["Thank you. Frost has received your payment of $19.00."],
    action: { label: "Open your purchases", url },
    brand: {
      name: "Frost & <Sons>",
      logo_url: null,
      accent_color: "#f2c400",
      reply_to: "help@frost.example",
      test: "This is a test: nothing was sold, and no money was taken.",
    },
  },
  "webhook given up": writeDisabledMail(to, "Ice", { id: "x", name: null, url: "https://hooks.example.com/secret" }),
};

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await openChromium();
  page = await openPage(browser, []);
});
afterAll(() => closePages(browser));

describe.each(Object.entries(letters))("the mail of %s", (_name, letter) => {
  const { html, text } = renderLetter(letter, from);

  test("is read by everybody: axe finds nothing serious by day and by night, and a telephone needs no sideways scrolling", async () => {
    await page.setViewportSize({ width: 320, height: 640 });
    const grounds: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setContent(html);
      expect(await seriousFaults(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
      grounds.push(
        await page.evaluate(
          () => getComputedStyle(document.querySelector(".surface") ?? document.body).backgroundColor,
        ),
      );
    }
    expect(new Set(grounds).size).toBe(2);
    // Nothing of the day is left around it at night.
    const around = await page.evaluate(() =>
      [...document.querySelectorAll("body, body > table > tbody > tr > td")].map(
        (part) => getComputedStyle(part).backgroundColor,
      ),
    );
    expect(new Set(around)).toEqual(new Set(["rgb(8, 21, 26)"]));
    expect(await page.title()).toBe(letter.subject);
    expect(await page.getAttribute("html", "lang")).toBe(letter.speech?.language ?? "en");
    expect(await page.locator("h1").allInnerTexts()).toEqual([letter.subject]);
  });

  test("says the same in both of its forms, and begins with what a list of mails shows", async () => {
    await page.setContent(html);
    const shown = (await page.locator("body").textContent()) ?? "";
    const figures = letter.table?.rows.flatMap(({ label, amount }) => [label, amount]) ?? [];
    const links = letter.links?.map(({ label }) => label) ?? [];
    const said = [letter.table?.caption, ...figures, letter.action?.label, ...links, letter.note];
    for (const words of [...letter.paragraphs, ...said, from]) {
      if (words === undefined) continue;
      expect(shown).toContain(words);
      expect(text).toContain(words);
    }
    // The address stands whole in the text; in HTML the link has it, and no reader sees ten lines of a token.
    if (letter.action) expect(text).toContain(letter.action.url);
    const addresses = page.locator(`a.address[href="${letter.action?.url}"]`);
    for (const name of letter.action ? await addresses.allInnerTexts() : []) expect(name.length).toBeLessThan(80);
    expect(await addresses.count()).toBe(letter.action ? 1 : 0);
    expect(shown.trimStart().startsWith(letter.paragraphs[0].slice(0, 100))).toBe(true);
    expect(text).not.toMatch(/&amp;|&lt;|<\/?[a-z]+>/);
  });
});
