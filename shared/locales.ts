/** The first of these names that is a locale; American English where none is. Some systems write `pt_BR`. */
export function readLocale(...names: readonly (string | null | undefined)[]): Intl.Locale {
  for (const name of names) {
    try {
      if (name) return new Intl.Locale(name.replaceAll("_", "-"));
    } catch {
      // Not a locale; the next may be one.
    }
  }
  return new Intl.Locale("en-US");
}

/**
 * The language that a page speaks to a reader of this locale, and the locale that it writes amounts and dates by: its own
 * where there is such a language beside English, else English as it is written there.
 */
export function pickLanguage(locale: Intl.Locale, others: readonly string[]): { language: string; locale: string } {
  const { language, region } = locale;
  if (others.includes(language)) return { language, locale: locale.toString() };
  return { language: "en", locale: region ? `en-${region}` : "en-US" };
}
