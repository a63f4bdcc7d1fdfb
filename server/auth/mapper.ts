type Json = Record<string, unknown>;

const standardTexts: Record<number, string> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  415: "Unsupported media type",
  429: "Too many requests",
  500: "Internal server error",
};

export const invalidBody = { code: "VALIDATION_ERROR", message: "Invalid body parameters" };
export const invalidQuery = { code: "VALIDATION_ERROR", message: "Invalid query parameters" };

/** An error's code is its message in capitals, unless it has one that callers know. */
const codeOf = (message: string): string =>
  message
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^_|_$/g, "");

const verifyCodes: Record<string, string> = {
  TOKEN_EXPIRED: "token_expired",
  INVALID_TOKEN: "invalid_token",
  USER_NOT_FOUND: "user_not_found",
  INVALID_USER: "unauthorized",
};

/** The account side's error answer in the documented shape: always `{ code, message }`, the texts of the catalogue. */
export function mapError(status: number, body: unknown): Json {
  const given: Json = typeof body === "object" && body !== null ? { ...body } : {};
  const message =
    typeof given.message === "string" && given.message !== "" ? given.message : (standardTexts[status] ?? "Error");
  if (given.code === "VALIDATION_ERROR") {
    const where = message.startsWith("[query") ? "query" : "body";
    const known = message === "Invalid body parameters" || message === "Invalid query parameters";
    return {
      ...given,
      message: known ? message : `Invalid ${where} parameters`,
      ...(known ? {} : { detail: message }),
    };
  }
  return { ...given, message, code: typeof given.code === "string" ? given.code : codeOf(message) };
}

/** A redirect's error code as the catalogue has it. */
export function mapLocation(location: string, path: string): string {
  if (path !== "/verify-email") return location.replace("error=email_does_not_match", "error=email_doesn't_match");
  return location.replace(
    /([?&]error=)([A-Z_]+)/,
    (_, lead: string, code: string) => `${lead}${verifyCodes[code] ?? code.toLowerCase()}`,
  );
}
