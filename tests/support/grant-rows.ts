import { eq } from "drizzle-orm";
import { benefitGrants } from "../../server/entitlements/grants/tables.ts";
import type { Floe, Seller } from "./floe.ts";

/** What buys a book. */
const paid = {
  confirmation_token_id: "pm_card_visa",
  customer_name: "Buyer",
  customer_billing_address: { country: "FR" },
};

/** A book that gives something is bought; answers what its buyer was given. */
export async function grant(
  floe: Floe,
  { client }: Seller,
  body: Parameters<typeof client.benefits.create>[0]["body"] = {
    type: "custom",
    description: "Thanks",
    properties: {},
  },
  buyer: { customer_id: string } | { customer_email: string } = { customer_email: "buyer@example.com" },
) {
  const { id: benefit_id } = await client.benefits.create({ body });
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id: product_id } = await client.products.create({ body: { name: "Book", prices } });
  await client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit_id] } });
  const { client_secret } = await client.checkouts.create({
    body: { products: [product_id], ...buyer },
  });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: paid });
  const [made] = (await client.benefits.grants({ params: { id: benefit_id }, query: {} })).items;
  if (!made) throw new Error("Nothing was granted.");
  return made;
}

/** A license key that was bought, and its first activation. */
export async function soldKey(floe: Floe, seller: Seller) {
  const { client, organization_id } = seller;
  const activations = { limit: 100, enable_customer_admin: true };
  await grant(floe, seller, { type: "license_keys", description: "A key", properties: { activations } });
  const [sold] = (await client.licenseKeys.list({ query: {} })).items;
  if (!sold) throw new Error("No key was sold.");
  const { id, key, customer_id } = sold;
  const { id: activation_id } = await client.licenseKeys.activate({ body: { key, organization_id, label: "Desk" } });
  return { id, key, customer_id, activation_id, organization_id };
}

/** What asks for such a key. */
export async function keyBody(floe: Floe, seller: Seller, more: object = {}) {
  const { key, organization_id } = await soldKey(floe, seller);
  return { body: { key, organization_id, ...more } };
}
export async function deactivation(floe: Floe, seller: Seller) {
  const { key, organization_id, activation_id } = await soldKey(floe, seller);
  return { body: { key, organization_id, activation_id } };
}

/** A grant that nobody can be given, as it waits for somebody. */
export async function failedGrant(floe: Floe, seller: Seller): Promise<string> {
  const { id } = await grant(floe, seller);
  const error = { message: "Not yet.", type: "BenefitActionRequiredError", timestamp: floe.clock.now().toISOString() };
  await floe.deps.db.update(benefitGrants).set({ granted_at: null, error }).where(eq(benefitGrants.id, id));
  return id;
}
