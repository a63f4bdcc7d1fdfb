import type { Result } from "../api.ts";
import { requestAuth, type ServerData } from "../auth-client.ts";

/** Who one is. */
export const profile = {
  update: (body: { name?: string; image?: string | null; username?: string } | ServerData) =>
    requestAuth<unknown>("POST", "/update-user", body),
  changeEmail: (newEmail: string, callbackURL: string) =>
    requestAuth<unknown>("POST", "/change-email", { newEmail, callbackURL }),
  remove: (body: { password?: string; callbackURL: string }) =>
    requestAuth<{ success: boolean; message: string }>("POST", "/delete-user", body),
  removeByLink: (token: string) => requestAuth<{ success: boolean }>("POST", "/delete-user", { token }),
};

export type Account = { id: string; providerId: string; accountId: string; createdAt: string };

/** How one signs in. */
export const logins = {
  list: () => requestAuth<Account[]>("GET", "/list-accounts"),
  changePassword: (body: { currentPassword: string; newPassword: string; revokeOtherSessions: boolean }) =>
    requestAuth<unknown>("POST", "/change-password", body),
  link: (provider: string) =>
    requestAuth<{ url: string; redirect: boolean }>("POST", "/link-social", {
      provider,
      callbackURL: "/account/sign-in",
    }),
  unlink: ({ providerId, accountId }: Account) =>
    requestAuth<unknown>("POST", "/unlink-account", { providerId, accountId }),
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
  list: () => requestAuth<SignedInPlace[]>("GET", "/list-sessions"),
  revoke: (token: string) => requestAuth<unknown>("POST", "/revoke-session", { token }),
  revokeOthers: () => requestAuth<unknown>("POST", "/revoke-other-sessions", {}),
  revokeAll: () => requestAuth<unknown>("POST", "/revoke-sessions", {}),
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
  list: () => requestAuth<Device[]>("GET", "/device/list"),
  revoke: (id: string) => requestAuth<unknown>("POST", "/device/revoke", { id }),
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
  list: (owner: KeyOwner) => requestAuth<{ apiKeys: Key[] }>("GET", `/api-key/list?${new URLSearchParams(owner)}`),
  create: (
    body: KeyOwner & { name: string; expiresIn?: number; scopes?: string[] },
  ): Promise<Result<Key & { key: string }>> => requestAuth("POST", "/api-key/create", body),
  rotate: (keyId: string): Promise<Result<Key & { key: string }>> => requestAuth("POST", "/api-key/rotate", { keyId }),
  revoke: (keyId: string) => requestAuth<unknown>("POST", "/api-key/delete", { keyId }),
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
  get: (id: string) => requestAuth<Invitation>("GET", `/organization/get-invitation?id=${encodeURIComponent(id)}`),
  accept: (invitationId: string) => requestAuth<unknown>("POST", "/organization/accept-invitation", { invitationId }),
  reject: (invitationId: string) => requestAuth<unknown>("POST", "/organization/reject-invitation", { invitationId }),
};
