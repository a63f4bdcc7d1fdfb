/** A test event to a receiver: sent by the server, as real events are, or by this machine to a program that runs on it. */

import type { z } from "zod";
import type { WebhookProbe } from "../../shared/api/webhooks.ts";
import { isLoopbackUrl } from "../../shared/loopback.ts";
import * as routes from "../../shared/routes.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { isFault } from "../fault.ts";
import { send, UnreachableError } from "../http.ts";
import { readHello } from "../listen/stream.ts";
import { request } from "../request.ts";

export type Probe = Omit<z.input<typeof WebhookProbe>, "url" | "organization_id">;
export type ProbeResult = {
  id: string;
  http_code: number | null;
  response: string | null;
  error: string | null;
  duration_ms: number;
};
export type Prober = { from: "server" | "this machine"; send(probe: Probe): Promise<ProbeResult> };

const excerptMax = 2048;
const timeoutMs = 10_000;

/** How test events reach an address. A server on the internet calls no program of this machine, so this machine does. */
export async function openProber(context: Context, url: string): Promise<Prober & { first: ProbeResult }> {
  const sendByServer = async (probe: Probe): Promise<ProbeResult> =>
    (await request(context, routes.webhooks.probe, { body: { url, ...probe } })) as ProbeResult;
  try {
    return { from: "server", send: sendByServer, first: await sendByServer({}) };
  } catch (error) {
    const isRefusedAddress = isFault(error) && (error.parts.places ?? []).some(({ loc }) => loc.includes("url"));
    if (!isRefusedAddress || !isLoopbackUrl(url)) throw error;
    const sendHere = await openLocalSender(context, url);
    return { from: "this machine", send: sendHere, first: await sendHere({}) };
  }
}

async function openLocalSender(context: Context, url: string): Promise<Prober["send"]> {
  const { createHmac, randomBytes, randomUUID } = process.getBuiltinModule("node:crypto");
  const { secret } = await readHello(context);
  const id = await findCurrentOrganization(context);
  const organization = await request(context, routes.organizations.get, { params: { id } });
  const writeBody = (content: Probe["content"], at: Date): string => {
    if (content === "malformed") return '{"type": "organization.updated", "data": {';
    if (content === "unknown_type") return JSON.stringify({ type: "floe.test", timestamp: at, data: {} });
    return JSON.stringify({ type: "organization.updated", timestamp: at, data: organization });
  };
  return async ({ signature = "valid", content = "event", age_seconds = 0, id: repeated }) => {
    const webhookId = repeated ?? randomUUID();
    const at = new Date(Date.now() - Number(age_seconds) * 1000);
    const timestamp = String(Math.floor(at.getTime() / 1000));
    const body = writeBody(content, at);
    const key = signature === "wrong" ? randomBytes(32) : Buffer.from(secret, "utf8");
    const signed = createHmac("sha256", key).update(`${webhookId}.${timestamp}.${body}`).digest("base64");
    const headers = {
      "content-type": "application/json",
      "user-agent": "floe webhooks",
      "webhook-id": webhookId,
      "webhook-timestamp": timestamp,
      ...(signature !== "missing" && { "webhook-signature": `v1,${signed}` }),
    };
    const started = Date.now();
    const { signal } = context.io;
    try {
      const answer = await send({ method: "POST", url: new URL(url), headers, body, timeoutMs, env: {}, signal });
      const response = answer.text.slice(0, excerptMax);
      return { id: webhookId, http_code: answer.status, response, error: null, duration_ms: Date.now() - started };
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      const duration_ms = Date.now() - started;
      return { id: webhookId, http_code: null, response: null, error: error.message, duration_ms };
    }
  };
}
