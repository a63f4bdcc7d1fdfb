/** What commands about people, sign-ins and keys answer with `--json`. */
import { z } from "zod";

const time = z.string();
const Named = z.object({ id: z.string(), name: z.string(), slug: z.string() });
const User = z.object({ id: z.string(), email: z.string(), name: z.string() });
const image = z.string().nullish();

const Organization = Named.extend({ current: z.boolean() });
const Profile = z.object({
  name: z.string(),
  current: z.boolean(),
  server: z.string().nullable(),
  organization: z.string().nullable().describe("Its slug."),
  signed_in_by: z.enum(["api_key", "session"]).nullable(),
});
const Identity = z.object({
  server: z.string(),
  profile: z.string(),
  signed_in_by: z.enum(["session", "api_key", "ci_job"]),
  user: User.nullable(),
  organization: Named.nullable(),
  expires_at: time.nullable(),
});
const SignIn = z.object({
  server: z.string(),
  profile: z.string(),
  user: User.partial().nullable(),
  organization: Named.nullable(),
});
/** What `--start` answers: the sign-in is confirmed in a browser, and `next` ends it. */
const BegunSignIn = z.object({
  server: z.string(),
  profile: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  confirmation_number: z.string().optional(),
  expires_in: z.number(),
  interval: z.number().optional(),
  expires_at: time,
  next: z.string(),
});

const Member = z.object({
  id: z.string(),
  user_id: z.string(),
  organization_id: z.string(),
  role: z.string(),
  created_at: time,
});
const MemberUser = User.extend({ image });
const ListedMember = Member.extend({ user: MemberUser });

const Invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  status: z.enum(["pending", "accepted", "rejected", "canceled"]),
  organization_id: z.string(),
  organization_name: z.string().optional(),
  team_id: z.string().nullish(),
  inviter_id: z.string(),
  expires_at: time,
  created_at: time,
});

const Team = z.object({
  id: z.string(),
  name: z.string(),
  organization_id: z.string(),
  created_at: time,
  updated_at: time.nullish(),
});
const TeamMember = z.object({
  id: z.string(),
  team_id: z.string(),
  user_id: z.string(),
  created_at: time.nullish(),
  user: MemberUser.nullable(),
});

const permissions = z.record(z.string(), z.array(z.string()));
const Role = z.object({
  role: z.string(),
  built_in: z.boolean(),
  permissions: z.array(z.string()).describe("As orders:read."),
});
/** A role of the organization's own, as it is kept. */
const OwnRole = z.object({
  id: z.string(),
  organization_id: z.string(),
  role: z.string(),
  permission: permissions,
  created_at: time,
  updated_at: time.nullish(),
});

const success = z.literal(true);
const MadeRole = z.object({ success, role_data: OwnRole, statements: permissions });
const ChangedRole = z.object({ success, role_data: OwnRole });

const Session = z.object({
  id: z.string(),
  current: z.boolean(),
  user_id: z.string(),
  ip_address: z.string().nullish(),
  user_agent: z.string().nullish(),
  created_at: time,
  updated_at: time,
  expires_at: time,
  impersonated_by: z.string().nullish(),
  active_organization_id: z.string().nullish(),
  active_team_id: z.string().nullish(),
  client_id: z.string().nullable(),
  scope: z.string().nullable(),
  remembered: z.boolean(),
  impersonator_session_id: z.string().nullable(),
  proven_at: time.nullable(),
});

const Key = z.object({
  id: z.string(),
  name: z.string().nullable(),
  start: z.string().nullable(),
  config_id: z.string(),
  organization_id: z.string().nullish(),
  user_id: z.string().nullish(),
  prefix: z.string().nullable(),
  reference_id: z.string(),
  created_by: z.string().nullable(),
  ci_rule_id: z.string().nullable(),
  scopes: z.array(z.string()),
  permissions: permissions.nullable(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  enabled: z.boolean(),
  remaining: z.int().nullable(),
  refill_interval: z.int().nullable(),
  refill_amount: z.int().nullable(),
  last_refill_at: time.nullable(),
  request_count: z.int(),
  rate_limit_enabled: z.boolean(),
  rate_limit_max: z.int().nullable(),
  rate_limit_time_window: z.int().nullable(),
  expires_at: time.nullable(),
  previous_key_expires_at: time.nullable(),
  last_request: time.nullable(),
  created_at: time,
  updated_at: time,
});
/** The key itself is told when it is made, and never again. */
const MadeKey = Key.extend({ key: z.string() });

const AuditEntry = z.object({
  id: z.string(),
  action: z.string(),
  actor: z.object({
    kind: z.string(),
    user_id: z.string().nullable(),
    name: z.string().nullable(),
    email: z.string().nullable(),
    key_id: z.string().nullable(),
    key_name: z.string().nullable(),
    impersonated_by: z.string().nullable(),
  }),
  subject: z.object({ type: z.string(), id: z.string().nullable() }).nullable(),
  organization_id: z.string().nullable(),
  details: z.unknown(),
  ip_address: z.string().nullable(),
  user_agent: z.string().nullable(),
  created_at: time,
});

export const answersAboutPeople: Record<string, z.ZodType> = {
  login: z.union([SignIn, BegunSignIn]),
  whoami: Identity,
  "orgs list": z.array(Organization),
  "orgs create": Organization,
  "profiles list": z.array(Profile),
  "members list": z.array(ListedMember),
  "members role": Member,
  "invitations list": z.array(Invitation),
  "invitations create": Invitation,
  "teams list": z.array(Team),
  "teams create": Team,
  "teams members": z.array(TeamMember),
  "roles list": z.array(Role),
  "roles get": Role,
  "roles permissions": permissions,
  "roles create": MadeRole,
  "roles update": ChangedRole,
  "sessions list": z.array(Session),
  "audit list": z.array(AuditEntry),
  "api-keys list": z.array(Key),
  "api-keys create": MadeKey,
  "api-keys update": Key,
  "api-keys rotate": MadeKey,
};
