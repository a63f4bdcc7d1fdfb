export { messages as cancellationEmail } from "./cancellation-email.ts";
export { messages as email } from "./email.ts";
export { messages as invoice } from "./invoice.ts";
export { messages as portalEmail } from "./portal-email.ts";

/** Countries whose customers read English unless they chose another language. */
export const countries: readonly string[] = [];
