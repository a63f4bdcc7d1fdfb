import type { invoices as operations } from "../../../shared/api/invoices.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { getMessages, type Language, resolveLanguage, type ServerMessages } from "../../../shared/messages/index.ts";
import { deleteStoredFile, finishFile, linkFile, readBytes, storeFile } from "../../catalog/files/service.ts";
import { findPublic } from "../../catalog/files/store.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock, withSellerClock } from "../../platform/clock.ts";
import { type Ctx, type Deps, requireOrganization, type Tx } from "../../platform/context.ts";
import { deleteFailures, GiveUpError } from "../../platform/db/due.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { Relayed } from "../../platform/http/relayed.ts";
import { createId } from "../../platform/ids.ts";
import { isTooLarge } from "../../platform/images.ts";
import { ProcessCrashedError } from "../../platform/jobs/limited-process.ts";
import { acceptsTestPayments } from "../../platform/processors/processor.ts";
import type { OrderAggregate, OrderRow } from "../orders/rules.ts";
import { markInvoiced } from "../orders/service.ts";
import { findNextOrders, findOrder } from "../orders/store.ts";
import { findPaymentOf } from "../refunds/store.ts";
import { loadRegistrations } from "../tax/store.ts";
import type { InvoiceDocument, Logo } from "./document.ts";
import { readLink } from "./links.ts";
import { printDocument } from "./printer.ts";
import {
  checkQueue,
  describeDocument,
  getFileName,
  getFormat,
  getMediaPath,
  getSeries,
  hashDocument,
  hasInvoice,
  type InvoiceRow,
  type Sources,
  serializeExport,
} from "./rules.ts";
import * as store from "./store.ts";

/** The names of the sweeps that print, and that collect what an export is of, as they are woken. */
export const printing = "invoices.print";
export const collecting = "invoices.collect";

/** A person waits for it: it goes before what an export has in the queue. */
const atOnce = new Date(0);
const collectedAtOnce = 200;
const crashesMax = 3;

/** An order that can have documents, or the refusal. */
async function findSold(ctx: Ctx, id: string): Promise<OrderAggregate> {
  const found = await findOrder(ctx.db, requireOrganization(ctx), id);
  if (!found) throw notFound();
  return found;
}

function checkDetails({ order }: OrderAggregate): void {
  if (order.status === "draft" || order.status === "void")
    throw new ApiError("OrderNotEligibleForInvoice", "This order has no invoice: nothing is sold with it.");
  if (!order.billing_name?.trim() || !order.billing_address)
    throw new ApiError(
      "MissingInvoiceBillingDetails",
      "The order has no billing name or no billing address. Set both with an update of the order.",
    );
}

/**
 * Have a document printed: its number is taken with the first time. One that is as it should be is left so; one whose contents
 * have changed is answered again when it has been made anew.
 */
async function schedule(ctx: Ctx, place: store.DocumentPlace, numbered: string | { series: string }): Promise<void> {
  const made = await store.findInvoice(ctx.db, place);
  if (made) {
    if (made.digest === null) return;
    const { digest } = describePrint(await loadSources(ctx, made));
    if (digest === made.digest) return;
  }
  await transact(ctx, async (tx) => {
    const now = ctx.clock.now();
    ctx.jobs.wake(tx, printing);
    if (made) return store.scheduleInvoice(tx, made, atOnce);
    const row = { ...place, id: createId(now), created_at: now, due_at: atOnce };
    if (typeof numbered === "string") {
      await store.insertInvoice(tx, { ...row, number: numbered });
      return;
    }
    // Who asks for the same at the same time waits here, and finds it made: a number that was taken is used.
    await store.lockSeries(tx, place.organization_id, numbered.series);
    if (await store.findInvoice(tx, place)) return;
    const number = await store.assignNumber(tx, place.organization_id, numbered.series);
    if (!(await store.insertInvoice(tx, { ...row, number }))) throw new Error(`The number ${number} is taken.`);
  });
}

