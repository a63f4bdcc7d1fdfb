import type { Result } from "../api.ts";
import { useQuery as useAnswer } from "../use-query.ts";
import { getSentence } from "./form.ts";

/** The same for the pages of an account, which say in a sentence what went wrong. */
export function useQuery<T>(ask: () => Promise<Result<T>>) {
  const { value, failure, reload } = useAnswer(ask, { fresh: true });
  return { value, fault: failure && getSentence(failure), reload };
}
