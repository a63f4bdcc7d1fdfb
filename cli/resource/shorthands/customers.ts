/** Customers as people write them. */
import { rejectText, type Shorthand } from "../shorthand.ts";

const defineLine = (name: string, description: string): Shorthand => ({
  flag: name.replaceAll("_", "-"),
  kind: "text",
  description: `billing address: ${description}`,
  writes: [`billing_address.${name}`],
});

/** What is typed for a customer. */
export const customers: Record<string, Shorthand> = {
  line1: defineLine("line1", "street and number"),
  line2: defineLine("line2", "second line"),
  postal_code: defineLine("postal_code", "postal code"),
  city: defineLine("city", "city"),
  state: defineLine("state", "state or province, for the US and Canada as NY"),
  country: {
    ...defineLine("country", "country, two letters as DE"),
    placeholder: "DE",
    read: (text) =>
      /^[a-z]{2}$/i.test(text.trim())
        ? { billing_address: { country: text.trim().toUpperCase() } }
        : rejectText(text, "is no country", "Write its two letters of ISO 3166-1, such as DE, US or GB."),
  },
  tax_id: {
    flag: "tax-id",
    placeholder: "number",
    kind: "text",
    description: "tax number, as DE123456789; needs the country of a billing address",
    writes: ["tax_id"],
  },
};
