import { lt, sql } from "drizzle-orm";
import { forgetRows, type Sweep } from "../platform/jobs/sweeps.ts";
import { code_mails, sendCode } from "./sign-in.ts";
import { portalCodes } from "./tables.ts";

/** Those who have asked for a code. */
export const codeMailing: Sweep = {
  name: code_mails,
  every_ms: 1500,
  due: {
    table: portalCodes,
    id: portalCodes.id,
    organization_id: portalCodes.organization_id,
    at: portalCodes.due_at,
    where: sql`${portalCodes.due_at} is not null`,
  },
  parallel: 4,
  share: 2,
  work: (deps, [key]) => sendCode(deps, key),
};

/** Codes that have expired are forgotten. */
export const codeCleaning = forgetRows("portal.forget_codes", 10 * 60 * 1000, portalCodes, (now) =>
  lt(portalCodes.expires_at, now),
);
