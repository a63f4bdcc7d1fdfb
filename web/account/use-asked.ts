import type { Result } from "../api.ts";
import { useAsked as useAnswer } from "../asked.ts";
import { sentenceOf } from "./form.ts";

/** The same for the pages of an account, which say in a sentence what went wrong. */
export function useAsked<T>(ask: () => Promise<Result<T>>) {
  const { value, failure, reload } = useAnswer(ask, { fresh: true });
  return { value, fault: failure && sentenceOf(failure), reload };
}
