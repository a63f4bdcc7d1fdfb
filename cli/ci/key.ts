/** The key of a CI job: exchanged for the job's own token, and kept on the machine of the job until it ends. */
import { createHash } from "node:crypto";
import { isLoopbackUrl } from "../../shared/loopback.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { send } from "../http.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { readSettingsFile } from "../settings.ts";
import { writePrivate } from "../settings-write.ts";
import type { Job } from "./job.ts";

type Key = { token: string; expires_at: string };
type Kept = Record<string, Key>;

const fileName = "job-keys.json";
/** A key that ends sooner is not begun with. */
const spareMs = 30_000;
const tokenLengthMax = 16_000;
/** Another command of the job may be exchanging the same token. */
const [waits, waitMs] = [10, 200];

const readKept = (context: Context): Kept => readSettingsFile(context.io.env, fileName) as Kept;
const isGood = ({ expires_at }: Key): boolean => Date.parse(expires_at) - Date.now() > spareMs;

function writeKept(context: Context, name: string, key: Key): void {
  const good = Object.entries(readKept(context)).filter(([, one]) => isGood(one));
  writePrivate(context.io.env, fileName, { ...Object.fromEntries(good), [name]: key });
}

/** The token of the job, for this server alone. */
async function fetchToken(context: Context, job: Job): Promise<string> {
  if (job.kind === "gitlab") return job.token;
  const { server, timeoutMs } = context.settings();
  const url = new URL(job.url);
  if (url.protocol !== "https:" && !isLoopbackUrl(url))
    throw new Fault("usage", "ACTIONS_ID_TOKEN_REQUEST_URL does not begin with https://");
  url.searchParams.set("audience", server);
  const headers = { authorization: `Bearer ${job.secret}`, accept: "application/json" };
  const { env, signal } = context.io;
  const answer = await send({ method: "GET", url, headers, timeoutMs, env, signal });
  const value = answer.status === 200 ? readValue(answer.text) : undefined;
  if (value === undefined)
    throw new Fault("unreachable", `GitHub gave the job no token (${answer.status})`, {
      hint: "Run the job again, or set FLOE_API_KEY.",
    });
  return value;
}

function readValue(text: string): string | undefined {
  try {
    const { value } = JSON.parse(text) as { value?: unknown };
    return typeof value === "string" && value.length <= tokenLengthMax ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Exchange the token of the job. GitHub gives another one where the answer to the first was lost. */
async function exchange(context: Context, organization: string, job: Job, isLast = false): Promise<Key> {
  const token = await fetchToken(context, job);
  const body = { organization, token };
  const made = await request(context, routes.ciRules.exchange, { body }, { auth: false }).catch((error: unknown) => {
    const isUsed = isFault(error) && error.message.includes("exchanged before");
    if (!isUsed || isLast || job.kind === "gitlab") throw error;
    return exchange(context, organization, job, true);
  });
  return { token: made.token, expires_at: made.expires_at };
}

/** Wait for the key that another command of the job gets for the same token. */
async function awaitKept(context: Context, name: string): Promise<string | undefined> {
  for (let tries = 0; tries < waits && !context.io.signal.aborted; tries++) {
    const kept = readKept(context)[name];
    if (kept && isGood(kept)) return kept.token;
    await pause(waitMs, context.io.signal);
  }
  return undefined;
}

/** The key by which this job asks. */
export async function loadJobKey(context: Context, job: Job): Promise<string> {
  const { server, org } = context.settings();
  if (org === undefined)
    throw new Fault("usage", "a CI job has to name its organization", { hint: "Set FLOE_ORG to its slug." });
  const own = job.kind === "github" ? job.secret : job.token;
  const name = createHash("sha256")
    .update(JSON.stringify([server, org, own]))
    .digest("hex");
  const kept = readKept(context)[name];
  if (kept && isGood(kept)) return kept.token;
  try {
    const made = await exchange(context, org, job);
    writeKept(context, name, made);
    context.debug(`This job has a key until ${made.expires_at}.`);
    return made.token;
  } catch (error) {
    if (!isFault(error) || error.kind !== "not_permitted") throw error;
    const other = job.kind === "gitlab" ? await awaitKept(context, name) : undefined;
    if (other !== undefined) return other;
    throw new Fault("not_permitted", error.message, { ...error.parts, hint: "See: `floe ci-rules list`" });
  }
}
