/** Which jobs a CI rule lets in, decided by what their tokens say. */
import type { CiRule } from "../../../../shared/api/ci-rules.ts";

/** What a verified token says. */
export type JobClaims = Readonly<Record<string, unknown>>;
export type Rule = Pick<CiRule, "provider" | "audience" | "repository" | "repository_id" | "branch" | "environment">;

/** What the services call the repository, its id that no other ever has, and the full name of the branch: refs/heads/main. */
const claimNames = {
  github: { repository: "repository", id: "repository_id", ref: "ref" },
  gitlab: { repository: "project_path", id: "project_id", ref: "ref_path" },
} as const;
const branchPrefix = "refs/heads/";
/** It runs with the rights of the repository, and often on the code of a stranger's pull request. */
const foreignEvents: ReadonlySet<unknown> = new Set(["pull_request_target"]);

function matchBranch(wanted: string, ref: unknown): boolean {
  if (typeof ref !== "string" || !ref.startsWith(branchPrefix)) return false;
  const branch = ref.slice(branchPrefix.length);
  return wanted.endsWith("*") ? branch.startsWith(wanted.slice(0, -1)) : branch === wanted;
}

/** The id of the repository of a job, as text; null where the token has none. */
export function getRepositoryId({ provider }: Pick<Rule, "provider">, claims: JobClaims): string | null {
  const id = claims[claimNames[provider].id];
  return typeof id === "string" || typeof id === "number" ? String(id) : null;
}

/** The claim that a rule does not let in, by its name; undefined where it lets the job in. */
export function findMismatch(rule: Rule, claims: JobClaims): string | undefined {
  const names = claimNames[rule.provider];
  if (claims[names.repository] !== rule.repository) return names.repository;
  // A name that was given up can be taken by a stranger, whose repository has another id.
  if (rule.repository_id !== null && getRepositoryId(rule, claims) !== rule.repository_id) return names.id;
  if (![claims.aud].flat().includes(rule.audience)) return "aud";
  if (foreignEvents.has(claims.event_name)) return "event_name";
  if (rule.branch !== null && !matchBranch(rule.branch, claims[names.ref])) return names.ref;
  if (rule.environment !== null && claims.environment !== rule.environment) return "environment";
  return undefined;
}

/** How much a rule asks for: of several that let a job in, the one that asks for most counts. */
const countConditions = ({ branch, environment }: Rule): number =>
  (environment === null ? 0 : 2) + (branch === null || branch.endsWith("*") ? 0 : 1);

/** The rule that counts for a job, or the claim because of which none of this repository does. */
export function findRule<R extends Rule>(
  rules: readonly R[],
  claims: JobClaims,
): { rule: R } | { mismatch: string | undefined } {
  const judged = rules.map((rule) => ({ rule, mismatch: findMismatch(rule, claims) }));
  const [found] = judged
    .filter(({ mismatch }) => mismatch === undefined)
    .toSorted((a, b) => countConditions(b.rule) - countConditions(a.rule));
  if (found) return { rule: found.rule };
  // Only a job of the repository itself is told what was wrong.
  const own = judged.find(({ rule, mismatch }) => mismatch !== claimNames[rule.provider].repository);
  return { mismatch: own?.mismatch };
}

const shownMax = 200;
/** What a token says in a claim, for the person who reads the log of the job. */
export function describeClaim(claims: JobClaims, name: string): string {
  const value = claims[name];
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
