import { APIError, createAuthEndpoint, getAuthoritativeSessionFromCtx } from "better-auth/api";
import { and, eq, gt, inArray, isNull } from "drizzle-orm";
import { z } from "zod";
import { isLoopbackUrl } from "../../../../shared/loopback.ts";
import type { Deps } from "../../../platform/context.ts";
import { hashWithEach } from "../../../platform/crypto/secrets.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { getBucket } from "../../../platform/limits/addresses.ts";
import { deviceCode } from "../tables.ts";
import { countSeconds, createOAuthFault, getClientName, hashConfirmation, readAgentName } from "./protocol.ts";
import { createCodeTries } from "./tries.ts";

type Code = typeof deviceCode.$inferSelect;
type Asking = Parameters<typeof getAuthoritativeSessionFromCtx>[0];

const textLengthMax = 64;
const text = z.string().min(1).max(textLengthMax);
const answered = z.object({ userCode: text, confirmationNumber: z.union([text, z.number()]).optional() });
/** As people type it: in lower case, with a dash or spaces. */
const normalize = (code: string): string => code.replace(/[^a-z0-9]/gi, "").toUpperCase();

const buildRefusal = (status: "BAD_REQUEST" | "FORBIDDEN", error: string, description: string) =>
  new APIError(status, createOAuthFault(error, description));
const rejectUnknown = () => buildRefusal("BAD_REQUEST", "invalid_request", "This code is not known.");
const rejectInvalid = ({ message }: { message: string }) => {
  throw buildRefusal("BAD_REQUEST", "invalid_request", message);
};

