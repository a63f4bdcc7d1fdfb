import { sign } from "node:crypto";
import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import type { Config } from "../config.ts";
import { callService } from "./services.ts";

/** How long the app's own token is good, which is made anew for every question; GitHub takes at most 10 minutes. */
const tokenSeconds = 300;
/** Clocks differ: the token is dated back by as much. */
const driftSeconds = 60;

/** Which setting the app lacks; undefined when it has all of them. */
export const findMissingAppSetting = (config: Config): string | undefined =>
  (["GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY"] as const).find((name) => !config[name]);

/** By what the app shows that it is the app: a JWT, signed with its key. */
export function signAppToken({ GITHUB_APP_ID: iss, GITHUB_APP_PRIVATE_KEY: key }: Config, now: Date): string {
  if (!key) throw new Error("GitHub is asked without an app.");
  const seconds = new Date(now).setUTCMilliseconds(0) / 1000;
  const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iat: seconds - driftSeconds, exp: seconds + tokenSeconds, iss };
  const signed = `${encodePart({ alg: "RS256", typ: "JWT" })}.${encodePart(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

/** What every call to GitHub says beside what it asks. */
export const getGitHubHeaders = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  accept: "application/vnd.github+json",
  "x-github-api-version": "2022-11-28",
  "user-agent": "floe",
});

/** What GitHub answers; undefined where there is no such thing, or not for who asks. */
async function sendRequest<T>(
  config: Config,
  token: string,
  path: string,
  shape: z.ZodType<T>,
  method = "GET",
): Promise<T | undefined> {
  const { status, json } = await callService("GitHub", config.GITHUB_API_URL + path, {
    method,
    headers: getGitHubHeaders(token),
  });
  // A repository that was moved is no longer where it was.
  if ([301, 403, 404, 451].includes(status)) return undefined;
  const read = shape.safeParse(json);
  if (status >= 300 || !read.success)
    throw new ApiError("ServiceUnavailable", `GitHub refused the app's question with status ${status}.`);
  return read.data;
}

const Installation = z.object({ id: z.int(), target_type: z.string() });
const Token = z.object({ token: z.string() });
const Person = z.object({ login: z.string() });
const Access = z.object({ permission: z.string() });

/**
 * Whether the app can let buyers into a repository, and one of these accounts may give that away: the app is installed on
 * it, it belongs to an organization, and the account administers it (BEN-70).
 */
export async function validateRepository(
  config: Config,
  now: Date,
  { owner, name }: { owner: string; name: string },
  accounts: readonly string[],
): Promise<"fine" | "not_installed" | "personal" | "no_access"> {
  const app = signAppToken(config, now);
  const repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  const installation = await sendRequest(config, app, `${repository}/installation`, Installation);
  if (!installation) return "not_installed";
  if (installation.target_type !== "Organization") return "personal";
  const made = await sendRequest(config, app, `/app/installations/${installation.id}/access_tokens`, Token, "POST");
  if (!made) return "not_installed";
  for (const account of accounts) {
    // By its number: names are given up and taken by others.
    const person = await sendRequest(config, made.token, `/user/${encodeURIComponent(account)}`, Person);
    const login = person && encodeURIComponent(person.login);
    const access =
      login && (await sendRequest(config, made.token, `${repository}/collaborators/${login}/permission`, Access));
    if (access && access.permission === "admin") return "fine";
  }
  return "no_access";
}
