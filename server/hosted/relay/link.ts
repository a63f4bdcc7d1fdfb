import { eq, or } from "drizzle-orm";
import { api } from "../../../shared/api/index.ts";
import { ApiError } from "../../../shared/errors.ts";
import { linkToPolar } from "../../identity/organizations/store.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { ConfigError } from "../../platform/config.ts";
import type { Deps } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { Polar } from "./polar.ts";
import type { HostedLink } from "./request.ts";

/**
 * Which organization here is the one that the access token belongs to at Polar: the one of the same id, the one that was linked
 * before, or the one that `floe polar connect` or POLAR_ORGANIZATION names, which is linked now. What is known stays if Polar
 * cannot be asked.
 */
export async function findLink(
  deps: Deps,
  polar: Polar,
  ownToken: string,
  known: HostedLink | undefined,
  named = deps.config.POLAR_ORGANIZATION,
): Promise<HostedLink | undefined> {
  const polar_id = await readOrganization(deps, polar, ownToken);
  if (polar_id === undefined) return known ?? (named ? findStored(deps, named) : undefined);
  const [same] = await deps.db
    .select({ id: organization.id })
    .from(organization)
    .where(or(eq(organization.id, polar_id), eq(organization.polar_id, polar_id)));
  if (same) {
    if (named === undefined || named === polar_id || named === same.id) return { organization_id: same.id, polar_id };
    throw new ConfigError(
      `The organization ${named} is named, but Polar's organization ${polar_id} is linked with ${same.id} here.`,
    );
  }
  if (named === undefined || named === polar_id) return undefined;
  const isLinked = await transact(deps, (tx) => linkToPolar(tx, named, polar_id));
  return isLinked ? { organization_id: named, polar_id } : undefined;
}

async function findStored({ db }: Deps, id: string): Promise<HostedLink | undefined> {
  const [row] = await db
    .select({ id: organization.id, polar_id: organization.polar_id })
    .from(organization)
    .where(or(eq(organization.id, id), eq(organization.polar_id, id)));
  return row?.polar_id ? { organization_id: row.id, polar_id: row.polar_id } : undefined;
}

/** The one organization of the access token at Polar; undefined where Polar cannot be asked. */
async function readOrganization({ config, log }: Deps, polar: Polar, ownToken: string): Promise<string | undefined> {
  const { path, response } = api.organizations.list;
  try {
    const { status, json } = await polar.call({
      operation: "organizations.list",
      method: "GET",
      path: `${path}?limit=100`,
      headers: { accept: "application/json", "polar-version": "2026-10", authorization: `Bearer ${ownToken}` },
      body: undefined,
      isFile: false,
    });
    polar.noteToken(status === 401 || status === 403);
    const read = response.safeDecode(json as never);
    if (status !== 200 || !read.success) return undefined;
    const ids = read.data.items.map(({ id }) => id);
    const [first] = ids;
    if (ids.length <= 1) return first;
    const named = ids.find((id) => id === config.POLAR_ORGANIZATION);
    if (named !== undefined) return named;
    throw new ConfigError(
      `POLAR_ACCESS_TOKEN opens several organizations at Polar (${ids.join(", ")}): name one in POLAR_ORGANIZATION.`,
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    log.warn({ url: polar.url }, "Polar could not be asked whose access token it is.");
    return undefined;
  }
}
