import { z } from "zod";
import {
  anyone,
  byId,
  ids,
  instant,
  many,
  metadata,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
} from "../contract.ts";
import { Customer } from "./customers.ts";
import { auditState, organizationOf, stored, unlessNull } from "./fields.ts";
import { Member } from "./members.ts";

const int32Max = 2_147_483_647;

export const keyStatuses = ["granted", "revoked", "disabled"] as const;

/** A license key of a customer, as they and the seller see it. */
export const LicenseKey = z.object({
  ...stored,
  organization_id: z.uuid(),
  customer_id: z.uuid(),
  member_id: z.uuid().nullable(),
  customer: Customer,
  /** Whose of a team it is. */
  member: Member.nullable(),
  benefit_id: z.uuid(),
  /** The key itself. */
  key: z.string(),
  /** Its end, to tell it from others. */
  display_key: z.string(),
  status: z.enum(keyStatuses),
  limit_activations: z.int().nullable(),
  usage: z.int(),
  limit_usage: z.int().nullable(),
  validations: z.int(),
  last_validated_at: instant.nullable(),
  expires_at: instant.nullable(),
  subscription_id: z.uuid().nullable(),
  order_id: z.uuid().nullable(),
});
export type LicenseKey = z.output<typeof LicenseKey>;

const activation = { ...stored, license_key_id: z.uuid(), label: z.string(), meta: metadataOut };
/** A place where a key is in use. */
export const LicenseKeyActivation = z.object(activation);
export const LicenseKeyActivationRead = z.object({ ...activation, license_key: LicenseKey });
export const LicenseKeyWithActivations = LicenseKey.extend({ activations: z.array(LicenseKeyActivation) });
export const ValidatedLicenseKey = LicenseKey.extend({ activation: LicenseKeyActivation.nullable() });

/** A statement that a program can check without network: see `docs/benefits.md`. */
export const LicenseLease = z.object({
  /** `payload.signature`, both in base64url; the signature is Ed25519 over the first part as it stands. */
  lease: z.string(),
  /** The same for all leases of an organization: 32 bytes in base64url. */
  public_key: z.string(),
  issued_at: instant,
  expires_at: instant,
  /** How often the program may use the key until then; taken off what the key allows. Null: as often as it likes. */
  usage_budget: z.int().nullable(),
});
export type LicenseLease = z.output<typeof LicenseLease>;

const key = z.string().min(1).max(200).describe("The license key.");
const organizationId = z.uuid().describe("The organization that sold it.");
const label = z.string().min(1).max(255).describe("What it is called, such as the name of a computer.");
const defineConditions = (what: string) => metadata.default(() => ({})).describe(what);
const activationId = z.uuid().nullish().describe("The activation that is used.");

export const LicenseKeyActivate = z.object({
  key,
  organization_id: organizationId,
  label,
  conditions: defineConditions("What has to be the same whenever this activation is validated."),
  meta: metadata.default(() => ({})).describe("Your own keys and values."),
});
export const LicenseKeyValidate = z.object({
  key,
  organization_id: organizationId,
  activation_id: activationId,
  benefit_id: z.uuid().nullish().describe("The benefit that it has to be of."),
  customer_id: z.uuid().nullish().describe("The customer whose it has to be."),
  increment_usage: z.int().min(0).max(int32Max).nullish().describe("By how much it is used with this."),
  conditions: defineConditions("What the activation was made with."),
});
export const LicenseKeyDeactivate = z.object({
  key,
  organization_id: organizationId,
  activation_id: z.uuid().describe("The activation that ends."),
});
export const LicenseKeyLease = z.object({
  key,
  organization_id: organizationId,
  activation_id: activationId,
  conditions: defineConditions("What the activation was made with."),
  seconds: z
    .int()
    .min(60)
    .max(31 * 24 * 3600)
    .default(72 * 3600)
    .describe("For how long it is good, in seconds: a minute to 31 days."),
  usage_budget: z.int().min(1).max(int32Max).nullish().describe("How often the key may be used meanwhile."),
});
/** A key of the organization that asks need not be named with it. */
const own = { organization_id: organizationOf };

export const LicenseKeyUpdate = z.object({
  status: unlessNull(z.enum(keyStatuses)).describe("Granted, revoked with what it came with, or disabled for good."),
  usage: unlessNull(z.int().min(0).max(int32Max)).describe("How often it was used."),
  limit_activations: z.int().min(1).max(int32Max).nullable().optional().describe("In how many places at once."),
  limit_usage: z.int().min(1).max(int32Max).nullable().optional().describe("How often in all."),
  expires_at: instant.nullable().optional().describe("When it ends; null: never."),
});

