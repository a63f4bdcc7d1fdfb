import { z } from "zod";
import { checkAnswer } from "./answer-shapes.ts";
import type { Client, Contract, Operation } from "./contract.ts";
import { ApiError, type ErrorName } from "./errors.ts";
import { formatUrl } from "./request.ts";

/** Sends one request and answers status and parsed body (undefined when empty). */
export type Transport = (method: string, url: string, body?: unknown) => Promise<{ status: number; json: unknown }>;

type Loose = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };

/** The client of the tests: it validates each answer. One of the wrong shape is a `SDKValidationError`. */
export function createClient<C extends Contract>(contract: C, send: Transport): Client<C> {
  const call = (op: Operation) => async (input: Loose) => {
    const { status, json } = await send(op.method, formatUrl(op.path, input), input.body);
    if (status >= 400) {
      const body = (json ?? {}) as { error?: ErrorName; detail?: string; error_description?: string };
      throw new ApiError(
        body.error ?? "InternalServerError",
        body.detail ?? body.error_description ?? `HTTP ${status}`,
      );
    }
    if (!op.response) return undefined;
    checkAnswer(op.response, json);
    return z.decode(op.response, json as never);
  };
  return Object.fromEntries(
    Object.entries(contract).map(([name, resource]) => [
      name,
      Object.fromEntries(Object.entries(resource).map(([key, op]) => [key, call(op)])),
    ]),
  ) as Client<C>;
}
