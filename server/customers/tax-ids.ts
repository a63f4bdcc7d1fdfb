import type { z } from "zod";
import type { TaxId, TaxIdFormat } from "../../shared/api/fields.ts";

/** How tax numbers of a country look, once blanks and punctuation are taken out; the first that fits counts. */
const formats: Readonly<Record<string, readonly [TaxIdFormat, RegExp][]>> = {
  AD: [["ad_nrt", /^[A-Z]\d{6}[A-Z]$/]],
  AE: [["ae_trn", /^\d{15}$/]],
  AR: [["ar_cuit", /^\d{11}$/]],
  AU: [
    ["au_abn", /^\d{11}$/],
    ["au_arn", /^\d{12}$/],
  ],
  BH: [["bh_vat", /^\d{15}$/]],
  BO: [["bo_tin", /^\d{7,12}$/]],
  BR: [
    ["br_cnpj", /^\d{14}$/],
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
  DO: [["do_rcn", /^\d{9}$|^\d{11}$/]],
  EC: [["ec_ruc", /^\d{13}$/]],
  EG: [["eg_tin", /^\d{9}$/]],
  GB: [["gb_vat", /^(GB)?(\d{9}|\d{12}|GD\d{3}|HA\d{3})$/]],
  GE: [["ge_vat", /^\d{9}$/]],
  HK: [["hk_br", /^\d{8}$/]],
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
  LI: [["li_uid", /^CHE\d{9}$/]],
  MK: [["mk_vat", /^(MK)?\d{13}$/]],
  MU: [["mu_tan", /^\d{8}$/]],
  MX: [["mx_rfc", /^[A-ZÑ&]{3,4}\d{6}[0-9A-Z]{3}$/]],
  MY: [
    ["my_frp", /^\d{8}$/],
    ["my_sst", /^[A-Z]\d{2}\d{4}\d{8}$/],
    ["my_itn", /^[A-Z]{1,2}\d{9,11}$/],
  ],
  NG: [["ng_tin", /^\d{10,12}$/]],
  NO: [
    ["no_vat", /^\d{9}(MVA)?$/],
    ["no_voec", /^\d{7}$/],
  ],
  NZ: [["nz_gst", /^\d{8,9}$/]],
  OM: [["om_vat", /^OM\d{10}$/]],
  PE: [["pe_ruc", /^\d{11}$/]],
  PH: [["ph_tin", /^\d{9}$|^\d{12}$|^\d{14}$/]],
  RS: [["rs_pib", /^\d{9}$/]],
  SA: [["sa_vat", /^\d{15}$/]],
  SG: [
    ["sg_gst", /^M\d{8}[A-Z]$/],
    ["sg_uen", /^\d{8,9}[A-Z]$|^[ST]\d{2}[A-Z]{2}\d{4}[A-Z]$/],
  ],
  SV: [["sv_nit", /^\d{14}$/]],
  TH: [["th_vat", /^\d{13}$/]],
  TR: [["tr_tin", /^\d{10,11}$/]],
  TW: [["tw_vat", /^\d{8}$/]],
  UA: [["ua_vat", /^\d{8,12}$/]],
  US: [["us_ein", /^\d{9}$/]],
  UY: [["uy_ruc", /^\d{12}$/]],
  VE: [["ve_rif", /^[VEJPG]\d{9}$/]],
  VN: [["vn_tin", /^\d{10}$|^\d{13}$/]],
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

/** Greece writes itself EL in VAT numbers. */
const vatPrefix = (country: string): string => (country === "GR" ? "EL" : country);

/**
 * A tax number in the form it is kept, with its format; undefined if no number of that country looks so. Only the shape
 * is checked: whether the number was ever given out is known to the tax offices alone.
 */
export function readTaxId(number: string, country: string): z.output<typeof TaxId> | undefined {
  const plain = number.toUpperCase().replace(/[\s./-]/g, "");
  const union = unionVat[country];
  if (union) {
    const prefix = vatPrefix(country);
    const rest = plain.startsWith(prefix) ? plain.slice(prefix.length) : plain;
    return union.test(rest) ? [`${prefix}${rest}`, "eu_vat"] : undefined;
  }
  const format = formats[country]?.find(([, pattern]) => pattern.test(plain));
  return format && [plain, format[0]];
}
