import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { type Actor, anonymous } from "../context.ts";

const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.error === "ResourceNotFound";

/** Do it as the first of these who finds what the request names: a row is in one organization. */
export async function tryAs<T>(
  [actor = anonymous, ...others]: readonly Actor[],
  attempt: (actor: Actor) => Promise<T>,
): Promise<T> {
  if (others.length === 0) return attempt(actor);
  try {
    return await attempt(actor);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return tryAs(others, attempt);
  }
}

/** The one who owns the products that are named. Of nobody's here, the first says that there are none. */
export function pickOwner(actors: readonly Actor[], owners: readonly string[]): Actor[] {
  const owning = actors.filter(({ organization_id }) => owners.includes(organization_id ?? ""));
  if (owning.length > 1) throw invalid(fault(["products"], "Products must all belong to the same organization."));
  return owning.length === 1 ? owning : actors.slice(0, 1);
}

/** A seller's own id may be in several of a person's organizations: then nobody can say which one is meant. */
export async function findHolder(actors: readonly Actor[], find: (actor: Actor) => Promise<unknown>): Promise<Actor[]> {
  const holders: Actor[] = [];
  for (const actor of actors) {
    try {
      await find(actor);
      holders.push(actor);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
  if (holders.length > 1)
    throw new ApiError(
      "AmbiguousExternalCustomerID",
      "Several of your organizations have this external id. Name one: send organization_id, or Polar-Organization.",
    );
  return holders.length === 1 ? holders : actors.slice(0, 1);
}
