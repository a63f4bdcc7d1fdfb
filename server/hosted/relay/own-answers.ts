import type { Ctx } from "../../platform/context.ts";

export type Input = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };

/** Answers of an operation that hosted mode makes in another way than by the relay, by `resource.name`. */
export type OwnAnswers = Readonly<
  Record<string, (ctx: Ctx, input: Input, relay: (ctx: Ctx) => Promise<unknown>) => Promise<unknown>>
>;
