import { APIError, isAPIError } from "better-auth/api";
import { getCode } from "../../../../shared/errors.ts";

type Json = Record<string, unknown>;

const standardTexts: Record<number, string> = {
  // Only calls that need somebody signed in answer it without a text of their own.
  401: "Session not found",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  413: "Request body is too large",
  415: "Unsupported media type",
  429: "Too many requests",
  500: "Internal server error",
};

export const invalidBody = { code: "VALIDATION_ERROR", message: "Invalid body parameters" };
export const invalidQuery = { code: "VALIDATION_ERROR", message: "Invalid query parameters" };

/** A code as the message that it is of. */
const getWords = (code: string): string => code.charAt(0) + code.slice(1).toLowerCase().replaceAll("_", " ");

/** Where the catalogue's words or status are not better-auth's. */
const rewritten: Record<string, { message?: string; status?: number }> = {
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: { message: "User already exists" },
  USER_ALREADY_EXISTS: { message: "User already exists" },
  PASSWORD_ALREADY_SET: { message: "user already has a password" },
  EMAIL_MISMATCH: { message: "You can only send a verification email to your own email" },
  EMAIL_ALREADY_VERIFIED: { message: "You can only send a verification email to an unverified email" },
  SESSION_NOT_FRESH: { status: 400 },
  UNAUTHORIZED: { message: "Session not found" },
};
/** What some calls say to whom nobody is signed in, who is told so by each in the same words. */
const withoutSession = "Missing session headers, or email query parameter.";
const signedOut = new Set(["User not found", "Not authenticated", withoutSession]);
/** better-auth's codes of messages in the catalogue, where a code is the message in capitals. */
const derived = new Set([
  ...Object.keys(rewritten),
  "EMAIL_PASSWORD_DISABLED",
  "EMAIL_PASSWORD_SIGN_UP_DISABLED",
  "FIELD_NOT_ALLOWED",
  "MISSING_FIELD",
  "RESET_PASSWORD_DISABLED",
  "CHANGE_EMAIL_DISABLED",
  "VERIFICATION_EMAIL_NOT_ENABLED",
  "SESSION_EXPIRED",
  "LINKING_NOT_ALLOWED",
  "LINKING_DIFFERENT_EMAILS_NOT_ALLOWED",
  "LINKING_FAILED",
  "FAILED_TO_UNLINK_LAST_ACCOUNT",
  "USER_ID_OR_SESSION_REQUIRED",
  "PROVIDER_NOT_SUPPORTED",
  "TOKEN_REFRESH_NOT_SUPPORTED",
  "FAILED_TO_GET_ACCESS_TOKEN",
  "FAILED_TO_REFRESH_ACCESS_TOKEN",
  "CALLBACK_URL_REQUIRED",
  "INVALID_CALLBACK_URL",
  "INVALID_REDIRECT_URL",
  "INVALID_ERROR_CALLBACK_URL",
  "INVALID_NEW_USER_CALLBACK_URL",
]);
/** What a fault is called, where it has a name of its own. */
const named: [RegExp, string][] = [
  [/^\[body\.(email|newEmail)\] Invalid email address$/, "Invalid email"],
  [/^\[query\.callbackURL\] Invalid input: expected string, received undefined$/, "callbackURL is required"],
  [/^Headers is required$/, "Headers is required"],
  [/^Request is required$/, "Request is required"],
];

/**
 * The account side's error answer in the documented shape: always `{ code, message }`, the texts of the catalogue. The code
 * is always the message in capitals: where published clients know a code of another message, the message is the code's
 * words, and what was to be said stands in `detail`.
 */
export function mapError(status: number, body: unknown): Json {
  const given: Json = typeof body === "object" && body !== null ? { ...body } : {};
  const code = typeof given.code === "string" ? given.code : undefined;
  const text = typeof given.message === "string" && given.message !== "" ? given.message : undefined;
  if (code === "VALIDATION_ERROR") return mapInvalid(given, text ?? "");
  if (text === "Invalid JSON in request body") return { ...invalidBody, detail: "not valid JSON." };
  const known = status === 401 && signedOut.has(text ?? "") ? "UNAUTHORIZED" : code;
  const message = rewritten[known ?? ""]?.message ?? text ?? standardTexts[status] ?? "Error";
  if (known === undefined || derived.has(known) || known === getCode(message))
    return { ...given, message, code: getCode(message) };
  return { detail: message, ...given, message: getWords(known), code: known };
}

function mapInvalid(given: Json, text: string): Json {
  const [, name] = named.find(([shape]) => shape.test(text)) ?? [];
  if (name !== undefined) return { ...given, message: name, code: getCode(name) };
  const known = text === invalidBody.message || text === invalidQuery.message;
  if (known) return given;
  const isQuery = text.startsWith("[query") || text.startsWith(invalidQuery.message);
  const message = isQuery ? invalidQuery.message : invalidBody.message;
  return { ...given, message, detail: text.replace(/^Invalid (body|query) parameters: /, "") };
}

/** The status that the catalogue gives an error. */
export function mapStatus(status: number, body: unknown): number {
  const { code, message } = (typeof body === "object" && body !== null ? body : {}) as {
    code?: unknown;
    message?: unknown;
  };
  if (message === withoutSession) return 401;
  return (typeof code === "string" ? rewritten[code]?.status : undefined) ?? status;
}

const verifyCodes = new Map([["INVALID_USER", "unauthorized"]]);
const callbackCodes = new Map([
  // Another request of the same person's made the account in the same moment: starting again finds it.
  ["email_does_not_match", "email_doesn't_match"],
  ["account_not_linked", "unable_to_link_account"],
  ["unable_to_create_user", "please_restart_the_process"],
  ["unable_to_update_account", "internal_server_error"],
  ["unable_to_create_session", "internal_server_error"],
  ["issuer_mismatch", "invalid_callback_request"],
  ["nonce_binding_missing", "invalid_callback_request"],
  ["state_invalid", "state_mismatch"],
]);

/** A redirect's error code as the catalogue has it. */
export function mapLocation(location: string, path: string): string {
  const isCallback = path.startsWith("/callback/");
  if (!isCallback && path !== "/verify-email") return location;
  // The last one is ours; an address to return to may have its own.
  return location.replace(/^(.*[?&]error=)([A-Za-z_]+)/s, (_, lead: string, code: string) => {
    const known = (isCallback ? callbackCodes : verifyCodes).get(code);
    return `${lead}${known ?? code.toLowerCase()}`;
  });
}

/** A call within this process that fails in the catalogue's words too. */
export const mapErrors =
  <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
  async (...given: A): Promise<R> => {
    try {
      return await call(...given);
    } catch (error) {
      if (!isAPIError(error)) throw error;
      throw new APIError(error.status, mapError(error.statusCode, error.body));
    }
  };
