import type { FastifyInstance } from "fastify";
import type { Deps } from "../../platform/context.ts";
import { limitOpen } from "../../platform/http/limits.ts";
import { listReceiptKeys } from "./receipts.ts";

/** The keys with which anybody verifies a signed receipt, as JOSE libraries read them. */
export function addReceiptKeyRoute(app: FastifyInstance, deps: Deps): void {
  app.get("/.well-known/floe-receipts.json", { onRequest: limitOpen(deps) }, () => ({ keys: listReceiptKeys(deps) }));
}
