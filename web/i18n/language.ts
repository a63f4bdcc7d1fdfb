/** The reader's language for numbers and names. Some systems hand browsers names that Intl refuses (`en-US@posix`). */
export const language: string =
  navigator.languages.find((name) => {
    try {
      return Intl.getCanonicalLocales(name).length > 0;
    } catch {
      return false;
    }
  }) ?? "en-US";
