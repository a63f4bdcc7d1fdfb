import type { Operation } from "../shared/contract.ts";
import { type Answer, formatUrl, type Route, type RouteInput, splitRoute } from "../shared/request.ts";
import { type Result, requestApi } from "./api.ts";

type CallOptions = { token?: string; headers?: Record<string, string> };

/** Call `routes.RESOURCE.OPERATION`, and return its answer or what went wrong. */
export function callApi<O extends Operation>(
  route: Route<O>,
  input: RouteInput<O>,
  { token, headers }: CallOptions = {},
): Promise<Result<Answer<O>>> {
  const { method, path } = splitRoute(route);
  return requestApi(method, formatUrl(path, input), (input as { body?: unknown }).body, token, headers);
}
