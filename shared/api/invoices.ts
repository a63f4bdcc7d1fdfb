import { z } from "zod";
import { byId, type Resource } from "../contract.ts";

/** Where a document can be fetched for an hour. */
export const DocumentLink = z.object({ url: z.string() });

/** The documents of a sale. An invoice has its order's number; receipts and credit notes have series of their own. */
export const invoices = {
  generate: {
    id: "orders:generate_invoice",
    method: "POST",
    path: "/v1/orders/:id/invoice",
    summary: "Generate the invoice of an order",
    scopes: ["orders:read"],
    params: byId,
    status: 202,
    errors: ["ResourceNotFound", "OrderNotEligibleForInvoice", "MissingInvoiceBillingDetails"],
  },
  get: {
    id: "orders:invoice",
    method: "GET",
    path: "/v1/orders/:id/invoice",
    summary: "Get the invoice of an order",
    scopes: ["orders:read"],
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  receipt: {
    id: "orders:receipt",
    method: "GET",
    path: "/v1/orders/:id/receipt",
    summary: "Get the receipt of an order",
    scopes: ["orders:read"],
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  generateCreditNote: {
    id: "refunds:generate_credit_note",
    method: "POST",
    path: "/v1/refunds/:id/credit-note",
    summary: "Generate the credit note of a refund",
    scopes: ["refunds:read"],
    params: byId,
    status: 202,
    errors: ["ResourceNotFound", "OrderNotEligibleForInvoice", "MissingInvoiceBillingDetails"],
  },
  creditNote: {
    id: "refunds:credit_note",
    method: "GET",
    path: "/v1/refunds/:id/credit-note",
    summary: "Get the credit note of a refund",
    scopes: ["refunds:read"],
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
