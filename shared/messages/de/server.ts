export { messages as cancellationEmail } from "./cancellation-email.ts";
export { messages as email } from "./email.ts";
export { messages as invoice } from "./invoice.ts";
export { messages as portalEmail } from "./portal-email.ts";

/** Countries whose customers read German unless they chose another language. */
export const countries: readonly string[] = ["DE", "AT", "LI"];
/** Countries that write amounts and dates in German in a way of their own. */
export const regions: readonly string[] = ["AT", "BE", "CH", "DE", "LI", "LU"];
/** How amounts and dates are written where no country says it. */
export const locale: string = "de-DE";
