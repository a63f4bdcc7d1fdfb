import { type Fault, invalid } from "../../../shared/errors.ts";

const uniqueViolation = "23505";

/** Whether a change failed because another row has the same unique value. */
export function isUniqueViolation(error: unknown): boolean {
  const getCode = (thrown: unknown) =>
    typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  return (getCode(error) ?? getCode(error instanceof Error ? error.cause : undefined)) === uniqueViolation;
}

/** Do it; when a parallel change took the unique value in between, answer as the check before would have. */
export async function rejectTaken<T>(taken: Fault | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (taken && isUniqueViolation(error)) throw invalid(taken);
    throw error;
  }
}
