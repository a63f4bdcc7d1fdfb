import type { Config } from "../config.ts";
import { seal, tryUnseal } from "./secrets.ts";

/** For whom an organization's metrics are shown: as long as the key or the person who made the address may read them. */
export type Viewer = { organization_id: string; key_id: string | null; user_id: string | null };

export const viewerPrefix = "floe_mtr_";

/** A token by which a browser reads the metrics of one organization, and nothing else. It is kept nowhere: all it says is in it. */
export function sealViewer({ secret }: Pick<Config, "secret">, viewer: Viewer, until: Date): string {
  const { organization_id, key_id, user_id } = viewer;
  const sealed = seal(secret, "metrics-link", "", JSON.stringify([organization_id, key_id, user_id, until.getTime()]));
  // As hex it is of the letters that all tokens are of, and so is hidden where texts are kept.
  return viewerPrefix + Buffer.from(sealed, "base64url").toString("hex");
}

/** What such a token says; nothing where it has run out, or is none. */
export function openViewer({ secrets }: Pick<Config, "secrets">, token: string, now: Date): Viewer | undefined {
  const hex = token.slice(viewerPrefix.length);
  if (!token.startsWith(viewerPrefix) || !/^(?:[0-9a-f]{2})+$/.test(hex)) return undefined;
  const text = tryUnseal(secrets, "metrics-link", "", Buffer.from(hex, "hex").toString("base64url"));
  if (text === null) return undefined;
  type Sealed = [string, string | null, string | null, number];
  const [organization_id, key_id, user_id, until] = JSON.parse(text) as Sealed;
  return until > now.getTime() ? { organization_id, key_id, user_id } : undefined;
}
