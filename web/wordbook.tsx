import { type Context, createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { useSpeech } from "./i18n.tsx";

/** The words of some pages: in English at once, in others as files beside them, by `./words/de.ts`. */
type Wordbook<W> = { spoken: Context<W>; english: W; others: Record<string, () => Promise<{ words: W }>> };

export const createMessageLoader = <W,>(english: W, others: Wordbook<W>["others"]): Wordbook<W> => ({
  spoken: createContext(english),
  english,
  others,
});

export const useWordbook = <W,>({ spoken }: Wordbook<W>): W => useContext(spoken);

/** Loads the words of the language that is spoken already, and shows `before` until they are there. */
export function Words<W>({
  book: { spoken: Spoken, english, others },
  before,
  children,
}: {
  book: Wordbook<W>;
  before: ReactNode;
  children: ReactNode;
}) {
  const { locale } = useSpeech();
  const load = others[`./words/${new Intl.Locale(locale).language}.ts`];
  const [found, setFound] = useState<{ words: W } | undefined>(load ? undefined : { words: english });
  useEffect(() => {
    if (!load) return setFound({ words: english });
    let gone = false;
    // A page in English is better than none.
    void load()
      .catch(() => ({ words: english }))
      .then((made) => gone || setFound(made));
    return () => {
      gone = true;
    };
  }, [load, english]);
  return found ? <Spoken value={found.words}>{children}</Spoken> : before;
}
