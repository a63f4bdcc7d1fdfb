import { ApiError, notFound } from "../../../shared/errors.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { buildPage, type Paging } from "../../platform/db/page.ts";
import { createId } from "../../platform/ids.ts";
import { type DownloadTerms, listActiveFiles, openLink, serializeDownloadable } from "./rules.ts";
import * as store from "./store.ts";

/** Let a customer download what a benefit has now; answers the files. None: nothing of it any more. */
export async function grantFiles(
  tx: Tx,
  { clock }: Deps | Ctx,
  { organization_id, customer_id, benefit_id }: store.DownloadOwner,
  terms: DownloadTerms | null,
): Promise<string[]> {
  const now = clock.now();
  const wanted = terms ? listActiveFiles(terms) : [];
  const present = await store.findPresent(tx, organization_id, wanted);
  const files = wanted.filter((id) => present.has(id));
  const rows = files.map((file_id) => ({ id: createId(now), file_id }));
  await store.setFiles(tx, { organization_id, customer_id, benefit_id }, rows, now);
  return files;
}

/** How long an address of a file is good. */
const linkMs = 60 * 60 * 1000;

/** What a customer may download, a page of it, each with an address that is good for an hour. */
export async function listFilesOfCustomer(
  { db, config, clock }: Deps,
  customer: { organization_id: string; customer_id: string },
  query: Paging & { benefit_id?: string[] | undefined },
) {
  const { items, total } = await store.listDownloadables(db, customer, query);
  const until = new Date(getServerClock(clock).now().getTime() + linkMs);
  return buildPage(
    items.map((one) => serializeDownloadable(one, config, until)),
    total,
    query,
  );
}

/**
 * Where a file is fetched that a token stands for, until its hour is over; what was taken back since is not given (BEN-22). What is
 * only the rest of a download that broke off is not counted again.
 */
export async function openDownloadLink(deps: Deps, token: string, isRest: boolean): Promise<string> {
  const { db, config, clock, storage } = deps;
  const link = openLink(config.secrets, token);
  if (link === "malformed") throw new ApiError("BadRequest", "This is no address of a download.");
  if (link === "unknown") throw notFound();
  const now = getServerClock(clock).now();
  if (now.getTime() >= link.until)
    throw new ApiError("ResourceUnavailable", "This address was good for an hour. Get a new one.");
  const found = await store.findDownloadable(db, link);
  if (!found) throw notFound();
  const { url } = await storage.download(found.file);
  if (!isRest) await store.countDownload(db, link, now);
  return url;
}
