import { z } from "zod";
import {
  byId,
  ids,
  instantText,
  many,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  showAs,
  sorting,
} from "../contract.ts";
import { id, organizationOf, stored, unlessNull } from "./fields.ts";

export const benefitTypes = [
  "custom",
  "discord",
  "github_repository",
  "downloadables",
  "license_keys",
  "meter_credit",
  "feature_flag",
  "slack_shared_channel",
] as const;

const repositoryPermission = z.enum(["pull", "triage", "push", "maintain", "admin"]);

const propertiesOf = {
  custom: z.object({ note: z.string().nullable() }),
  discord: z.object({ guild_id: z.string(), role_id: z.string(), kick_member: z.boolean(), guild_token: z.string() }),
  github_repository: z.object({
    repository_owner: z.string(),
    repository_name: z.string(),
    permission: repositoryPermission,
  }),
  downloadables: z.object({ archived: z.record(z.string(), z.boolean()), files: z.array(z.uuid()) }),
  license_keys: z.object({
    prefix: z.string().nullable(),
    expires: z.object({ ttl: z.int(), timeframe: z.enum(["day", "month", "year"]) }).nullable(),
    activations: z.object({ limit: z.int(), enable_customer_admin: z.boolean() }).nullable(),
    limit_usage: z.int().nullable(),
  }),
  meter_credit: z.object({ units: z.int(), rollover: z.boolean(), meter_id: z.uuid() }),
  /** What the flag says is the benefit's metadata. */
  feature_flag: z.object({}),
  slack_shared_channel: z.object({
    slack_integration_id: z.uuid(),
    channel_name_template: z.string(),
    private: z.boolean(),
    welcome_message: z.string().nullable(),
    archive_on_revoke: z.boolean(),
    team_invitees: z.array(z.string()),
  }),
} as const;

const common = {
  ...stored,
  description: z.string(),
  selectable: z.boolean(),
  deletable: z.boolean(),
  is_deleted: z.boolean(),
  organization_id: z.uuid(),
};

const defineBenefit = <K extends keyof typeof propertiesOf>(type: K) =>
  z.object({
    ...common,
    type: z.literal(type),
    metadata: metadataOut,
    visibility: z.enum(["draft", "private", "public"]),
    visibility_configurable: z.boolean(),
    properties: propertiesOf[type],
  });

/** What a product gives to whoever buys it. */
export const Benefit = z.discriminatedUnion("type", [
  defineBenefit("custom"),
  defineBenefit("discord"),
  defineBenefit("github_repository"),
  defineBenefit("downloadables"),
  defineBenefit("license_keys"),
  defineBenefit("meter_credit"),
  defineBenefit("feature_flag"),
  defineBenefit("slack_shared_channel"),
]);
export type Benefit = z.output<typeof Benefit>;

/** Of a license key: on how many devices, for how long and how often it works. Of files: how many there are. */
const BenefitTerms = z.object({
  activations: z.int().nullable(),
  expires: z.object({ ttl: z.int(), timeframe: z.enum(["day", "month", "year"]) }).nullable(),
  limit_usage: z.int().nullable(),
  files: z.int().nullable(),
});

/** A benefit as a buyer may see it: without its properties, but for what they get. */
export const BenefitPublic = z.discriminatedUnion("type", [
  z.object({
    ...common,
    type: z.enum(benefitTypes).exclude(["meter_credit"]),
    /** Null for other kinds than license keys and files. */
    terms: BenefitTerms.nullable(),
  }),
  z.object({
    ...common,
    type: z.literal("meter_credit"),
    properties: z.object({ units: z.int(), meter_id: z.uuid() }),
  }),
]);
export type BenefitPublic = z.output<typeof BenefitPublic>;

/**
 * What granting a benefit left behind. Every field is optional because each belongs to some types only; the nulls are
 * what keeps clients that try the types in turn from taking one for another.
 */
export const BenefitGrantProperties = z.object({
  account_id: z.string().nullable().optional(),
  guild_id: z.string().nullable().optional(),
  role_id: z.string().optional(),
  granted_account_id: z.string().optional(),
  repository_owner: z.string().nullable().optional(),
  repository_name: z.string().optional(),
  permission: repositoryPermission.optional(),
  files: z.array(z.string()).nullable().optional(),
  license_key_id: z.string().optional(),
  display_key: z.string().optional(),
  user_provided_key: z.string().optional(),
  last_credited_meter_id: z.string().optional(),
  last_credited_units: z.int().optional(),
  /** As it is kept: a text. */
  last_credited_at: instantText.optional(),
  /** When the period ends that these units were credited for; absent for an order, whose credit has no period. */
  last_credited_until: instantText.optional(),
  /** How many units of the benefit were not credited, as they had been used in the period before. */
  last_withheld_units: z.int().optional(),
  /** How many of the credited units were unused when the grant was revoked. */
  last_revoked_units: z.int().optional(),
});

export type BenefitGrantProperties = z.output<typeof BenefitGrantProperties>;

const int32Max = 2_147_483_647;
const positive = z.int().min(1).max(int32Max);
/** How long a license key may last at most, in each unit (BEN-30). */
const ttlMax = { day: 36_500, month: 1200, year: 457 } as const;
const filesMax = 100;
const convertBlank = (value: unknown) => (typeof value === "string" && value.trim() === "" ? null : value);

