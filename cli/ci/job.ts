/** Whether the command line runs in a job of a CI service that can show who it is, so that no key has to be stored there. */

type Env = Record<string, string | undefined>;

/** How the job gets its token: GitHub answers a request, GitLab has set a variable. */
export type Job = { kind: "github"; url: string; secret: string } | { kind: "gitlab"; token: string };

/** The job, where its service gives it a token. */
export function findJob(env: Env): Job | undefined {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret, FLOE_ID_TOKEN: token } = env;
  if (token) return { kind: "gitlab", token };
  return url && secret ? { kind: "github", url, secret } : undefined;
}

/** What is missing in a job of a service that could give it a token. */
export function describeMissingToken(env: Env): string | undefined {
  if (env.GITHUB_ACTIONS === "true") return "Give the job `permissions: { id-token: write }`, or set FLOE_API_KEY.";
  if (env.GITLAB_CI === "true") return "Give the job FLOE_ID_TOKEN under `id_tokens`, or set FLOE_API_KEY.";
  return undefined;
}
