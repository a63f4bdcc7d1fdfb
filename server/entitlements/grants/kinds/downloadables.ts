import { type DownloadTerms, listActiveFiles } from "../../downloads/rules.ts";
import { grantFiles } from "../../downloads/service.ts";
import type { BenefitKind } from "./kind.ts";

/** Files, as they are now: those that are put away later go, those that come later come (BEN-20, BEN-21). */
export const downloadables: BenefitKind = {
  terms: (properties) => listActiveFiles(properties as DownloadTerms).toSorted(),
  async grant(tx, ctx, { row, benefit }) {
    const files = await grantFiles(tx, ctx, row, benefit.properties as DownloadTerms);
    return { properties: files.length === 0 ? {} : { files } };
  },
  async revoke(tx, ctx, { row }) {
    await grantFiles(tx, ctx, row, null);
    return {};
  },
};
