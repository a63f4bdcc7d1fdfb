import { randomBytes, randomInt } from "node:crypto";
import { APIError, createAuthEndpoint } from "better-auth/api";
import { and, eq, exists, isNull, lte, or, sql } from "drizzle-orm";
import { z } from "zod";
import type { Deps } from "../../../platform/context.ts";
import { hashToken } from "../../../platform/crypto/secrets.ts";
import { createId, drawText } from "../../../platform/ids.ts";
import { hashSecret } from "../storage.ts";
import { deviceCode, session } from "../tables.ts";
import {
  countSeconds,
  createOAuthFault,
  findCodeFault,
  findTokenFault,
  flows,
  hashConfirmation,
  listScopeNames,
  type OAuthFault,
} from "./protocol.ts";

const deviceCodeLength = 40;
const userCodeLength = 8;
/** No letters and digits that are taken for each other. 32 of them, so that a byte picks one without bias. */
const userCodeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const intervalStandardMs = 5000;
const drawsMax = 3;
const numberMin = 10;
const numberMax = 99;

const rejectBad = (refusal: OAuthFault): never => {
  throw new APIError("BAD_REQUEST", refusal);
};
const createUserCode = (): string =>
  [...randomBytes(userCodeLength)].map((byte) => userCodeLetters[byte % userCodeLetters.length]).join("");
/** Both of RFC 6749's spellings of a request arrive as JSON; what is in it is judged by the endpoint. */
const anyBody = z.record(z.string(), z.unknown());

/** What a device calls: for a code (RFC 8628, 3.1), and for the token once the code was approved (3.4). */
export function grantEndpoints({ db, clock, config }: Deps) {
  const { lives_ms: lives_standard_ms, numbered } = flows[config.FLOE_DEVICE_FLOW];
  const lives_ms = config.FLOE_DEVICE_CODE_LASTS ?? lives_standard_ms;
  const interval_ms = config.FLOE_DEVICE_INTERVAL ?? intervalStandardMs;

  const askForCode = createAuthEndpoint("/device/code", { method: "POST", body: anyBody }, async (ctx) => {
    const refusal = findCodeFault(ctx.body);
    if (refusal) return rejectBad(refusal);
    const asked = ctx.body as { client_id: string; scope?: string };
    const device_code = drawText(deviceCodeLength);
    const now = clock.now();
    const id = createId(now);
    const number = numbered ? String(randomInt(numberMin, numberMax + 1)) : undefined;
    for (let draw = 0; draw < drawsMax; draw++) {
      const user_code = createUserCode();
      const [kept] = await db
        .insert(deviceCode)
        .values({
          id,
          deviceCode: hashSecret(device_code),
          userCode: hashToken(config.secret, user_code),
          expiresAt: new Date(now.getTime() + lives_ms),
          status: "pending",
          pollingInterval: interval_ms,
          clientId: asked.client_id,
          scope: listScopeNames(asked.scope ?? "").join(" ") || null,
          confirmation: number === undefined ? null : hashConfirmation(config.secrets, id, number)[0],
          ipAddress: ctx.headers?.get("x-client-ip") ?? null,
          userAgent: ctx.headers?.get("user-agent") ?? null,
          createdAt: now,
        })
        .onConflictDoNothing()
        .returning({ id: deviceCode.id });
      if (!kept) continue;
      return ctx.json({
        device_code,
        user_code,
        verification_uri: `${config.url}/device`,
        verification_uri_complete: `${config.url}/device?user_code=${user_code}`,
        expires_in: lives_ms / 1000,
        interval: interval_ms / 1000,
        ...(number === undefined ? {} : { confirmation_number: number }),
      });
    }
    throw new APIError("INTERNAL_SERVER_ERROR", createOAuthFault("server_error", "No free code was found. Try again."));
  });

  const redeem = createAuthEndpoint("/device/token", { method: "POST", body: anyBody }, async (ctx) => {
    const refusal = findTokenFault(ctx.body);
    if (refusal) return rejectBad(refusal);
    const { device_code, client_id } = ctx.body as { device_code: string; client_id: string };
    const now = clock.now();
    const unknown = createOAuthFault("invalid_grant", "This device code is not known, or was used already.");
    const [found] = await db
      .select()
      .from(deviceCode)
      .where(eq(deviceCode.deviceCode, hashSecret(device_code)));
    if (found?.clientId !== client_id) return rejectBad(unknown);
    const own = eq(deviceCode.id, found.id);
    // One statement, so that of polls at once all but one are told to slow down.
    const since = sql`${deviceCode.lastPolledAt} + coalesce(${deviceCode.pollingInterval}, 0) * interval '1 millisecond'`;
    const [polled] = await db
      .update(deviceCode)
      .set({ lastPolledAt: now })
      .where(and(own, or(isNull(deviceCode.lastPolledAt), lte(since, now.toISOString()))))
      .returning({ status: deviceCode.status });
    if (!polled) {
      const [left] = await db.select({ id: deviceCode.id }).from(deviceCode).where(own);
      return rejectBad(
        left ? createOAuthFault("slow_down", "Asked too often. Wait longer between two questions.") : unknown,
      );
    }
    if (found.expiresAt <= now || polled.status === "denied") {
      await db.delete(deviceCode).where(own);
      return rejectBad(
        polled.status === "denied"
          ? createOAuthFault("access_denied", "The person has denied the request.")
          : createOAuthFault("expired_token", "The code has expired. Ask for a new one."),
      );
    }
    if (polled.status === "pending")
      return rejectBad(createOAuthFault("authorization_pending", "The code was not approved yet."));
    // Who ended that session meanwhile, by a new password say, has taken the approval back.
    const approver = db.select({ id: session.id }).from(session).where(eq(session.id, deviceCode.sessionId));
    const [approved] = await db
      .select({ provenAt: session.provenAt, createdAt: session.createdAt })
      .from(session)
      .where(eq(session.id, found.sessionId ?? ""));
    const [taken] = await db
      .delete(deviceCode)
      .where(and(own, eq(deviceCode.status, "approved"), exists(approver)))
      .returning({ userId: deviceCode.userId, scope: deviceCode.scope });
    const { internalAdapter } = ctx.context;
    const user = taken?.userId ? await internalAdapter.findUserById(taken.userId) : null;
    if (!taken || !user || !approved) return rejectBad(unknown);
    // A device is no newer proof of who the person is than the browser that let it in.
    const provenAt = approved.provenAt ?? approved.createdAt;
    const made = await internalAdapter
      .createSession(user.id, false, { clientId: client_id, scope: taken.scope, provenAt })
      .catch((error: unknown) => {
        // Who was banned in the meantime.
        if (error instanceof APIError && error.statusCode === 403)
          return rejectBad(createOAuthFault("access_denied", "This account may not sign in."));
        throw error;
      });
    if (!made)
      throw new APIError("INTERNAL_SERVER_ERROR", createOAuthFault("server_error", "The session was not made."));
    ctx.context.setNewSession({ session: made, user });
    return ctx.json({
      access_token: made.token,
      token_type: "Bearer",
      expires_in: countSeconds(now, made.expiresAt),
      scope: taken.scope ?? "",
    });
  });

  return { deviceCode: askForCode, deviceToken: redeem };
}
