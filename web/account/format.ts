import { language } from "../i18n/language.ts";

/** A day and time as the reader writes them. */
export const formatMoment = (instant: string): string =>
  new Date(instant).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
/** A day as the reader writes it. */
export const formatDay = (instant: string): string =>
  new Date(instant).toLocaleDateString(language, { dateStyle: "medium" });
