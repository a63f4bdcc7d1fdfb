import type { FastifyInstance } from "fastify";
import type { Deps } from "../lib/context.ts";
import { limitOpen } from "./limits.ts";

/** The keys with which anybody verifies a signed receipt, as JOSE libraries read them. */
export function receiptKeysRoute(app: FastifyInstance, deps: Deps, keysOf: (deps: Deps) => object[]): void {
  app.get("/.well-known/floe-receipts.json", { onRequest: limitOpen(deps) }, () => ({ keys: keysOf(deps) }));
}
