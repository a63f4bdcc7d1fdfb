import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";

/** Listed first: guards that must act before other plugins look at a request. */
export const compat = () =>
  ({
    id: "floe-compat",
    hooks: {
      before: [
        {
          // A request without a body would make a later plugin fail with a 500.
          matcher: ({ path }) => path === "/sign-up/email" || path === "/sign-in/email" || path === "/delete-user",
          handler: createAuthMiddleware(async (ctx) => {
            if (typeof ctx.body === "object" && ctx.body !== null) return;
            throw new APIError("BAD_REQUEST", { code: "VALIDATION_ERROR", message: "Invalid body parameters" });
          }),
        },
        {
          // The creation of a team or an organization takes a blank name; nobody can find such a thing again.
          matcher: ({ path }) => path === "/organization/create" || path === "/organization/create-team",
          handler: createAuthMiddleware(async (ctx) => {
            const name: unknown = ctx.body?.name;
            if (typeof name !== "string" || name.trim() !== "") return;
            throw new APIError("BAD_REQUEST", { code: "VALIDATION_ERROR", message: "Invalid body parameters" });
          }),
        },
      ],
      after: [
        {
          // Stored as text, it comes back as text from these; callers sent an object.
          matcher: ({ path }) => path?.startsWith("/organization/") ?? false,
          handler: createAuthMiddleware(async (ctx) => {
            const answer: unknown = ctx.context.returned;
            const parsed = withMetadata(answer);
            if (parsed !== answer) ctx.context.returned = parsed;
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;

function withMetadata(answer: unknown): unknown {
  if (Array.isArray(answer) && answer.some((item) => withMetadata(item) !== item)) return answer.map(withMetadata);
  if (typeof answer !== "object" || answer === null || !("metadata" in answer) || typeof answer.metadata !== "string") return answer;
  try {
    return { ...answer, metadata: JSON.parse(answer.metadata) };
  } catch {
    return answer;
  }
}
