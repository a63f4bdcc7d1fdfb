/** Rows of what is about people: teams, their members, what they are owed, and who is erased. */

import { customerBalances } from "../../server/billing/orders/tables.ts";
import { archiveBodies, restoredArchive } from "./archives.ts";
import { declareCancellation } from "./cancellations.ts";
import { startIssuer } from "./ci-issuer.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";
import { importBodies, importOf } from "./imports.ts";
import { migrationRow } from "./migration-rows.ts";
import { buyerOf, tokenOf } from "./portal-rows.ts";

/** A customer who is erased. */
export async function someoneErased({ client }: Pick<Seller, "client">) {
  const { id } = await client.customers.create({ body: { email: `erased-${newId()}@example.com` } });
  await client.customers.erase({ params: { id } });
  return { id };
}

/** A rule for the jobs of a service of its own, and the service. */
export async function makeCiRule(floe: Floe, { client }: Pick<Seller, "client">, more: object = {}) {
  const issuer = await startIssuer(floe);
  const rule = await client.ciRules.create({
    body: { issuer: issuer.url, repository: "acme/shop", branch: "main", scopes: ["products:read"], ...more },
  });
  return { issuer, rule };
}

export const ciBodies = {
  ...archiveBodies,
  ...importBodies,
  "ciRules.create": () => ({ repository: "acme/shop", branch: "main", scopes: ["products:read"] }),
  "ciRules.exchange": () => ({ organization: "ada", token: "no.token.atall" }),
};
/** Bodies that are accepted once. */
export const ciFresh = {
  "ciRules.exchange": async (floe: Floe, seller: Seller) => {
    const { issuer } = await makeCiRule(floe, seller);
    return { body: { organization: seller.organization_id, token: await issuer.sign() } };
  },
};

export const peopleRows = {
  archives: restoredArchive,
  imports: importOf,
  ciRules: async (floe: Floe, seller: Seller) => ({ params: { id: (await makeCiRule(floe, seller)).rule.id } }),
  organizationAccessTokens: async (_: Floe, { client }: Seller) => {
    const made = await client.organizationAccessTokens.create({ body: { comment: "Row", scopes: ["products:read"] } });
    return { params: { id: made.organization_access_token.id } };
  },
  grantRuns: async (floe: Floe, { client }: Seller) => {
    const prices = [{ amount_type: "free" as const }];
    const { id } = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
    await client.products.setBenefits({ params: { id }, body: { benefits: [(await noteOf(client)).id] } });
    await floe.runJobs();
    const [run] = (await client.grantRuns.list({ query: {} })).items;
    return { params: { id: run?.id ?? "" } };
  },
  subscriptionMigrations: migrationRow,
  cancellations: async (floe: Floe, seller: Seller) => {
    await declareCancellation(floe, seller);
    return { params: { id: (await seller.client.cancellations.list({ query: {} })).items[0]?.id ?? "" } };
  },
  portalCancellations: async () => ({ params: {} }),
  customerMembers: async (_: Floe, { client }: Seller) => {
    const external_id = `team-${newId()}`;
    const body = { type: "team" as const, external_id, owner: { email: "owner@example.com" } };
    const { id } = await client.customers.create({ body });
    const member = { email: "member@example.com", external_id: "desk-1" };
    const { id: member_id } = await client.customerMembers.create({ params: { id }, body: member });
    return { params: { id, external_id, member_id, member_external_id: "desk-1" } };
  },
  portalMembers: async (_: Floe, seller: Seller) => {
    const id = await buyerOf(seller);
    await seller.client.customers.update({ params: { id }, body: { type: "team" } });
    const body = { email: `member-${newId()}@example.com` };
    return { params: { id: (await seller.client.customerMembers.create({ params: { id }, body })).id } };
  },
  portalWallets: async (floe: Floe, seller: Seller) => {
    const customer_id = await buyerOf(seller);
    const { organization_id } = seller;
    const balance = { organization_id, customer_id, currency: "eur", amount: 500 };
    await floe.deps.db.insert(customerBalances).values(balance).onConflictDoNothing();
    const { portalWallets } = floe.client(await tokenOf(seller));
    return { params: { id: (await portalWallets.list({ query: {} })).items[0]?.id ?? "" } };
  },
};

const noteOf = (client: Seller["client"]) =>
  client.benefits.create({ body: { type: "custom", description: "A note", properties: {} } });
