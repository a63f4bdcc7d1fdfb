import { createHash } from "node:crypto";
import { type Platform, showingMaxS } from "../../../shared/api/portal-accounts.ts";
import { findDestination } from "../../../shared/destinations.ts";
import { fault, invalid, notFound, notPermitted } from "../../../shared/errors.ts";
import { findClockOf, findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { hashToken, hashWithEach, isSameText, seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { ExternalBusyError } from "../../platform/external/external-provider.ts";
import { createId, drawText } from "../../platform/ids.ts";
import * as store from "./store.ts";
import {
  buildAuthorizeUrl,
  exchangeCode,
  findMissingClient,
  findPerson,
  platformNames,
  readTokens,
  renewTokens,
  type Tokens,
} from "./vendors.ts";

const stateLength = 43;
/** Tokens that end so soon are renewed first. */
const marginMs = 60 * 1000;
/** Nobody takes longer to give new tokens. */
const renewalMs = 30 * 1000;

/** Which account is somebody's at a platform has changed, or there is none any more. */
export const accountChanged = defineSignal<store.AccountOwner & { platform: Platform }>("customer_account.changed");

/** What the service's challenge is solved with: nobody knows it who does not know our secret. */
const getVerifier = (secret: string, state: string): string => hashToken(secret, `verifier ${state}`);

/**
 * Begin to show an account: where to go. Who comes back has to bring the same state in a cookie, so that nobody has somebody else
 * finish what they began.
 */
export async function beginConnecting(
  ctx: Ctx,
  asker: { organization_id: string; customer_id: string; session_id: string },
  { platform, return_to }: { platform: Platform; return_to?: string | undefined },
): Promise<{ url: string }> {
  const { config } = ctx;
  const missing = findMissingClient(config, platform);
  if (missing) throw notPermitted(`${platformNames[platform]} is not set up on this server: ${missing} is missing.`);
  const target = return_to === undefined ? undefined : findDestination(return_to, [config.url]);
  if (return_to !== undefined && !target)
    throw invalid({ ...fault([], "This is no page of this server."), loc: ["query", "return_to"] });
  const state = drawText(stateLength);
  const now = getServerClock(ctx.clock).now();
  await transact(ctx, async (tx) => {
    const seller = target ? undefined : await findOrganization(tx, asker.organization_id);
    await store.saveRequest(tx, {
      id: createId(now),
      created_at: ctx.clock.now(),
      ...asker,
      platform,
      state_hash: hashToken(config.secret, state),
      return_to: target ? target.pathname + target.search : `/${encodeURIComponent(seller?.slug ?? "")}/portal`,
      expires_at: new Date(now.getTime() + showingMaxS * 1000),
    });
  });
  const challenge = createHash("sha256").update(getVerifier(config.secret, state)).digest("base64url");
  return { url: buildAuthorizeUrl(config, platform, state, challenge) };
}

/** What somebody has come back with, and the states that their browser was given. */
type Return = {
  state?: string | undefined;
  code?: string | undefined;
  error?: string | undefined;
  cookies: readonly string[];
};

/** Keep the account that a customer has shown to be theirs; answers the address on this server where they go on. */
export async function finishConnecting(deps: Deps, { state, code, error, cookies }: Return): Promise<string> {
  const { config } = deps;
  const now = getServerClock(deps.clock).now();
  const isTheirs = state !== undefined && cookies.some((one) => isSameText(one, state));
  const taken = isTheirs ? await store.claimRequest(deps.db, hashWithEach(config.secrets, state)) : undefined;
  if (!taken || !state || taken.expires_at <= now) return "/error?error=state_mismatch";
  const { organization_id, customer_id, platform } = taken;
  const rejectBack = (name: string, value: string): string => {
    // As it was when it was noted; whoever writes to the database sends nobody elsewhere either.
    const url = findDestination(taken.return_to, [config.url]) ?? new URL(config.url);
    url.searchParams.set(name, value);
    return url.pathname + url.search;
  };
  const beginner = await store.findBeginner(deps.db, taken, now);
  if (!beginner) return rejectBack("error", "session_over");
  if (error !== undefined || !code) return rejectBack("error", error === "access_denied" ? error : "refused");
  let found: { tokens: Tokens; person: NonNullable<Awaited<ReturnType<typeof findPerson>>> } | undefined;
  try {
    const tokens = await exchangeCode(config, platform, { code, verifier: getVerifier(config.secret, state) });
    const person = tokens && (await findPerson(config, platform, tokens));
    found = tokens && person ? { tokens, person } : undefined;
  } catch (fault) {
    deps.log.warn({ err: fault, platform }, "A platform did not say whose account it is.");
    return rejectBack("error", "unavailable");
  }
  if (!found) return rejectBack("error", "refused");
  const { person, tokens } = found;
  const seller = await findClockOf(deps, organization_id);
  const created_at = seller.clock.now();
  await transact(seller, async (tx) => {
    // A customer is let into a guild in their own name; of a repository only their number has to be known.
    const owner = { organization_id, customer_id, member_id: beginner.member_id, platform };
    const kept = platform === "discord" ? sealAccountTokens(deps, owner, tokens, now) : {};
    await store.saveAccount(tx, { id: createId(created_at), created_at, ...owner, ...person, ...kept });
    await sendSignal(tx, seller, accountChanged, owner);
  });
  return rejectBack("connected", platform);
}

type AccountKey = Record<"organization_id" | "customer_id" | "member_id" | "platform", string | null>;
/** The row that the tokens of an account are sealed for. */
export const getAccountSealRow = ({ organization_id, customer_id, member_id, platform }: AccountKey): string =>
  JSON.stringify([organization_id, customer_id, member_id, platform]);

const sealAccountTokens = ({ config }: Pick<Deps, "config">, account: AccountKey, tokens: Tokens, now: Date) => ({
  tokens_sealed: seal(config.secret, "customer-account", getAccountSealRow(account), JSON.stringify(tokens)),
  expires_at: tokens.expires_in === undefined ? null : new Date(now.getTime() + tokens.expires_in * 1000),
});

/** Take an account away from its owner, and with it what was given to it. */
export async function disconnect(
  tx: Tx,
  ctx: Deps | Ctx,
  owner: store.AccountOwner,
  platform: Platform,
): Promise<void> {
  const found = await store.findAccount(tx, owner, platform);
  if (!found) throw notFound();
  await store.deleteAccount(tx, found);
  await sendSignal(tx, ctx, accountChanged, found);
}

/** Somebody has left their team: nothing is given to their accounts any more. */
export async function deleteAccountsOfMember(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, customer_id, id }: { organization_id: string; customer_id: string; id: string },
): Promise<void> {
  for (const platform of await store.deleteAccountsOfMember(tx, { organization_id, id }))
    await sendSignal(tx, ctx, accountChanged, { organization_id, customer_id, member_id: id, platform });
}

/** Of who is gone no account is kept. */
export async function deleteAccounts(
  tx: Tx,
  _: Deps | Ctx,
  { organization_id, id: customer_id }: { organization_id: string; id: string },
): Promise<void> {
  await store.deleteAllAccounts(tx, { organization_id, customer_id });
}

/**
 * What opens the account of a customer at a platform now, renewed where it has ended (BEN-62); null where nothing does any more.
 * Asks the platform, so outside of transactions. Rejects with ExternalBusyError if it is to be tried again.
 */
export async function findFreshToken(
  deps: Deps,
  owner: { organization_id: string; customer_id: string; account_number: string },
  platform: Platform,
): Promise<string | null> {
  const { config, db } = deps;
  const row = await store.findAccountNumbered(db, owner, platform);
  if (!row?.tokens_sealed) return null;
  const text = tryUnseal(config.secrets, "customer-account", getAccountSealRow(row), row.tokens_sealed);
  if (text === null) return null;
  const tokens = readTokens(text);
  const now = getServerClock(deps.clock).now();
  if (row.expires_at === null || row.expires_at.getTime() > now.getTime() + marginMs) return tokens.access_token;
  if (tokens.refresh_token === undefined) return null;
  // Noted before it is asked for: what is given for it is given once.
  if (!(await store.claimRenewal(db, row, now, new Date(now.getTime() + renewalMs))))
    throw new ExternalBusyError(`${platformNames[platform]} is giving new tokens.`);
  const renewed = await renewTokens(config, platform, tokens.refresh_token);
  if (renewed === undefined) throw new ExternalBusyError(`${platformNames[platform]} gave no new tokens.`);
  await store.updateTokens(
    db,
    row,
    renewed === "dead" ? { tokens_sealed: null, expires_at: null } : sealAccountTokens(deps, row, renewed, now),
  );
  return renewed === "dead" ? null : renewed.access_token;
}
