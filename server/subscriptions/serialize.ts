import type { Subscription } from "../../shared/api/subscriptions.ts";
import { customerOut } from "../customers/rules.ts";
import { discountBaseOut } from "../discounts/rules.ts";
import { orderSubscriptionOut } from "../orders/rules.ts";
import { priceOut, productOut } from "../products/rules.ts";
import type { SubscriptionAggregate } from "./rules.ts";

/** A subscription as it is answered. Use is not counted yet, and no change is put off. */
export function serializeSubscription(
  { row, customer, product, discount, prices }: SubscriptionAggregate,
  { media_url }: { media_url: string },
): Subscription {
  return {
    ...orderSubscriptionOut(row),
    custom_field_data: row.custom_field_data,
    user_id: row.customer_id,
    customer: customerOut(customer),
    product: productOut(product, media_url),
    discount: discount && discountBaseOut(discount),
    prices: prices.map((price) => priceOut(price, product)),
    meters: [],
    pending_update: null,
  };
}
