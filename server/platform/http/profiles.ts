/**
 * What a client understands. The official SDKs come in three generations whose value lists differ; answers are made in
 * the newest form and adapted here, and nowhere else. Structure needs none but for one list: unknown fields are ignored by all.
 */
export type ClientProfile = {
  /** `legacy`: closed value lists (0.x up to 0.43, and clients that do not say). `open`: 0.44–0.49. `versioned`: 1.x. */
  generation: "legacy" | "open" | "versioned";
  /** The minor of a 0.x SDK; 1.x and floe's own command line come after all of them. */
  release: number;
  version: ApiVersion;
  /** Whether it sends what is zero or false where nothing was said. */
  fills?: true;
  /**
   * Whether it refuses a whole answer with one status that it does not know: published clients of the first generation, and
   * receivers. Pages of this server and people at a terminal read the true status.
   */
  closed?: true;
};
export const apiVersions = ["2026-04", "2026-10", "2027-01"] as const;
export type ApiVersion = (typeof apiVersions)[number];

const currentRelease = 100;
const ownRelease = 101;
/** The first releases that know what those before them cannot read. */
const firsts = { open: 44, feature_flag: 45, absent_texts: 47, slack_shared_channel: 49, no_free_price: 49 } as const;

export const legacyProfile: ClientProfile = { generation: "legacy", release: 38, version: "2026-04" };
/** What an SDK 1.x with this version understands. */
export const getVersionedProfile = (version: ApiVersion): ClientProfile => ({
  generation: "versioned",
  release: currentRelease,
  version,
});
/** floe's own command line knows everything there is. */
const ownProfile: ClientProfile = { generation: "versioned", release: ownRelease, version: "2027-01" };

/** The profile of a request, by its headers. `undefined`: it asked for a version that does not exist. */
export function readProfile(headers: Record<string, string | string[] | undefined>): ClientProfile | undefined {
  const asked = headers["polar-version"];
  if (asked !== undefined) {
    const version = apiVersions.find((known) => known === asked);
    return version && getVersionedProfile(version);
  }
  if (/^floe-cli\//.test(String(headers["user-agent"] ?? ""))) return ownProfile;
  const minor = /speakeasy-sdk\/typescript 0\.(\d+)\./.exec(String(headers["user-agent"] ?? ""))?.[1];
  // In a browser an SDK cannot say who it is. It is used by pages of other sites.
  const isElsewhere = /^(cross|same)-site$/.test(String(headers["sec-fetch-site"] ?? ""));
  if (minor === undefined) return isElsewhere ? { ...legacyProfile, closed: true } : legacyProfile;
  const release = Math.min(Number(minor), currentRelease - 1);
  const common = { release, version: "2026-04", fills: true } as const;
  return release < firsts.open ? { ...common, generation: "legacy", closed: true } : { ...common, generation: "open" };
}

const newestProfile = getVersionedProfile("2027-01");
/** What the reader of a stream understands: one that does not say is a program or a person of today, not an old client. */
export const getReaderProfile = (headers: Record<string, unknown>, client: ClientProfile): ClientProfile =>
  headers["polar-version"] !== undefined || /speakeasy-sdk/.test(String(headers["user-agent"] ?? ""))
    ? client
    : newestProfile;

/** Whether it is a published client from before pages of what its operation marks as `bare`. */
export const expectsBareLists = ({ fills, release }: ClientProfile): boolean => fills === true && release < firsts.open;

const isPublishedSdk = ({ fills, generation, release }: ClientProfile): boolean =>
  fills === true || (generation === "versioned" && release !== ownRelease);

/** By field, the word that closed value lists know in place of a newer one. */
const legacyValues = new Map([
  ["billing_reason", new Map([["subscription_meter_cycle", "subscription_cycle"]])],
  ["reason", new Map([["dispute_prevention", "other"]])],
  ["type", new Map([["currency_sub_cent", "currency"]])],
  [
    "proration_behavior",
    new Map([
      ["next_period", "prorate"],
      ["reset", "prorate"],
    ]),
  ],
  [
    "platform",
    new Map([
      ["discord", "other"],
      ["threads", "other"],
    ]),
  ],
]);
/** What statuses that came later are to closed value lists: an order that nobody will pay stayed pending in their time. */
const closedStatuses: Record<string, string> = {
  paused: "unpaid",
  void: "pending",
  draft: "pending",
  review: "under_review",
  snoozed: "under_review",
  blocked: "denied",
  offboarding: "denied",
  offboarded: "denied",
};
const versionedOrganizationStatus: Record<string, string> = { onboarding_started: "created", under_review: "review" };
/** A seller's own words are never touched. */
const untouched = new Set(["metadata", "custom_field_data", "payload"]);

/** Benefit types that came later are a note without text to clients that do not know them. */
const isUnknown = (profile: ClientProfile, type: unknown): boolean =>
  (type === "feature_flag" || type === "slack_shared_channel") && profile.release < firsts[type];

/**
 * The oldest clients take the properties of a grant for the first kind whose fields do not speak against it, and drop the others:
 * a null where that kind has none tells them apart.
 */
const guards: Record<string, object> = {
  license_keys: { guild_id: null, repository_owner: null, files: null },
  downloadables: { guild_id: null, repository_owner: null },
  github_repository: { guild_id: null },
};

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const omitNull = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The changed fields of a customer: an address without lines that are null, and metadata without fractions. */
const adaptUpdatedFields = (fields: Fields): Fields => ({
  ...fields,
  ...(isFields(fields.billing_address) ? { billing_address: omitNull(fields.billing_address) } : {}),
  ...(isFields(fields.metadata)
    ? {
        metadata: Object.fromEntries(
          Object.entries(fields.metadata).map(([key, value]) => [
            key,
            typeof value === "number" && !Number.isInteger(value) ? String(value) : value,
          ]),
        ),
      }
    : {}),
});

/** What an event says, for a published client: of the first generation it is flat, and names benefits that it knows. */
function adaptEventMetadata(profile: ClientProfile, { metadata, source }: Fields): unknown {
  if (!isFields(metadata)) return metadata;
  if (source === "system") {
    const { updated_fields, benefit_type } = metadata;
    return {
      ...metadata,
      ...(isFields(updated_fields) ? { updated_fields: adaptUpdatedFields(updated_fields) } : {}),
      ...(isUnknown(profile, benefit_type) ? { benefit_type: "custom" } : {}),
    };
  }
  if (profile.generation !== "legacy") {
    const { _cost } = metadata;
    // An amount with decimals is a text at Polar.
    return isFields(_cost) ? { ...metadata, _cost: { ..._cost, amount: String(_cost.amount) } } : metadata;
  }
  return Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) =>
      isFields(value)
        ? Object.entries(omitNull(value)).map(([inner, item]) => [`${key}.${inner}`, item])
        : [[key, value]],
    ),
  );
}

