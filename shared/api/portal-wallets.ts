import { z } from "zod";
import { byId, customer, page, paging, type Resource, sorting } from "../contract.ts";
import { stored } from "./fields.ts";

/** What a seller owes a customer in a currency: it pays the next orders. Minor units. */
export const CustomerWallet = z.object({
  ...stored,
  customer_id: z.uuid(),
  balance: z.int(),
  currency: z.string(),
});
export type CustomerWallet = z.output<typeof CustomerWallet>;

/** The credit of the customer who asks, as wallets that are read and never filled here. */
export const portalWallets = {
  list: {
    method: "GET",
    id: "customer_portal:wallets:list",
    path: "/v1/customer-portal/wallets/",
    summary: "List one's own credit, by currency",
    access: customer("customer_portal:read"),
    query: z.object({ ...paging.shape, sorting: sorting(["created_at", "balance"], ["-created_at"]) }),
    response: page(CustomerWallet),
  },
  get: {
    method: "GET",
    id: "customer_portal:wallets:get",
    path: "/v1/customer-portal/wallets/:id",
    summary: "Get one's own credit in a currency",
    access: customer("customer_portal:read"),
    params: byId,
    response: CustomerWallet,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
