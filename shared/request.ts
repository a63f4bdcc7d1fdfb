/** How the command line and the pages name an operation of the contract: types alone, so that neither loads the contract. */
import type { Operation, Output, Request, Resource } from "./contract.ts";

declare const operation: unique symbol;
/** The method and the path of an operation, `GET /v1/orders/:id`, with its shapes in the type. */
export type Route<O extends Operation = Operation> = string & { readonly [operation]: O };
export type Routes<R extends Resource> = { readonly [K in keyof R]: Route<R[K]> };

/** A value as JSON carries it: instants are text. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [K in keyof T]: Wire<T[K]> }
      : T;

/** A part of a request may be left out where every field of it may be. */
type OptionalParts<T> = { [K in keyof T as Record<never, never> extends T[K] ? K : never]?: T[K] } & {
  [K in keyof T as Record<never, never> extends T[K] ? never : K]: T[K];
};
/** The path parameters, the query and the body that an operation takes. */
export type RouteInput<O extends Operation> = OptionalParts<Request<O>>;
/** The body that an operation takes. */
export type Body<O extends Operation> = Request<O> extends { body: infer B } ? B : never;
/** What an operation answers, as JSON carries it. */
export type Answer<O extends Operation> = Wire<Output<O>>;
export function splitRoute(route: Route): { method: "GET" | "POST" | "PATCH" | "DELETE"; path: string } {
  const [method, path] = route.split(" ") as ["GET", string];
  return { method, path };
}

type UrlParts = { params?: Record<string, unknown>; query?: Record<string, unknown> };

/** The path with its parameters and query filled in; lists repeat their key, `metadata` becomes `metadata[key]`. */
export function formatUrl(path: string, { params = {}, query = {} }: UrlParts): string {
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
