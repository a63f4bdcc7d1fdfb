import type { ArchiveRestore } from "../../../shared/api/archives.ts";
import { ArchiveHeader, archiveFormat } from "../../../shared/archive.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import type { ArchiveKind } from "./kinds.ts";
import type { RestoreRow } from "./store.ts";

/** An archive cannot be restored here, or not now. */
export const rejectArchive = (detail: string): ApiError => new ApiError("ArchiveRefused", detail);

/** Read the first line of an archive. */
export function readHeader(line: string): ArchiveHeader {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalid(fault(["header"], "The first line is not JSON: this is no archive, or it is damaged."));
  }
  const format = (value as { floe_archive?: unknown } | null)?.floe_archive;
  if (typeof format === "number" && format > archiveFormat)
    throw rejectArchive(
      `The archive has the format ${format}, which this version does not read. Install a newer floe.`,
    );
  const parsed = ArchiveHeader.safeParse(value);
  if (parsed.success && parsed.data.floe_archive === archiveFormat) return parsed.data;
  throw invalid(fault(["header"], "The first line does not describe an archive: this is none, or it is damaged."));
}

/** What stands in the way of the kinds of an archive: it comes from a newer version, or a value is missing. */
export function findKindFault(header: ArchiveHeader, present: readonly ArchiveKind[]): string | undefined {
  const known = new Map(present.map((one) => [one.kind, one]));
  for (const { kind, columns, sealed } of header.kinds.slice(1)) {
    const table = known.get(kind);
    const names = table && [...table.columns, ...table.sealed];
    const unknown = [...columns, ...sealed].find((name) => !names?.includes(name));
    if (!table || unknown !== undefined)
      return `The archive comes from a newer floe (${header.version}): this one has no ${table ? `${kind}.${unknown}` : kind}.`;
    const missing = table.required.find((name) => !columns.includes(name) && !sealed.includes(name));
    if (missing !== undefined)
      return `The archive (floe ${header.version}) has no ${kind}.${missing}, which is required here.`;
  }
  return undefined;
}

/** A restoration in the form of an answer. */
export const serializeRestore = (row: RestoreRow, overdue_subscriptions: number): ArchiveRestore => ({
  archive_id: row.id,
  source_organization_id: row.source_organization_id,
  taken_at: row.taken_at,
  status: row.activated_at !== null ? "active" : row.finished_at !== null ? "held" : "restoring",
  next_part: row.next_part,
  parts: row.parts,
  rows: row.rows,
  rows_total: row.rows_total,
  files_left_out: row.files_left_out,
  overdue_subscriptions,
  created_at: row.created_at,
  finished_at: row.finished_at,
  activated_at: row.activated_at,
});
