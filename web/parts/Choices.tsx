import { useSpeech } from "../speech.tsx";
import { describeOffer } from "../terms.ts";
import type { Order } from "../use-checkout.ts";

/** The products on offer, each with what it costs; one of them is bought. */
export function Choices({ order: { checkout }, choose }: { order: Order; choose: (product_id: string) => void }) {
  const speech = useSpeech();
  return (
    <fieldset>
      <legend className="legend">{speech.words.choose_one}</legend>
      <div className="choices">
        {checkout.products.map((product) => (
          <label key={product.id}>
            <input
              type="radio"
              name="product"
              checked={product.id === checkout.product_id}
              onChange={() => choose(product.id)}
            />
            <span className="offer">{product.name}</span>
            <span className="price">{describeOffer(checkout, product, speech)}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
