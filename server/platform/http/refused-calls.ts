import type { Identity } from "../context.ts";

/** Who makes a request, as far as a refused call is recorded for them. */
export type Caller = {
  kind: "key" | "user" | "customer";
  organization_id: string | null;
  user_id: string | null;
  key_id: string | null;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Who makes the request, once that is known; also where it is refused before its token is looked up. */
    caller?: Caller;
    /** The code of the error that the request was refused with. */
    refusal?: string;
  }
}

/** The caller behind an identity. A person acts for the organization that is active, or for their only one. */
export function findCaller(identity: Identity): Caller | undefined {
  switch (identity.kind) {
    case "key":
      return { kind: "key", organization_id: identity.organization_id, user_id: null, key_id: identity.key_id };
    case "customer":
      return { kind: "customer", organization_id: identity.organization_id, user_id: null, key_id: null };
    case "user":
    case "personal_key": {
      const { user_id, memberships, active_organization_id: active } = identity;
      const standing = memberships.find(({ organization_id }) => organization_id === active) ?? memberships[0];
      const organization_id = standing?.organization_id ?? null;
      const key_id = identity.kind === "personal_key" ? identity.key_id : null;
      return { kind: identity.kind === "user" ? "user" : "key", organization_id, user_id, key_id };
    }
    default:
      return undefined;
  }
}
