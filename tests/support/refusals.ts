/** A message in capitals: what the code of every refusal of the account side is (product.md 8). */
export const codeOf = (message: string): string =>
  message
    .replace(/[^A-Za-z0-9_ ]/g, "")
    .trim()
    .replace(/ +/g, "_")
    .toUpperCase();

/** Every refusal of the account side that any test meets is of one shape: a code and its message, or OAuth's own. */
export function checkRefusal(path: string, status: number, json: unknown): void {
  if (status < 400 || !new URL(path, "http://x").pathname.startsWith("/api/auth/")) return;
  const { code, message, error } = (json ?? {}) as { code?: unknown; message?: unknown; error?: unknown };
  if (/\/device|\/oauth2\//.test(path) && typeof error === "string") return;
  const fixed = { code: "VALIDATION_ERROR", messages: ["Invalid body parameters", "Invalid query parameters"] };
  if (code === fixed.code && fixed.messages.includes(String(message))) return;
  if (typeof code === "string" && typeof message === "string" && code !== "" && code === codeOf(message)) return;
  throw new Error(`${path} is refused in another shape: ${status} ${JSON.stringify(json)}`);
}
