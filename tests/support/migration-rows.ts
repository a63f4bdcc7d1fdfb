/** Rows of moves of subscribers to other prices. */
import type { Floe, Seller } from "./floe.ts";

/** A recurring product, as what its subscribers would move to: its present prices. */
async function buildMove({ client }: Pick<Seller, "client">) {
  const prices = [{ amount_type: "fixed" as const, price_amount: 900 }];
  const { id } = await client.products.create({ body: { name: "Moved", recurring_interval: "month", prices } });
  return { product_id: id, to_product_id: id };
}

export const migrationRow = async (_: Floe, { client }: Seller) => {
  const { id } = await client.subscriptionMigrations.create({ body: await buildMove({ client }) });
  return { params: { id } };
};

/** The usual product is no subscription: see `migrationFresh`. */
export const migrationBodies: Record<string, (product_id: string) => object> = Object.fromEntries(
  ["create", "preview"].map((name) => [
    `subscriptionMigrations.${name}`,
    (product_id: string) => ({ product_id, to_product_id: product_id }),
  ]),
);

export const migrationFresh: Record<string, (floe: Floe, seller: Seller) => Promise<{ body: object }>> =
  Object.fromEntries(
    Object.keys(migrationBodies).map((title) => [title, async (_, seller) => ({ body: await buildMove(seller) })]),
  );
