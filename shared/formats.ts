/** How amounts and dates are written to a buyer. */
import { countries } from "./countries.ts";
import { readLocale } from "./locales.ts";
import { getMessages, type Language } from "./messages/index.ts";

/**
 * The locale of a buyer's amounts and dates: as the page wrote them, otherwise as their country does in this language.
 * Regions other than known countries are not taken, because formats are kept in memory for each locale.
 */
export function resolveFormats(locale: string | null, country: string | null, language: Language): string {
  if (locale !== null && /^[a-z]{2,3}[-_]/i.test(locale)) {
    const { language: own, region } = readLocale(locale);
    if (own === language && region && (countries as readonly string[]).includes(region)) return `${own}-${region}`;
  }
  if (country !== null && getMessages(language).regions.includes(country)) return `${language}-${country}`;
  return getMessages(language).locale;
}
