import { expect, test } from "vitest";
import { leftOut, omitted, sealedColumns } from "../../server/operations/archive/kinds.ts";
import { leftOut as leftOutOfSnapshots } from "../../server/operations/sandbox/snapshots.ts";
import type { SealPurpose } from "../../server/platform/crypto/secrets.ts";

/**
 * Where each purpose's seals are stored, as table and column; null where they are in no table. A new purpose does not compile until it
 * is named here: an archive would carry what another server cannot open.
 */
const places: Record<SealPurpose, string | null> = {
  "archive-key": "archive_restores.archive_key",
  "archive-value": null,
  "card-link": null,
  "checkout-challenge": "checkouts.payment_processor_metadata",
  "checkout-secret": "checkouts.client_secret",
  "customer-account": "customer_accounts.tokens_sealed",
  "discord-guild": null,
  "discord-state": null,
  "document-link": null,
  "download-link": null,
  "erasure-words": "customer_erasures.words",
  // The tokens of a text of an event: they are of the server that emitted it, and no archive sends it again.
  "event-tokens": null,
  "id-token": null,
  "idempotency-answer": null,
  "lease-seed": "lease_keys.seed_sealed",
  "license-key": "license_keys.key_sealed",
  mail: "mails.letter",
  "metrics-link": null,
  "mirror-tokens": "polar_objects.data",
  "payment-card": "payments.confirmation_token_id",
  "polar-webhook-secret": "polar_connections.secret",
  "portal-link": null,
  "seat-invitation": "customer_seats.token",
  "setup-card": "payment_setups.confirmation_token_id",
  "storage-download": null,
  "storage-part": null,
  "stream-token": "event_stream_tokens.credential",
  "webhook-headers": "webhook_endpoints.headers",
  "webhook-response": "webhook_deliveries.response",
  "webhook-secret": "webhook_endpoints.secret",
};

test("MOV-02: what the server seals is sealed again in an archive, or is not in one", () => {
  const stored = Object.entries(places).flatMap(([purpose, place]) => (place === null ? [] : [{ purpose, place }]));
  for (const { purpose, place } of stored) {
    const [table = "", column = ""] = place.split(".");
    const isWithout = table in leftOut || table in leftOutOfSnapshots || omitted[table]?.includes(column) === true;
    const isSealed = sealedColumns[table]?.some((one) => one.column === column && one.purpose === purpose) === true;
    expect({ place, isGood: isWithout !== isSealed }).toEqual({ place, isGood: true });
  }
});
