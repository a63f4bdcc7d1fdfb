// The only module that knows the API key. Only code of the server may import it.
import { createPolar } from "@polar-sh/sdk/2026-10";

export function readSetting(name: "FLOE_API_KEY" | "FLOE_SERVER" | "FLOE_WEBHOOK_SECRET" | "SHOP_URL"): string {
  const value = process.env[name];
  if (!value) throw new Error(`Set ${name} in .env.local.`);
  return value;
}

export const openPolar = () =>
  createPolar({ accessToken: readSetting("FLOE_API_KEY"), baseUrl: readSetting("FLOE_SERVER"), timeout: 10 });

/** Amounts of the API are in minor units: cents for USD, yen for JPY. */
export function formatAmount(amount: number, currency: string): string {
  const format = new Intl.NumberFormat("en-US", { style: "currency", currency });
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}
