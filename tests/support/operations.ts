/** Every operation of the contract, and a floe to call them on: what tests need that hold for all of them. */
import type { z } from "zod";
import { events } from "../../server/platform/db/tables.ts";
import { type Api, api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { formatUrl } from "../../shared/request.ts";
import { type Floe, type Seller, start } from "./floe.ts";
import { newId } from "./ids.ts";
import { tokenOf } from "./portal-rows.ts";
import { beginReplay } from "./replay-rows.ts";
import { bodyOf, queryOf, type Row, rowOf } from "./rows.ts";

export type Entry = { title: string; resource: keyof Api; name: string; op: Operation };
export type Operations = Awaited<ReturnType<typeof startOperations>>;
/** Where nothing is said: the usual row, a body that is accepted. `as` is a token; without one nobody asks. */
export type Sent = {
  as?: string;
  body?: unknown;
  query?: Record<string, unknown>;
  params?: Record<string, string>;
  headers?: Record<string, string>;
};
type Said = { error?: string; detail?: { loc: unknown[]; type: string; msg: string }[]; items?: unknown[] };

export const operations: Entry[] = Object.entries(api).flatMap(([resource, ops]) =>
  Object.entries(ops).map(([name, op]) => ({
    title: `${resource}.${name}`,
    resource: resource as keyof Api,
    name,
    op: op as Operation,
  })),
);
/** What a customer asks with a session of their own, and no seller. */
export const isOfCustomers = ({ access }: Operation): boolean => access.by === "customer";
export const withParams = operations.filter(({ op }) => op.params);
export const withBody = operations.filter(({ op }) => op.body);

/** Start one, with a row of each resource. */
export async function startOperations() {
  const floe = await start({ settings: { DISCORD_CLIENT_ID: "44551", DISCORD_CLIENT_SECRET: "a secret" } });
  const seller = await floe.seller("ada");
  const rows = new Map<keyof Api, Row>();
  for (const resource of Object.keys(api) as (keyof Api)[]) rows.set(resource, await rowOf[resource](floe, seller));
  const customer_id = rows.get("customers")?.params.id ?? "";
  const openSession = () => seller.client.customerSessions.create({ body: { customer_id } });
  let customer = await openSession();
  const other = await floe.seller("bob");
  /** Another customer of the same seller, and one of another seller. */
  const { id: stranger } = await seller.client.customers.create({ body: { email: "stranger@example.com" } });
  const { id: elsewhere } = await other.client.customers.create({ body: { email: "elsewhere@example.com" } });
  const openForeign = async () => [
    (await seller.client.customerSessions.create({ body: { customer_id: stranger } })).token,
    (await other.client.customerSessions.create({ body: { customer_id: elsewhere } })).token,
  ];
  let foreign = await openForeign();
  const product_id = rows.get("products")?.params.id ?? "";
  /** The statuses that each operation has answered with. */
  const seen = new Map<string, Set<number>>(operations.map(({ title }) => [title, new Set()]));
  let number = 0;

  /** A body that the operation accepts. */
  function sampleOf({ title, op }: Entry): unknown {
    if (!op.body) return undefined;
    if (op.method === "PATCH") return {};
    const sample = bodyOf[title];
    if (!sample) throw new Error(`Add a sample body for ${title} to tests/support/rows.ts.`);
    number += 1;
    return sample(product_id, number);
  }
  const paramsOf = ({ resource, name }: Entry, row = rows.get(resource)): Record<string, string> =>
    row?.of?.[name] ?? row?.params ?? {};

  async function call(entry: Entry, sent: Sent = {}, at: Floe = floe) {
    const body = "body" in sent ? sent.body : sampleOf(entry);
    const url = formatUrl(entry.op.path, {
      params: sent.params ?? paramsOf(entry),
      query: sent.query ?? queryOf[entry.title] ?? {},
    });
    const answer = await at.request(entry.op.method, url, {
      ...(sent.as === undefined ? {} : { token: sent.as }),
      ...(body === undefined ? {} : { body }),
      ...(sent.headers ? { headers: sent.headers } : {}),
    });
    seen.get(entry.title)?.add(answer.status);
    // A sandbox that is put back has no customer signed in.
    if (entry.title.startsWith("sandbox.restore") && answer.status < 300)
      [customer, foreign] = [await openSession(), await openForeign()];
    return { ...answer, json: answer.json as Said };
  }

  return {
    floe,
    seller,
    other,
    seen,
    call,
    beginReplay: () => beginReplay(floe, seller),
    sampleOf,
    paramsOf,
    /** Who may: the seller's key (for what only people may, the session), or nobody where everybody may. */
    may: ({ op, title }: Entry): Sent => {
      if (op.access.by === "anyone") return {};
      if (isOfCustomers(op)) return { as: customer.token };
      return { as: title === "organizations.create" ? seller.session : seller.key };
    },
    /** Those to whom nothing of it is to be seen. */
    strangers: ({ op }: Entry): string[] => (isOfCustomers(op) ? foreign : [other.key, other.session]),
    /** Who may of another seller. */
    mayOf: async ({ op }: Entry, owner: Seller): Promise<string> => (isOfCustomers(op) ? tokenOf(owner) : owner.key),
    /** Where there is nothing. */
    unknownParams: ({ op }: Entry): Record<string, string> =>
      Object.fromEntries(
        Object.entries(op.params?.shape ?? {}).map(([key, schema]) => [
          key,
          (schema as z.ZodType).safeParse("nobody").success ? "nobody" : newId(),
        ]),
      ),
    async errorOf(entry: Entry, sent: Sent = {}): Promise<string> {
      const { status, json } = await call(entry, sent);
      return `${status} ${json?.error ?? ""}`;
    },
    eventCount: (): Promise<number> => floe.deps.db.$count(events),
    /** What the server itself failed at. */
    faultsLogged: (): string[] => floe.logged.filter((line) => line.startsWith("error")),
  };
}
