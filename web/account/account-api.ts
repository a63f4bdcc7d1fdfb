import type { Result } from "../api.ts";
import { ask, type Given } from "../auth-client.ts";

/** Who one is. */
export const profile = {
  update: (body: { name?: string; image?: string | null; username?: string } | Given) =>
    ask<unknown>("POST", "/update-user", body),
  changeEmail: (newEmail: string, callbackURL: string) =>
    ask<unknown>("POST", "/change-email", { newEmail, callbackURL }),
  remove: (body: { password?: string; callbackURL: string }) =>
    ask<{ success: boolean; message: string }>("POST", "/delete-user", body),
  removeByLink: (token: string) => ask<{ success: boolean }>("POST", "/delete-user", { token }),
};

export type Account = { id: string; providerId: string; accountId: string; createdAt: string };

/** How one signs in. */
export const logins = {
  list: () => ask<Account[]>("GET", "/list-accounts"),
  changePassword: (body: { currentPassword: string; newPassword: string; revokeOtherSessions: boolean }) =>
    ask<unknown>("POST", "/change-password", body),
  link: (provider: string) =>
    ask<{ url: string; redirect: boolean }>("POST", "/link-social", { provider, callbackURL: "/account/sign-in" }),
  unlink: ({ providerId, accountId }: Account) => ask<unknown>("POST", "/unlink-account", { providerId, accountId }),
};

export type SignedInPlace = {
  id: string;
  token: string;
  createdAt: string;
  updatedAt: string;
  expiresAt: string;
  ipAddress?: string | null;
  userAgent?: string | null;
  impersonatedBy?: string | null;
};

/** Where one is signed in. */
export const sessions = {
  list: () => ask<SignedInPlace[]>("GET", "/list-sessions"),
  revoke: (token: string) => ask<unknown>("POST", "/revoke-session", { token }),
  revokeOthers: () => ask<unknown>("POST", "/revoke-other-sessions", {}),
  revokeAll: () => ask<unknown>("POST", "/revoke-sessions", {}),
};

export type Device = {
  id: string;
  clientId: string;
  clientName: string | null;
  scope: string | null;
  createdAt: string;
  ipAddress: string | null;
};

/** Devices that were approved. */
export const devices = {
  list: () => ask<Device[]>("GET", "/device/list"),
  revoke: (id: string) => ask<unknown>("POST", "/device/revoke", { id }),
};

export type Key = {
  id: string;
  name: string | null;
  start: string | null;
  scopes: string[];
  enabled: boolean;
  expiresAt: string | null;
  lastRequest: string | null;
  createdAt: string;
};
/** A key belongs to a person or to an organization. */
export type KeyOwner = { configId: "default" } | { configId: "organization"; organizationId: string };

/** Keys for programs. */
export const keys = {
  list: (owner: KeyOwner) => ask<{ apiKeys: Key[] }>("GET", `/api-key/list?${new URLSearchParams(owner)}`),
  create: (
    body: KeyOwner & { name: string; expiresIn?: number; scopes?: string[] },
  ): Promise<Result<Key & { key: string }>> => ask("POST", "/api-key/create", body),
  rotate: (keyId: string): Promise<Result<Key & { key: string }>> => ask("POST", "/api-key/rotate", { keyId }),
  revoke: (keyId: string) => ask<unknown>("POST", "/api-key/delete", { keyId }),
};

export type Invitation = {
  id: string;
  email: string;
  role: string;
  expiresAt: string;
  organizationId: string;
  organizationName: string;
  inviterEmail: string;
};

/** An invitation to an organization. */
export const invitations = {
  get: (id: string) => ask<Invitation>("GET", `/organization/get-invitation?id=${encodeURIComponent(id)}`),
  accept: (invitationId: string) => ask<unknown>("POST", "/organization/accept-invitation", { invitationId }),
  reject: (invitationId: string) => ask<unknown>("POST", "/organization/reject-invitation", { invitationId }),
};
