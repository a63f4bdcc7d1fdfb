import { ApiError } from "../../shared/errors.ts";

/** What a call to another service may take. */
const timeout_ms = 10_000;

/** Ask another service's API. Where it leads elsewhere is an answer like others, and not followed. */
export async function askService(
  name: string,
  url: string,
  init: RequestInit,
): Promise<{ status: number; json: unknown }> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(timeout_ms), redirect: "manual" });
    return { status: answer.status, json: await answer.json().catch(() => undefined) };
  } catch {
    throw new ApiError("ServiceUnavailable", `${name} does not answer. Try again in a moment.`);
  }
}
