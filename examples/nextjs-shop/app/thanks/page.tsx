import { formatAmount, openPolar } from "../../lib/floe.ts";

export const dynamic = "force-dynamic";

type Props = { searchParams: Promise<Record<string, string | string[] | undefined>> };

/** The page after the payment. It shows what floe says; the address alone proves nothing. */
export default async function ThanksPage({ searchParams }: Props) {
  const { checkout_id } = await searchParams;
  if (typeof checkout_id !== "string") return <p>There is no checkout in this address.</p>;
  const { status, product, total_amount, currency } = await openPolar().checkouts.get(checkout_id);
  if (status !== "succeeded") return <p>The payment is not complete. Load this page again in a moment.</p>;
  return (
    <main>
      <h1>Thank you</h1>
      <p>
        You bought {product?.name} for {formatAmount(total_amount, currency)}.
      </p>
    </main>
  );
}
