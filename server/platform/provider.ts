import type { Api } from "../../shared/api/index.ts";
import type { Service } from "../../shared/contract.ts";
import type { Ctx } from "./context.ts";

/** Everything the wire API can do, computed from the contract: a provider that lacks an operation does not compile. */
export type Provider = { [R in keyof Api]: Service<Api[R], Ctx> };
