import { z } from "zod";
import { byId, ids, instant, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { isKeyScope, scopes } from "../scopes.ts";
import { organizationOf, stored, webUrl } from "./fields.ts";

/** Where jobs run that a rule lets in, and who signs their tokens unless the rule names another server. */
export const ciIssuers = {
  github: "https://token.actions.githubusercontent.com",
  gitlab: "https://gitlab.com",
} as const;
export const ciProviders = ["github", "gitlab"] as const satisfies (keyof typeof ciIssuers)[];

const [lastsMin, lastsMax, lastsStandard] = [60, 3600, 900];
export const ciTokenLengthMax = 16_000;

/** Which jobs of a repository get a key without a stored secret, and what this key may do. It never changes. */
export const CiRule = z.object({
  ...stored,
  organization_id: z.uuid(),
  /** The person who made it: its keys may do nothing that this person may not. */
  user_id: z.uuid(),
  provider: z.enum(ciProviders),
  issuer: z.string(),
  audience: z.string(),
  repository: z.string(),
  /** Its id at the service, from the first job that was let in: a repository that takes over the name has another one. */
  repository_id: z.string().nullable(),
  branch: z.string().nullable(),
  environment: z.string().nullable(),
  scopes: z.array(z.string()),
  lasts_seconds: z.int(),
  last_used_at: instant.nullable(),
});
export type CiRule = z.output<typeof CiRule>;

const printable = /^[^\p{Cc}\s]+$/u;
const repository = z
  .string()
  .max(200)
  .regex(/^[\w.-]+(\/[\w.-]+)+$/, "Must be an owner and a name, as acme/shop.")
  .describe("The repository, as acme/shop; of GitLab the path of the project. Case matters.");
const branch = z
  .string()
  .min(1)
  .max(250)
  .regex(printable, "Must be the name of a branch, without spaces.")
  .refine((text) => !text.slice(0, -1).includes("*"), "May have one *, at its end.")
  .nullish()
  .describe("The branch, as main, or release/* for those that begin so; * for every branch.");
const environment = z.string().min(1).max(250).nullish().describe("The environment that the job must name.");
const audience = z
  .string()
  .min(1)
  .max(500)
  .regex(printable, "Must be without spaces.")
  .optional()
  .describe("Whom the token must be for; the address of this server if absent.");
const scopeList = z
  .array(z.enum(scopes.filter((scope) => !isKeyScope(scope))))
  .min(1)
  .max(scopes.length)
  .describe("What the keys may do; nothing that you may not, and nothing about keys.");

export const ciRules = {
  list: {
    method: "GET",
    path: "/v1/ci-rules/",
    summary: "List CI rules",
    access: seller("organization_access_tokens:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      sorting: sorting(["created_at", "repository", "last_used_at"], ["created_at"]),
    }),
    response: page(CiRule),
  },
  create: {
    method: "POST",
    path: "/v1/ci-rules/",
    summary: "Let jobs of a repository get short-lived keys",
    access: seller("organization_access_tokens:write"),
    body: z
      .object({
        organization_id: organizationOf,
        provider: z.enum(ciProviders).default("github").describe("Where the jobs run."),
        issuer: webUrl.optional().describe("Who signs the tokens, if it is a server of your own."),
        audience,
        repository,
        branch,
        environment,
        scopes: scopeList,
        lasts_seconds: z
          .int()
          .min(lastsMin)
          .max(lastsMax)
          .default(lastsStandard)
          .describe("For how many seconds a key is good: 60 to 3600."),
      })
      .refine(({ branch, environment }) => Boolean(branch ?? environment), {
        path: ["branch"],
        message: "Name a branch or an environment, so that not every job of the repository gets a key.",
      }),
    response: CiRule,
    status: 201,
    audit: "ci_rule.created",
  },
  delete: {
    method: "DELETE",
    path: "/v1/ci-rules/:id",
    summary: "Delete a CI rule; its keys end at once",
    access: seller("organization_access_tokens:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this CI rule? Its keys end at once.",
    audit: "ci_rule.deleted",
  },
  exchange: {
    method: "POST",
    path: "/v1/ci-rules/exchange",
    summary: "Exchange the token of a CI job for a short-lived key",
    access: { by: "anyone", scopes: [] },
    body: z.object({
      organization: z.string().min(1).max(100).describe("The organization, by slug or id."),
      token: z.string().min(1).max(ciTokenLengthMax).describe("The token that the CI service gave to the job."),
    }),
    response: z.object({
      organization_id: z.uuid(),
      ci_rule_id: z.uuid(),
      token: z.string(),
      scopes: z.array(z.string()),
      expires_at: instant,
    }),
    status: 201,
    errors: ["NotPermitted"],
    external: true,
    answersOnce: true,
  },
} as const satisfies Resource;
