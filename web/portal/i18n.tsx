import type { ReactNode } from "react";
import { createMessageLoader, useWordbook, Words } from "../wordbook.tsx";
import { type PortalWords, words } from "./words/en.ts";

const book = createMessageLoader(words, import.meta.glob<{ words: PortalWords }>(["./words/*.ts", "!./words/en.ts"]));

/** The words of a customer's own page. */
export const usePortalWords = (): PortalWords => useWordbook(book);

export const PortalSpeaking = (shown: { before: ReactNode; children: ReactNode }) => <Words book={book} {...shown} />;
