import { and, desc, eq } from "drizzle-orm";
import type { Deps } from "../../../platform/context.ts";
import { auditLog } from "../../../platform/db/tables.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { getBucket } from "../../../platform/limits/addresses.ts";
import { sendSecurityMail } from "./security-mails.ts";

/** How many earlier sign-ins of a person are compared. */
const signInsMax = 50;

type SignIn = { user_id: string; ip_address: string | null; user_agent: string | null };

/**
 * Mail a person about a sign-in by a browser that shows no cookie of theirs. None is sent for the first sign-in of an account, nor where
 * the same program has signed in from the same network before: programs keep no cookies.
 */
export async function sendNewBrowserMail(deps: Deps, { user_id, ip_address, user_agent }: SignIn): Promise<void> {
  // The newest is the sign-in itself.
  const [, ...earlier] = await deps.db
    .select({ ip_address: auditLog.ip_address, user_agent: auditLog.user_agent })
    .from(auditLog)
    .where(and(eq(auditLog.subject_id, user_id), eq(auditLog.action, "user.signed_in")))
    .orderBy(desc(auditLog.id))
    .limit(signInsMax);
  const network = getBucket(ip_address ?? "");
  const isKnown = earlier.some(
    (one) => one.user_agent === user_agent && one.ip_address !== null && getBucket(one.ip_address) === network,
  );
  if (earlier.length === 0 || isKnown) return;
  await transact(deps, (tx) =>
    sendSecurityMail(tx, deps, {
      action: "user.new_browser",
      actor: { kind: "user", user_id, key_id: null },
      subject: { type: "user", id: user_id },
      organization_id: null,
      ip_address,
      user_agent,
    }),
  );
}
