/** What a change of the account side's rows is called in the audit log. */

export type Row = Record<string, unknown>;
export type DescribedChange = {
  model: string;
  kind: "create" | "update" | "delete";
  /** The endpoint that makes it. */
  path: string;
  /** The row as it was, of an update or a deletion. */
  before: Row;
  /** What is written. */
  given: Row;
  now: Date;
};
export type CallDescription = {
  action: string;
  subject: { type: string; id: string | null };
  organization_id?: string | null;
  details?: Record<string, unknown>;
  /** Who did it when nobody is signed in: a link from a mail acts for its reader. */
  self?: string | null;
  /** Whoever is signed in, it was done by `self`: signing in as somebody else. */
  onlySelf?: true;
};

const readText = (value: unknown): string | null => (typeof value === "string" ? value : null);
const unnoted = new Set(["updatedAt", "id"]);
const getFields = (given: Row): string[] =>
  Object.keys(given).filter((name) => !unnoted.has(name) && given[name] !== undefined);
const past = { create: "created", update: "updated", delete: "deleted" } as const;

const describeUserAction = (action: string, id: unknown, details: Record<string, unknown> = {}): CallDescription => ({
  action: `user.${action}`,
  subject: { type: "user", id: readText(id) },
  details,
  self: readText(id),
});