/** What a person does on the device page: look at a request, and approve or deny it. */
export function createApprovalEndpoints(deps: Deps) {
  const { db, clock, config } = deps;
  const tries = createCodeTries(deps);

  /** The person who asks, in the session they ask from. */
  async function getPerson(ctx: Asking) {
    const signedIn = await getAuthoritativeSessionFromCtx(ctx);
    if (!signedIn) throw new APIError("UNAUTHORIZED", createOAuthFault("unauthorized", "Sign in first."));
    const { user, session } = signedIn;
    const ip = ctx.headers?.get("x-client-ip") ?? "";
    const by: unknown = session.impersonatedBy;
    return {
      user_id: user.id,
      session_id: session.id,
      impersonated_by: typeof by === "string" ? by : null,
      ip,
      address: getBucket(ip),
      user_agent: ctx.headers?.get("user-agent") ?? null,
    };
  }
  type Person = Awaited<ReturnType<typeof getPerson>>;

  /** Count a try, look, and take the try back when `look` finds the code; what it throws was a wrong try. */
  async function limitTries<T>({ user_id, address }: Person, look: () => Promise<T>): Promise<T> {
    const wait = await tries.take(user_id, address);
    if (wait > 0) {
      const minutes = (wait - (wait % 60)) / 60 + 1;
      const description = `Too many wrong codes. Try again in ${minutes} minutes.`;
      throw new APIError("TOO_MANY_REQUESTS", createOAuthFault("too_many_attempts", description), {
        "Retry-After": String(wait),
      });
    }
    const found = await look();
    await tries.giveBack(user_id, address);
    return found;
  }

  async function findCode(typed: string): Promise<Code> {
    const [found] = await db
      .select()
      .from(deviceCode)
      .where(inArray(deviceCode.userCode, hashWithEach(config.secrets, normalize(typed))));
    if (!found) throw rejectUnknown();
    return found;
  }
  const checkTime = ({ expiresAt }: Code) => {
    if (expiresAt <= clock.now()) throw buildRefusal("BAD_REQUEST", "expired_token", "The code has expired.");
  };

  /**
   * The request behind a code, for the session that opened it first: from then on nobody else, and no other session of
   * the same person, may see or answer it.
   */
  async function open(typed: string, person: Person): Promise<Code> {
    const { user_id, session_id } = person;
    const found = await findCode(typed);
    if (found.sessionId === null && found.status === "pending") {
      checkTime(found);
      const [claimed] = await db
        .update(deviceCode)
        .set({ userId: user_id, sessionId: session_id })
        .where(and(eq(deviceCode.id, found.id), isNull(deviceCode.sessionId), eq(deviceCode.status, "pending")))
        .returning();
      if (claimed) return claimed;
      return open(typed, person);
    }
    if (found.sessionId !== session_id || found.userId !== user_id) throw rejectUnknown();
    checkTime(found);
    return found;
  }

  const look = createAuthEndpoint(
    "/device",
    { method: "GET", query: z.object({ user_code: text }), onValidationError: rejectInvalid, requireHeaders: true },
    async (ctx) => {
      // Another site may lead a browser here; it may not spend that person's tries.
      if (ctx.headers.get("sec-fetch-site") === "cross-site")
        throw buildRefusal("FORBIDDEN", "access_denied", "Open the device page itself.");
      const person = await getPerson(ctx);
      const found = await limitTries(person, () => open(ctx.query.user_code, person));
      return ctx.json({
        user_code: normalize(ctx.query.user_code),
        status: found.status,
        client_id: found.clientId,
        client_name: getClientName(found.clientId),
        scope: found.scope,
        ip_address: found.ipAddress,
        place: getPlace(found.ipAddress, person.ip, config.url),
        agent: readAgentName(found.userAgent),
        user_agent: found.userAgent,
        requested_at: found.createdAt,
        expires_in: countSeconds(clock.now(), found.expiresAt),
        confirmation_required: found.confirmation !== null,
      });
    },
  );

  /** The code that a person answers, which must be theirs to answer; anything else was a wrong try. */
  async function requireAnswerable(typed: string, person: Person): Promise<Code> {
    const found = await limitTries(person, async () => {
      const code = await findCode(typed);
      checkTime(code);
      if (code.sessionId !== null && (code.sessionId !== person.session_id || code.userId !== person.user_id))
        throw buildRefusal(
          "FORBIDDEN",
          "access_denied",
          "This request was opened in another session. Answer it there.",
        );
      return code;
    });
    if (found.sessionId === null)
      throw buildRefusal("BAD_REQUEST", "invalid_request", "Open the code on the device page before you answer it.");
    return found;
  }
  /** Answer a request that is still open, once. */
  const settle = (found: Code, status: "approved" | "denied", person: Person): Promise<void> =>
    transact(deps, async (tx) => {
      const [settled] = await tx
        .update(deviceCode)
        .set({ status })
        .where(
          and(
            eq(deviceCode.id, found.id),
            eq(deviceCode.status, "pending"),
            eq(deviceCode.sessionId, person.session_id),
            gt(deviceCode.expiresAt, clock.now()),
          ),
        )
        .returning({ id: deviceCode.id });
      if (!settled) throw buildRefusal("BAD_REQUEST", "invalid_request", "This request was answered already.");
      await record(tx, deps, {
        action: `device.${status}`,
        actor: { kind: "user", user_id: person.user_id, key_id: null, impersonated_by: person.impersonated_by },
        subject: { type: "device", id: found.id },
        organization_id: null,
        details: { clientId: found.clientId, scope: found.scope, from: found.ipAddress },
        ip_address: person.ip,
        user_agent: person.user_agent,
      });
    });

  const approve = createAuthEndpoint(
    "/device/approve",
    { method: "POST", body: answered, onValidationError: rejectInvalid, requireHeaders: true },
    async (ctx) => {
      const person = await getPerson(ctx);
      const { userCode, confirmationNumber } = ctx.body;
      const found = await requireAnswerable(userCode, person);
      if (found.confirmation !== null) {
        if (confirmationNumber === undefined)
          throw buildRefusal("BAD_REQUEST", "invalid_request", "Enter the number that your terminal shows.");
        const entered = String(confirmationNumber).trim();
        if (!hashConfirmation(config.secrets, found.id, entered).includes(found.confirmation)) {
          await settle(found, "denied", person);
          await tries.take(person.user_id, person.address);
          const description = "That is not the number your terminal shows. The request is denied; start again there.";
          throw buildRefusal("FORBIDDEN", "access_denied", description);
        }
      }
      await settle(found, "approved", person);
      return ctx.json({ success: true });
    },
  );
  const deny = createAuthEndpoint(
    "/device/deny",
    { method: "POST", body: answered, onValidationError: rejectInvalid, requireHeaders: true },
    async (ctx) => {
      const person = await getPerson(ctx);
      await settle(await requireAnswerable(ctx.body.userCode, person), "denied", person);
      return ctx.json({ success: true });
    },
  );
  return { deviceVerify: look, deviceApprove: approve, deviceDeny: deny };
}

const isLoopback = (address: string) => address === "::1" || getBucket(address).startsWith("127.");

/**
 * Where a request came from, as seen from the browser that looks at it. A server that others reach is never asked by
 * itself: there this machine's own address is a proxy's that nobody has told us to trust, and says nothing.
 */
function getPlace(from: string | null, browser: string, url: string): string {
  if (!from || !browser) return "unknown";
  if (isLoopback(from) && isLoopback(browser)) return isLoopbackUrl(url) ? "this_computer" : "unknown";
  if (getBucket(from) !== getBucket(browser)) return "another_address";
  // An IPv6 network is one home or office; its addresses change by themselves.
  return from !== browser && getBucket(from).includes("/") ? "same_network" : "same_address";
}
