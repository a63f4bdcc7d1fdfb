import { describe, expect, test } from "vitest";
import { readTaxId } from "../../server/customers/customers/tax-ids.ts";
import { type TaxIdFormat, taxIdFormats } from "../../shared/api/fields.ts";

/**
 * Each format: a country, a number as people write it, and one that is wrong: by its check digits where those are known,
 * which is told by the number being of the right shape, and by its shape elsewhere. Most numbers are published examples.
 */
const formats: Record<TaxIdFormat, [country: string, good: string, bad: string]> = {
  ad_nrt: ["AD", "U-132950-X", "B-132950-X"],
  ae_trn: ["AE", "100 1234 5678 9012", "100 1234 5678 901"],
  ar_cuit: ["AR", "20-05536168-2", "20-05536168-3"],
  au_abn: ["AU", "83 914 571 673", "99 999 999 999"],
  au_arn: ["AU", "123 456 789 123", "123 456 789 1234"],
  bg_uic: ["BG", "175 074 752", "175 074 754"],
  bh_vat: ["BH", "123456789012345", "12345678901234"],
  bo_tin: ["BO", "123456789", "123456"],
  br_cnpj: ["BR", "16.727.230/0001-97", "16.727.230/0001-98"],
  br_cpf: ["BR", "390.533.447-05", "231.002.999-00"],
  ca_bn: ["CA", "12302 6635", "123456783"],
  ca_gst_hst: ["CA", "754039725 RT 0001", "754039729 RT 0001"],
  ca_pst_bc: ["CA", "PST-1234-5678", "PST-1234-567"],
  ca_pst_mb: ["CA", "123456-MB", "12345-MB"],
  ca_pst_sk: ["CA", "1234567", "123456"],
  ca_qst: ["CA", "1224002901 TQ 0001", "1224002902 TQ 0001"],
  ch_uid: ["CH", "CHE-100.155.212", "CHE-100.155.211"],
  ch_vat: ["CH", "CHE-107.787.577 IVA", "CHE-107.787.578 IVA"],
  cl_tin: ["CL", "76086428-5", "76086428-6"],
  cn_tin: ["CN", "91110000600037341L", "911100"],
  co_nit: ["CO", "213.123.432-1", "213.123.432-5"],
  cr_tin: ["CR", "3-101-999999", "3-534-123559"],
  de_stn: ["DE", "36574261809", "365742618"],
  do_rcn: ["DO", "1-01-85004-3", "1-01-85004-2"],
  ec_ruc: ["EC", "1792060346-001", "9992060346-001"],
  eg_tin: ["EG", "100-531-385", "100-531-38"],
  es_cif: ["ES", "A-58818501", "A-58818502"],
  eu_oss_vat: ["US", "EU372022452", "EU37202245"],
  eu_vat: ["FR", "FR 40 303 265 045", "FR 41 303 265 045"],
  gb_vat: ["GB", "GB 980 7806 84", "GB 802 3117 81"],
  ge_vat: ["GE", "123456789", "12345678"],
  hk_br: ["HK", "12345678", "1234567"],
  hr_oib: ["HR", "33392005961", "33392005962"],
  hu_tin: ["HU", "12892312-2-42", "12892313-2-42"],
  id_npwp: ["ID", "01.312.166.0-091.000", "21.609.052.4-017.001"],
  il_vat: ["IL", "516179157", "516179158"],
  in_gst: ["IN", "27AAPFU0939F1ZV", "27AAPFU0939F1Z0"],
  is_vat: ["IS", "00621", "0062199"],
  jp_cn: ["JP", "5-8356-7825-6246", "2-8356-7825-6246"],
  jp_rn: ["JP", "12345", "1234"],
  jp_trn: ["JP", "T1234567890123", "T123456789012"],
  ke_pin: ["KE", "P051365947M", "P05136594M7"],
  kr_brn: ["KR", "116-82-00276", "116-82-00278"],
  kz_bin: ["KZ", "123456789012", "12345678901"],
  li_uid: ["LI", "CHE-100.155.212", "CHE-100.155.211"],
  mk_vat: ["MK", "MK4030000375897", "MK4057019547840"],
  mu_tan: ["MU", "12345678", "1234567"],
  mx_rfc: ["MX", "GODE 561231 GR8", "GODE 561331 GR8"],
  my_frp: ["MY", "12345678", "1234567"],
  my_itn: ["MY", "C 1234567890", "CAB 1234567890"],
  my_sst: ["MY", "A12-3456-78912345", "A12-3456-7891234"],
  ng_tin: ["NG", "12345678-0001", "12345678"],
  no_vat: ["NO", "988 077 917 MVA", "988 077 918 MVA"],
  no_voec: ["NO", "2021234", "20212345"],
  nz_gst: ["NZ", "49-091-850", "49-091-851"],
  om_vat: ["OM", "OM1234567890", "OM123456789"],
  pe_ruc: ["PE", "20512333797", "20512333798"],
  ph_tin: ["PH", "123456789012", "1234567890"],
  ro_tin: ["RO", "1630615123457", "1630615123458"],
  rs_pib: ["RS", "101134702", "101134701"],
  ru_inn: ["RU", "123456789047", "123456789037"],
  ru_kpp: ["RU", "770801001", "7708010"],
  sa_vat: ["SA", "123456789012345", "12345678901234"],
  sg_gst: ["SG", "M12345678X", "M1234567X"],
  sg_uen: ["SG", "197401143C", "197401143D"],
  si_tin: ["SI", "5022 3054", "5022 3053"],
  sv_nit: ["SV", "0614-050707-104-8", "0614-050707-104-0"],
  th_vat: ["TH", "0-1055-52029-68-1", "0-1017-00230-70-5"],
  tr_tin: ["TR", "4540536920", "4540536921"],
  tw_vat: ["TW", "00501503", "00501502"],
  ua_vat: ["UA", "123456789012", "1234567"],
  us_ein: ["US", "12-3456789", "00-3456789"],
  uy_ruc: ["UY", "21-100342-001-7", "21-030367-001-4"],
  ve_rif: ["VE", "V-11470283-4", "V-11470283-3"],
  vn_tin: ["VN", "0100233488", "0100233480"],
  za_vat: ["ZA", "499 9999 999", "399 9999 999"],
};
/**
 * Whose number it is, as read on 2026-11-25. Those of the companies and offices that python-stdnum 2.2 cites in the documentation of
 * its validators; the others are the documented examples of https://docs.stripe.com/billing/customer/tax-ids, or, where that example
 * has wrong check digits, a number with right ones. Of each country of the union python-stdnum 2.2 has the number.
 */
