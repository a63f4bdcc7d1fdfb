/** What the command line itself can tell of a server: whether it answers, its certificate, its clock and its version. */

import type { Check } from "../../shared/api/diagnostics.ts";
import { isLoopbackUrl } from "../../shared/loopback.ts";
import * as routes from "../../shared/routes.ts";
import { type Context, findPersonInUse } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { send } from "../http.ts";
import { request } from "../request.ts";

/** What the server answers, as it comes over the wire. */
export type Report = {
  now: string;
  version: string;
  schema: number;
  url: string;
  organization_id: string;
  sandbox: boolean;
  operator: boolean;
  credential: { kind: string; scopes: string[]; expires_at: string | null };
  checks: Check[];
};

const skewMsMax = 30_000;
const certificateDaysLow = 14;
const dayMs = 24 * 60 * 60 * 1000;
const tlsMsMax = 10_000;

export const buildCheck = (id: string, status: Check["status"], message: string, fix: string | null = null): Check => ({
  id,
  status,
  message,
  fix,
});

/** Whether the server answers, and is ready for work. Throws the Fault of a server that does not answer. */
export async function checkReachable(context: Context): Promise<Check> {
  const { server, timeoutMs } = context.settings();
  const started = Date.now();
  const { status, text } = await send({
    method: "GET",
    url: new URL(`${server}/readyz`),
    headers: { accept: "application/json" },
    timeoutMs,
    env: context.io.env,
    signal: context.io.signal,
  });
  const took = Date.now() - started;
  const ready = readJson(text);
  if (ready?.status === "ready") return buildCheck("server", "ok", `${server} answers in ${took} ms.`);
  if (ready === undefined)
    throw new Fault("error", `${server} is not a floe server: it answered ${status}`, { hint: "Check --server." });
  const broken = Object.entries(ready).flatMap(([name, value]) => (value === false ? [name] : []));
  const parts = broken.length > 0 ? broken.join(", ") : "the database";
  return buildCheck("server", "failure", `${server} is not ready: ${parts}.`, "Read the server's log.");
}

function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "status" in value ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Until when the certificate of the server is valid. */
export async function checkCertificate(context: Context): Promise<Check> {
  const url = new URL(context.settings().server);
  if (url.protocol !== "https:") return buildCheck("tls", "ok", "Not encrypted: the server is on this machine.");
  const { findProxy } = await import("../proxy.ts");
  if (findProxy(url, context.io.env))
    return buildCheck("tls", "skipped", "Behind the proxy of HTTPS_PROXY the certificate is not read.");
  const { connect } = await import("node:tls");
  const ends = await new Promise<Date>((resolve, reject) => {
    const port = Number(url.port || "443");
    const socket = connect({ host: url.hostname, port, servername: url.hostname, timeout: tlsMsMax }, () => {
      resolve(new Date(socket.getPeerCertificate().valid_to));
      socket.destroy();
    });
    socket.on("timeout", () => socket.destroy(new Error(`no answer within ${tlsMsMax / 1000} s`)));
    socket.on("error", reject);
  }).catch((error: NodeJS.ErrnoException) => error);
  const renew = "Renew the certificate of the proxy in front of the server.";
  if (ends instanceof Error)
    return buildCheck("tls", "failure", `The certificate is not accepted: ${ends.code ?? ends.message}.`, renew);
  const days = Math.floor((ends.getTime() - Date.now()) / dayMs);
  const message = `The certificate is valid until ${ends.toISOString().slice(0, 10)}, for ${days} more days.`;
  return days < certificateDaysLow ? buildCheck("tls", "warning", message, renew) : buildCheck("tls", "ok", message);
}

/** Ask the server for its own checks. Undefined where nobody is signed in. */
export async function fetchReport(
  context: Context,
  goLive: boolean,
): Promise<{ report: Report; skewMs: number } | { refusal: Check }> {
  const { apiKey, credential, job, server } = context.settings();
  if (!apiKey && !credential && !job)
    return { refusal: buildCheck("sign_in", "failure", `You are not signed in at ${server}.`, "Run: `floe login`") };
  const started = Date.now();
  try {
    const query = goLive ? { go_live: true } : {};
    const report = (await request(context, routes.diagnostics.get, { query })) as Report;
    const middle = started + (Date.now() - started) / 2;
    return { report, skewMs: Date.parse(report.now) - middle };
  } catch (error) {
    if (!isFault(error) || error.kind === "interrupted" || error.kind === "terminated") throw error;
    const step = error.kind === "signed_out" ? "Run: `floe login`" : (error.parts.hint ?? null);
    return { refusal: buildCheck("sign_in", "failure", `The server refused to answer: ${error.message}.`, step) };
  }
}

/** What follows from the server's report and this machine together. */
export function compareWithServer(context: Context, report: Report, skewMs: number): Check[] {
  return [
    checkVersion(context, report),
    checkClock(skewMs),
    checkUrl(context, report),
    checkCredential(context, report),
  ];
}

function checkVersion({ version }: Context, report: Report): Check {
  const message = `The server is version ${report.version} with schema ${report.schema}, the command line ${version}.`;
  if (version === report.version) return buildCheck("version", "ok", message);
  return buildCheck("version", "warning", message, "Upgrade the older one.");
}

function checkClock(skewMs: number): Check {
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const message = `The server's clock is ${seconds} s ${skewMs < 0 ? "behind" : "ahead of"} this machine's.`;
  if (Math.abs(skewMs) <= skewMsMax) return buildCheck("clock", "ok", message);
  return buildCheck("clock", "warning", message, "Synchronize both clocks with NTP. Receivers refuse old signatures.");
}

function checkUrl(context: Context, { url }: Report): Check {
  const { server } = context.settings();
  const origin = new URL(server).origin;
  const isSame =
    new URL(url).origin === origin ||
    (isLoopbackUrl(url) && isLoopbackUrl(origin) && new URL(url).port === new URL(origin).port);
  if (isSame) return buildCheck("url", "ok", `FLOE_URL is ${url}, the address that you use.`);
  const fix = `Set FLOE_URL to ${origin}, or use: \`floe doctor --server ${url}\``;
  return buildCheck("url", "warning", `FLOE_URL is ${url}, but you use ${origin}. Links lead to FLOE_URL.`, fix);
}

function checkCredential(context: Context, { credential }: Report): Check {
  const end = credential.expires_at ?? findSessionEnd(context);
  const who = credential.kind === "key" ? "An API key" : "Your sign-in";
  const until = end ? `, valid until ${end.slice(0, 10)}` : ", without an end";
  const count = credential.scopes.length;
  const message = `${who} with ${count} ${count === 1 ? "scope" : "scopes"}${until}.`;
  const isSoon = end !== undefined && Date.parse(end) - Date.now() < 3 * dayMs && credential.kind === "key";
  if (isSoon) return buildCheck("credential", "warning", message, "Replace it: `floe api-keys rotate NAME`");
  return buildCheck("credential", "ok", message);
}

function findSessionEnd(context: Context): string | undefined {
  const { apiKey, job } = context.settings();
  return (apiKey ?? job) ? undefined : findPersonInUse(context).expires_at;
}