/** What everybody who has a key may ask, as one of these two: the seller's server, or the program itself (BEN-40). */
const uses = {
  validate: {
    method: "POST",
    summary: "Validate a license key",
    response: ValidatedLicenseKey,
    errors: ["ResourceNotFound", "BadRequest"],
    // Asked at every start of a program: the key counts it, the audit log does not.
    bulk: true,
  },
  activate: {
    method: "POST",
    summary: "Activate a license key",
    response: LicenseKeyActivationRead,
    errors: ["ResourceNotFound", "NotPermitted"],
  },
  deactivate: { method: "POST", summary: "Deactivate a license key", status: 204, errors: ["ResourceNotFound"] },
  lease: {
    method: "POST",
    summary: "Lease a license key for use without network",
    response: LicenseLease,
    errors: ["ResourceNotFound", "BadRequest"],
  },
} as const;
const mine = { access: seller("license_keys:write") } as const;
const open = { access: anyone, limit: "license_key" } as const;
const [at, portal] = ["/v1/license-keys", "/v1/customer-portal/license-keys"] as const;

export const licenseKeys = {
  list: {
    method: "GET",
    path: "/v1/license-keys/",
    summary: "List license keys",
    access: seller("license_keys:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      benefit_id: ids.describe("Only of these benefits."),
      status: many(z.enum(keyStatuses)).describe("Only in these states."),
    }),
    response: page(LicenseKey),
  },
  get: {
    method: "GET",
    path: "/v1/license-keys/:id",
    summary: "Get a license key",
    access: seller("license_keys:read"),
    params: byId,
    response: LicenseKeyWithActivations,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    path: "/v1/license-keys/:id",
    summary: "Update a license key",
    access: seller("license_keys:write"),
    params: byId,
    body: LicenseKeyUpdate,
    response: LicenseKey,
    audit: auditState("status", new Map(keyStatuses.map((status) => [status, `license_key.${status}`])), "granted"),
    errors: ["ResourceNotFound"],
  },
  getActivation: {
    method: "GET",
    path: "/v1/license-keys/:id/activations/:activation_id",
    summary: "Get an activation of a license key",
    access: seller("license_keys:read"),
    params: z.object({ id: z.uuid(), activation_id: z.uuid() }),
    response: LicenseKeyActivationRead,
    errors: ["ResourceNotFound"],
  },
  rotate: {
    method: "POST",
    path: "/v1/license-keys/:id/rotate",
    summary: "Replace a license key by another one",
    access: seller("license_keys:write"),
    params: byId,
    response: LicenseKey,
    errors: ["ResourceNotFound", "RotateNotPermitted"],
    confirm: "Replace this key? The one that is in use stops working.",
  },
  validate: { ...uses.validate, ...mine, path: `${at}/validate`, body: LicenseKeyValidate.extend(own) },
  activate: { ...uses.activate, ...mine, path: `${at}/activate`, body: LicenseKeyActivate.extend(own) },
  deactivate: { ...uses.deactivate, ...mine, path: `${at}/deactivate`, body: LicenseKeyDeactivate.extend(own) },
  lease: { ...uses.lease, ...mine, path: `${at}/lease`, body: LicenseKeyLease.extend(own) },
} as const satisfies Resource;

const buildScope = <K extends string>(name: K) => `customer_portal:license_keys:${name}` as const;
/** The same for the programs that were sold, which hold no credential but the key. */
export const licenseKeyUses = {
  validate: {
    ...uses.validate,
    ...open,
    id: buildScope("validate"),
    path: `${portal}/validate`,
    body: LicenseKeyValidate,
  },
  activate: {
    ...uses.activate,
    ...open,
    id: buildScope("activate"),
    path: `${portal}/activate`,
    body: LicenseKeyActivate,
  },
  deactivate: {
    ...uses.deactivate,
    ...open,
    id: buildScope("deactivate"),
    path: `${portal}/deactivate`,
    body: LicenseKeyDeactivate,
  },
  lease: { ...uses.lease, ...open, id: buildScope("lease"), path: `${portal}/lease`, body: LicenseKeyLease },
} as const satisfies Resource;
