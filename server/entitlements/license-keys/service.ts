import { randomBytes } from "node:crypto";
import type { z } from "zod";
import type {
  LicenseKey,
  LicenseKeyActivate,
  LicenseKeyDeactivate,
  LicenseKeyLease,
  LicenseKeyValidate,
  licenseKeys,
  licenseKeyUses,
} from "../../../shared/api/license-keys.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { findBenefits } from "../../catalog/benefits/store.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock, withSellerClock } from "../../platform/clock.ts";
import {
  type Ctx,
  type Database,
  type Deps,
  hasScope,
  requireOrganization,
  requireOrganizations,
  type Tx,
} from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { runChange, transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import {
  type ActivationRow,
  buildKeyColumns,
  checkActivation,
  checkRotation,
  checkUse,
  computeExpiry,
  getLimits,
  getPrefix,
  hashKeyWithEach,
  type KeyRow,
  type KeyTerms,
  type LicensedKey,
  makeKey,
  openSeed,
  serializeActivation,
  serializeKey,
  signLease,
} from "./rules.ts";
import * as store from "./store.ts";

/** What is asked of a key, whoever named its organization. */
type Asked<S extends z.ZodType> = Omit<z.output<S>, "organization_id">;

/** For which grant a key is issued. */
type Issued = {
  organization_id: string;
  grant_id: string;
  customer_id: string;
  member_id: string | null;
  benefit_id: string;
  isSubscribed: boolean;
};

/** Give a grant its key: a new one, or the one that it had, with the limits of now. A disabled one stays so (BEN-33). */
export async function issueKey(
  tx: Tx,
  { clock, config }: Deps | Ctx,
  { isSubscribed, ...named }: Issued,
  terms: KeyTerms,
): Promise<KeyRow> {
  const now = clock.now();
  const limits = { ...getLimits(terms), expires_at: computeExpiry(terms, now, isSubscribed) };
  const had = await store.lockKeyOfGrant(tx, named.organization_id, named.grant_id);
  if (had) {
    const status = had.status === "revoked" ? "granted" : had.status;
    return store.updateKey(tx, had, { ...limits, status, modified_at: now });
  }
  const key = { organization_id: named.organization_id, id: createId(now) };
  const columns = buildKeyColumns(config.secret, key, makeKey(terms.prefix));
  return store.insertKey(tx, { ...named, ...limits, ...columns, id: key.id, created_at: now });
}

/** Take the key of a grant back: it can be used no longer, and is there for when it is granted again. */
export async function withdrawKey(tx: Tx, { clock }: Deps | Ctx, organization_id: string, grant_id: string) {
  const had = await store.lockKeyOfGrant(tx, organization_id, grant_id);
  if (had?.status === "granted") await store.updateKey(tx, had, { status: "revoked", modified_at: clock.now() });
}

/** A seller has given a key back to its owner, or taken it: its grant goes with it (BEN-34). */
export const keyStatusChanged = defineSignal<KeyRow>("license_key.status_set");
/** A key has another text: its grant shows the end of that (BEN-34). */
export const keyReplaced = defineSignal<KeyRow>("license_key.replaced");

async function lockByText(tx: Tx, ctx: Ctx, organization_id: string, text: string): Promise<LicensedKey> {
  const found = await store.lockKeyByHash(
    tx,
    organization_id,
    hashKeyWithEach(ctx.config.secrets, organization_id, text),
  );
  if (!found) throw notFound();
  return found;
}

const validate = (ctx: Ctx, organization_id: string, body: Asked<typeof LicenseKeyValidate>) =>
  runChange(ctx, async (db) => {
    const { activation, ...found } = await use(db, ctx, organization_id, body);
    return {
      ...serializeKey(found, ctx.config.secrets),
      activation: activation ? serializeActivation(activation) : null,
    };
  });

type Used = LicensedKey & { activation: ActivationRow | undefined };

/**
 * Use a key as it is asked for, if it can be. It is judged as it is read, and counted where it still has so much, so limits hold
 * however many ask at once (BEN-35); where others were faster, it is judged again.
 */
async function use(
  db: Database,
  ctx: Ctx,
  organization_id: string,
  body: Asked<typeof LicenseKeyValidate>,
): Promise<Used> {
  const found = await store.findKeyByHash(
    db,
    organization_id,
    hashKeyWithEach(ctx.config.secrets, organization_id, body.key),
  );
  if (!found) throw notFound();
  const activation = body.activation_id ? await store.findActivation(db, found.row, body.activation_id) : undefined;
  const now = ctx.clock.now();
  checkUse(found.row, activation, body, now);
  const row = await store.recordUse(db, found.row, body.increment_usage ?? 0, now);
  return row ? { ...found, activation, row } : use(db, ctx, organization_id, body);
}

const activate = (ctx: Ctx, organization_id: string, body: Asked<typeof LicenseKeyActivate>) =>
  transact(ctx, async (tx) => {
    const found = await lockByText(tx, ctx, organization_id, body.key);
    const now = ctx.clock.now();
    checkActivation(found.row, await store.countActivations(tx, found.row), now);
    const { label, conditions, meta } = body;
    const named = { id: createId(now), organization_id, license_key_id: found.row.id, created_at: now };
    const row = await store.insertActivation(tx, { ...named, label, conditions, meta });
    return { ...serializeActivation(row), license_key: serializeKey(found, ctx.config.secrets) };
  });

/** End an activation of a key. */
export async function endActivation(tx: Tx, ctx: Ctx, key: RowKey, activation_id: string): Promise<void> {
  const activation = await store.findActivation(tx, key, activation_id);
  if (!activation) throw notFound();
  await store.endActivation(tx, activation, ctx.clock.now());
}

const deactivate = (ctx: Ctx, organization_id: string, body: Asked<typeof LicenseKeyDeactivate>) =>
  transact(ctx, async (tx) => {
    const { row } = await lockByText(tx, ctx, organization_id, body.key);
    await endActivation(tx, ctx, row, body.activation_id);
  });

const lostSeed =
  "Leases cannot be signed: their key was sealed with a secret that the server has no more. Its owner adds it to FLOE_SECRET_PREVIOUS.";

/** What a key may be used for without asking again, signed. The program's own clock is asked, so it is the world's. */
const lease = (ctx: Ctx, organization_id: string, body: Asked<typeof LicenseKeyLease>) =>
  transact(ctx, async (tx) => {
    const { seconds, usage_budget = null, ...asked } = body;
    const { row, activation } = await use(tx, ctx, organization_id, { ...asked, increment_usage: usage_budget });
    const now = getServerClock(ctx.clock).now();
    const left_ms =
      row.expires_at === null ? Number.POSITIVE_INFINITY : row.expires_at.getTime() - ctx.clock.now().getTime();
    const issued_at = new Date(now).setUTCMilliseconds(0);
    const expires_at = new Date(issued_at + Math.min(seconds * 1000, left_ms)).setUTCMilliseconds(0);
    const fresh = seal(ctx.config.secret, "lease-seed", organization_id, randomBytes(32).toString("base64url"));
    const sealed = await store.insertSeed(tx, organization_id, fresh, now);
    const seed = tryUnseal(ctx.config.secrets, "lease-seed", organization_id, sealed);
    if (seed === null) throw new ApiError("ServiceUnavailable", lostSeed);
    const { private_key, public_key } = openSeed(Buffer.from(seed, "base64url"));
    const { features, seats } = await store.findLeased(tx, row);
    const claims = {
      v: 1 as const,
      iss: organization_id,
      key_id: row.id,
      display_key: row.display_key,
      activation_id: activation?.id ?? null,
      customer_id: row.customer_id,
      benefit_id: row.benefit_id,
      features,
      seats,
      usage_budget,
      iat: issued_at / 1000,
      nbf: issued_at / 1000,
      exp: expires_at / 1000,
    };
    return {
      lease: signLease(claims, private_key),
      public_key,
      issued_at: new Date(issued_at),
      expires_at: new Date(expires_at),
      usage_budget,
    };
  });

const getKeyAt = async (ctx: Ctx, id: string): Promise<LicensedKey> => {
  const found = await store.findKey(ctx.db, { organization_id: requireOrganization(ctx), id });
  if (!found) throw notFound();
  return found;
};

/** A key as a seller sees it: without `license_keys:write` its end alone, as whoever has it whole can use it. */
const showKey = (ctx: Ctx, key: LicensedKey): LicenseKey => {
  const shown = serializeKey(key, ctx.config.secrets);
  const { organization_id, display_key } = key.row;
  return hasScope(ctx, organization_id, "license_keys:write") ? shown : { ...shown, key: display_key };
};

/** The license keys of the API. */
export const licenseKeyService: Service<typeof licenseKeys, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listKeys(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((one) => showKey(ctx, one)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const found = await getKeyAt(ctx, params.id);
    const activations = (await store.findActivations(ctx.db, found.row)).map(serializeActivation);
    return { ...showKey(ctx, found), activations };
  },
  async getActivation(ctx, { params }) {
    const found = await getKeyAt(ctx, params.id);
    const activation = await store.findActivation(ctx.db, found.row, params.activation_id);
    if (!activation) throw notFound();
    return { ...serializeActivation(activation), license_key: showKey(ctx, found) };
  },
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const found = await store.lockKey(tx, { organization_id: requireOrganization(ctx), id: params.id });
      if (!found) throw notFound();
      const { usage, ...sent } = body;
      // Some clients send a usage of 0 with everything that they change, whether they were asked to or not.
      const counted = usage === undefined || (usage === 0 && ctx.client.fills) ? {} : { usage };
      const patch = Object.fromEntries(
        Object.entries({ ...sent, ...counted }).filter(([, value]) => value !== undefined),
      );
      if (Object.keys(patch).length === 0) return showKey(ctx, found);
      const row = await store.updateKey(tx, found.row, { ...patch, modified_at: ctx.clock.now() });
      if (row.status !== found.row.status) await sendSignal(tx, ctx, keyStatusChanged, row);
      return serializeKey({ ...found, row }, ctx.config.secrets);
    }),
  /** Another key in its place, where the one that is in use has become known. What counts goes on. */
  rotate: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const found = await store.lockKey(tx, { organization_id: requireOrganization(ctx), id: params.id });
      if (!found) throw notFound();
      return replaceKey(tx, ctx, found);
    }),
  validate: (ctx, { body }) => validate(ctx, requireOrganization(ctx), body),
  activate: (ctx, { body }) => activate(ctx, requireOrganization(ctx), body),
  deactivate: (ctx, { body }) => deactivate(ctx, requireOrganization(ctx), body),
  lease: (ctx, { body }) => lease(ctx, requireOrganization(ctx), body),
};

