import { z } from "zod";
import { instant, metadataOut } from "../contract.ts";
import { stored } from "./fields.ts";

export const benefitTypes = [
  "custom",
  "discord",
  "github_repository",
  "downloadables",
  "license_keys",
  "meter_credit",
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
} as const;

const common = {
  ...stored,
  description: z.string(),
  selectable: z.boolean(),
  deletable: z.boolean(),
  is_deleted: z.boolean(),
  organization_id: z.uuid(),
};

const benefit = <K extends keyof typeof propertiesOf>(type: K) =>
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
  benefit("custom"),
  benefit("discord"),
  benefit("github_repository"),
  benefit("downloadables"),
  benefit("license_keys"),
  benefit("meter_credit"),
]);
export type Benefit = z.output<typeof Benefit>;

/** A benefit as a buyer may see it: without its properties, but for what a credit is worth. */
export const BenefitPublic = z.discriminatedUnion("type", [
  z.object({ ...common, type: z.enum(benefitTypes).exclude(["meter_credit"]) }),
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
  last_credited_at: instant.optional(),
});
