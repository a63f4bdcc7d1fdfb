import { type Context, createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { useI18n } from "./i18n.tsx";

type MessageFiles<M> = Record<string, () => Promise<{ messages: M }>>;

/** The messages of some pages: English is part of the page, every other language is a file that its readers load. */
type PageMessages<M> = { context: Context<M>; english: M; files: ReadonlyMap<string, MessageFiles<M>[string]> };

/** `files` are found by `import.meta.glob` and named `…/LANGUAGE/SET.ts`. */
export const createPageMessages = <M,>(english: M, files: MessageFiles<M>): PageMessages<M> => ({
  context: createContext(english),
  english,
  files: new Map(Object.entries(files).map(([path, load]) => [path.split("/").at(-2) ?? "", load])),
});

const findFile = <M,>({ files }: PageMessages<M>, locale: string) => files.get(new Intl.Locale(locale).language);

/** Loads the messages for a locale ahead; the browser keeps the file. */
export const loadPageMessages = async <M,>(set: PageMessages<M>, locale: string): Promise<void> => {
  await findFile(set, locale)?.();
};

export const usePageMessages = <M,>({ context }: PageMessages<M>): M => useContext(context);

/** Loads the messages in the language of the surrounding `I18nProvider`, and shows `before` until they are there. */
export function PageMessagesProvider<M>({
  set,
  before,
  children,
}: {
  set: PageMessages<M>;
  before: ReactNode;
  children: ReactNode;
}) {
  const { locale } = useI18n();
  const { context: MessagesContext, english } = set;
  const load = findFile(set, locale);
  const [file, setFile] = useState<{ messages: M } | undefined>(load ? undefined : { messages: english });
  useEffect(() => {
    if (!load) return setFile({ messages: english });
    let isUnmounted = false;
    // A page in English is better than none.
    void load()
      .catch(() => ({ messages: english }))
      .then((next) => isUnmounted || setFile(next));
    return () => {
      isUnmounted = true;
    };
  }, [load, english]);
  return file ? <MessagesContext value={file.messages}>{children}</MessagesContext> : before;
}