function describeUser({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create")
    return describeUserAction("created", given.id, given.isAnonymous === true ? { anonymous: true } : {});
  const { id } = before;
  if (kind === "delete") return describeUserAction("deleted", id);
  if (given.banned === true) return describeUserAction("banned", id, { reason: given.banReason ?? null });
  if (given.banned === false && before.banned === true) return describeUserAction("unbanned", id);
  if (given.role !== undefined)
    return describeUserAction("role_updated", id, { from: before.role ?? null, to: given.role });
  if (given.email !== undefined && given.email !== before.email) return describeUserAction("email_changed", id);
  if (given.emailVerified === true && before.emailVerified !== true) return describeUserAction("email_verified", id);
  const fields = getFields(given).filter((name) => given[name] !== before[name]);
  return fields.length > 0 ? describeUserAction("updated", id, { fields }) : undefined;
}

function describeSession({ kind, path, before, given, now }: DescribedChange): CallDescription | undefined {
  if (kind === "create") {
    if (given.impersonatedBy)
      return { ...describeUserAction("impersonated", given.userId), self: readText(given.impersonatedBy) };
    // Changing the password gives the same person's session a new token.
    if (path === "/change-password") return undefined;
    return { ...describeUserAction("signed_in", given.userId, { via: path }), onlySelf: true };
  }
  const expiresAt = before.expiresAt instanceof Date ? before.expiresAt : new Date(String(before.expiresAt));
  // What has run out is swept, and what goes with its user is told of the user.
  if (kind === "update" || expiresAt <= now || path.startsWith("/delete-user")) return undefined;
  if (path === "/sign-out") return describeUserAction("signed_out", before.userId);
  if (path === "/admin/stop-impersonating")
    return {
      ...describeUserAction("impersonation_ended", before.userId),
      self: readText(before.impersonatedBy),
      onlySelf: true,
    };
  return {
    action: "session.revoked",
    subject: { type: "session", id: readText(before.id) },
    details: { userId: before.userId, via: path },
    self: readText(before.userId),
  };
}

function describeAccount({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  const row = kind === "create" ? given : before;
  const isPassword = row.providerId === "credential";
  if (kind === "update") {
    // Signing in may store the same password anew.
    if (given.password === undefined || path.startsWith("/sign-in")) return undefined;
    return describeUserAction(path.startsWith("/reset-password") ? "password_reset" : "password_changed", row.userId);
  }
  if (isPassword) {
    if (path.startsWith("/sign-up")) return undefined;
    return describeUserAction(kind === "create" ? "password_set" : "password_removed", row.userId);
  }
  return {
    action: kind === "create" ? "account.linked" : "account.unlinked",
    subject: { type: "account", id: readText(row.id) },
    details: { providerId: row.providerId, userId: row.userId },
    self: readText(row.userId),
  };
}

/** Of something that an organization has. */
const matchOrganization = (
  type: string,
  action: string,
  row: Row,
  details: Record<string, unknown>,
): CallDescription => ({
  action: `${type}.${action}`,
  subject: { type, id: readText(row.id) },
  organization_id: readText(row.organizationId),
  details,
});

function describeOrganization({ kind, before, given }: DescribedChange): CallDescription {
  const row = kind === "create" ? given : before;
  return {
    action: `organization.${past[kind]}`,
    subject: { type: "organization", id: readText(row.id) },
    // The entry of a deletion cannot refer to what is gone; its subject names it.
    organization_id: kind === "delete" ? null : readText(row.id),
    details: kind === "update" ? { fields: getFields(given) } : { slug: row.slug },
  };
}

function findMembership({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create")
    return matchOrganization("member", "added", given, { userId: given.userId, role: given.role ?? null });
  const { userId, role } = before;
  if (kind === "delete")
    return matchOrganization("member", path === "/organization/leave" ? "left" : "removed", before, { userId, role });
  if (given.role === undefined || given.role === role) return undefined;
  return matchOrganization("member", "role_updated", before, { userId, from: role, to: given.role });
}

function describeInvitation({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create")
    return matchOrganization("invitation", "created", given, { email: given.email, role: given.role ?? null });
  const { email, role, status } = before;
  if (kind === "delete") return matchOrganization("invitation", "deleted", before, { email, role });
  if (given.status !== undefined && given.status !== status)
    return matchOrganization("invitation", String(given.status), before, { email, role });
  return given.expiresAt === undefined ? undefined : matchOrganization("invitation", "resent", before, { email, role });
}

function describeTeam({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "update" && given.name === undefined) return undefined;
  const row = kind === "create" ? given : before;
  return matchOrganization("team", past[kind], row, {
    name: given.name ?? before.name,
    ...(kind === "update" && { from: before.name }),
  });
}

/** `organizationId` is its team's: the storage has looked it up. */
function describeTeamMember({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  // With the team go its members.
  if (kind === "update" || path === "/organization/remove-team") return undefined;
  const row = kind === "create" ? given : before;
  return {
    ...matchOrganization("team", kind === "create" ? "member_added" : "member_removed", row, { userId: row.userId }),
    subject: { type: "team", id: readText(row.teamId) },
  };
}

function describeRole({ kind, before, given }: DescribedChange): CallDescription {
  const row = kind === "create" ? given : before;
  return matchOrganization("role", past[kind], row, {
    role: row.role,
    ...(kind === "update" && given.role !== undefined && given.role !== before.role && { to: given.role }),
    ...(kind !== "delete" && given.permission !== undefined && { permission: getPermission(given.permission) }),
  });
}

const getPermission = (stored: unknown): unknown => (typeof stored === "string" ? JSON.parse(stored) : stored);

const tellers: Record<string, (change: DescribedChange) => CallDescription | undefined> = {
  user: describeUser,
  session: describeSession,
  account: describeAccount,
  organization: describeOrganization,
  member: findMembership,
  invitation: describeInvitation,
  team: describeTeam,
  teamMember: describeTeamMember,
  organizationRole: describeRole,
};

/** Fields whose change is never told: those of a request's ordinary course. */
const quiet: Record<string, ReadonlySet<string>> = {
  session: new Set([
    "expiresAt",
    "updatedAt",
    "activeOrganizationId",
    "activeTeamId",
    "ipAddress",
    "userAgent",
    "token",
  ]),
  account: new Set([
    "accessToken",
    "refreshToken",
    "idToken",
    "accessTokenExpiresAt",
    "refreshTokenExpiresAt",
    "scope",
  ]),
  team: new Set(["memberCount"]),
};

/** Whether a write may have to be told, as far as its fields say, so that the others cost nothing. */
export function isTold(model: string, kind: DescribedChange["kind"], given: Row): boolean {
  if (!(model in tellers)) return false;
  return kind !== "update" || !getFields(given).every((name) => quiet[model]?.has(name) ?? false);
}

/** What a change is called; undefined when it is none that people need to know of. */
export const describeCall = (change: DescribedChange): CallDescription | undefined => tellers[change.model]?.(change);
