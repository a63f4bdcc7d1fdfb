/** A call of an operation of the contract, typed by it. */
import type { Operation } from "../shared/contract.ts";
import { type Answer, type Route, type RouteInput, splitRoute } from "../shared/request.ts";
import type { CommandCall, Context } from "./context.ts";

type CallOptions = Omit<CommandCall, "method" | "path" | "params" | "query" | "body">;

/** Call `routes.RESOURCE.OPERATION` and return its answer. */
export const request = async <O extends Operation>(
  context: Pick<Context, "call">,
  route: Route<O>,
  input: RouteInput<O>,
  options: CallOptions = {},
): Promise<Answer<O>> => (await context.call({ ...splitRoute(route), ...input, ...options })) as Answer<O>;
