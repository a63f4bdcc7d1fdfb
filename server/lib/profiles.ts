/**
 * What a client understands. The official SDKs come in three generations whose value lists differ; answers are made in
 * the newest form and adapted here, and nowhere else. Structure needs no adapting: unknown fields are ignored by all.
 */
export type ClientProfile = {
  /** `legacy`: closed value lists (0.x up to 0.43, and clients that do not say). `open`: 0.44–0.49. `versioned`: 1.x. */
  generation: "legacy" | "open" | "versioned";
  /** Whether the `free` price kind is known; later clients know a fixed price of 0 instead. */
  free_price: boolean;
  version: ApiVersion;
};
export const apiVersions = ["2026-04", "2026-10", "2027-01"] as const;
export type ApiVersion = (typeof apiVersions)[number];

export const legacyProfile: ClientProfile = { generation: "legacy", free_price: true, version: "2026-04" };

/** floe's own command line knows everything there is. */
const ownProfile: ClientProfile = { generation: "versioned", free_price: true, version: "2027-01" };

/** The profile of a request, by its headers. `undefined`: it asked for a version that does not exist. */
export function profileOf(headers: Record<string, string | string[] | undefined>): ClientProfile | undefined {
  const asked = headers["polar-version"];
  if (asked !== undefined) {
    const version = apiVersions.find((known) => known === asked);
    return version && { generation: "versioned", free_price: false, version };
  }
  if (/^floe-cli\//.test(String(headers["user-agent"] ?? ""))) return ownProfile;
  const minor = /speakeasy-sdk\/typescript 0\.(\d+)\./.exec(String(headers["user-agent"] ?? ""))?.[1];
  if (minor === undefined) return legacyProfile;
  const number = Number(minor);
  return { generation: number <= 43 ? "legacy" : "open", free_price: number <= 48, version: "2026-04" };
}

const legacyValues: Record<string, Record<string, string>> = {
  billing_reason: { subscription_meter_cycle: "subscription_cycle" },
  reason: { dispute_prevention: "other" },
  proration_behavior: { next_period: "prorate", reset: "prorate" },
  platform: { discord: "other", threads: "other" },
};
const versionedOrganizationStatus: Record<string, string> = { onboarding_started: "created", under_review: "review" };

/** The same answer in the values that this client knows. Objects without a difference are returned as they are. */
export function adapt(profile: ClientProfile, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => adapt(profile, item));
  if (value === null || typeof value !== "object") return value;
  const out: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    // A seller's own words are never touched.
    out[key] = key === "metadata" || key === "custom_field_data" || key === "payload" ? inner : adapt(profile, inner);
  }
  if (out.amount_type === "free" && !profile.free_price) {
    out.amount_type = "fixed";
    out.price_amount = 0;
    out.price_currency ??= "usd";
  }
  if (profile.generation === "legacy") {
    for (const [key, words] of Object.entries(legacyValues)) {
      const word = out[key];
      if (typeof word === "string" && word in words) out[key] = words[word];
    }
  }
  if (profile.generation === "versioned" && typeof out.status === "string" && "details_submitted_at" in out) {
    out.status = versionedOrganizationStatus[out.status] ?? out.status;
  }
  return out;
}
