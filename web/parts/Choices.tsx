import { useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { computeSaving, describeOffer } from "../offers.ts";
import type { Order } from "../use-checkout.ts";

/** The products on offer, each with what it costs; one of them is bought. */
export default function Choices({
  order: { checkout },
  choose,
}: {
  order: Order;
  choose: (product_id: string) => Promise<void>;
}) {
  const i18n = useI18n();
  // What was clicked is marked at once, and until the server has answered; a refused choice falls back to what stands.
  const [clicked, setClicked] = useState<string>();
  const pick = async (product_id: string): Promise<void> => {
    setClicked(product_id);
    await choose(product_id);
    setClicked((now) => (now === product_id ? undefined : now));
  };
  return (
    <fieldset>
      <legend className="legend">{i18n.messages.choose_one}</legend>
      <div className="choices">
        {checkout.products.map((product) => {
          const saving = computeSaving(checkout, product);
          return (
            <label key={product.id}>
              <input
                type="radio"
                name="product"
                checked={product.id === (clicked ?? checkout.product_id)}
                onChange={() => void pick(product.id)}
              />
              <span className="offer">{product.name}</span>
              <span className="price">
                {describeOffer(checkout, product, i18n)}
                {saving > 0 && <strong className="saving"> {i18n.messages.saving(saving)}</strong>}
              </span>
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
