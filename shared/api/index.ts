import type { Contract } from "../contract.ts";
import { customers } from "./customers.ts";
import { organizations } from "./organizations.ts";
import { products } from "./products.ts";

/** The whole wire API: every route, typed client, command and OpenAPI entry follows from it. */
export const api = {
  organizations,
  products,
  customers,
} as const satisfies Contract;
export type Api = typeof api;
