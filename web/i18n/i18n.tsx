import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { pickLanguage, readLocale } from "../../shared/locales.ts";
import { type CheckoutMessages, messages as english } from "../../shared/messages/en/checkout.ts";
import { formatMoney } from "../../shared/money.ts";
import { language } from "./language.ts";

/** The messages of the checkout in one language, with the locale that formats amounts and dates. */
export type I18n = {
  messages: CheckoutMessages;
  locale: string;
  money: (amount: number, currency: string) => string;
  day: (date: Date) => string;
};

const createI18n = (messages: CheckoutMessages, locale: string): I18n => {
  const days = new Intl.DateTimeFormat(locale, { dateStyle: "long" });
  return {
    messages,
    locale,
    money: (amount, currency) => formatMoney(amount, currency, locale),
    day: (date) => days.format(date),
  };
};

const files = import.meta.glob<{ messages: CheckoutMessages }>([
  "../../shared/messages/*/checkout.ts",
  "!../../shared/messages/en/checkout.ts",
]);
const getFile = (code: string): string => `../../shared/messages/${code}/checkout.ts`;

const loaded = new Map<string, CheckoutMessages>([["en", english]]);
const languages = Object.keys(files).flatMap((path) => /(\w+)\/checkout\.ts$/.exec(path)?.[1] ?? []);

const createEnglish = (locale: Intl.Locale): I18n => createI18n(english, pickLanguage(locale, []).locale);

/** The messages for a locale, which is the checkout's own or the browser's; undefined until their file is loaded. */
function getI18n(wanted: string | null | undefined): I18n | undefined {
  const picked = pickLanguage(readLocale(wanted, language), languages);
  const messages = loaded.get(picked.language);
  return messages && createI18n(messages, picked.locale);
}

/** Loads the messages for a locale. If their file cannot be loaded, the page is shown in English. */
export async function loadI18n(wanted: string | null | undefined): Promise<I18n> {
  const locale = readLocale(wanted, language);
  const code = pickLanguage(locale, languages).language;
  if (!loaded.has(code)) {
    const file = await files[getFile(code)]?.().catch(() => undefined);
    if (file) loaded.set(code, file.messages);
  }
  return getI18n(wanted) ?? createEnglish(locale);
}

const I18nContext = createContext<I18n>(createEnglish(readLocale(language)));

export const useI18n = (): I18n => useContext(I18nContext);

/** Gives its children the messages for a locale, and shows `before` until they are loaded. An undefined locale is not known yet. */
export function I18nProvider({
  locale,
  before,
  children,
}: {
  locale: string | null | undefined;
  before: ReactNode;
  children: ReactNode;
}) {
  const [i18n, setI18n] = useState(() => (locale === undefined ? undefined : getI18n(locale)));
  useEffect(() => {
    if (locale === undefined) return;
    let isUnmounted = false;
    void loadI18n(locale).then((next) => {
      if (isUnmounted) return;
      document.documentElement.lang = readLocale(next.locale).language;
      setI18n((current) => (current?.messages === next.messages && current.locale === next.locale ? current : next));
    });
    return () => {
      isUnmounted = true;
    };
  }, [locale]);
  return i18n ? <I18nContext value={i18n}>{children}</I18nContext> : before;
}
