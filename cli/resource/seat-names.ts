/** Seats by who holds them: an address says which one only together with what it is of. */
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { resolveId } from "./names.ts";

export const addFlags = (command: Command): Command =>
  command.option("--of <purchase>", "where a seat is named by its holder: the order's number, or the buyer's address");

/** The id of the seat that this address holds, of a subscription or an order. */
export async function findSeat(context: Context, holder: string, of: unknown): Promise<string> {
  if (typeof of !== "string" || of === "")
    throw new Fault("usage", `"${holder}" may hold several seats`, {
      hint: "Say of what: --of ada@example.com (who pays for the subscription), or --of ACME-0042 (an order).",
      quotesNames: true,
    });
  const isSubscription = of.includes("@");
  const id = await resolveId(context, isSubscription ? "subscriptions" : "orders", of);
  const query = isSubscription ? { subscription_id: id } : { order_id: id };
  const { seats } = await request(context, routes.customerSeats.list, { query });
  // A revoked seat has no address any more.
  const seat = seats.find(({ email, customer_email }) =>
    [email, customer_email].some((one) => one?.toLowerCase() === holder.toLowerCase()),
  );
  if (seat) return seat.id;
  const others = seats.flatMap(({ customer_email }) => customer_email ?? []);
  throw new Fault("not_found", `"${holder}" holds no seat of ${of}`, {
    hint: others.length === 0 ? "Nobody holds one." : `There are: ${others.slice(0, 5).join(", ")}`,
    quotesNames: true,
  });
}
