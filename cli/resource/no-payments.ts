/** What sellers are told with the address of an offer while no buyer could pay for it. */
import * as routes from "../../shared/routes.ts";
import { type Context, listOrganizationsOfKey } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";

type Capable = { capabilities?: { checkout_payments?: boolean } };

/** The organization in use; none where an API key is good for several. */
async function findOrganizationInUse(context: Context): Promise<Capable | undefined> {
  const id = await context.organization();
  if (id !== undefined) return (await request(context, routes.organizations.get, { params: { id } })) as Capable;
  const [only, ...others] = (await listOrganizationsOfKey(context)) as Capable[];
  return others.length === 0 ? only : undefined;
}

/** Warn that buyers cannot pay the organization in use, where the server says so. */
export async function warnOfNoPayments(context: Context): Promise<void> {
  try {
    if ((await findOrganizationInUse(context))?.capabilities?.checkout_payments !== false) return;
  } catch (error) {
    // The command itself has succeeded. A key may be good for links alone, and the checkout page says the same.
    if (error instanceof Fault) return;
    throw error;
  }
  context.say(
    "Buyers cannot pay yet: this server has no card processor. Whoever runs it sets STRIPE_SECRET_KEY; see docs/payments.md.\n",
  );
}
