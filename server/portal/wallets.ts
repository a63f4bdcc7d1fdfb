import { createHash } from "node:crypto";
import type { CustomerWallet, portalWallets } from "../../shared/api/portal-wallets.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import { listBalances } from "../billing/orders/balances.ts";
import type { Ctx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { findAsker } from "./access.ts";

/** A balance has no id of its own: it is the one of a customer in a currency. */
function getId(customer_id: string, currency: string): string {
  const hex = createHash("sha256").update(`wallet ${customer_id} ${currency}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** What the seller owes the asker, by currency; what they owe themselves is no wallet. */
async function findWallets(ctx: Ctx): Promise<CustomerWallet[]> {
  const customer = await findAsker(ctx);
  const balances = await listBalances(ctx.db, customer);
  return balances
    .filter(({ amount }) => amount > 0)
    .map(({ currency, amount, modified_at }) => ({
      ...{ id: getId(customer.id, currency), created_at: customer.created_at, modified_at, customer_id: customer.id },
      ...{ balance: amount, currency },
    }));
}

/** Customers' credit, as wallets. */
export const portalWalletService: Service<typeof portalWallets, Ctx> = {
  async list(ctx, { query }) {
    const wallets = await findWallets(ctx);
    const [by = "-created_at"] = query.sorting;
    const sign = by.startsWith("-") ? -1 : 1;
    const sorted = wallets.toSorted((a, b) =>
      by.endsWith("balance") && a.balance !== b.balance
        ? sign * (a.balance - b.balance)
        : a.currency.localeCompare(b.currency, "en"),
    );
    const first = (query.page - 1) * query.limit;
    return buildPage(sorted.slice(first, first + query.limit), wallets.length, query);
  },
  async get(ctx, { params }) {
    const found = (await findWallets(ctx)).find(({ id }) => id === params.id);
    if (!found) throw notFound();
    return found;
  },
};
