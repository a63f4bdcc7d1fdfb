import type { TaxIdFormat } from "../../../shared/api/fields.ts";

/**
 * Checks of tax numbers that the library does otherwise than the offices that give the numbers out. Where nobody can rely on a check digit, as in Mexico and
 * Ecuador, the shape alone is checked: a wrong number that passes costs less than a real one that is refused.
 */
const getDigits = (number: string): number[] => Array.from(number, Number);
const sumWeighted = (number: string, weights: readonly number[]): number =>
  weights.reduce((sum, weight, index) => sum + weight * (getDigits(number)[index] ?? 0), 0);

/** Bulgaria's number of companies: nine digits that begin with any. */
function isBulgarianCompany(number: string): boolean {
  if (!/^\d{9}$/.test(number)) return false;
  const first = sumWeighted(number, [1, 2, 3, 4, 5, 6, 7, 8]) % 11;
  const check = first === 10 ? (sumWeighted(number, [3, 4, 5, 6, 7, 8, 9, 10]) % 11) % 10 : first;
  return Number(number[8]) === check;
}

/** Slovakia's number of taxpayers: the third digit says of which kind they are. */
const isSlovakTaxpayer = (number: string): boolean =>
  /^[1-9]\d[2-47-9]\d{7}$/.test(number) && Number(number) % 11 === 0;

/** The Czech number of sole traders without a birth number: nine digits that begin with 6. */
function isCzechSoleTrader(number: string): boolean {
  if (!/^6\d{8}$/.test(number)) return false;
  const distance = 11 - (sumWeighted(number.slice(1), [8, 7, 6, 5, 4, 3, 2]) % 11);
  return number[8] === "87654321098"[distance - 1];
}

/** Luhn's check digit is the ninth. */
function hasLuhnDigit(number: string): boolean {
  const sum = getDigits(number).reduceRight((total, digit, index) => {
    const value = (number.length - 1 - index) % 2 === 1 ? digit * 2 : digit;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Indonesia: fifteen digits of old, with a zero before them since 2024, or a person's sixteen digits. */
function isIndonesian(number: string): boolean {
  const isPersonal = number.length === 16 && !number.startsWith("0");
  return isPersonal || hasLuhnDigit(number.slice(-15, -6));
}

function isSalvadoran(number: string): boolean {
  if (!/^[019]/.test(number)) return false;
  const isOld = Number(number.slice(10, 13)) <= 100;
  const sum = sumWeighted(
    number,
    isOld ? [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2] : [2, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2],
  );
  const check = isOld ? (sum % 11) % 10 : ((11 - (sum % 11)) % 11) % 10;
  return Number(number[13]) === check;
}

/** Of formats where these decide, in place of the library. */
export const ownChecks: Readonly<Partial<Record<TaxIdFormat, (number: string) => boolean>>> = {
  bg_uic: isBulgarianCompany,
  // A province, the kind of taxpayer and a branch.
  ec_ruc: (number) => /^(0[1-9]|1\d|2[0-4]|30)[0-69]\d{7}(?!000)\d{3}$/.test(number),
  id_npwp: isIndonesian,
  // The day on which the company or the person began.
  mx_rfc: (number) => /^[A-ZÑ&]{3,4}\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])[0-9A-Z]{3}$/.test(number),
  sv_nit: isSalvadoran,
};

/** VAT numbers of the European Union that the library refuses and their countries give out. */
export const ownUnionChecks: Readonly<Record<string, (number: string) => boolean>> = {
  BG: isBulgarianCompany,
  CZ: isCzechSoleTrader,
  SK: isSlovakTaxpayer,
};
