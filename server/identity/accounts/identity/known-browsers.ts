import { createHash } from "node:crypto";
import type { GenericEndpointContext } from "better-auth";
import { createToken } from "../../../platform/ids.ts";

/** A browser is known to an account that it has entered for a year, to eight accounts at most. */
const knownSeconds = 365 * 24 * 60 * 60;
const knownMax = 8;

type KnownBrowser = { device: string; accounts: string[] };

/** What a cookie has of an account: not its id. */
const hashAccount = (account: string): string => createHash("sha256").update(account).digest("hex").slice(0, 16);

const getCookie = (ctx: GenericEndpointContext) => ctx.context.createAuthCookie("known");

async function readKnownBrowser(ctx: GenericEndpointContext, secret: string): Promise<KnownBrowser | undefined> {
  const value = await ctx.getSignedCookie(getCookie(ctx).name, secret);
  const [device, ...accounts] = value ? value.split("~") : [];
  return device ? { device, accounts } : undefined;
}

/** The name of the browser that asks, where it has entered the account with a password or a service before. */
export async function findKnownDevice(
  ctx: GenericEndpointContext,
  secret: string,
  account: string,
): Promise<string | undefined> {
  const known = await readKnownBrowser(ctx, secret);
  return known?.accounts.includes(hashAccount(account)) ? known.device : undefined;
}

/** Have the browser that asks be known to the account from now on. */
export async function setKnownBrowser(ctx: GenericEndpointContext, secret: string, account: string): Promise<void> {
  const known = await readKnownBrowser(ctx, secret);
  const hash = hashAccount(account);
  const accounts = [hash, ...(known?.accounts ?? []).filter((one) => one !== hash)].slice(0, knownMax);
  const { name, attributes } = getCookie(ctx);
  const value = [known?.device ?? createToken(""), ...accounts].join("~");
  await ctx.setSignedCookie(name, value, secret, { ...attributes, maxAge: knownSeconds });
}