/** Try a document again that was given up because it had ended its process too often. */
async function retryCrashed(ctx: Ctx, place: store.DocumentPlace): Promise<void> {
  const row = await store.findInvoice(ctx.db, place);
  if (!row || row.crashes < crashesMax) return;
  await store.updateInvoice(ctx.db, row, { crashes: 0, due_at: atOnce });
  await deleteFailures(ctx.db, printing, [row.id]);
}

/** The address of a printed document; undefined while there is none. */
async function linkOf(ctx: Ctx, row: InvoiceRow | undefined): Promise<{ url: string } | undefined> {
  if (!row?.file_id || row.digest === null) return undefined;
  const link = await linkFile(ctx, { organization_id: row.organization_id, id: row.file_id });
  return link && { url: link.url };
}

const matchOrder = ({ organization_id, id }: OrderRow, kind: "invoice" | "receipt"): store.DocumentPlace => ({
  organization_id,
  kind,
  order_id: id,
  refund_id: null,
});

/**
 * The address of an invoice or receipt, for whoever wants to read it now: it is printed where it was not yet, or says
 * something else by now, and until then there is none. An order that has no such document is 404.
 */
export async function fetchDocument(
  ctx: Ctx,
  { order }: OrderAggregate,
  kind: "invoice" | "receipt",
): Promise<{ url: string } | undefined> {
  const number = kind === "receipt" ? order.receipt_number : hasInvoice(order) ? order.invoice_number : null;
  if (number === null) throw notFound();
  const place = matchOrder(order, kind);
  await schedule(ctx, place, number);
  return linkOf(ctx, await store.findInvoice(ctx.db, place));
}

/** What is being printed has no address yet, and nothing is wrong. */
export const openDocumentLink = (link: { url: string } | undefined): { url: string } =>
  link ?? (new Relayed(202, null) as never);

/**
 * What the address of a document in a mail leads to: where the file is now, or what to say while it is being printed. An
 * address that is no longer good is 404.
 */
export async function openDocument(
  ctx: Ctx,
  token: string,
): Promise<{ url: string } | { language: Language; waiting: ServerMessages["invoice"]["waiting"] }> {
  const named = readLink(ctx.config, token, getServerClock(ctx.clock).now());
  const sale = named && (await findOrder(ctx.db, named.organization_id, named.order_id));
  if (!sale) throw notFound();
  const link = await fetchDocument(ctx, sale, named.kind);
  if (link) return link;
  const language = resolveLanguage(sale.customer.locale, sale.order.billing_address?.country ?? null);
  return { language, waiting: getMessages(language).invoice.waiting };
}

async function findRefunded(ctx: Ctx, id: string) {
  const refund = await store.findRefund(ctx.db, { organization_id: requireOrganization(ctx), id });
  // Money that was taken without need is on no invoice.
  if (!refund || refund.origin === "surplus") throw notFound();
  const place: store.DocumentPlace = {
    organization_id: refund.organization_id,
    kind: "credit_note",
    order_id: refund.order_id,
    refund_id: refund.id,
  };
  return { refund, place };
}

