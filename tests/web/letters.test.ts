/** The mails of the account side as a mail program shows them. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changeMail, deletionMail, invitationMail, resetMail, verificationMail } from "../../server/auth/mails.ts";
import { renderLetter } from "../../server/lib/letter.ts";
import { disabledMail } from "../../server/webhooks/messages.ts";
import { openChromium, openPage, seriousFaults } from "./support/chromium.ts";

const to = "ada@example.com";
const url = `https://pay.example.com/api/auth/verify-email?token=${"a.b-c".repeat(60)}&callbackURL=%2F`;
const from = "https://pay.example.com";
const letters = {
  verification: verificationMail(to, url),
  reset: resetMail(to, url),
  change: changeMail(to, "new@example.com", url),
  deletion: deletionMail(to, url),
  invitation: invitationMail(to, "Ice & <Sea>", 'Olga "O"', url),
  "webhook given up": disabledMail(to, "Ice", { id: "x", name: null, url: "https://hooks.example.com/secret" }),
};

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await openChromium();
  page = await openPage(browser, []);
});
afterAll(() => browser.close());

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
    expect(await page.getAttribute("html", "lang")).toBe("en");
    expect(await page.locator("h1").allInnerTexts()).toEqual([letter.subject]);
  });

  test("says the same in both of its forms, and begins with what a list of mails shows", async () => {
    await page.setContent(html);
    const shown = (await page.locator("body").textContent()) ?? "";
    for (const words of [...letter.paragraphs, letter.action?.label, letter.action?.url, letter.note, from]) {
      if (words === undefined) continue;
      expect(shown).toContain(words);
      expect(text).toContain(words);
    }
    expect(shown.trimStart().startsWith(letter.paragraphs[0].slice(0, 100))).toBe(true);
    expect(text).not.toMatch(/&amp;|&lt;|<\/?[a-z]+>/);
  });
});
