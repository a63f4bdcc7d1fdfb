import { z } from "zod";
import { byId, instant, page, paging, type Resource, seller } from "../contract.ts";
import { organizationOf, stored } from "./fields.ts";

/** Where a document can be fetched for an hour. */
export const DocumentLink = z.object({ url: z.string() });

export const invoiceExportStatuses = ["collecting", "printing", "done"] as const;

/** The invoices of many orders, printed as one piece of work. */
export const InvoiceExport = z.object({
  ...stored,
  organization_id: z.uuid(),
  /** `collecting` while its orders are looked for, `printing` until all are printed. */
  status: z.enum(invoiceExportStatuses),
  created_after: instant.nullable(),
  created_before: instant.nullable(),
  customer_id: z.array(z.uuid()).nullable(),
  product_id: z.array(z.uuid()).nullable(),
  /** How many invoices there will be; it grows while orders are looked for. */
  total: z.int(),
  /** How many of them are printed. */
  done: z.int(),
  /** Orders that have no invoice, because nobody has said to whom they were sold. */
  skipped: z.int(),
});
export type InvoiceExport = z.output<typeof InvoiceExport>;

const chosen = z.array(z.uuid()).min(1).max(100).nullish();
export const InvoiceExportCreate = z.object({
  created_after: instant.nullish().describe("Only of orders made at or after this time."),
  created_before: instant.nullish().describe("Only of orders made at or before this time."),
  customer_id: chosen.describe("Only of orders of these customers."),
  product_id: chosen.describe("Only of orders of these products."),
  organization_id: organizationOf,
});

/** One invoice of an export; its address is there when it is printed. */
export const ExportedInvoice = z.object({
  order_id: z.uuid(),
  number: z.string(),
  url: z.string().nullable(),
});

/** The documents of a sale. An invoice has its order's number; receipts and credit notes have series of their own. */
export const invoices = {
  generate: {
    id: "orders:generate_invoice",
    method: "POST",
    path: "/v1/orders/:id/invoice",
    summary: "Generate the invoice of an order",
    access: seller("orders:read"),
    params: byId,
    status: 202,
    errors: ["ResourceNotFound", "OrderNotEligibleForInvoice", "MissingInvoiceBillingDetails"],
  },
  get: {
    id: "orders:invoice",
    method: "GET",
    path: "/v1/orders/:id/invoice",
    summary: "Get the invoice of an order",
    access: seller("orders:read"),
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  receipt: {
    id: "orders:receipt",
    method: "GET",
    path: "/v1/orders/:id/receipt",
    summary: "Get the receipt of an order",
    access: seller("orders:read"),
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  generateCreditNote: {
    id: "refunds:generate_credit_note",
    method: "POST",
    path: "/v1/refunds/:id/credit-note",
    summary: "Generate the credit note of a refund",
    access: seller("refunds:read"),
    params: byId,
    status: 202,
    errors: ["ResourceNotFound", "OrderNotEligibleForInvoice", "MissingInvoiceBillingDetails"],
  },
  createExport: {
    id: "invoice-exports:create",
    method: "POST",
    path: "/v1/invoice-exports/",
    heavy: "cancel",
    summary: "Have the invoices of many orders printed",
    access: seller("orders:read"),
    body: InvoiceExportCreate,
    response: InvoiceExport,
    status: 202,
  },
  getExport: {
    id: "invoice-exports:get",
    method: "GET",
    path: "/v1/invoice-exports/:id",
    summary: "Get how far an export of invoices is",
    access: seller("orders:read"),
    params: byId,
    response: InvoiceExport,
    errors: ["ResourceNotFound"],
  },
  listExported: {
    id: "invoice-exports:list_invoices",
    method: "GET",
    path: "/v1/invoice-exports/:id/invoices",
    summary: "List the invoices of an export",
    access: seller("orders:read"),
    params: byId,
    query: paging,
    response: page(ExportedInvoice),
    errors: ["ResourceNotFound"],
  },
  creditNote: {
    id: "refunds:credit_note",
    method: "GET",
    path: "/v1/refunds/:id/credit-note",
    summary: "Get the credit note of a refund",
    access: seller("refunds:read"),
    params: byId,
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
