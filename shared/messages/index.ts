import type * as english from "./en/server.ts";
import * as folders from "./languages.ts";

export type Language = keyof typeof folders;
export type ServerMessages = typeof english;
/** A language that lacks a message does not compile. */
const messages: Record<Language, ServerMessages> = folders;

export const languages = Object.keys(messages) as Language[];
export const getMessages = (language: Language): ServerMessages => messages[language];

/** The language for a buyer: the one they chose, otherwise that of their country, otherwise English. */
export function resolveLanguage(locale: string | null, country: string | null): Language {
  if (locale) return languages.find((language) => language === locale.toLowerCase().split(/[-_]/)[0]) ?? "en";
  return languages.find((language) => messages[language].countries.includes(country ?? "")) ?? "en";
}
