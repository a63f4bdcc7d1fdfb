/** Amounts that name no currency are in the organization's own, which only the server knows. */
import * as routes from "../../shared/routes.ts";
import { type Context, listOrganizationsOfKey, type Organization } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import type { DefaultValue } from "./shorthand.ts";

type Priced = Partial<Organization> & { default_presentment_currency?: string };

/** The currency of the organization in use, for amounts that name none. */
export async function findStandardCurrency(context: Context): Promise<string> {
  try {
    const id = await context.organization();
    const all: Priced[] =
      id === undefined
        ? await listOrganizationsOfKey(context)
        : [(await request(context, routes.organizations.get, { params: { id } })) as Priced];
    const [only, ...others] = all;
    return (others.length === 0 && only?.default_presentment_currency) || "usd";
  } catch (error) {
    // A key may be good for prices alone. Dollars where they are not the currency are refused by the server, not mistaken.
    if (error instanceof Fault && error.kind === "not_permitted") return "usd";
    throw error;
  }
}

/** What `read` makes of texts with amounts. The organization is asked for its currency only if one of them names none. */
export async function readInCurrency<T>(context: Context, read: (standard: DefaultValue) => T): Promise<T> {
  let isAsked = false;
  try {
    const inDollars = read(() => {
      isAsked = true;
      return "usd";
    });
    if (!isAsked) return inDollars;
  } catch (error) {
    // What is no amount in dollars may be one in a currency without decimals.
    if (!isAsked) throw error;
  }
  const currency = await findStandardCurrency(context);
  return read(() => currency);
}
