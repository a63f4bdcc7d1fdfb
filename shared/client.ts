import { z } from "zod";
import { checkAnswer } from "./answer-shapes.ts";
import type { Client, Contract, Operation } from "./contract.ts";
import { ApiError, type ErrorName } from "./errors.ts";

/** Sends one request and answers status and parsed body (undefined when empty). */
export type Transport = (method: string, url: string, body?: unknown) => Promise<{ status: number; json: unknown }>;

type Loose = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };

/** The path with its parameters and query filled in; lists repeat their key, `metadata` becomes `metadata[key]`. */
export function formatUrl(path: string, { params = {}, query = {} }: Loose): string {
  const filled = path.replace(/:(\w+)/g, (_, key: string) => encodeURIComponent(String(params[key])));
  const search = new URLSearchParams();
  const add = (key: string, value: unknown): void => {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) for (const item of value) add(key, item);
    else if (value instanceof Date) search.append(key, value.toISOString());
    else if (typeof value === "object")
      for (const [inner, item] of Object.entries(value)) add(`${key}[${inner}]`, item);
    else search.append(key, String(value));
  };
  for (const [key, value] of Object.entries(query)) add(key, value);
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
}

/**
 * The one typed client: the API tests and tools call the server through it. An answer of the wrong shape is a
 * `SDKValidationError`.
 */
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
