import { createPrivateKey, createPublicKey, type KeyObject, randomUUID, sign } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { BenefitInput } from "../../../shared/api/benefits.ts";
import type { LicenseKey } from "../../../shared/api/license-keys.ts";
import { addInterval } from "../../../shared/calendar.ts";
import type { Metadata } from "../../../shared/contract.ts";
import { ApiError, notPermitted } from "../../../shared/errors.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import { type MemberRow, serializeMember } from "../../customers/members/rules.ts";
import { hashToken, hashWithEach, seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import type { licenseKeyActivations, licenseKeys } from "./tables.ts";

export type KeyRow = typeof licenseKeys.$inferSelect;
export type ActivationRow = typeof licenseKeyActivations.$inferSelect;
/** A key with all that it is answered with: whose it is, and what it came with. */
export type LicensedKey = {
  row: KeyRow;
  customer: CustomerRow;
  /** Whose of a team it is. */
  member: MemberRow | null;
  source: { subscription_id: string | null; order_id: string | null };
};
export type KeyTerms = BenefitInput["license_keys"];

/** A new key (BEN-31). */
export const makeKey = (prefix: string | null): string =>
  [...(prefix ? [prefix.trim().toUpperCase()] : []), randomUUID().toUpperCase()].join("-");

const idLength = 36;
/** What a key begins with, before what makes it one of its own. */
export const getPrefix = (key: string): string | null => key.slice(0, -idLength).replace(/-$/, "") || null;

/** What is kept of a key. */
export const buildKeyColumns = (secret: string, { organization_id, id }: RowKey, key: string) => ({
  key_hash: hashKey(secret, organization_id, key),
  key_sealed: seal(secret, "license-key", id, key),
  display_key: `****-${key.slice(-6)}`,
});

const getHashedText = (organization_id: string, key: string): string => `license key ${organization_id} ${key}`;
const hashKey = (secret: string, organization_id: string, key: string): string =>
  hashToken(secret, getHashedText(organization_id, key));
/** A key as people type and paste it: in any case, with blanks, line breaks and other dashes. Keys are printed in capitals, without blanks. */
function listSpellings(key: string): string[] {
  const printed = key
    .normalize("NFKC")
    .replace(/[\p{Pd}\u2212]/gu, "-")
    .replace(/[\s\p{Default_Ignorable_Code_Point}]/gu, "")
    .toUpperCase();
  return key === printed ? [key] : [key, printed];
}
/** As what a key may be kept, in each spelling, with the secret of now or one before it. */
export const hashKeyWithEach = (secrets: readonly string[], organization_id: string, key: string): string[] =>
  listSpellings(key).flatMap((spelling) => hashWithEach(secrets, getHashedText(organization_id, spelling)));

/** How much a key may be used, by its benefit (BEN-30). */
export const getLimits = ({ activations, limit_usage }: KeyTerms) => ({
  limit_activations: activations?.limit ?? null,
  limit_usage,
});

/** When a key ends: what a subscription gives lasts as long as that does (BEN-32). */
export const computeExpiry = ({ expires }: KeyTerms, from: Date, isSubscribed: boolean): Date | null =>
  expires && !isSubscribed ? addInterval(from, expires.timeframe, expires.ttl) : null;

/** Whether a key can be used now, and if not, why: the one place that says so. */
export function validateKey({ status, expires_at }: KeyRow, now: Date): "usable" | "not_granted" | "expired" {
  if (status !== "granted") return "not_granted";
  return expires_at !== null && expires_at <= now ? "expired" : "usable";
}

const buildNotFound = (detail: string) => new ApiError("ResourceNotFound", detail);
const words = { not_granted: "License key is no longer active.", expired: "License key has expired." };

/** Refuse to replace a key that was taken back: it may be given again, and then is to be the one that its owner knows (BEN-33). */
export function checkRotation({ status }: KeyRow): void {
  if (status === "revoked") throw new ApiError("RotateNotPermitted", words.not_granted);
}

/** Refuse to activate what cannot be used or has no place left (BEN-37). */
export function checkActivation(row: KeyRow, active: number, now: Date): void {
  const judged = validateKey(row, now);
  if (judged !== "usable") throw notPermitted(words[judged]);
  const { limit_activations: limit } = row;
  if (limit === null) throw notPermitted("This license key does not support activations.");
  if (active >= limit) throw notPermitted("License key activation limit already reached.");
}

type Asked = {
  activation_id?: string | null | undefined;
  benefit_id?: string | null | undefined;
  customer_id?: string | null | undefined;
  increment_usage?: number | null | undefined;
  conditions: Metadata;
};

/** So much can be counted of a key that has no limit. */
export const usageMax = 2_147_483_647;

/** Refuse a key that cannot be used as it is asked for, for the first reason of this order (BEN-35, BEN-36). */
export function checkUse(row: KeyRow, activation: ActivationRow | undefined, asked: Asked, now: Date): void {
  const judged = validateKey(row, now);
  if (judged !== "usable") throw buildNotFound(words[judged]);
  if (asked.activation_id && !activation) throw buildNotFound("License key activation not found.");
  if (
    activation &&
    Object.keys(activation.conditions).length > 0 &&
    !isDeepStrictEqual(activation.conditions, { ...asked.conditions })
  )
    throw buildNotFound("License key does not match required conditions.");
  if (asked.benefit_id && asked.benefit_id !== row.benefit_id)
    throw buildNotFound("License key does not match given benefit.");
  if (asked.customer_id && asked.customer_id !== row.customer_id)
    throw buildNotFound("License key does not match given customer.");
  if (!asked.increment_usage) return;
  const left = Math.max(0, (row.limit_usage ?? usageMax) - row.usage);
  if (asked.increment_usage > left) throw new ApiError("BadRequest", `License key only has ${left} more usages.`);
}

/** A key as it is answered. One whose secret is gone shows its end alone. */
export function serializeKey({ row, customer, member, source }: LicensedKey, secrets: readonly string[]): LicenseKey {
  const { key_hash: _, key_sealed, grant_id: __, ...shown } = row;
  return {
    ...shown,
    ...source,
    key: tryUnseal(secrets, "license-key", row.id, key_sealed) ?? row.display_key,
    customer: serializeCustomer(customer),
    member: member && serializeMember(member),
  };
}

/** An activation as it is answered. */
export const serializeActivation = ({ id, created_at, modified_at, license_key_id, label, meta }: ActivationRow) => ({
  id,
  created_at,
  modified_at,
  license_key_id,
  label,
  meta,
});

/** How PKCS #8 begins for an Ed25519 key, before its 32 bytes. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The keys of a seed: the private one, and the 32 bytes of the public one. */
export function openSeed(seed: Buffer): { private_key: KeyObject; public_key: string } {
  const private_key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const { x = "" } = createPublicKey(private_key).export({ format: "jwk" });
  return { private_key, public_key: x };
}

/** What a lease says. Times in seconds since 1970. */
export type LeaseClaims = {
  v: 1;
  iss: string;
  /** The key, by its end and its id. */
  key_id: string;
  display_key: string;
  activation_id: string | null;
  customer_id: string;
  benefit_id: string;
  /** Of the benefit, what the seller noted on it. */
  features: Metadata;
  seats: number | null;
  usage_budget: number | null;
  iat: number;
  nbf: number;
  exp: number;
};

/** Sign a lease. */
export function signLease(claims: LeaseClaims, private_key: KeyObject): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `${payload}.${sign(null, Buffer.from(payload), private_key).toString("base64url")}`;
}
