import { expect, test } from "vitest";
import type { Identity } from "../../server/platform/context.ts";
import { createActors } from "../../server/platform/http/actor.ts";
import { api } from "../../shared/api/index.ts";

const own = "01930000-0000-7000-8000-000000000001";
const foreign = "01930000-0000-7000-8000-000000000002";
const person: Identity = {
  kind: "user",
  user_id: "u",
  session_id: "s",
  active_organization_id: own,
  proven_at: new Date(0),
  impersonated_by: null,
  limited: false,
  memberships: [
    {
      organization_id: own,
      clock_offset_ms: 0,
      sandbox: false,
      role: "owner",
      permissions: {},
      scopes: new Set(["organizations:read", "organizations:write"]),
    },
  ],
};

test.each(["get", "update"] as const)(
  "API-22: whose path names another's organization speaks for none of their own: organizations %s",
  (name) => {
    const ask = (id: string) =>
      createActors(person, { headers: {}, query: {}, body: {}, params: { id } }, api.organizations[name]).map(
        ({ organization_id }) => organization_id,
      );
    expect(ask(own)).toEqual([own]);
    expect([own, foreign, null]).not.toContain(ask(foreign)[0]);
    expect(ask(foreign)).toHaveLength(1);
  },
);
