/** Names of fields that open something, as a pattern. */
const names =
  "secret|client_secret|token|key|lease|license_key|guild_token|user_provided_key|password|customer_portal_url|upload|download_url|\\w+_token|\\w+_secret";
const secretName = new RegExp(`^(?:${names})$`);
/**
 * Such a field with a value, in JSON or in JSON that is a text of other JSON. The address of a download or of a receiver opens
 * something, and the payload of an event can hold anything.
 */
const secretInJson = new RegExp(`"(?:${names}|download|url|payload)\\\\?":(?!null\\b)`);
/** A token or a signing secret, wherever it stands. */
const secretPattern = /\b(?:(?:polar|floe)_[a-z]{2,5}|whsec|sk_live|sk_test|rk_live|rk_test)_[\w-]{6,}/g;

/** Whether a field of this name opens something. */
export const isSecretField = (field: string): boolean => secretName.test(field);

/** Replace each token in the text. */
export const replaceSecrets = (text: string, by: string): string => text.replaceAll(secretPattern, by);

/** Whether an answer, as JSON, may contain something that opens something. */
export const hasPossibleSecret = (json: string): boolean => secretInJson.test(json) || json.search(secretPattern) >= 0;
