import { z } from "zod";
import { ArchiveEnd, ArchivePart, lineLengthMax } from "../archive.ts";
import { buildSellerAccess, instant, type Resource, seller } from "../contract.ts";
import { scopes } from "../scopes.ts";

/** An archive has rows of every kind. */
const everyRead = scopes.filter((scope) => scope.endsWith(":read"));
const everyWrite = scopes.filter((scope) => scope.endsWith(":write"));

const passphrase = z.string().min(12).max(1024);

/** How far the restoration of an archive is. Until it is activated, the organization is held (MOV-05). */
export const ArchiveRestore = z.object({
  archive_id: z.uuid(),
  source_organization_id: z.string(),
  taken_at: instant,
  status: z.enum(["restoring", "held", "active"]),
  next_part: z.int(),
  parts: z.int(),
  rows: z.int(),
  rows_total: z.int(),
  /** Files whose bytes are not in the archive: upload them again. */
  files_left_out: z.int(),
  /** Subscriptions whose renewal is due: they are charged as soon as the organization is activated. */
  overdue_subscriptions: z.int(),
  created_at: instant,
  finished_at: instant.nullable(),
  activated_at: instant.nullable(),
});
export type ArchiveRestore = z.output<typeof ArchiveRestore>;

/** The whole data of an organization as an archive, and back from one. */
export const archives = {
  export: {
    method: "POST",
    path: "/v1/archives/export",
    heavy: "cancel",
    summary: "Export all data of an organization as an archive",
    access: buildSellerAccess("organizations:read", everyRead),
    body: z.object({
      passphrase: passphrase.describe("Seals the secrets in the archive; a restoration needs it."),
      organization_id: z.uuid().optional().describe("The organization."),
    }),
    file: { name: "organization.floe.ndjson", type: "application/x-ndjson" },
    errors: ["ArchiveRefused"],
    // Each archive is another one, and none is kept.
    answersOnce: true,
    whileHeld: true,
  },
  getRestore: {
    method: "GET",
    path: "/v1/archives/restore",
    summary: "Get the state of a restoration",
    access: seller("organizations:read"),
    response: ArchiveRestore,
    errors: ["ResourceNotFound"],
  },
  beginRestore: {
    method: "POST",
    path: "/v1/archives/restore",
    summary: "Begin to restore an archive into an empty organization, or go on",
    access: buildSellerAccess("organizations:write", everyWrite),
    body: z.object({
      header: z
        .string()
        .max(256 * 1024)
        .describe("The first line of the archive, as it is."),
      end: ArchiveEnd.describe("The last line of the archive."),
      passphrase: passphrase.describe("The passphrase that the archive was made with."),
      organization_id: z.uuid().optional().describe("The organization."),
    }),
    response: ArchiveRestore,
    errors: ["ArchiveRefused"],
    external: true,
    whileHeld: true,
    audit: "archive.restoration_started",
  },
  restorePart: {
    method: "POST",
    path: "/v1/archives/restore/parts",
    heavy: "finish",
    bulk: true,
    summary: "Restore the next part of an archive",
    access: buildSellerAccess("organizations:write", everyWrite),
    body: z.object({
      ...ArchivePart.shape,
      text: z.string().max(lineLengthMax).describe("The rows of the part, as they are."),
      organization_id: z.uuid().optional().describe("The organization."),
    }),
    response: ArchiveRestore,
    errors: ["ArchiveRefused", "ResourceNotFound"],
    external: true,
    whileHeld: true,
  },
  activate: {
    method: "POST",
    path: "/v1/archives/restore/activate",
    summary: "Activate a restored organization: it sells, charges and sends mail from then on",
    access: buildSellerAccess("organizations:write", everyWrite),
    body: z.object({
      charge_overdue: z
        .boolean()
        .default(false)
        .describe(
          "Charge renewals that fell due since the export. The organization it came from may have charged them.",
        ),
      organization_id: z.uuid().optional().describe("The organization."),
    }),
    response: ArchiveRestore,
    errors: ["ArchiveRefused", "ResourceNotFound"],
    whileHeld: true,
    audit: "archive.activated",
    confirm: "Activate the organization? Make sure that the one it came from no longer charges its customers.",
  },
} as const satisfies Resource;
