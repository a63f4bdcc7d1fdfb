/** What every catalogue command needs: the file, the server of a profile, and the calls. */

import type { CatalogPlan, RehearsedPlan } from "../../shared/api/catalog.ts";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import type { Kind } from "../../shared/catalog/kinds/kind.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import { replaceSettings } from "../io.ts";
import { makeContext } from "../make-context.ts";
import { request } from "../request.ts";
import { describeMissingProfile, readProfileNames } from "../settings.ts";
import { type CatalogFile, formatPath, locateFlaws, readCatalog, readText, standardName } from "./file.ts";

export type FileOptions = { file?: string; env?: string };

/** The file that flags name, checked, with its environment filled in. */
export function openFile(context: Context, { file = standardName, env }: FileOptions): CatalogFile {
  return readCatalog(file, readText(file), context.io.env, env);
}

/**
 * The same run under another profile, with nothing but what belongs to it: one key or address for both sides would compare
 * an organization with itself.
 */
export function switchProfile(context: Context, profile: string): Context {
  const { server: _, org: __, apiKeyFile: ___, ...globals } = context.globals;
  const { FLOE_SERVER: ____, FLOE_ORG: _____, FLOE_API_KEY: ______, FLOE_PROFILE: _______, ...env } = context.io.env;
  if (!readProfileNames(env).includes(profile)) throw describeMissingProfile(env, profile);
  return makeContext(replaceSettings(context.io, env), context.manifest, context.version, { ...globals, profile });
}

/** Ask for a plan. Faults that the server finds are told at their lines. */
export const requestPlan = (
  context: Context,
  document: CatalogInput,
  prune: boolean,
  file?: CatalogFile,
  keys?: Pulled["entries"],
): Promise<CatalogPlan> =>
  locateErrors(file, () =>
    request(context, routes.catalog.plan, { body: { document, prune, ...(keys && { keys }) } }),
  ) as Promise<CatalogPlan>;

/** Ask for a plan, and for what it makes of the money of subscriptions. */
export const requestRehearsal = (
  context: Context,
  document: CatalogInput,
  prune: boolean,
  file?: CatalogFile,
): Promise<RehearsedPlan> =>
  locateErrors(file, () =>
    request(context, routes.catalog.rehearse, { body: { document, prune } }),
  ) as Promise<RehearsedPlan>;

type Apply = { document: CatalogInput; prune: boolean; fingerprint?: string; keys?: Pulled["entries"] };
/** Apply, all of it or nothing; a stale plan is a conflict. */
export const requestApply = (context: Context, body: Apply, file?: CatalogFile): Promise<CatalogPlan> =>
  locateErrors(file, () => request(context, routes.catalog.apply, { body })) as Promise<CatalogPlan>;

export type Pulled = {
  document: Record<string, unknown>;
  proposed: { kind: string; key: string; id: string; name: string }[];
  entries: { kind: Kind; key: string; id: string }[];
  others: { catalog: string; count: number }[];
};
/** The catalogue as the server has it. */
export const requestPull = (context: Context, catalog: string, all: boolean): Promise<Pulled> =>
  request(context, routes.catalog.pull, { query: { catalog, all } }) as Promise<Pulled>;

async function locateErrors(file: CatalogFile | undefined, ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const places = isFault(error) ? error.parts.places : undefined;
    if (!places?.some(({ loc }) => loc[1] === "document")) throw error;
    if (file) throw locateFlaws(file, places);
    // A catalogue that is in no file is told by its keys.
    const faults = places.map(({ loc, msg }) => ({ flag: formatPath(loc.slice(2)), message: msg }));
    throw new Fault("error", "the server does not accept the catalogue", { name: "invalid_catalog", faults });
  }
}
