import { ApiError } from "../../../shared/errors.ts";
import { assertOutsideTransaction } from "../db/open-transaction.ts";
import { createCallSignal } from "../jobs/deadline.ts";

/** What a call to another service may take. */
const timeoutMs = 10_000;
/** No answer that is asked for here is nearly as long. */
const bytesMax = 1_000_000;

export type ServiceAnswer = { status: number; json: unknown; headers: Headers };

/** The body of an answer as JSON; undefined where it is none, and a fault where it has no end. */
async function readJson(answer: Response): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.byteLength;
    if (size > bytesMax) throw new Error("The answer is too long.");
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Ask another service's API. Where it leads elsewhere is an answer like others, and not followed. Throws where there is no answer. */
export async function fetchService(url: string, init: RequestInit): Promise<ServiceAnswer> {
  assertOutsideTransaction("another service's API");
  const answer = await fetch(url, { ...init, signal: createCallSignal(timeoutMs), redirect: "manual" });
  return { status: answer.status, json: await readJson(answer), headers: answer.headers };
}

/** The same for somebody who waits for it. */
export async function callService(name: string, url: string, init: RequestInit): Promise<ServiceAnswer> {
  try {
    return await fetchService(url, init);
  } catch {
    throw new ApiError("ServiceUnavailable", `${name} does not answer. Try again in a moment.`);
  }
}
