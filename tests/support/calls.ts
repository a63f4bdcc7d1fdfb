/** Raw calls in a seller's name, in the few words that tests of a resource need. */
import { and, eq } from "drizzle-orm";
import { events } from "../../server/platform/db/tables.ts";
import type { Floe, Seller } from "./floe.ts";

type Row = { id: string; modified_at: string | null; properties: Record<string, unknown> };
type Said = { error?: string; detail: { loc: (string | number)[]; msg: string; type: string }[] };

type Server = Pick<Floe, "deps"> & {
  request(
    method: string,
    path: string,
    sent: { token?: string; body?: object },
  ): Promise<{ status: number; json: never }>;
};

/** What is sent to the API as this seller, with the key unless another token is given. */
export function callsOf(floe: Server, seller: Seller) {
  const send = async (method: string, path: string, body?: object, token = seller.key) => {
    const { status, json } = await floe.request(method, path, { token, ...(body ? { body } : {}) });
    return { status, json: json as Row & Said };
  };
  return {
    send,
    /** Where and why a request is refused with 422. */
    async refused(method: string, path: string, body: object, token?: string): Promise<string[]> {
      const { status, json } = await send(method, path, body, token);
      if (status !== 422) throw new Error(`Not refused: ${status} ${JSON.stringify(json)}`);
      return json.detail.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`);
    },
    /** The ids of a list, in its order. */
    async ids(path: string, token = seller.key): Promise<string[]> {
      const { status, json } = await floe.request("GET", path, { token });
      if (status !== 200) throw new Error(`No list: ${status} ${JSON.stringify(json)}`);
      return (json as { items: Row[] }).items.map(({ id }) => id);
    },
    /** How often the seller's webhooks were told this. */
    async told(type: string): Promise<number> {
      const mine = and(eq(events.organization_id, seller.organization_id), eq(events.type, type));
      return (await floe.deps.db.select({ id: events.id }).from(events).where(mine)).length;
    },
  };
}
