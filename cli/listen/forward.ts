/** Handing one delivery to the program on this machine. */
import { Fault } from "../fault.ts";
import { send } from "../http.ts";
import { pause } from "../pause.ts";

/** A delivery as the server streams it: signed, with the exact body. */
export type Delivery = {
  id: string;
  type: string;
  created_at?: string;
  body: string;
  timestamp: number;
  signature: string;
};
/** What a delivery tells, read from its body. */
export const parseDelivery = ({ body }: Pick<Delivery, "body">): { type: string; timestamp: string; data: unknown } =>
  JSON.parse(body) as { type: string; timestamp: string; data: unknown };

/** How the program answered; without a status it did not. */
export type Outcome = { status?: number; error?: string; duration_ms: number; attempts: number };

/** Check the address to forward to; `3000/hooks` and `localhost:3000/hooks` are understood. */
export function parseTarget(text: string): URL {
  const full = /^\d+(\/|$)/.test(text)
    ? `http://localhost:${text}`
    : /^https?:\/\//.test(text)
      ? text
      : `http://${text}`;
  try {
    return new URL(full);
  } catch {
    throw new Fault("usage", `"${text}" is not an address to forward to`, {
      hint: "For example: --forward-to http://localhost:3000/hooks",
    });
  }
}

const pauseMs = 500;

/** Post a delivery, and again up to `retries` times while it is not accepted. It never throws but for a stop. */
export async function forwardEvent(
  target: URL,
  delivery: Delivery,
  options: { retries: number; timeoutMs: number; signal: AbortSignal },
): Promise<Outcome> {
  const headers = {
    "content-type": "application/json",
    "user-agent": "floe-listen",
    "webhook-id": delivery.id,
    "webhook-timestamp": String(delivery.timestamp),
    "webhook-signature": delivery.signature,
  };
  const started = Date.now();
  const consumeMatch = (): number => Date.now() - started;
  for (let attempt = 1; ; attempt++) {
    let outcome: Outcome;
    try {
      // The bytes of the body are signed: they go out as they came, and past any proxy.
      const body = Buffer.from(delivery.body, "utf8");
      const { status } = await send({
        method: "POST",
        url: target,
        headers,
        body,
        timeoutMs: options.timeoutMs,
        env: {},
        signal: options.signal,
      });
      outcome = { status, duration_ms: consumeMatch(), attempts: attempt };
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== "unreachable") throw error;
      outcome = { error: error.message, duration_ms: consumeMatch(), attempts: attempt };
    }
    const accepted = outcome.status !== undefined && outcome.status < 300;
    if (accepted || attempt > options.retries) return outcome;
    await pause(pauseMs * attempt, options.signal);
  }
}
