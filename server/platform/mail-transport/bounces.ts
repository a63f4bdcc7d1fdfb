/** Addresses that took no mail, and the notices of mail services about them (MAIL-01 to MAIL-03). */
import { and, eq, lt, sql } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { ApiError } from "../../../shared/errors.ts";
import { getServerClock } from "../clock.ts";
import type { Database, Deps } from "../context.ts";
import { isSameText } from "../crypto/secrets.ts";
import { mailBounces } from "../db/tables.ts";
import { createCleanupWorker, type Worker } from "../jobs/workers.ts";
import { bounces } from "../telemetry/metrics.ts";
import { type Bounce, readConfirmationUrl, readNotice } from "./bounce-rules.ts";

export type BounceRow = typeof mailBounces.$inferSelect;

const noticeBytesMax = 256 * 1024;
/** A soft bounce says something about a mailbox for so long. Hard ones stay until an operator takes them back. */
const softKeptMs = 30 * 86_400_000;
export const noticesPath = "/v1/integrations/mail/bounces";

/** Keep that an address took no mail. A hard bounce stays hard. */
export async function recordBounces(
  db: Database,
  found: readonly Bounce[],
  source: BounceRow["source"],
  now: Date,
): Promise<void> {
  const byAddress = new Map(found.map((one) => [one.address.toLowerCase(), one]));
  if (byAddress.size === 0) return;
  const rows = [...byAddress].map(([address, { kind, code, reason }]) => ({
    ...{ address, kind, code, reason, source, count: 1, first_at: now, last_at: now },
  }));
  const { kind, count } = mailBounces;
  await db
    .insert(mailBounces)
    .values(rows)
    .onConflictDoUpdate({
      target: mailBounces.address,
      set: {
        kind: sql`case when ${kind} = 'hard' then 'hard' else excluded.kind end`,
        code: sql`excluded.code`,
        reason: sql`excluded.reason`,
        source: sql`excluded.source`,
        count: sql`${count} + 1`,
        last_at: sql`excluded.last_at`,
      },
    });
  for (const one of rows) bounces.add({ kind: one.kind });
}

/** The hard bounce of an address, if it had one. */
export async function findHardBounce(db: Database, address: string): Promise<BounceRow | undefined> {
  const [row] = await db
    .select()
    .from(mailBounces)
    .where(and(eq(mailBounces.address, address.toLowerCase()), eq(mailBounces.kind, "hard")));
  return row;
}

/** Forget the bounces of an address, so that it is sent mail again. Answers whether there were any. */
export async function deleteBounce(db: Database, address: string): Promise<boolean> {
  const gone = await db
    .delete(mailBounces)
    .where(eq(mailBounces.address, address.toLowerCase()))
    .returning({ address: mailBounces.address });
  return gone.length > 0;
}

export const bounceCleanup: Worker = createCleanupWorker("mail_bounces.forget", 10 * 60_000, mailBounces, (now) =>
  and(eq(mailBounces.kind, "soft"), lt(mailBounces.last_at, new Date(now.getTime() - softKeptMs))),
);

/** What a caller has sent as its secret: as a bearer token, or as the password of Basic. */
function readSecret(header: string | undefined): string {
  const [, scheme = "", value = ""] = /^(bearer|basic) (\S+)$/i.exec(header ?? "") ?? [];
  if (scheme.toLowerCase() !== "basic") return value;
  const decoded = Buffer.from(value, "base64").toString("utf8");
  return decoded.slice(decoded.indexOf(":") + 1);
}

/** `POST /v1/integrations/mail/bounces`: notices of a mail service, with the secret that the operator gave it. */
export function routeBounces(app: FastifyInstance, deps: Deps): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.post(noticesPath, { bodyLimit: noticeBytesMax }, async (request, reply) => {
    const secret = deps.config.FLOE_MAIL_BOUNCE_SECRET;
    if (!secret || !isSameText(readSecret(request.headers.authorization), secret))
      throw new ApiError("NotPermitted", "Not permitted");
    const text = typeof request.body === "string" ? request.body : "";
    const url = readConfirmationUrl(text);
    if (url !== undefined) deps.log.warn({ url }, "Amazon SNS asks for a confirmation: open the address in a browser.");
    const found = readNotice(text);
    await recordBounces(deps.db, found, "notice", getServerClock(deps.clock).now());
    return reply.send({ received: found.length });
  });
}
