import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { formatMoney } from "../shared/money.ts";
import { language } from "./language.ts";
import { words as english, type Words } from "./words/en.ts";

/** A language with the locale that amounts and dates are written by. */
export type Speech = {
  words: Words;
  locale: string;
  money: (amount: number, currency: string) => string;
  day: (date: Date) => string;
};

const speak = (words: Words, locale: string): Speech => {
  const days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
  return {
    words,
    locale,
    money: (amount, currency) => formatMoney(amount, currency, locale),
    day: (date) => days.format(date),
  };
};

const others = import.meta.glob<{ words: Words }>(["./words/*.ts", "!./words/en.ts"]);

/** A locale that can be written by: the first of these that is one. */
const readLocale = (...names: (string | null | undefined)[]): Intl.Locale => {
  for (const name of names) {
    try {
      if (name) return new Intl.Locale(name.replaceAll("_", "-"));
    } catch {
      // Not a locale; the next may be one.
    }
  }
  return new Intl.Locale("en-US");
};

/** English for everybody whose language there is no file for, with dates and amounts as it is written where they are. */
const englishIn = ({ region }: Intl.Locale): Speech => speak(english, region ? `en-${region}` : "en-US");

/** The language of a locale: the checkout's own, else the browser's. */
export async function loadSpeech(wanted: string | null | undefined): Promise<Speech> {
  const locale = readLocale(wanted, language);
  const load = others[`./words/${locale.language}.ts`];
  if (!load) return englishIn(locale);
  try {
    return speak((await load()).words, locale.toString());
  } catch {
    // A page in English is better than none.
    return englishIn(locale);
  }
}

const Spoken = createContext<Speech>(englishIn(readLocale(language)));

/** How this page speaks. */
export const useSpeech = (): Speech => useContext(Spoken);

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
  const [speech, setSpeech] = useState<Speech>();
  useEffect(() => {
    if (locale === undefined) return;
    let gone = false;
    void loadSpeech(locale).then((loaded) => {
      if (gone) return;
      document.documentElement.lang = readLocale(loaded.locale).language;
      setSpeech(loaded);
    });
    return () => {
      gone = true;
    };
  }, [locale]);
  return speech ? <Spoken value={speech}>{children}</Spoken> : before;
}
