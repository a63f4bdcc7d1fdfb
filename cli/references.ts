/** Fields of the wire that hold ids → the commands that know the things by name. */
export const references: Record<string, string> = {
  products: "products",
  product_id: "products",
  benefits: "benefits",
  benefit_id: "benefits",
  meter_id: "meters",
  discount_id: "discounts",
  customer_id: "customers",
  order_id: "orders",
  subscription_id: "subscriptions",
  medias: "files",
  endpoint_id: "webhooks",
};