const fromStdnum: readonly TaxIdFormat[] = [
  "ad_nrt",
  "ar_cuit",
  "au_abn",
  "bg_uic",
  "br_cnpj",
  "br_cpf",
  "ca_bn",
  "ch_uid",
  "ch_vat",
  "cl_tin",
  "cn_tin",
  "co_nit",
  "cr_tin",
  "de_stn",
  "do_rcn",
  "ec_ruc",
  "eg_tin",
  "eu_oss_vat",
  "eu_vat",
  "gb_vat",
  "hr_oib",
  "id_npwp",
  "il_vat",
  "in_gst",
  "is_vat",
  "jp_cn",
  "ke_pin",
  "kr_brn",
  "li_uid",
  "mk_vat",
  "mx_rfc",
  "nz_gst",
  "pe_ruc",
  "ro_tin",
  "rs_pib",
  "ru_inn",
  "sg_uen",
  "si_tin",
  "sv_nit",
  "tr_tin",
  "tw_vat",
  "uy_ruc",
  "ve_rif",
  "vn_tin",
];
/** Of each country of the European Union, behind its letters. */
const union: [country: string, good: string, bad: string][] = [
  ["AT", "ATU13585627", "ATU13585626"],
  ["BE", "BE0428759497", "BE0431150351"],
  ["BG", "BG175074752", "BG175074754"],
  ["CY", "CY10259033P", "CY10259033Z"],
  ["CZ", "CZ25123891", "CZ25123890"],
  ["DE", "DE136695976", "DE136695978"],
  ["DK", "DK13585628", "DK13585627"],
  ["EE", "EE100931558", "EE100594103"],
  ["ES", "ES54362315K", "ES54362315Z"],
  ["FI", "FI20774740", "FI20774741"],
  ["FR", "FR40303265045", "FR84323140391"],
  ["GR", "EL094259216", "EL123456781"],
  ["HR", "HR33392005961", "HR33392005962"],
  ["HU", "HU12892312", "HU12892313"],
  ["IE", "IE6433435F", "IE6433435E"],
  ["IT", "IT00743110157", "IT00743110158"],
  ["LT", "LT119511515", "LT119511516"],
  ["LU", "LU15027442", "LU15027443"],
  ["LV", "LV40003521600", "LV40003521601"],
  ["MT", "MT11679112", "MT11679113"],
  ["NL", "NL004495445B01", "NL123456789B90"],
  ["PL", "PL8567346215", "PL8567346216"],
  ["PT", "PT501964843", "PT501964842"],
  ["RO", "RO18547290", "RO18547291"],
  ["SE", "SE123456789701", "SE123456789101"],
  ["SI", "SI50223054", "SI50223053"],
  ["SK", "SK2022749619", "SK2022749618"],
];

