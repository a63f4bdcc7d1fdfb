import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { pickLanguage, readLocale } from "../shared/locales.ts";
import { formatMoney } from "../shared/money.ts";
import { language } from "./language.ts";
import { words as english, type Words } from "./words/en.ts";

/** A language with the locale that amounts and dates are written by. */
export type I18n = {
  words: Words;
  locale: string;
  money: (amount: number, currency: string) => string;
  day: (date: Date) => string;
};

const createI18n = (words: Words, locale: string): I18n => {
  const days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
  return {
    words,
    locale,
    money: (amount, currency) => formatMoney(amount, currency, locale),
    day: (date) => days.format(date),
  };
};

const others = import.meta.glob<{ words: Words }>(["./words/*.ts", "!./words/en.ts"]);

const loaded = new Map<string, Words>([["en", english]]);
const languages = Object.keys(others).map((path) => path.slice("./words/".length, -".ts".length));

const createEnglish = (locale: Intl.Locale): I18n => createI18n(english, pickLanguage(locale, []).locale);

/** How it is spoken to a locale, the checkout's own, else the browser's; undefined while the words are not loaded. */
function getSpeech(wanted: string | null | undefined): I18n | undefined {
  const { language: spoken, locale } = pickLanguage(readLocale(wanted, language), languages);
  const words = loaded.get(spoken);
  return words && createI18n(words, locale);
}

/** The same, with the words loaded; where they cannot be had, a page in English is better than none. */
export async function loadSpeech(wanted: string | null | undefined): Promise<I18n> {
  const locale = readLocale(wanted, language);
  const spoken = pickLanguage(locale, languages).language;
  if (!loaded.has(spoken)) {
    const found = await others[`./words/${spoken}.ts`]?.().catch(() => undefined);
    if (found) loaded.set(spoken, found.words);
  }
  return getSpeech(wanted) ?? createEnglish(locale);
}

const Spoken = createContext<I18n>(createEnglish(readLocale(language)));

/** How this page speaks. */
export const useSpeech = (): I18n => useContext(Spoken);

/** Speaks the language of a locale to all within, and shows `before` until it is there; `locale` undefined is not known yet. */
export function Speaking({
  locale,
  before,
  children,
}: {
  locale: string | null | undefined;
  before: ReactNode;
  children: ReactNode;
}) {
  const [speech, setSpeech] = useState(() => (locale === undefined ? undefined : getSpeech(locale)));
  useEffect(() => {
    if (locale === undefined) return;
    let gone = false;
    void loadSpeech(locale).then((spoken) => {
      if (gone) return;
      document.documentElement.lang = readLocale(spoken.locale).language;
      setSpeech((before) => (before?.words === spoken.words && before.locale === spoken.locale ? before : spoken));
    });
    return () => {
      gone = true;
    };
  }, [locale]);
  return speech ? <Spoken value={speech}>{children}</Spoken> : before;
}