/** Invoices, receipts and credit notes of the API. */
export const invoiceService: Service<typeof operations, Ctx> = {
  async generate(ctx, { params }) {
    const sale = await findSold(ctx, params.id);
    checkDetails(sale);
    await retryCrashed(ctx, matchOrder(sale.order, "invoice"));
    await schedule(ctx, matchOrder(sale.order, "invoice"), sale.order.invoice_number ?? "");
  },
  async get(ctx, { params }) {
    const { order } = await findSold(ctx, params.id);
    const link = await linkOf(ctx, await store.findInvoice(ctx.db, matchOrder(order, "invoice")));
    if (!link) throw notFound();
    return link;
  },
  receipt: async (ctx, { params }) =>
    openDocumentLink(await fetchDocument(ctx, await findSold(ctx, params.id), "receipt")),
  async generateCreditNote(ctx, { params }) {
    const { refund, place } = await findRefunded(ctx, params.id);
    const sale = await findSold(ctx, refund.order_id);
    if (refund.status !== "succeeded")
      throw new ApiError("OrderNotEligibleForInvoice", "Nothing is credited before the buyer has the money.");
    checkDetails(sale);
    const seller = await findOrganization(ctx.db, refund.organization_id);
    await retryCrashed(ctx, place);
    await schedule(ctx, place, { series: getSeries(seller?.slug ?? "") });
  },
  createExport: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      checkQueue(await store.lockQueues(tx, requireOrganization(ctx)));
      const now = ctx.clock.now();
      const { created_after = null, created_before = null, customer_id = null, product_id = null } = body;
      const row = await store.insertExport(tx, {
        id: createId(now),
        organization_id: requireOrganization(ctx),
        created_at: now,
        created_after,
        created_before,
        customer_ids: customer_id,
        product_ids: product_id,
        due_at: now,
      });
      ctx.jobs.wake(tx, collecting);
      return serializeExport(row, 0, 0);
    }),
  async getExport(ctx, { params }) {
    const found = await store.findExport(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!found) throw notFound();
    return serializeExport(found.row, found.total, found.done);
  },
  async listExported(ctx, { params, query }) {
    const key = { organization_id: requireOrganization(ctx), id: params.id };
    const found = await store.findExport(ctx.db, key);
    if (!found) throw notFound();
    const rows = await store.listExported(ctx.db, key, query);
    const items = await Promise.all(
      rows.map(async (row) => {
        const link = row.due_at === null ? await linkOf(ctx, row) : undefined;
        return { order_id: row.order_id, number: row.number, url: link?.url ?? null };
      }),
    );
    return buildPage(items, found.total, query);
  },
  async creditNote(ctx, { params }) {
    const { place } = await findRefunded(ctx, params.id);
    const link = await linkOf(ctx, await store.findInvoice(ctx.db, place));
    if (!link) throw notFound();
    return link;
  },
};

/** Collect some more of the orders that an export is of, and have their invoices printed. */
export async function collectDue(deps: Deps, key: RowKey): Promise<void> {
  await transact(deps, async (tx) => {
    const row = await store.lockDueExport(tx, key);
    if (!row) return;
    const now = deps.clock.now();
    const filter = {
      created_after: row.created_after ?? undefined,
      // What is sold from now on is not meant, so that it comes to an end.
      created_before:
        row.created_before !== null && row.created_before < row.created_at ? row.created_before : row.created_at,
      customer_id: row.customer_ids ?? undefined,
      product_id: row.product_ids ?? undefined,
    };
    const orders = await findNextOrders(tx, [key.organization_id], filter, row.after ?? undefined, collectedAtOnce);
    const meant = orders.filter(({ status }) => status !== "draft" && status !== "void");
    const printed = meant.filter(hasInvoice);
    await store.addToExport(
      tx,
      row,
      printed.map(({ id, invoice_number }) => ({ id, row_id: createId(now), number: invoice_number ?? "" })),
      now,
    );
    const last = orders.length === collectedAtOnce ? orders.at(-1) : undefined;
    await store.updateExport(tx, row, {
      after: last ? { at: last.at, id: last.id } : row.after,
      skipped: row.skipped + meant.length - printed.length,
      due_at: last ? now : null,
      modified_at: now,
    });
    deps.jobs.wake(tx, printing);
  });
}

/** What stands in the documents of an order has changed: those that were made are looked at again. */
export async function queueReprint(tx: Tx, ctx: Ctx | Deps, order: OrderRow): Promise<void> {
  if (await store.scheduleOfOrder(tx, order, ctx.clock.now())) ctx.jobs.wake(tx, printing);
}

