import type { CheckoutMessages } from "../shared/messages/en/checkout.ts";

/** What a card form must know of cards: how they are written, and which are plainly mistyped. */

type Brand = { name: string; pattern: RegExp; groups: readonly number[]; lengths: readonly number[]; cvc: number };

const fours = [4, 4, 4, 4, 3] as const;
const other: Brand = { name: "", pattern: /^/, groups: fours, lengths: [12, 13, 14, 15, 16, 17, 18, 19], cvc: 3 };
const brands: readonly Brand[] = [
  { name: "Visa", pattern: /^4/, groups: fours, lengths: [13, 16, 19], cvc: 3 },
  { name: "Mastercard", pattern: /^(5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720))/, groups: fours, lengths: [16], cvc: 3 },
  { name: "Amex", pattern: /^3[47]/, groups: [4, 6, 5], lengths: [15], cvc: 4 },
  { name: "Diners", pattern: /^3(0|[68-9])/, groups: [4, 6, 4], lengths: [14, 16], cvc: 3 },
  { name: "Discover", pattern: /^6(011|4[4-9]|5)/, groups: fours, lengths: [16, 19], cvc: 3 },
  { name: "JCB", pattern: /^35(2[89]|[3-8])/, groups: fours, lengths: [16, 19], cvc: 3 },
  { name: "UnionPay", pattern: /^62/, groups: fours, lengths: [16, 17, 18, 19], cvc: 3 },
];

/** Only the digits of a text. */
export const readDigits = (text: string): string => text.replace(/\D/g, "");

/** The brand that a number begins like; its `name` is empty while that is not known. */
export const findBrand = (number: string): Brand =>
  brands.find(({ pattern }) => pattern.test(readDigits(number))) ?? other;

/** A card number in the groups printed on the card. */
export function formatNumber(text: string): string {
  const { groups, lengths } = findBrand(text);
  let rest = readDigits(text).slice(0, Math.max(...lengths));
  const parts: string[] = [];
  for (const size of groups) {
    if (rest === "") break;
    parts.push(rest.slice(0, size));
    rest = rest.slice(size);
  }
  return [...parts, rest].filter((part) => part !== "").join(" ");
}

/** An expiry date as `MM / YY`; understands `5/27` and the `05/2027` that browsers fill in. */
export function formatExpiry(text: string): string {
  const split = /^\s*(\d)\s*\//.exec(text);
  const digits = split ? `0${readDigits(text)}` : readDigits(text);
  const padded = /^[2-9]/.test(digits) ? `0${digits}` : digits;
  const month = padded.slice(0, 2);
  const year = padded.length === 6 && padded.slice(2, 4) === "20" ? padded.slice(4) : padded.slice(2, 4);
  return year === "" ? month : `${month} / ${year}`;
}

/** Month and four-digit year of a complete expiry date. */
export function readExpiry(text: string): { exp_month: number; exp_year: number } | undefined {
  const digits = readDigits(text);
  const exp_month = Number(digits.slice(0, 2));
  if (digits.length !== 4 || exp_month < 1 || exp_month > 12) return undefined;
  return { exp_month, exp_year: 2000 + Number(digits.slice(2)) };
}

/** The check digit that catches most slips of the finger (ISO/IEC 7812). */
function hasValidChecksum(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

type CardValues = { card_number: string; card_expiry: string; card_cvc: string };

/** What is plainly wrong with a card as typed, by field; the processor has the last word on the rest. */
export function findCardFaults(card: CardValues, messages: CheckoutMessages, today = new Date()) {
  const digits = readDigits(card.card_number);
  const { lengths, cvc } = findBrand(digits);
  const faults: Partial<CardValues> = {};
  if (digits === "") faults.card_number = messages.missing.card_number;
  else if (!lengths.includes(digits.length)) faults.card_number = messages.card_incomplete;
  else if (!hasValidChecksum(digits)) faults.card_number = messages.card_wrong;

  const expiry = readExpiry(card.card_expiry);
  if (card.card_expiry.trim() === "") faults.card_expiry = messages.missing.card_expiry;
  else if (!expiry) faults.card_expiry = messages.use_form;
  else if (expiry.exp_year * 12 + expiry.exp_month < today.getFullYear() * 12 + today.getMonth() + 1) {
    faults.card_expiry = messages.card_expired;
  }

  const security = readDigits(card.card_cvc);
  if (security === "") faults.card_cvc = messages.missing.card_cvc;
  else if (security.length < 3 || security.length > 4 || (digits !== "" && security.length < cvc)) {
    faults.card_cvc = messages.code_digits(cvc);
  }
  return faults;
}

/** A card as its owner knows it. */
export const formatCard = ({ brand, last4 }: { brand: string; last4: string }): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)} •••• ${last4}`;
