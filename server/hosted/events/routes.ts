import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { ApiError, getCode, notFound } from "../../../shared/errors.ts";
import { getServerClock, toUnixSeconds } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { sealTokens } from "../../platform/crypto/secrets.ts";
import { createId } from "../../platform/ids.ts";
import { getBucket } from "../../platform/limits/addresses.ts";
import { countInMemory } from "../../platform/limits/limits.ts";
import { storedIndex, type WebhookSecret } from "../connection/secrets.ts";
import type { Hosted } from "../relay/hosted.ts";
import { storeEvent } from "./store.ts";
import { type Delivery, type VerificationFault, verificationFaults, verifyDelivery } from "./verify.ts";

const bodyBytesMax = 1024 * 1024;
/** Refused deliveries of an address. Good ones are not counted: a flood of them is Polar's, which gives up after ten refusals. */
const refusedMax = { max: 600, window_seconds: 60 };
const idLengthMax = 256;
const skewSeconds = 60;
const skewWarningMs = 3_600_000;
const badRequests: readonly VerificationFault[] = ["headers", "timestamp"];

const Envelope = z.object({
  type: z.string().min(1).max(100),
  timestamp: z.iso.datetime({ offset: true }).optional(),
  data: z.record(z.string(), z.unknown()),
});

type Received = { secret_index: number } | { fault: VerificationFault };

/**
 * `POST /v1/integrations/polar/webhook`, and `POST /api/auth/polar/webhooks` in the shapes of the account side: Polar's events.
 * The signature covers the bytes as they were sent, so nothing is parsed before it is verified. An event is stored by one
 * statement and answered; a worker applies it.
 */
export function routeIncomingEvents(app: FastifyInstance, deps: Deps, hosted: Hosted): void {
  const { secrets, refusals } = hosted;
  const count = countInMemory(deps.clock);
  let warned_at = 0;
  app.removeAllContentTypeParsers();
  app.addHook("onClose", () => refusals.flush());
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));

  /** Answers false before anybody has connected this server with Polar. */
  const hasSecrets = async (): Promise<boolean> =>
    (await secrets.list()).length > 0 || (await secrets.reload()).length > 0;

  /** Verify under each secret. One that was made meanwhile by another process is read first. */
  async function verify(delivery: Delivery): Promise<Received> {
    const now = toUnixSeconds(getServerClock(deps.clock).now());
    const verifyWith = (known: readonly WebhookSecret[]): Received => {
      const texts = known.map(({ text }) => text);
      const verified = verifyDelivery(delivery, texts, now);
      return "fault" in verified ? verified : { secret_index: known[verified.secret_index]?.index ?? storedIndex };
    };
    const known = await secrets.list();
    const received = verifyWith(known);
    if (!("fault" in received)) warnOfSkew(now - Number(delivery.timestamp));
    if (!("fault" in received) || received.fault !== "signature") return received;
    const reloaded = await secrets.reload();
    return reloaded === known ? received : verifyWith(reloaded);
  }

  async function readDelivery(request: FastifyRequest): Promise<{ received: Received; id: string; body: Buffer }> {
    const bucket = getBucket(request.ip);
    const wait = count(bucket, refusedMax);
    if (wait > 0) {
      refusals.record("rate");
      throw new ApiError("TooManyRequests", "Too many deliveries of this address were refused.", {
        "Retry-After": String(wait),
      });
    }
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const read = (name: string) => String(request.headers[name] ?? "");
    const id = read("webhook-id");
    const timestamp = read("webhook-timestamp");
    const received = await verify({ id, timestamp, signature: read("webhook-signature"), body });
    if ("fault" in received) refusals.record(received.fault);
    else count(bucket, refusedMax, -1);
    return { received, id, body };
  }

  function warnOfSkew(skew: number): void {
    const now = deps.clock.now().getTime();
    if (Math.abs(skew) <= skewSeconds || now - warned_at < skewWarningMs) return;
    warned_at = now;
    deps.log.warn({ seconds: skew }, "Polar's events arrive with another time than this server's.");
  }

  /** Store what was received; answers what is wrong with its body. */
  async function store(id: string, body: Buffer, secret_index: number): Promise<string | undefined> {
    const envelope = readEnvelope(body);
    if (typeof envelope === "string") {
      refusals.record("shape");
      return envelope;
    }
    const { organization_id } = hosted.requireLink();
    const now = getServerClock(deps.clock).now();
    const { isNew, isSame } = await storeEvent(deps.db, {
      id: createId(now),
      organization_id,
      webhook_id: id.slice(0, idLengthMax),
      type: envelope.type,
      event_at: envelope.timestamp === undefined ? now : new Date(envelope.timestamp),
      received_at: now,
      payload: sealTokens(deps.config.secret, "event-tokens", organization_id, body.toString("utf8")),
      body_hash: createHash("sha256").update(body).digest("base64url"),
      state: "pending",
      secret_index,
      due_at: now,
    });
    if (!isNew && !isSame)
      deps.log.warn({ webhook_id: id }, "An event came again with another body; the first is kept.");
    return undefined;
  }

  app.post("/v1/integrations/polar/webhook", { bodyLimit: bodyBytesMax }, async (request, reply) => {
    if (!(await hasSecrets())) throw notFound();
    const { received, id, body } = await readDelivery(request);
    if ("fault" in received)
      return reply
        .code(badRequests.includes(received.fault) ? 400 : 403)
        .send({ error: "WebhookVerificationError", detail: verificationFaults[received.fault] });
    const fault = await store(id, body, received.secret_index);
    if (fault !== undefined) return reply.code(400).send({ error: "SDKValidationError", detail: fault });
    return reply.code(202).send({ received: true });
  });

  const send = (text: string) => ({ code: getCode(text), message: text });
  app.post("/api/auth/polar/webhooks", { bodyLimit: bodyBytesMax }, async (request, reply) => {
    if (!(await hasSecrets())) return reply.code(500).send(send("Polar webhook secret not found"));
    const { received, id, body } = await readDelivery(request);
    if ("fault" in received) return reply.code(400).send(send(verificationFaults[received.fault]));
    const fault = await store(id, body, received.secret_index);
    if (fault !== undefined) return reply.code(400).send({ code: "SDKVALIDATIONERROR", message: fault });
    return reply.send({ received: true });
  });
}

/** The envelope of an event, or what is wrong with it. */
function readEnvelope(body: Buffer): z.output<typeof Envelope> | string {
  const title = "Failed to parse event";
  let json: unknown;
  try {
    json = JSON.parse(body.toString("utf8"));
  } catch {
    return `${title}\n1 issue found:\n[<root>]: The body is not JSON (custom)`;
  }
  const read = Envelope.safeParse(json);
  if (read.success) return read.data;
  const lines = read.error.issues.map(
    ({ path, message, code }) => `[${["<root>", ...path].join(".")}]: ${message} (${code})`,
  );
  return [title, lines.length === 1 ? "1 issue found:" : `${lines.length} issues found:`, ...lines].join("\n");
}
