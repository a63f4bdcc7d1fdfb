import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { useSpeech } from "../speech.tsx";
import { words as english, type PortalWords } from "./words/en.ts";

const others = import.meta.glob<{ words: PortalWords }>(["./words/*.ts", "!./words/en.ts"]);
const Spoken = createContext<PortalWords>(english);

/** The words of a customer's own page. */
export const usePortalWords = (): PortalWords => useContext(Spoken);

/** Loads the words of the language that is spoken already, and shows `before` until they are there. */
export function PortalSpeaking({ before, children }: { before: ReactNode; children: ReactNode }) {
  const { locale } = useSpeech();
  const load = others[`./words/${new Intl.Locale(locale).language}.ts`];
  const [words, setWords] = useState(load ? undefined : english);
  useEffect(() => {
    if (!load) return setWords(english);
    let gone = false;
    // A page in English is better than none.
    void load()
      .catch(() => ({ words: english }))
      .then((found) => gone || setWords(found.words));
    return () => {
      gone = true;
    };
  }, [load]);
  return words ? <Spoken value={words}>{children}</Spoken> : before;
}
