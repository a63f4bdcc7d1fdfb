import { z } from "zod";
import { byId, ids, instant, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { scopes } from "../scopes.ts";
import { organizationOf, stored, unlessNull } from "./fields.ts";

/** An organization's API key, as Polar publishes it. Its value is in no answer but that of the create. */
export const OrganizationAccessToken = z.object({
  ...stored,
  organization_id: z.uuid(),
  comment: z.string(),
  scopes: z.array(z.string()),
  expires_at: instant.nullable(),
  last_used_at: instant.nullable(),
});
export type OrganizationAccessToken = z.output<typeof OrganizationAccessToken>;

const [secondsMin, secondsMax] = [60, 5 * 365 * 86_400];
/** Years are of 365 days and months of 30, as Polar counts them. */
const unitSeconds = [365 * 86_400, 30 * 86_400, 7 * 86_400, 86_400, 3600, 60, 1] as const;
const durationText =
  /^P(?=\d|T\d)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?$/;

/** A duration as seconds. */
function readSeconds(value: string | number): number {
  if (typeof value === "number") return value;
  const [, ...counts] = durationText.exec(value) ?? [];
  return unitSeconds.reduce((sum, seconds, index) => sum + seconds * Number(counts[index] ?? 0), 0);
}

const expiresIn = z
  .union([z.string().regex(durationText, "Must be a duration, as P30D or PT12H."), z.int()])
  .refine((value) => readSeconds(value) >= secondsMin && readSeconds(value) <= secondsMax, {
    message: "Must be between one minute and five years.",
  })
  .transform(readSeconds)
  .nullish()
  .describe("How long it is good for: P30D, PT12H, or seconds; without end if null.");
const comment = z.string().trim().min(1).max(100).describe("What the token is for.");
const scopeList = z
  .array(z.enum(scopes))
  .min(1)
  .max(scopes.length)
  .describe("What it may do; nothing that you may not.");

export const organizationAccessTokens = {
  list: {
    method: "GET",
    path: "/v1/organization-access-tokens/",
    summary: "List organization access tokens",
    access: seller("organization_access_tokens:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      sorting: sorting(["created_at", "comment", "last_used_at", "organization_id"], ["created_at"]),
    }),
    response: page(OrganizationAccessToken),
  },
  create: {
    method: "POST",
    path: "/v1/organization-access-tokens/",
    summary: "Create an organization access token; it is shown once",
    access: seller("organization_access_tokens:write"),
    body: z.object({ organization_id: organizationOf, comment, scopes: scopeList, expires_in: expiresIn }),
    response: z.object({ organization_access_token: OrganizationAccessToken, token: z.string() }),
    status: 201,
    answersOnce: true,
    audit: "api_key.created",
  },
  update: {
    method: "PATCH",
    path: "/v1/organization-access-tokens/:id",
    summary: "Update an organization access token",
    access: seller("organization_access_tokens:write"),
    params: byId,
    body: z.object({ comment: unlessNull(comment), scopes: unlessNull(scopeList) }),
    response: OrganizationAccessToken,
    errors: ["ResourceNotFound"],
    audit: "api_key.updated",
  },
  delete: {
    method: "DELETE",
    path: "/v1/organization-access-tokens/:id",
    summary: "Delete an organization access token",
    access: seller("organization_access_tokens:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    audit: "api_key.deleted",
  },
} as const satisfies Resource;
