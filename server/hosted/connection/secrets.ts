import type { Deps } from "../../platform/context.ts";
import { tryUnseal } from "../../platform/crypto/secrets.ts";
import type { HostedLink } from "../relay/request.ts";
import { findConnection } from "./store.ts";

export const endpointPurpose = "polar-webhook-secret";
/** In place of the place in POLAR_WEBHOOK_SECRET, for the secret that `floe polar connect` keeps. */
export const storedIndex = -1;

/** A secret that Polar may sign with. */
export type WebhookSecret = { index: number; text: string };
export type WebhookSecrets = {
  /** All that are valid: those of the setting, then the one that is kept. */
  list(): Promise<readonly WebhookSecret[]>;
  /** The same, read again, unless that was done within the last second. */
  reload(): Promise<readonly WebhookSecret[]>;
  /** Whether Polar's events arrive, as far as is known. */
  isListening(): Promise<boolean>;
};

/** Another process may have connected meanwhile: it is known within this time. */
const keptMs = 10_000;
/** A flood of forged deliveries reads the database no more often. */
const reloadedMs = 1000;

type Known = { secrets: readonly WebhookSecret[]; isListening: boolean; read_at: number };

/** The secrets of the linked organization, cached: most deliveries and reads of a state ask no database for them. */
export function openWebhookSecrets(deps: Deps, getLink: () => HostedLink | undefined): WebhookSecrets {
  const { config } = deps;
  const settings = config.POLAR_WEBHOOK_SECRET.map((text, index) => ({ index, text }));
  let known: Known | undefined;
  let reading: Promise<Known> | undefined;
  const getAge = () => (known ? performance.now() - known.read_at : Number.POSITIVE_INFINITY);

  async function read(): Promise<Known> {
    const link = getLink();
    const row = link ? await findConnection(deps.db, link.organization_id) : undefined;
    const text = row ? tryUnseal(config.secrets, endpointPurpose, row.organization_id, row.secret) : null;
    if (row && text === null)
      deps.log.error({}, "The secret of the webhook endpoint at Polar can be opened no more: run floe polar connect.");
    const isConnected = row?.fault === null && text !== null;
    return {
      secrets: text === null ? settings : [...settings, { index: storedIndex, text }],
      isListening: settings.length > 0 || isConnected,
      read_at: performance.now(),
    };
  }

  /** One read for all that ask at the same time. */
  async function load(ageMax: number): Promise<Known> {
    if (known && getAge() < ageMax) return known;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    known = await reading;
    return known;
  }

  return {
    list: async () => (await load(keptMs)).secrets,
    reload: async () => (await load(reloadedMs)).secrets,
    isListening: async () => (await load(keptMs)).isListening,
  };
}
