import { Fault } from "../fault.ts";
import { type Account, readListed } from "./account-context.ts";

export type Team = { id: string; name: string; createdAt: string };
type Place = Account & { organizationId: string };

/** The teams of the organization. */
export const getTeams = async (place: Place): Promise<Team[]> =>
  readListed<Team>(await place.get("organization/list-teams", { organizationId: place.organizationId }), "teams");

/** The team that was meant, by id or name; a name that two have is no answer. */
export async function findTeamNamed(place: Place, named: string): Promise<Team> {
  const all = await getTeams(place);
  const found = all.filter((one) => one.id === named || one.name.toLowerCase() === named.toLowerCase());
  const [first] = found;
  if (!first) throw new Fault("not_found", `there is no team "${named}"`, { hint: "See: `floe teams list`" });
  if (found.length > 1)
    throw new Fault("usage", `several teams are called "${named}"`, {
      hint: `Say which by its id: ${found.map(({ id }) => id).join(", ")}`,
    });
  return first;
}
