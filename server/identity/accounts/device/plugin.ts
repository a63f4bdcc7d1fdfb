import { deviceAuthorization } from "better-auth/plugins";
import type { Deps } from "../../../platform/context.ts";
import { createApprovalEndpoints } from "./approval.ts";
import { grantEndpoints } from "./grant.ts";
import { createDeviceSessionEndpoints, limitedSessionsGuard } from "./sessions.ts";

const text = { type: "string", required: false, input: false } as const;

/**
 * better-auth's device flow with endpoints of ours under its names: there a request belongs to the person who opens it,
 * here to the session; there nothing is known of where it came from; there the sessions of devices are like any other.
 */
export function createDevicePlugin(deps: Deps) {
  const plugin = deviceAuthorization();
  return {
    ...plugin,
    schema: { session: { fields: { clientId: text, scope: text } } },
    endpoints: { ...grantEndpoints(deps), ...createApprovalEndpoints(deps), ...createDeviceSessionEndpoints(deps) },
    hooks: { before: [limitedSessionsGuard] },
    // Wrong codes are counted by ourselves, across servers and by account.
    rateLimit: [],
  };
}