/**
 * Give a key that the caller has locked another text, under the same prefix, unless it was taken back. Of one that cannot be read any
 * more, since it was sealed with a secret that is gone, the prefix is that of its benefit.
 */
export async function replaceKey(tx: Tx, ctx: Ctx, { row, ...found }: LicensedKey): Promise<LicenseKey> {
  const { clock, config } = ctx;
  checkRotation(row);
  const { organization_id, benefit_id } = row;
  const before = tryUnseal(config.secrets, "license-key", row.id, row.key_sealed);
  const text = makeKey(before === null ? await findPrefix(tx, organization_id, benefit_id) : getPrefix(before));
  const columns = buildKeyColumns(config.secret, row, text);
  const replaced = await store.updateKey(tx, row, { ...columns, modified_at: clock.now() });
  await sendSignal(tx, ctx, keyReplaced, replaced);
  return serializeKey({ ...found, row: replaced }, config.secrets);
}
async function findPrefix(tx: Tx, organization_id: string, id: string): Promise<string | null> {
  const [benefit] = await findBenefits(tx, organization_id, [id]);
  return benefit?.type === "license_keys" ? (benefit.properties as KeyTerms).prefix : null;
}

/** By the clock of the seller whom a program names. */
async function createSellerContext(ctx: Ctx, organization_id: string): Promise<Ctx> {
  const seller = await findOrganization(ctx.db, organization_id);
  if (!seller) throw notFound();
  return withSellerClock(ctx, seller);
}

/** The same for programs that hold nothing but a key, at whoever's. */
export const licenseKeyUseService: Service<typeof licenseKeyUses, Ctx> = {
  validate: async (ctx, { body }) =>
    validate(await createSellerContext(ctx, body.organization_id), body.organization_id, body),
  activate: async (ctx, { body }) =>
    activate(await createSellerContext(ctx, body.organization_id), body.organization_id, body),
  deactivate: async (ctx, { body }) =>
    deactivate(await createSellerContext(ctx, body.organization_id), body.organization_id, body),
  lease: async (ctx, { body }) =>
    lease(await createSellerContext(ctx, body.organization_id), body.organization_id, body),
};