async function loadSources(deps: Ctx | Deps, row: InvoiceRow): Promise<Sources> {
  const { organization_id, order_id, refund_id } = row;
  const sale = await findOrder(deps.db, organization_id, order_id);
  const seller = await findOrganization(deps.db, organization_id);
  if (!sale || !seller) throw new Error(`The order ${order_id} of a document is gone.`);
  const registrations = await loadRegistrations(deps.db, organization_id);
  const payment = await findPaymentOf(deps.db, sale.order);
  const refund = refund_id === null ? undefined : await store.findRefund(deps.db, { organization_id, id: refund_id });
  const sells_test = acceptsTestPayments(withSellerClock(deps, seller));
  return { sells_test, invoice: row, sale, seller, registrations, payment, refund };
}

const logoBytesMax = 2 * 1024 * 1024;

/** The seller's picture, where it is one that can be printed. */
async function readLogo(deps: Deps, path: string | null): Promise<Logo | null> {
  const file = path === null ? undefined : await findPublic(deps.db, path);
  if (!file || file.size > logoBytesMax) return null;
  const bytes = await readBytes(deps, file);
  const format = getFormat(bytes);
  return format && !isTooLarge(bytes) ? { format, bytes } : null;
}

/** What is to be printed, and whether it is what was. */
function describePrint(sources: Sources) {
  const document = describeDocument(sources);
  const path = getMediaPath(sources.seller.branding.logo_url);
  return { document, path, digest: hashDocument(document, path) };
}

/** Print it; where that fails with the seller's picture, which may be broken, without. */
async function printWith(deps: Deps, document: InvoiceDocument, logo: Logo | null): Promise<Uint8Array> {
  if (logo === null) return printDocument(document, null);
  return printDocument(document, logo).catch((error: unknown) => {
    deps.log.warn({ err: error, organization_id: document.seller.id }, "A document is printed without its picture.");
    return printDocument(document, null);
  });
}

/**
 * Update a document that is due. `claimDueInvoice` has counted the attempt as a crash, so that one that ends the whole server
 * counts too. After the first the document is printed without the seller's picture, after three it is a dead letter.
 */
export async function printDue(deps: Deps, row: InvoiceRow, taken_until: Date): Promise<void> {
  if (row.crashes > crashesMax) throw new GiveUpError("Printing it has ended its process too often.");
  try {
    await updateDocument(deps, row, taken_until);
  } catch (error) {
    if (!(error instanceof ProcessCrashedError)) await store.updateInvoice(deps.db, row, { crashes: row.crashes - 1 });
    else if (row.crashes === crashesMax) throw new GiveUpError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Bring a document that is due up to date: print it where what stands in it has changed, outside of any transaction, and put
 * the file in the place of the one before. Killed anywhere it is due again; the file that nobody points to is swept away.
 */
async function updateDocument(deps: Deps, row: InvoiceRow, taken_until: Date): Promise<void> {
  const { document, path, digest } = describePrint(await loadSources(deps, row));
  if (digest === row.digest) return store.settleInvoice(deps.db, row, taken_until);
  const pdf = await printWith(deps, document, row.crashes > 1 ? null : await readLogo(deps, path));
  const { organization_id } = row;
  const name = getFileName(row.number);
  const file = await storeFile(deps, { organization_id, name, mime_type: "application/pdf" }, pdf);
  await transact(deps, async (tx) => {
    // The order first, as everywhere.
    if (row.kind === "invoice") await markInvoiced(tx, deps, { organization_id, id: row.order_id });
    const held = await store.lockInvoice(tx, row);
    // Another server was faster: its file stands, and this one is swept away.
    if (!held || held.digest !== row.digest) return;
    const now = deps.clock.now();
    await finishFile(tx, file, now);
    if (held.file_id !== null) await deleteStoredFile(tx, { organization_id, id: held.file_id }, now);
    const isSettled = held.due_at?.getTime() === taken_until.getTime();
    await store.updateInvoice(tx, row, {
      digest,
      file_id: file.id,
      printed_at: now,
      modified_at: now,
      crashes: 0,
      due_at: isSettled ? null : held.due_at,
    });
  });
}
