/** Answers for a language model: no secret is in them, and text of other people is marked as such. */
import { isSecretField, replaceSecrets } from "../../shared/secret-fields.ts";
import { fixedFields, mapFields } from "./answer-fields.ts";

/**
 * Text without a fixed form that the server makes or checks, so that nobody can write a sentence into it. All other text may be
 * written by a buyer, a colleague or a program of theirs, and a model must not take it for an instruction.
 */
export const serverText: ReadonlySet<string> = new Set([
  ...["accent_color", "account_id", "api_version", "avatar_url", "basis", "before_units", "brand", "calculation_id"],
  ...["catalog", "checksum_etag", "checksum_sha256_base64", "checksum_sha256_hex", "client_address", "consumed_units"],
  ...["country", "currency", "customer_email", "customer_event_names", "customer_ip_address", "date", "days"],
  ...["decline_reason", "default_presentment_currency", "display_key", "display_name", "email", "embed_hosts", "end"],
  ...[
    "files",
    "fingerprint",
    "free_units",
    "granted_account_id",
    "guild_id",
    "id",
    "invoice_number",
    "kept",
    "kinds",
    "last4",
  ],
  ...["last_credited_meter_id", "license_key_id", "logo_url", "method", "mime_type", "number", "order_number"],
  ...["organization_id", "overview_metrics", "payload", "payment_method_type", "payout_account_id", "plan_groups"],
  ...["platform_fee_currency", "price_currency", "public_key", "public_url", "quote", "rate", "receipt"],
  ...["receipt_number", "recounted", "repository_name", "repository_owner", "return_url", "role_id", "rule", "scopes"],
  ...["size_readable", "slug", "start", "storage_version", "success_url", "timestamp", "type", "unit_amount", "url"],
  ...["version", "website", "customer_portal_url", "privacy_url", "terms_url", "subject_id", "wanted_on"],
]);
/** Text of the command line itself. */
const ownText: ReadonlySet<string> = new Set(["profile", "server", "signed_in_by"]);
const hiddenText = "[hidden]";
const depthMax = 30;

/** Whether a field of this name may hold text that people write. One that the contract does not know does. */
const isWrittenText = (field: string): boolean =>
  !fixedFields.has(field) && !serverText.has(field) && !ownText.has(field) && !isSecretField(field);
/** Text without a token in it. */
export const redactText = (text: string): string => replaceSecrets(text, hiddenText);

type Row = Record<string, unknown>;

/** A body that was sent as text, read so that its fields are treated by their names. */
function parsePayload(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

type Options = { showSecrets: boolean };

function maskText(text: string, field: string, isWritten: boolean, row: Row, options: Options): unknown {
  if (field === "payload") {
    const parsed = parsePayload(text);
    if (typeof parsed === "object" && parsed !== null) return maskValue(parsed, "", false, {}, 1, options);
  }
  // The address of a checkout contains its secret, and is meant to be given to a buyer.
  const isGiven = field === "url" && "client_secret" in row;
  const shown = isGiven || options.showSecrets ? text : redactText(text);
  return isWritten || isWrittenText(field) ? { untrusted: shown } : shown;
}

function maskValue(
  value: unknown,
  field: string,
  isWritten: boolean,
  row: Row,
  depth: number,
  options: Options,
): unknown {
  if (depth > depthMax) return hiddenText;
  if (typeof value === "string") return maskText(value, field, isWritten, row, options);
  if (Array.isArray(value)) return value.map((one) => maskValue(one, field, isWritten, row, depth + 1, options));
  if (typeof value !== "object" || value === null) return value;
  const inner = value as Row;
  const isMap = isWritten || mapFields.has(field);
  const entries = Object.entries(inner).flatMap(([key, one]): [string, unknown][] => {
    // Half of the fields of most objects are empty; each costs as much to read as a full one.
    if (one === null || one === undefined) return [];
    // In a map of people's own, a key that looks like a secret's is one more text of theirs.
    const isHidden = !options.showSecrets && isSecretField(key);
    if (isHidden && typeof one !== "number" && typeof one !== "boolean" && !isObject(one)) return [[key, hiddenText]];
    return [[key, maskValue(one, key, isMap, inner, depth + 1, options)]];
  });
  return Object.fromEntries(entries);
}
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/** The same answer without secrets and empty fields; text that people wrote stands in `{"untrusted": "…"}`. */
export const maskAnswer = (answer: unknown, options: Options = { showSecrets: false }): unknown =>
  maskValue(answer, "", false, {}, 0, options);
