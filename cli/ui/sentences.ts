/** Prices and benefits of one thing as sentences; tables have them in few characters. */
import { describeBenefit, readTerms } from "../../shared/benefit-text.ts";
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { removeControls } from "./theme.ts";

type Row = Record<string, unknown>;
const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);
const listRows = (value: unknown): Row[] => (Array.isArray(value) ? value : []).filter(isRow);

/** How often a price is paid: ` a month`, ` every 3 months`, nothing where it is paid once. */
function formatInterval(interval: unknown, count: unknown): string {
  if (typeof interval !== "string") return "";
  const word = removeControls(interval);
  return typeof count === "number" && count > 1 ? ` every ${count} ${word}s` : ` a ${word}`;
}

/** What seats cost: each tier by its reach. Of graduated tiers each seat has the price of its own tier. */
function describeSeats({ seat_tiers }: Row, formatAmount: (amount: unknown) => string, every: string): string {
  const isGraduated = isRow(seat_tiers) && seat_tiers.seat_tier_type === "graduated";
  const tiers = listRows(isRow(seat_tiers) ? seat_tiers.tiers : []);
  return tiers
    .map(({ min_seats, max_seats, price_per_seat }) => {
      const price = `${formatAmount(price_per_seat)} per seat${every}`;
      if (tiers.length === 1 && max_seats === null) return price;
      const [from, to] = [String(min_seats), typeof max_seats === "number" ? String(max_seats) : undefined];
      if (isGraduated) return `${price} ${to ? `for seats ${from} to ${to}` : `from seat ${from} on`}`;
      return `${price} for ${to ? `${from} to ${to} seats` : `${from} seats or more`}`;
    })
    .join("\n");
}

/** One price in a sentence. */
function describePrice(price: Row, interval_count: unknown): string {
  const { amount_type: type, price_currency: currency, recurring_interval: interval, meter } = price;
  if (typeof currency !== "string" || !/^[a-z]{3}$/i.test(currency)) return removeControls(String(type));
  const every = formatInterval(interval, interval_count);
  const formatAmount = (amount: unknown): string => (typeof amount === "number" ? formatMoney(amount, currency) : "?");
  if (type === "free" || price.price_amount === 0) return "free";
  if (type === "custom") return `what the buyer chooses, from ${formatAmount(price.minimum_amount ?? 0)} on${every}`;
  if (type === "seat_based") return describeSeats(price, formatAmount, every);
  if (type === "metered_unit") {
    const unit = isRow(meter) && typeof meter.name === "string" ? `unit of ${removeControls(meter.name)}` : "unit";
    const cap = typeof price.cap_amount === "number" ? `, at most ${formatAmount(price.cap_amount)}${every}` : "";
    return `${formatUnitMoney(String(price.unit_amount), currency)} per ${unit}${cap}`;
  }
  return `${formatAmount(price.price_amount)}${every}`;
}

/** The prices of a product that are in use, each on a line. */
export function describePrices(prices: unknown, { recurring_interval_count }: Row): string {
  return listRows(prices)
    .filter(({ is_archived }) => is_archived !== true)
    .map((price) => describePrice(price, recurring_interval_count))
    .join("\n");
}

/** What a benefit gives, from its properties; undefined where they say nothing. */
export function describeProperties(type: string, properties: Row): string | undefined {
  const getText = (key: string): string => removeControls(String(properties[key] ?? ""));
  if (type === "github_repository")
    return `${getText("permission")} access to ${getText("repository_owner")}/${getText("repository_name")} on GitHub`;
  if (type === "discord") return `role ${getText("role_id")} on Discord`;
  if (type === "custom") return getText("note") || undefined;
  if (type === "meter_credit" && typeof properties.units === "number") {
    const rollover = properties.rollover === true ? ", unused ones carry over" : "";
    return `${properties.units.toLocaleString("en-US")} units${rollover}`;
  }
  const sentence = describeBenefit({ type, terms: readTerms(type, properties) });
  const prefix = type === "license_keys" ? getText("prefix") : "";
  return sentence && prefix ? `${sentence}, beginning with ${prefix}` : sentence;
}

/** The benefits of a product, each on a line: its description, and what it gives. */
export const describeBenefits = (benefits: readonly Row[]): string =>
  benefits
    .map(({ description, type, properties }) => {
      const gives = isRow(properties) ? describeProperties(String(type), properties) : undefined;
      return [removeControls(String(description)), ...(gives ? [gives] : [])].join(": ");
    })
    .join("\n");

/** Whether a value is a list of benefits with what they give. */
export const isBenefitList = (value: unknown): value is Row[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => isRow(one) && "type" in one && "properties" in one);
