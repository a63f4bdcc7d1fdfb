import { createRequire } from "node:module";
import type * as Stdnum from "stdnum";
import type { z } from "zod";
import type { TaxId, TaxIdFormat } from "../../../shared/api/fields.ts";
import { ownChecks, ownUnionChecks } from "./tax-id-checks.ts";

/** How tax numbers of a country look, once blanks and punctuation are taken out; the first that fits counts. */
const formats: Readonly<Record<string, readonly [TaxIdFormat, RegExp][]>> = {
  AD: [["ad_nrt", /^[A-Z]\d{6}[A-Z]$/]],
  AE: [["ae_trn", /^\d{15}$/]],
  AR: [["ar_cuit", /^\d{11}$/]],
  AU: [
    ["au_abn", /^\d{11}$/],
    ["au_arn", /^\d{12}$/],
  ],
  BG: [["bg_uic", /^\d{9}$/]],
  BH: [["bh_vat", /^\d{15}$/]],
  BO: [["bo_tin", /^\d{7,12}$/]],
  BR: [
    ["br_cnpj", /^[0-9A-Z]{12}\d{2}$/],
    ["br_cpf", /^\d{11}$/],
  ],
  CA: [
    ["ca_gst_hst", /^\d{9}RT\d{4}$/],
    ["ca_pst_bc", /^PST\d{8}$/],
    ["ca_pst_mb", /^\d{6}MB$/],
    ["ca_qst", /^\d{10}TQ\d{4}$/],
    ["ca_bn", /^\d{9}$/],
    ["ca_pst_sk", /^\d{7}$/],
  ],
  CH: [
    ["ch_vat", /^CHE\d{9}(MWST|TVA|IVA)$/],
    ["ch_uid", /^CHE\d{9}$/],
  ],
  CL: [["cl_tin", /^\d{7,8}[0-9K]$/]],
  CN: [["cn_tin", /^[0-9A-Z]{15,20}$/]],
  CO: [["co_nit", /^\d{9,10}$/]],
  CR: [["cr_tin", /^\d{9,12}$/]],
  DE: [["de_stn", /^\d{10,11}$|^\d{13}$/]],
  DO: [["do_rcn", /^\d{9}$|^\d{11}$/]],
  EC: [["ec_ruc", /^\d{13}$/]],
  EG: [["eg_tin", /^\d{9}$/]],
  ES: [["es_cif", /^[A-HJNP-SUVW]\d{7}[0-9A-J]$/]],
  GB: [["gb_vat", /^(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/]],
  GE: [["ge_vat", /^\d{9}$/]],
  HK: [["hk_br", /^\d{8}$/]],
  HR: [["hr_oib", /^\d{11}$/]],
  HU: [["hu_tin", /^\d{11}$/]],
  ID: [["id_npwp", /^\d{15,16}$/]],
  IL: [["il_vat", /^\d{9}$/]],
  IN: [["in_gst", /^\d{2}[A-Z]{5}\d{4}[A-Z][1-9A-Z]Z[0-9A-Z]$/]],
  IS: [["is_vat", /^\d{5,6}$/]],
  JP: [
    ["jp_trn", /^T\d{13}$/],
    ["jp_cn", /^\d{13}$/],
    ["jp_rn", /^\d{5}$/],
  ],
  KE: [["ke_pin", /^[AP]\d{9}[A-Z]$/]],
  KR: [["kr_brn", /^\d{10}$/]],
  KZ: [["kz_bin", /^\d{12}$/]],
  LI: [["li_uid", /^CHE\d{9}(MWST)?$/]],
  MK: [["mk_vat", /^\d{13}$/]],
  MU: [["mu_tan", /^\d{8}$/]],
  MX: [["mx_rfc", /^[A-ZÑ&]{3,4}\d{6}[0-9A-Z]{3}$/]],
  MY: [
    ["my_frp", /^\d{8}$/],
    ["my_sst", /^[A-Z]\d{2}\d{4}\d{8}$/],
    ["my_itn", /^[A-Z]{1,2}\d{9,11}$/],
  ],
  NG: [["ng_tin", /^\d{10,13}$/]],
  NO: [
    ["no_vat", /^\d{9}(MVA)?$/],
    ["no_voec", /^\d{7}$/],
  ],
  NZ: [["nz_gst", /^\d{8,9}$/]],
  OM: [["om_vat", /^OM\d{10}$/]],
  PE: [["pe_ruc", /^\d{11}$/]],
  PH: [["ph_tin", /^\d{9}$|^\d{12}$|^\d{14}$/]],
  RO: [["ro_tin", /^\d{13}$/]],
  RS: [["rs_pib", /^\d{9}$/]],
  RU: [
    ["ru_inn", /^\d{10}$|^\d{12}$/],
    ["ru_kpp", /^\d{4}[0-9A-Z]{2}\d{3}$/],
  ],
  SA: [["sa_vat", /^\d{15}$/]],
  SG: [
    ["sg_gst", /^M(\d{8}[A-Z]|[0-9R]\d{8})$/],
    ["sg_uen", /^\d{8,9}[A-Z]$|^[ST]\d{2}[A-Z]{2}\d{4}[A-Z]$/],
  ],
  SI: [["si_tin", /^\d{8}$/]],
  SV: [["sv_nit", /^\d{14}$/]],
  TH: [["th_vat", /^\d{13}$/]],
  TR: [["tr_tin", /^\d{10,11}$/]],
  TW: [["tw_vat", /^\d{8}$/]],
  UA: [["ua_vat", /^\d{8,12}$/]],
  US: [["us_ein", /^\d{9}$/]],
  UY: [["uy_ruc", /^\d{12}$/]],
  VE: [["ve_rif", /^[VEJPG]\d{9}$/]],
  VN: [["vn_tin", /^\d{10}$|^\d{12,13}$/]],
  ZA: [["za_vat", /^4\d{9}$/]],
};

/** VAT numbers of the European Union behind their country's letters. */
const unionVat: Readonly<Record<string, RegExp>> = {
  AT: /^U\d{8}$/,
  BE: /^[01]\d{9}$/,
  BG: /^\d{9,10}$/,
  CY: /^\d{8}[A-Z]$/,
  CZ: /^\d{8,10}$/,
  DE: /^\d{9}$/,
  DK: /^\d{8}$/,
  EE: /^\d{9}$/,
  ES: /^[A-Z0-9]\d{7}[A-Z0-9]$/,
  FI: /^\d{8}$/,
  FR: /^[A-HJ-NP-Z0-9]{2}\d{9}$/,
  GR: /^\d{9}$/,
  HR: /^\d{11}$/,
  HU: /^\d{8}$/,
  IE: /^\d[A-Z0-9+*]\d{5}[A-Z]{1,2}$/,
  IT: /^\d{11}$/,
  LT: /^\d{9}$|^\d{12}$/,
  LU: /^\d{8}$/,
  LV: /^\d{11}$/,
  MT: /^\d{8}$/,
  NL: /^[A-Z0-9+*]{9}B[A-Z0-9+*]{2}$/,
  PL: /^\d{10}$/,
  PT: /^\d{9}$/,
  RO: /^\d{2,10}$/,
  SE: /^\d{12}$/,
  SI: /^\d{8}$/,
  SK: /^\d{10}$/,
};

/**
 * What knows a format's check digits: the library's names of its validators, by country, of which one must agree. Formats
 * that are not here have none, or none that is published; of those the pattern is all that can be checked.
 */
const checked: Readonly<Partial<Record<TaxIdFormat, readonly string[]>>> = {
  ad_nrt: ["AD.nrt"],
  ar_cuit: ["AR.cuit"],
  au_abn: ["AU.abn"],
  br_cnpj: ["BR.cnpj"],
  br_cpf: ["BR.cpf"],
  ca_bn: ["CA.bn"],
  ca_gst_hst: ["CA.gst"],
  ca_qst: ["CA.qst"],
  ch_uid: ["CH.uid"],
  ch_vat: ["CH.vat"],
  cl_tin: ["CL.rut"],
  co_nit: ["CO.nit"],
  cr_tin: ["CR.cpf", "CR.cpj", "CR.cr"],
  de_stn: ["DE.stnr", "DE.idnr"],
  do_rcn: ["DO.rnc", "DO.cedula"],
  eg_tin: ["EG.tn"],
  es_cif: ["ES.cif"],
  gb_vat: ["GB.vat"],
  hr_oib: ["HR.oib"],
  hu_tin: ["HU.anum"],
  il_vat: ["IL.hp", "IL.idnr"],
  in_gst: ["IN.gstin"],
  is_vat: ["IS.vsk"],
  jp_cn: ["JP.cn"],
  ke_pin: ["KE.pin"],
  kr_brn: ["KR.brn"],
  // Liechtenstein's companies are in the Swiss register.
  li_uid: ["CH.uid"],
  mk_vat: ["MK.edb"],
  no_vat: ["NO.orgnr"],
  nz_gst: ["NZ.ird"],
  pe_ruc: ["PE.ruc"],
  ro_tin: ["RO.cnp"],
  rs_pib: ["RS.pib"],
  ru_inn: ["RU.inn"],
  sg_uen: ["SG.uen"],
  si_tin: ["SI.ddv"],
  th_vat: ["TH.tin", "TH.moa", "TH.idnr"],
  tr_tin: ["TR.vkn", "TR.tckimlik"],
  tw_vat: ["TW.ubn"],
  us_ein: ["US.ein"],
  uy_ruc: ["UY.rut"],
  ve_rif: ["VE.rif"],
  vn_tin: ["VN.mst"],
  za_vat: ["ZA.vat"],
};
/** What of a number the check digits are over, where that is not all of it. */
const core: Readonly<Partial<Record<TaxIdFormat, (number: string) => string>>> = {
  // The VAT number, before the kind of taxation and the county.
  hu_tin: (number) => number.slice(0, 8),
  li_uid: (number) => number.replace(/MWST$/, ""),
  no_vat: (number) => number.replace(/MVA$/, ""),
};

let loaded: typeof Stdnum | undefined;
/** Loaded at the first tax number, since it would add a tenth of a second to every start. */
function loadLibrary(): typeof Stdnum {
  loaded ??= createRequire(import.meta.url)("stdnum") as typeof Stdnum;
  return loaded;
}

const isValid = (format: TaxIdFormat, number: string): boolean => {
  const check = ownChecks[format];
  if (check) return check(number);
  // The number of a person in Vietnam, which is their tax number since July 2025, has no check digit.
  if (format === "vn_tin" && number.length === 12) return true;
  const names = checked[format];
  if (!names) return true;
  const plain = core[format]?.(number) ?? number;
  return names.some((name) => {
    const [country = "", kind = ""] = name.split(".");
    return loadLibrary().stdnum[country]?.[kind]?.validate(plain).isValid;
  });
};

/** Greece writes itself EL in VAT numbers. */
export const getVatPrefix = (country: string): string => (country === "GR" ? "EL" : country);
const isUnionVat = (country: string, rest: string): boolean =>
  Boolean(
    unionVat[country]?.test(rest) &&
      (ownUnionChecks[country]?.(rest) ||
        loadLibrary().euVat[country]?.some((validator) => validator.validate(rest).isValid)),
  );
/** Whose numbers companies have in a country without its own. */
const numberedAs: Readonly<Record<string, string>> = { IM: "GB", MC: "FR" };
/** A British number of Northern Ireland's, where the union knows it. */
const northern = /^XI(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/;
/** Given by a member state to a seller outside of the union, or by one to an intermediary. */
const oneStopShop = /^(EU\d{9}|IM\d{10})$/;

const findFormat = (country: string, number: string): TaxIdFormat | undefined =>
  formats[country]?.find(([format, pattern]) => pattern.test(number) && isValid(format, number))?.[0];

/** Whether any numbers of a country's can be told from others. */
export const hasTaxIdFormats = (country: string): boolean =>
  Object.hasOwn(formats, country) || Object.hasOwn(unionVat, country);

/**
 * A tax number in the form it is kept, with its format; undefined if no number of that country is made so. Its shape and
 * its check digits are looked at: whether it was ever given out is known to the tax offices alone. In the European Union a
 * number without its country's letters is that country's own one where it can be, and else its VAT number.
 */
export function readTaxId(number: string, address_country: string): z.output<typeof TaxId> | undefined {
  const country = numberedAs[address_country] ?? address_country;
  const plain = number.toUpperCase().replace(/[\s./-]/g, "");
  const prefix = getVatPrefix(country);
  const isVat = plain.startsWith(prefix);
  const rest = unionVat[country] && isVat ? plain.slice(prefix.length) : plain;
  if (unionVat[country] && isVat && isUnionVat(country, rest)) return [`${prefix}${rest}`, "eu_vat"];
  if (country === "GB" && northern.test(plain) && isValid("gb_vat", plain.slice(2))) return [plain, "eu_vat"];
  const own = findFormat(country, plain) ?? (isVat ? findFormat(country, plain.slice(prefix.length)) : undefined);
  if (own) return [plain, own];
  if (isUnionVat(country, rest)) return [`${prefix}${rest}`, "eu_vat"];
  return oneStopShop.test(plain) ? [plain, "eu_oss_vat"] : undefined;
}
