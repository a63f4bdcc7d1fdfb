export { messages as cancellationEmail } from "./cancellation-email.ts";
export { messages as email } from "./email.ts";
export { messages as invoice } from "./invoice.ts";
export { messages as portalEmail } from "./portal-email.ts";

/** Countries whose customers read French unless they chose another language. */
export const countries: readonly string[] = ["FR", "MC"];
/** Countries that write amounts and dates in French in a way of their own. */
export const regions: readonly string[] = ["BE", "CA", "CH", "FR", "LU", "MC"];
/** How amounts and dates are written where no country says it. */
export const locale: string = "fr-FR";
