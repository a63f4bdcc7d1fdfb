import type { BenefitRow } from "../../catalog/benefits/rules.ts";
import type { EmailContent } from "../../platform/mail-transport/email-layout.ts";
import type { EmailLocale } from "./rules.ts";

/** How many benefits a mail names; the others are in the portal, too. */
const listedMax = 20;

/**
 * What the customer has of a product, and how they get each benefit. The benefits of seats belong to the people who take the
 * seats, so the payer reads how to assign them. Undefined if there is nothing to name.
 */
export function describeDelivery(
  benefits: readonly BenefitRow[],
  seats: number | null,
  { messages, number }: Pick<EmailLocale, "messages" | "number">,
): EmailContent["delivery"] {
  const how = messages.how_to_get;
  const items = benefits.slice(0, listedMax).map(({ type, description, properties }) => {
    if (seats !== null) return { label: description, text: how.seat_holder };
    if (type === "meter_credit" && "units" in properties)
      return { label: description, text: how.meter_credit(number(properties.units)) };
    return { label: description, text: type === "meter_credit" ? null : how[type] };
  });
  if (seats !== null) items.unshift({ label: how.seat_count(seats), text: how.seats });
  return items.length === 0 ? undefined : { caption: messages.what_you_have, items };
}
