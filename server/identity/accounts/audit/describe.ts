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

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const unnoted = new Set(["updatedAt", "id"]);
const fieldsOf = (given: Row): string[] =>
  Object.keys(given).filter((name) => !unnoted.has(name) && given[name] !== undefined);
const past = { create: "created", update: "updated", delete: "deleted" } as const;

const ofUser = (action: string, id: unknown, details: Record<string, unknown> = {}): CallDescription => ({
  action: `user.${action}`,
  subject: { type: "user", id: text(id) },
  details,
  self: text(id),
});

function user({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create") return ofUser("created", given.id, given.isAnonymous === true ? { anonymous: true } : {});
  const { id } = before;
  if (kind === "delete") return ofUser("deleted", id);
  if (given.banned === true) return ofUser("banned", id, { reason: given.banReason ?? null });
  if (given.banned === false && before.banned === true) return ofUser("unbanned", id);
  if (given.role !== undefined) return ofUser("role_updated", id, { from: before.role ?? null, to: given.role });
  if (given.email !== undefined && given.email !== before.email) return ofUser("email_changed", id);
  if (given.emailVerified === true && before.emailVerified !== true) return ofUser("email_verified", id);
  const fields = fieldsOf(given).filter((name) => given[name] !== before[name]);
  return fields.length > 0 ? ofUser("updated", id, { fields }) : undefined;
}

function session({ kind, path, before, given, now }: DescribedChange): CallDescription | undefined {
  if (kind === "create") {
    if (given.impersonatedBy) return { ...ofUser("impersonated", given.userId), self: text(given.impersonatedBy) };
    // Changing the password gives the same person's session a new token.
    if (path === "/change-password") return undefined;
    return { ...ofUser("signed_in", given.userId, { via: path }), onlySelf: true };
  }
  const expiresAt = before.expiresAt instanceof Date ? before.expiresAt : new Date(String(before.expiresAt));
  // What has run out is swept, and what goes with its user is told of the user.
  if (kind === "update" || expiresAt <= now || path.startsWith("/delete-user")) return undefined;
  if (path === "/sign-out") return ofUser("signed_out", before.userId);
  if (path === "/admin/stop-impersonating")
    return { ...ofUser("impersonation_ended", before.userId), self: text(before.impersonatedBy), onlySelf: true };
  return {
    action: "session.revoked",
    subject: { type: "session", id: text(before.id) },
    details: { userId: before.userId, via: path },
    self: text(before.userId),
  };
}

function account({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  const row = kind === "create" ? given : before;
  const isPassword = row.providerId === "credential";
  if (kind === "update") {
    // Signing in may store the same password anew.
    if (given.password === undefined || path.startsWith("/sign-in")) return undefined;
    return ofUser(path.startsWith("/reset-password") ? "password_reset" : "password_changed", row.userId);
  }
  if (isPassword) {
    if (path.startsWith("/sign-up")) return undefined;
    return ofUser(kind === "create" ? "password_set" : "password_removed", row.userId);
  }
  return {
    action: kind === "create" ? "account.linked" : "account.unlinked",
    subject: { type: "account", id: text(row.id) },
    details: { providerId: row.providerId, userId: row.userId },
    self: text(row.userId),
  };
}

/** Of something that an organization has. */
const ofOrganization = (type: string, action: string, row: Row, details: Record<string, unknown>): CallDescription => ({
  action: `${type}.${action}`,
  subject: { type, id: text(row.id) },
  organization_id: text(row.organizationId),
  details,
});

function organization({ kind, before, given }: DescribedChange): CallDescription {
  const row = kind === "create" ? given : before;
  return {
    action: `organization.${past[kind]}`,
    subject: { type: "organization", id: text(row.id) },
    // The entry of a deletion cannot refer to what is gone; its subject names it.
    organization_id: kind === "delete" ? null : text(row.id),
    details: kind === "update" ? { fields: fieldsOf(given) } : { slug: row.slug },
  };
}

function member({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create")
    return ofOrganization("member", "added", given, { userId: given.userId, role: given.role ?? null });
  const { userId, role } = before;
  if (kind === "delete")
    return ofOrganization("member", path === "/organization/leave" ? "left" : "removed", before, { userId, role });
  if (given.role === undefined || given.role === role) return undefined;
  return ofOrganization("member", "role_updated", before, { userId, from: role, to: given.role });
}

function invitation({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "create")
    return ofOrganization("invitation", "created", given, { email: given.email, role: given.role ?? null });
  const { email, role, status } = before;
  if (kind === "delete") return ofOrganization("invitation", "deleted", before, { email, role });
  if (given.status !== undefined && given.status !== status)
    return ofOrganization("invitation", String(given.status), before, { email, role });
  return given.expiresAt === undefined ? undefined : ofOrganization("invitation", "resent", before, { email, role });
}

function team({ kind, before, given }: DescribedChange): CallDescription | undefined {
  if (kind === "update" && given.name === undefined) return undefined;
  const row = kind === "create" ? given : before;
  return ofOrganization("team", past[kind], row, {
    name: given.name ?? before.name,
    ...(kind === "update" && { from: before.name }),
  });
}

/** `organizationId` is its team's: the storage has looked it up. */
function teamMember({ kind, path, before, given }: DescribedChange): CallDescription | undefined {
  // With the team go its members.
  if (kind === "update" || path === "/organization/remove-team") return undefined;
  const row = kind === "create" ? given : before;
  return {
    ...ofOrganization("team", kind === "create" ? "member_added" : "member_removed", row, { userId: row.userId }),
    subject: { type: "team", id: text(row.teamId) },
  };
}

function role({ kind, before, given }: DescribedChange): CallDescription {
  const row = kind === "create" ? given : before;
  return ofOrganization("role", past[kind], row, {
    role: row.role,
    ...(kind === "update" && given.role !== undefined && given.role !== before.role && { to: given.role }),
    ...(kind !== "delete" && given.permission !== undefined && { permission: permissionOf(given.permission) }),
  });
}

const permissionOf = (stored: unknown): unknown => (typeof stored === "string" ? JSON.parse(stored) : stored);

const tellers: Record<string, (change: DescribedChange) => CallDescription | undefined> = {
  user,
  session,
  account,
  organization,
  member,
  invitation,
  team,
  teamMember,
  organizationRole: role,
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
  return kind !== "update" || !fieldsOf(given).every((name) => quiet[model]?.has(name) ?? false);
}

/** What a change is called; undefined when it is none that people need to know of. */
export const describeCall = (change: DescribedChange): CallDescription | undefined => tellers[change.model]?.(change);