/** The same answer in the values that this client knows. What has no difference is not copied but returned as it is. */
export function adapt(profile: ClientProfile, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => adapt(profile, item));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (value === null || typeof value !== "object") return value;
  const given = value as Record<string, unknown>;
  let out = given;
  const set = (key: string, to: unknown) => {
    if (out === given) out = { ...given };
    out[key] = to;
  };
  for (const key of Object.keys(given)) {
    const inner = given[key];
    if (typeof inner === "object" && inner !== null) {
      const adapted = untouched.has(key) ? inner : adapt(profile, inner);
      if (adapted !== inner) set(key, adapted);
    } else if (profile.generation === "legacy" && typeof inner === "string") {
      const word = legacyValues.get(key)?.get(inner);
      if (word !== undefined) set(key, word);
    }
  }
  if (profile.release < firsts.absent_texts) {
    if (given.customer_session_token === null) set("customer_session_token", "");
    // A customer's: an organization may have had none from the beginning.
    if (given.email === null && ("external_id" in given || "oauth_accounts" in given)) set("email", "");
  }
  if (isUnknown(profile, given.type) && "selectable" in given) {
    set("type", "custom");
    if ("properties" in given) set("properties", { note: null });
  }
  const { benefit_type = (given.benefit as { type?: unknown } | undefined)?.type, properties } = given;
  if (profile.generation === "legacy" && "granted_at" in given && properties && guards[String(benefit_type)])
    set("properties", { ...guards[String(benefit_type)], ...properties });
  if (isUnknown(profile, given.benefit_type)) set("benefit_type", "custom");
  if (given.amount_type === "free" && profile.release >= firsts.no_free_price && profile.release !== ownRelease) {
    set("amount_type", "fixed");
    set("price_amount", 0);
    set("price_currency", given.price_currency ?? "usd");
  }
  if (profile.closed && typeof given.status === "string" && Object.hasOwn(closedStatuses, given.status))
    set("status", closedStatuses[given.status]);
  // A seat that was bought once has no subscription.
  if (profile.closed && given.subscription_id === null && "invitation_token_expires_at" in given)
    set("subscription_id", "");
  if ("source" in given && "label" in given && (profile.closed || isPublishedSdk(profile))) {
    // Published SDKs fail on a source of an event that they do not know.
    if (given.source === "customer") set("source", "user");
    if ("metadata" in given) set("metadata", adaptEventMetadata(profile, given));
  }
  if (profile.generation === "versioned" && typeof given.status === "string" && "details_submitted_at" in given) {
    const status = versionedOrganizationStatus[given.status];
    if (status !== undefined) set("status", status);
  }
  return out;
}
