import { api } from "../../../shared/api/index.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Actor, Deps } from "../../platform/context.ts";
import { decodeRelayed } from "./answer.ts";
import type { RelayCall } from "./request.ts";

const keptMs = 5 * 60 * 1000;
const keptMax = 1000;

/** The sessions that floe opens at Polar for users who are customers there: each is used again for some minutes. */
export function openCustomerTokens({ clock }: Deps, relay: RelayCall, ownToken: string) {
  const known = new Map<string, { token: string; until: number }>();
  return {
    async find({ customer }: Actor): Promise<string> {
      if (!customer) throw new ApiError("Unauthorized", "Unauthorized");
      const { customer_id } = customer;
      const now = clock.now().getTime();
      const held = known.get(customer_id);
      if (held && held.until > now) return held.token;
      const op = api.customerSessions.create;
      const relayed = await relay({
        operation: "customerSessions.create",
        op,
        path: op.path,
        body: JSON.stringify({ customer_id }),
        sent: undefined,
        token: ownToken,
      });
      const { token } = decodeRelayed(op, relayed) as { token: string };
      const [oldest] = known.keys();
      if (known.size >= keptMax && oldest !== undefined) known.delete(oldest);
      known.delete(customer_id);
      known.set(customer_id, { token, until: now + keptMs });
      return token;
    },
  };
}
