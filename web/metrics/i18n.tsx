import type { ReactNode } from "react";
import { createMessageLoader, useWordbook, Words } from "../wordbook.tsx";
import { type MetricsWords, words } from "./words/en.ts";

const book = createMessageLoader(words, import.meta.glob<{ words: MetricsWords }>(["./words/*.ts", "!./words/en.ts"]));

/** The words of the page of metrics. */
export const useMetricsWords = (): MetricsWords => useWordbook(book);

export const MetricsSpeaking = (shown: { before: ReactNode; children: ReactNode }) => <Words book={book} {...shown} />;
