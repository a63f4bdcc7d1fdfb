import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { matchPath } from "../calls.ts";
import { invalidBody } from "../http/error-mapping.ts";

/** Signs that take no ink: blanks and controls, and letters that are drawn as nothing. */
const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Signs that turn the direction of what stands after them, other people's words among it. */
const directions = /[\u202a-\u202e\u2066-\u2069]/u;
const localPartMax = 64;
/** A hundred years: what ends later is for ever, and no time that a database keeps. */
const banSecondsMax = 100 * 366 * 24 * 60 * 60;

/** What is wrong with a name that others are shown; undefined when nothing is. */
export function findNameFault(name: string): string | undefined {
  if (name.replace(invisible, "") === "") return "is blank";
  return directions.test(name) ? "has a sign that turns the direction of a text" : undefined;
}

const readFields = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? { ...value } : {};

/** Names that nobody can read, and addresses that no mail server takes, are refused wherever they are set. */
export const rejectUnreadable = {
  matcher: matchPath(
    "/sign-up/email",
    "/update-user",
    "/change-email",
    "/admin/create-user",
    "/admin/update-user",
    "/organization/create",
    "/organization/update",
    "/organization/create-team",
    "/organization/update-team",
    "/organization/invite-member",
  ),
  handler: createAuthMiddleware(async (ctx) => {
    for (const given of [readFields(ctx.body), readFields(ctx.body?.data)]) {
      for (const field of ["name", "displayUsername"]) {
        const value = given[field];
        const fault = typeof value === "string" && value !== "" ? findNameFault(value) : undefined;
        if (fault !== undefined) throw new APIError("BAD_REQUEST", { ...invalidBody, detail: `${field} ${fault}` });
      }
      for (const address of [given.email, given.newEmail])
        if (typeof address === "string" && address.lastIndexOf("@") > localPartMax)
          throw new APIError("BAD_REQUEST", { message: "Invalid email" });
    }
  }),
};

const isTime = (value: unknown): boolean =>
  value === null ||
  (typeof value === "string" && !Number.isNaN(Date.parse(value)) && new Date(value).getUTCFullYear() < 10_000);

/** What an administrator may not set of a person, or not to that, which the database would refuse with a 500. */
export const rejectAdminSlips = {
  matcher: matchPath("/admin/update-user", "/admin/ban-user"),
  handler: createAuthMiddleware(async (ctx) => {
    // Whom the call refuses anyway it refuses in its own words.
    if (!(await getSessionFromCtx(ctx))) return;
    const data = readFields(ctx.body?.data);
    const closed = ["id", "createdAt", "updatedAt", "isAnonymous"].find((field) => Object.hasOwn(data, field));
    if (closed !== undefined) throw new APIError("BAD_REQUEST", { message: `${closed} is not allowed to be set` });
    const lasts: unknown = ctx.body?.banExpiresIn;
    const isBadLength = typeof lasts === "number" && !(lasts > 0 && lasts <= banSecondsMax);
    const field = isBadLength
      ? "banExpiresIn"
      : Object.hasOwn(data, "banExpires") && !isTime(data.banExpires)
        ? "banExpires"
        : undefined;
    if (field !== undefined) throw new APIError("BAD_REQUEST", { ...invalidBody, detail: `${field} is no time` });
  }),
};