/** The properties of each type as they are sent. What they name is the server's to check. */
const inputOf = {
  custom: z.object({
    note: z.preprocess(
      convertBlank,
      z
        .string()
        .max(10_000)
        .nullish()
        .transform((note) => note ?? null),
    ),
  }),
  discord: z.object({
    guild_token: z.string().min(1).max(2000),
    role_id: z.string().regex(/^\d{1,32}$/, "The number of a role."),
    kick_member: z.boolean().default(false),
  }),
  github_repository: z.object({
    repository_owner: z
      .string()
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/, "The name of an account or organization."),
    repository_name: z.string().regex(/^[A-Za-z0-9._-]{1,100}$/, "The name of a repository, without its owner."),
    permission: repositoryPermission.default("pull"),
  }),
  downloadables: z.object({
    files: z.array(id).min(1).max(filesMax),
    archived: z.record(id, z.boolean()).default(() => ({})),
  }),
  license_keys: z.object({
    prefix: z.preprocess(
      convertBlank,
      z
        .string()
        .trim()
        .max(64)
        .regex(/^[A-Za-z0-9_-]+$/, "Letters, digits, - and _ only.")
        .nullish()
        .transform((prefix) => prefix ?? null),
    ),
    expires: z
      .object({ ttl: positive, timeframe: z.enum(["day", "month", "year"]) })
      .refine(({ ttl, timeframe }) => ttl <= ttlMax[timeframe], {
        path: ["ttl"],
        message: "At most 36500 days, 1200 months or 457 years.",
      })
      .nullish()
      .transform((expires) => expires ?? null),
    activations: z
      .object({ limit: positive, enable_customer_admin: z.boolean() })
      .nullish()
      .transform((activations) => activations ?? null),
    limit_usage: positive.nullish().transform((limit) => limit ?? null),
  }),
  meter_credit: z.object({ meter_id: id, units: positive, rollover: z.boolean().default(false) }),
  feature_flag: z.object({}),
  slack_shared_channel: z.object({
    slack_integration_id: id,
    channel_name_template: z.string().min(1).max(80),
    private: z.boolean().default(true),
    welcome_message: z
      .string()
      .max(4000)
      .nullish()
      .transform((message) => message ?? null),
    archive_on_revoke: z.boolean().default(true),
    team_invitees: z
      .array(z.string().max(100))
      .max(100)
      .default(() => []),
  }),
} as const;
export type BenefitInput = { [K in keyof typeof inputOf]: z.output<(typeof inputOf)[K]> };

/** The properties as they are sent, for the type that a benefit has. */
export const readProperties = (type: keyof typeof inputOf, sent: unknown) => inputOf[type].safeParse(sent);

const description = z.string().min(3).max(42).describe("What it is, as products show it, 3 to 42 characters.");
const visibility = z.enum(["draft", "private", "public"]);

const defineCreate = <K extends keyof typeof inputOf, P extends z.ZodType>(type: K, properties: P) =>
  z.object({
    type: z.literal(type),
    description,
    properties: properties.describe("What is given, by its type."),
    visibility: visibility.nullish().describe("Who sees it."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    organization_id: organizationOf,
  });
export const BenefitCreate = z.discriminatedUnion("type", [
  defineCreate("custom", inputOf.custom.prefault({})),
  defineCreate("discord", inputOf.discord),
  defineCreate("github_repository", inputOf.github_repository),
  defineCreate("downloadables", inputOf.downloadables),
  defineCreate("license_keys", inputOf.license_keys.prefault({})),
  defineCreate("meter_credit", inputOf.meter_credit),
  defineCreate("feature_flag", inputOf.feature_flag.prefault({})),
  defineCreate("slack_shared_channel", inputOf.slack_shared_channel),
]);

/** A flag has none, and would let anything pass for properties. */
const { feature_flag: _, ...changeable } = inputOf;
export const BenefitUpdate = z.object({
  type: unlessNull(z.enum(benefitTypes)).describe("Cannot be changed; the same value is accepted."),
  description: unlessNull(description),
  properties: unlessNull(showAs(z.record(z.string(), z.unknown()), z.union(Object.values(changeable)))).describe(
    "What is given, by its type; replaces all of it.",
  ),
  visibility: unlessNull(visibility).describe("Who sees it."),
  metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
});

export const benefits = {
  list: {
    method: "GET",
    path: "/v1/benefits/",
    summary: "List benefits",
    access: seller("benefits:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      type: many(z.enum(benefitTypes)).describe("Only of these types."),
      id: ids.describe("Only these benefits."),
      exclude_id: ids.describe("All but these benefits."),
      query: z.string().optional().describe("Part of the description."),
      metadata: metadataFilter,
      sorting: sorting(["created_at", "description", "type", "user_order"], ["-created_at"]),
    }),
    response: page(Benefit),
  },
  get: {
    method: "GET",
    path: "/v1/benefits/:id",
    summary: "Get a benefit",
    access: seller("benefits:read"),
    params: byId,
    response: Benefit,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/benefits/",
    summary: "Create a benefit",
    // Discord is asked about a role, GitHub about a repository.
    external: true,
    access: seller("benefits:write"),
    body: BenefitCreate,
    response: Benefit,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/benefits/:id",
    summary: "Update a benefit",
    external: true,
    access: seller("benefits:write"),
    params: byId,
    body: BenefitUpdate,
    response: Benefit,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/benefits/:id",
    summary: "Delete a benefit",
    access: seller("benefits:write"),
    params: byId,
    status: 204,
    errors: ["NotPermitted", "ResourceNotFound"],
    confirm: "Delete this benefit? Everybody who was granted it loses it.",
  },
} as const satisfies Resource;
