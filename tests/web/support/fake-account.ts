/** What the stand-in for the server says of a person's account: enough of everything to be seen. */

const at = "2026-11-20T09:30:00.000Z";
const long = "a-long-address-that-hardly-fits.anywhere@department.university.example.org";

export const user = {
  id: "u1",
  name: "Ada Lovelace",
  email: "seller@example.com",
  emailVerified: false,
  image: null,
  username: "ada.l",
};

const key = (id: string, name: string, more: object = {}) => ({
  id,
  name,
  start: "floe_oat_4f2a",
  scopes: ["products:write", "orders:read"],
  enabled: true,
  expiresAt: "2027-02-01T00:00:00.000Z",
  lastRequest: at,
  createdAt: at,
  ...more,
});

const invitation = {
  id: "i1",
  email: user.email,
  role: "admin",
  expiresAt: "2026-11-23T09:30:00.000Z",
  organizationId: "o1",
  organizationName: "Northern Ice Research",
  inviterEmail: long,
};

const answers: Record<string, unknown> = {
  "/methods": {
    password: true,
    username: true,
    anonymous: true,
    providers: [
      { id: "github", name: "GitHub" },
      { id: "google", name: "Google" },
    ],
    signUp: { password: true, providers: true },
    fields: [],
  },
  "/list-accounts": [
    { id: "a1", providerId: "credential", accountId: "u1", createdAt: at },
    { id: "a2", providerId: "github", accountId: "4711", createdAt: at },
  ],
  "/list-sessions": [
    {
      id: "s1",
      token: "t1",
      createdAt: at,
      updatedAt: at,
      expiresAt: at,
      ipAddress: "203.0.113.9",
      userAgent:
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36",
    },
    {
      id: "s2",
      token: "t2",
      createdAt: at,
      updatedAt: at,
      expiresAt: at,
      ipAddress: "2001:db8:85a3:8d3:1319:8a2e:370:7348",
      userAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1",
    },
  ],
  "/device/list": [
    {
      id: "s3",
      clientId: "floe-cli",
      clientName: "floe command line",
      scope: "products:write orders:read",
      ipAddress: "203.0.113.9",
      createdAt: at,
    },
  ],
  "/api-key/list": {
    apiKeys: [
      key("k1", "Continuous integration"),
      key("k2", "Old server", { enabled: false, lastRequest: null, expiresAt: null }),
    ],
  },
  "/api-key/create": { ...key("k3", "Deploy"), key: `floe_oat_${"x7Q".repeat(14)}` },
  "/organization/list": [{ id: "o1", name: "Northern Ice Research", slug: "northern-ice" }],
  "/organization/get-invitation": invitation,
};

/** The answer to a call of the account pages; undefined where there is none. */
export function accountAnswer(path: string): { status: number; json: unknown } | undefined {
  const json = path.startsWith("/api/auth/") ? answers[path.slice("/api/auth".length)] : undefined;
  return json === undefined ? undefined : { status: 200, json };
}
