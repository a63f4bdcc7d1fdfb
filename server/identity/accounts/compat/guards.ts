import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { reservedSlugs, Slug } from "../../../../shared/api/organizations.ts";
import { findWebPage } from "../../../../shared/destinations.ts";
import type { Deps } from "../../../platform/context.ts";
import { matchPath, matchRule } from "../calls.ts";
import { invalidBody } from "../http/error-mapping.ts";
import { sessionEndpoints } from "../identity/sessions.ts";
import { createFieldGuard, createFieldOrder } from "../people/fields.ts";
import { rejectAdminSlips, rejectUnreadable } from "../people/names.ts";
import {
  deleteAtOnce,
  deleteCopy,
  listScopes,
  nameAccount,
  readFlags,
  rejectClosedFields,
  rejectTakenAddress,
  rejectUnknownState,
  reportLinking,
  translateAccount,
} from "./accounts.ts";

const textLengthMax = 255;
/** How long texts may be. A browser's copy of its session carries them, and must fit into few cookies. */
const lengthsMax = new Map([
  ...["name", "email", "newEmail", "displayUsername"].map((field) => [field, textLengthMax] as const),
  ["image", 2048],
]);

/** Listed first: guards that must act before other plugins look at a request. */
export const createCompatGuards = ({ clock, config }: Pick<Deps, "clock" | "config">) =>
  ({
    id: "floe-compat",
    // An endpoint under the name of a core one takes its place.
    endpoints: sessionEndpoints,
    hooks: {
      before: [
        {
          // A request without a body would make a later plugin fail with a 500; names and addresses have no end otherwise.
          matcher: matchRule("body"),
          handler: createAuthMiddleware(async (ctx) => {
            const body: unknown = ctx.body;
            const fields = typeof body === "object" && body !== null ? Object.entries(body) : undefined;
            const long = fields?.find(
              ([key, value]) => typeof value === "string" && value.length > (lengthsMax.get(key) ?? value.length),
            );
            const blank = fields?.some(([key, value]) => key === "name" && typeof value === "string" && !value.trim());
            const detail = long ? `${long[0]} is too long` : blank ? "name is blank" : undefined;
            if (!fields || detail !== undefined)
              throw new APIError("BAD_REQUEST", { ...invalidBody, ...(detail === undefined ? {} : { detail }) });
          }),
        },
        {
          // Shown as it is by whoever lists people and organizations: an address on the web, never a script or a file.
          matcher: ({ path }) => path !== undefined,
          handler: createAuthMiddleware(async (ctx) => {
            const field = findUnshowable(ctx.body) ?? findUnshowable(ctx.body?.data);
            if (field === undefined) return;
            throw new APIError("BAD_REQUEST", { ...invalidBody, detail: `${field} must be an address on the web` });
          }),
        },
        {
          // Names may be blank or without end, and slugs anything; nobody can find or address such a thing again.
          matcher: matchPath("/organization/create", "/organization/update"),
          handler: createAuthMiddleware(async (ctx) => {
            const given: unknown = ctx.path === "/organization/create" ? ctx.body : ctx.body?.data;
            const detail = findOrganizationFault(given);
            if (detail !== undefined) throw new APIError("BAD_REQUEST", { ...invalidBody, detail });
          }),
        },
        rejectUnreadable,
        rejectAdminSlips,
        rejectClosedFields,
        createFieldGuard(config.FLOE_USER_FIELDS),
        readFlags,
        rejectUnknownState(clock),
        translateAccount,
        rejectTakenAddress,
        deleteAtOnce(clock),
      ],
      after: [
        rejectTakenAddress,
        createFieldOrder(config.FLOE_USER_FIELDS),
        listScopes,
        reportLinking,
        nameAccount,
        deleteCopy,
        {
          // Stored as text, it comes back as text from these; callers sent an object.
          matcher: ({ path }) => path?.startsWith("/organization/") ?? false,
          handler: createAuthMiddleware(async (ctx) => {
            const answer: unknown = ctx.context.returned;
            const parsed = withMetadata(answer);
            if (parsed !== answer) ctx.context.returned = parsed;
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;

const pictures = new Set(["image", "logo"]);
/** The field of a picture that no page may show. */
function findUnshowable(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const isWrong = (value: unknown) => typeof value === "string" && value !== "" && !findWebPage(value);
  return Object.entries(given).find(([field, value]) => pictures.has(field) && isWrong(value))?.[0];
}

function findOrganizationFault(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { name, slug }: { name?: unknown; slug?: unknown } = given;
  if (typeof name === "string" && (name.trim() === "" || name.length > textLengthMax))
    return `name: between 1 and ${textLengthMax} characters`;
  if (slug === undefined || slug === null) return undefined;
  if (typeof slug === "string" && reservedSlugs.has(slug)) return "slug: this one is reserved";
  return Slug.safeParse(slug).success ? undefined : "slug: lower-case letters, digits and single dashes, 3 to 64";
}

/** An organization's metadata is an object, also where none was sent (product.md 3.2). */
function withMetadata(answer: unknown): unknown {
  if (Array.isArray(answer))
    return answer.some((item) => withMetadata(item) !== item) ? answer.map(withMetadata) : answer;
  if (typeof answer !== "object" || answer === null || !("slug" in answer)) return answer;
  const metadata: unknown = "metadata" in answer ? answer.metadata : null;
  if (typeof metadata === "object" && metadata !== null) return answer;
  try {
    return { ...answer, metadata: typeof metadata === "string" ? JSON.parse(metadata) : {} };
  } catch {
    return answer;
  }
}
