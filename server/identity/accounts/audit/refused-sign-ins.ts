import type { BetterAuthPlugin } from "better-auth";
import { createAuthMiddleware, isAPIError } from "better-auth/api";
import { eq } from "drizzle-orm";
import type { Deps } from "../../../platform/context.ts";
import { record } from "../../../platform/events/audit.ts";
import { redactError } from "../../../platform/loggable.ts";
import { findCall, matchRule } from "../calls.ts";
import { user } from "../tables.ts";

/**
 * Writes down sign-ins that were refused, for the person whose account was tried. After the answer, so that its time does
 * not tell whether there is such a person; what nobody owns is in nobody's log, or strangers could fill it.
 */
export function createRefusedSignIns(deps: Deps) {
  const pending = new Set<Promise<void>>();
  const runLater = (work: () => Promise<void>) => {
    const done = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .catch((error: unknown) =>
        deps.log.error({ error: redactError(error) }, "A refused sign-in was not written down."),
      )
      .finally(() => pending.delete(done));
    pending.add(done);
  };
  const plugin = {
    id: "floe-audit",
    hooks: {
      after: [
        {
          matcher: matchRule("signs_in"),
          handler: createAuthMiddleware(async ({ path, body, context, headers }) => {
            const refusal: unknown = context.returned;
            const { signs_in: field } = findCall(path);
            if (!field || !isAPIError(refusal) || (refusal.statusCode !== 401 && refusal.statusCode !== 403)) return;
            const named: unknown = body?.[field];
            if (typeof named !== "string") return;
            runLater(async () => {
              const [found] = await deps.db
                .select({ id: user.id })
                .from(user)
                .where(eq(user[field], named.toLowerCase()));
              if (!found) return;
              await record(deps.db, deps, {
                action: "user.sign_in_refused",
                actor: { kind: "anonymous", user_id: null, key_id: null },
                subject: { type: "user", id: found.id },
                organization_id: null,
                details: { via: path, reason: refusal.body?.code ?? null },
                ip_address: headers?.get("x-client-ip") ?? null,
                user_agent: headers?.get("user-agent") ?? null,
              });
            });
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
  return {
    plugin,
    /** Wait until what was refused is written down. */
    flush: async (): Promise<void> => void (await Promise.all(pending)),
  };
}
