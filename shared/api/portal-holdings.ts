import { z } from "zod";
import { byId, customer, ids, instant, page, paging, type Resource } from "../contract.ts";
import { DownloadableFile } from "./files.ts";
import { LicenseKey, LicenseKeyWithActivations } from "./license-keys.ts";

/** A file that came with what a customer bought, and where it is fetched from until when. */
export const Downloadable = z.object({
  id: z.uuid(),
  benefit_id: z.uuid(),
  file: DownloadableFile.extend({
    download: z.object({ url: z.string(), expires_at: instant, headers: z.record(z.string(), z.string()) }),
  }),
});

/** The license keys of the customer who asks (CUP-22). */
export const portalKeys = {
  list: {
    method: "GET",
    id: "customer_portal:license_keys:list",
    path: "/v1/customer-portal/license-keys/",
    summary: "List one's own license keys",
    access: customer("customer_portal:own:read"),
    query: z.object({ ...paging.shape, benefit_id: ids.describe("Only of these benefits.") }),
    response: page(LicenseKey),
  },
  get: {
    method: "GET",
    id: "customer_portal:license_keys:get",
    path: "/v1/customer-portal/license-keys/:id",
    summary: "Get one of one's own license keys",
    access: customer("customer_portal:own:read"),
    params: byId,
    response: LicenseKeyWithActivations,
    errors: ["ResourceNotFound"],
  },
  rotate: {
    method: "POST",
    id: "customer_portal:license_keys:rotate",
    path: "/v1/customer-portal/license-keys/:id/rotate",
    summary: "Replace one of one's own license keys by another one",
    access: customer("customer_portal:write"),
    params: byId,
    response: LicenseKey,
    errors: ["ResourceNotFound", "RotateNotPermitted"],
  },
} as const satisfies Resource;

/** The files that the customer who asks may download (BEN-22). */
export const portalDownloads = {
  list: {
    method: "GET",
    id: "customer_portal:downloadables:list",
    path: "/v1/customer-portal/downloadables/",
    summary: "List what one may download",
    access: customer("customer_portal:own:read"),
    query: z.object({ ...paging.shape, benefit_id: ids.describe("Only of these benefits.") }),
    response: page(Downloadable),
  },
} as const satisfies Resource;
