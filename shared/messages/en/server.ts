export { messages as cancellationEmail } from "./cancellation-email.ts";
export { messages as email } from "./email.ts";
export { messages as invoice } from "./invoice.ts";
export { messages as portalEmail } from "./portal-email.ts";

/** Countries whose customers read English unless they chose another language. */
export const countries: readonly string[] = [];
/** Countries that write amounts and dates in English in a way of their own. */
export const regions: readonly string[] = ["AU", "CA", "GB", "IE", "IN", "MT", "NZ", "SG", "US", "ZA"];
/** How amounts and dates are written where no country says it. */
export const locale: string = "en-GB";