describe("tax numbers", () => {
  const plain = (number: string) => number.toUpperCase().replace(/[ ./-]/g, "");

  test.each(Object.entries(formats))("CUS-12: %s: %o", (format, [country, good, bad]) => {
    expect(readTaxId(good, country)).toEqual([plain(good), format]);
    expect(readTaxId(good.toLowerCase(), country)).toEqual([plain(good), format]);
    expect(readTaxId(bad, country)?.[1]).not.toBe(format);
  });
  test("CUS-12: blanks, dots, dashes and the country's letters make no other number of one", () => {
    const inUnion = new Set(union.map(([country]) => country));
    const wrong: unknown[] = [];
    for (const [format, [country, good]] of Object.entries(formats)) {
      const number = plain(good);
      const spaced = [" ", ".", "-", "/", "\u00a0"].map((sign) => number.match(/.{1,3}/g)?.join(sign) ?? "");
      for (const spelling of [...spaced, ` ${good}\n`, number.toLowerCase()]) {
        const read = readTaxId(spelling, country);
        if (read?.[0] !== number || read[1] !== format) wrong.push([format, spelling, read]);
      }
      if (number.startsWith(country) || inUnion.has(country) || format === "eu_oss_vat") continue;
      for (const spelling of [`${country}${number}`, `${country} ${good}`, `${country.toLowerCase()}-${good}`])
        if (readTaxId(spelling, country)?.[1] !== format) wrong.push([format, spelling, readTaxId(spelling, country)]);
    }
    expect(wrong).toEqual([]);
    expect(fromStdnum.every((format) => Object.hasOwn(formats, format))).toBe(true);
  });
  test.each(union)("CUS-12: a VAT number of %s: %s, but not %s", (country, good, bad) => {
    expect(readTaxId(good, country)).toEqual([good, "eu_vat"]);
    expect(readTaxId(bad, country)).toBeUndefined();
    expect(readTaxId(good, country === "FR" ? "DE" : "FR")).toBeUndefined();
  });
  test(`${taxIdFormats.length} formats and ${union.length} countries of the union were checked`, () => {
    expect(Object.keys(formats).sort()).toEqual([...taxIdFormats].sort());
    expect(new Set(union.map(([country]) => country)).size).toBe(27);
    console.log(`tax numbers: ${taxIdFormats.length} formats, ${union.length} countries of the European Union`);
  });
  test("a number without its country's letters is the country's own where it has one, else its VAT number", () => {
    expect(readTaxId("40 303 265 045", "FR")).toEqual(["FR40303265045", "eu_vat"]);
    expect(readTaxId("094259216", "GR")).toEqual(["EL094259216", "eu_vat"]);
    expect(readTaxId("33392005961", "HR")).toEqual(["33392005961", "hr_oib"]);
    expect(readTaxId("A58818501", "ES")).toEqual(["A58818501", "es_cif"]);
    expect(readTaxId("ESA58818501", "ES")).toEqual(["ESA58818501", "eu_vat"]);
  });
  test.each([
    ["NO", "NO 988 077 917 MVA", ["NO988077917MVA", "no_vat"]],
    ["NO", "NO988077917", ["NO988077917", "no_vat"]],
    ["NO", "NO988077918MVA", undefined],
    ["GB", "XI 980 7806 84", ["XI980780684", "eu_vat"]],
    ["GB", "XI980780685", undefined],
    ["GB", "XIGB980780684", undefined],
    ["GB", "XIXI980780684", undefined],
    ["GB", "XIEU372022452", undefined],
    ["FR", "XI980780684", undefined],
    ["MC", "FR40303265045", ["FR40303265045", "eu_vat"]],
    ["IM", "GB980780684", ["GB980780684", "gb_vat"]],
  ])("CUS-12: in %s, %s is %o", (country, number, read) => {
    expect(readTaxId(number, country)).toEqual(read);
  });
  // Published by the companies or tax offices themselves, or made by the offices' own rules.
  test.each([
    ["BG", "831919536", "bg_uic"],
    ["BG", "BG831642181", "eu_vat"],
    ["BG", "BG831094393", "eu_vat"],
    ["BG", "BG812114069", "eu_vat"],
    ["BG", "BG831902088", "eu_vat"],
    ["SK", "SK1042343863", "eu_vat"],
    ["CZ", "CZ699004237", "eu_vat"],
    ["CZ", "CZ640903926", "eu_vat"],
    ["BR", "12.ABC.345/01DE-35", "br_cnpj"],
    ["ID", "0013344270054000", "id_npwp"],
    ["ID", "0010000131093000", "id_npwp"],
    ["ID", "76.310.346.2-601.000", "id_npwp"],
    ["ID", "3174012501900001", "id_npwp"],
    ["MX", "XAXX010101000", "mx_rfc"],
    ["MX", "XEXX010101000", "mx_rfc"],
    ["MX", "VACE-460910-SX6", "mx_rfc"],
    ["SV", "93668961179780", "sv_nit"],
    ["VN", "001099012345", "vn_tin"],
    ["NG", "1234567890123", "ng_tin"],
    ["LI", "CHE-107.787.577 MWST", "li_uid"],
    ["SG", "MR-8500194-3", "sg_gst"],
    ["SG", "M2-0031234-1", "sg_gst"],
    ["IS", "IS00621", "is_vat"],
    ["TR", "TR4540536920", "tr_tin"],
    ["AE", "AE100123456789012", "ae_trn"],
    ["AU", "AU83914571673", "au_abn"],
    ["EC", "1792060347001", "ec_ruc"],
  ])("CUS-12: in %s, %s is a number that is given out", (country, number, format) => {
    expect(readTaxId(number, country)).toEqual([plain(number), format]);
  });
  test.each([
    ["BG", "BG831919537"],
    ["SK", "SK1042343864"],
    ["SK", "SK1052343860"],
    ["CZ", "CZ699004238"],
    ["BR", "12.ABC.345/01DE-36"],
    ["ID", "0013344280054000"],
    ["MX", "XAXX011301000"],
    ["SV", "93668961179781"],
    ["LI", "CHE-107.787.578 MWST"],
    ["TR", "TR4540536921"],
    ["IS", "TR00621"],
  ])("CUS-12: in %s, %s is none", (country, number) => {
    expect(readTaxId(number, country)).toBeUndefined();
  });
  test("nonsense is no number of any country, nor is a number of none", () => {
    for (const [country] of Object.values(formats))
      for (const number of ["", "nonsense", "0", "١٢٣٤٥٦٧٨٩", "9".repeat(64), "'; --"])
        expect([country, number, readTaxId(number, country)]).toEqual([country, number, undefined]);
    expect(readTaxId("123456789", "AQ")).toBeUndefined();
  });
});
