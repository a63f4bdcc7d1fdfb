import { formatAmount, openPolar } from "../lib/floe.ts";

// Prices are read for each visit.
export const dynamic = "force-dynamic";

type Product = Awaited<ReturnType<ReturnType<typeof openPolar>["products"]["list"]>>["items"][number];

function formatPrice({ prices, recurring_interval }: Product): string {
  const [price] = prices;
  if (price?.amount_type !== "fixed") return "The checkout shows the price.";
  const amount = formatAmount(price.price_amount, price.price_currency);
  return recurring_interval ? `${amount} per ${recurring_interval}` : amount;
}

export default async function ProductsPage() {
  const { items } = await openPolar().products.list({ is_archived: false, limit: 100 });
  return (
    <main>
      <h1>Products</h1>
      <ul>
        {items.map((product) => (
          <li key={product.id}>
            <h2>{product.name}</h2>
            <p>{product.description}</p>
            <p>{formatPrice(product)}</p>
            <form action="/checkout" method="post">
              <input type="hidden" name="product" value={product.id} />
              <button type="submit">Buy {product.name}</button>
            </form>
          </li>
        ))}
      </ul>
    </main>
  );
}
