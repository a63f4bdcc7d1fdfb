import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";

/** Refuse an organization that is not a sandbox: `why` says what would be done to it. */
export async function requireSandbox(context: Context, organization_id: string, why: string): Promise<void> {
  const { sandbox } = await request(context, routes.organizations.get, { params: { id: organization_id } });
  if (sandbox === true) return;
  throw new Fault("error", `this organization is not a sandbox, and ${why}`, {
    name: "not_a_sandbox",
    hint: "Make a sandbox: `floe orgs create NAME --sandbox`   (or give --org SLUG)",
  });
}
