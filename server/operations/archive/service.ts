import type { archives } from "../../../shared/api/archives.ts";
import { ArchiveHeader, bytesKind, getSignedEnd, getSignedPart, settingsKind } from "../../../shared/archive.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { fault, invalid, notFound } from "../../../shared/errors.ts";
import { findOrganization, lockOrganization, updateOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization, type Tx } from "../../platform/context.ts";
import { seal, tryUnseal, unseal } from "../../platform/crypto/secrets.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record } from "../../platform/events/audit.ts";
import { readSqlState } from "../../platform/loggable.ts";
import { applyErasures } from "../privacy/jobs.ts";
import { listLogged } from "../privacy/log.ts";
import { hasOpenErasure } from "../privacy/store.ts";
import { writeArchive } from "./export.ts";
import { applySettings, insertPart } from "./insert.ts";
import { listKinds } from "./kinds.ts";
import { findKindFault, readHeader, rejectArchive, serializeRestore } from "./rules.ts";
import { settingColumns } from "./settings.ts";
import { deriveArchiveKey, hashText, isTrustedSigner, verifyText } from "./signing.ts";
import { streamSpooled } from "./spool.ts";
import * as store from "./store.ts";

type Begin = Input<(typeof archives)["beginRestore"]>["body"];
type Part = Input<(typeof archives)["restorePart"]>["body"];

/** So many customers are erased again in one transaction. */
const erasedAtOnce = 20;

/** The whole data of an organization as an archive, and back from one (MOV-01 to MOV-07). */
export const archiveService: Service<typeof archives, Ctx> = {
  async export(ctx, { body }) {
    const organization_id = requireOrganization(ctx);
    if (await hasOpenErasure(ctx.db, organization_id))
      throw rejectArchive("The erasure of a customer is under way. Export again in a minute, without that customer.");
    const restore = await store.findRestore(ctx.db, organization_id);
    if (restore && restore.finished_at === null)
      throw rejectArchive("An archive is being restored into this organization. Export it when that is done.");
    await transact(ctx, async (tx) =>
      record(tx, ctx, {
        action: "archive.exported",
        actor: ctx.actor,
        subject: { type: "archive", id: null },
        organization_id,
        ip_address: ctx.ip,
        user_agent: null,
      }),
    );
    return streamSpooled((write) => writeArchive(ctx, organization_id, body.passphrase, write));
  },
  async getRestore(ctx) {
    const row = await store.findRestore(ctx.db, requireOrganization(ctx));
    if (!row) throw notFound();
    return serialize(ctx, row);
  },
  async beginRestore(ctx, { body }) {
    const header = readHeader(body.header);
    await checkSigned(ctx, header, body);
    const archive_key = await deriveArchiveKey(body.passphrase, header.salt);
    if (tryUnseal([archive_key], "archive-value", "check", header.check) !== "floe")
      throw invalid(fault(["passphrase"], "This is not the passphrase that the archive was made with.", "value_error"));
    return serialize(ctx, await transact(ctx, (tx) => begin(tx, ctx, header, body, archive_key)));
  },
  async restorePart(ctx, { body }) {
    const row = await store.findRestore(ctx.db, requireOrganization(ctx));
    if (!row) throw notFound();
    checkPart(row, body);
    if (body.kind === bytesKind && body.index === row.next_part) await writeFile(ctx, row, body.text);
    const made = await transact(ctx, (tx) => addPart(tx, ctx, body)).catch((error: unknown) => {
      // What the database refuses of a row is a conflict with what is here, such as an id that another organization has.
      if (!/^2[23]/.test(readSqlState(error) ?? "")) throw error;
      throw rejectArchive(
        `The rows of part ${body.index} (${body.kind}) cannot be stored: ${describeRefusal(error)}. Nothing of the part was stored.`,
      );
    });
    return serialize(ctx, await finishRestore(ctx, made));
  },
  async activate(ctx, { body }) {
    const organization_id = requireOrganization(ctx);
    const row = await transact(ctx, async (tx) => {
      await lockOrganization(tx, organization_id);
      const restore = await store.lockRestore(tx, organization_id);
      if (!restore) throw notFound();
      if (restore.activated_at !== null) return restore;
      if (restore.finished_at === null) throw rejectArchive("The archive is not restored yet. Go on with it first.");
      await checkSource(tx, restore.source_organization_id, organization_id);
      const overdue = await store.countOverdue(tx, organization_id, ctx.clock.now());
      if (overdue > 0 && !body.charge_overdue)
        throw rejectArchive(
          `${overdue} subscriptions fell due since the export: the organization that they come from may have charged them. Export and restore again, or activate with charge_overdue.`,
        );
      const now = getServerClock(ctx.clock).now();
      await updateOrganization(tx, organization_id, { held_at: null });
      return store.updateRestore(tx, restore, { activated_at: now });
    });
    return serialize(ctx, row);
  },
};

async function serialize(ctx: Ctx, row: store.RestoreRow) {
  const isHeld = row.finished_at !== null && row.activated_at === null;
  return serializeRestore(row, isHeld ? await store.countOverdue(ctx.db, row.organization_id, ctx.clock.now()) : 0);
}

/** Refuse an archive whose signer is not trusted here, or that is not what was signed. */
async function checkSigned(ctx: Ctx, header: ArchiveHeader, { header: line, end }: Begin): Promise<void> {
  if (!isTrustedSigner(ctx.config, header.key))
    throw rejectArchive(
      `The archive was signed by another server, whose key is ${header.key}. The operator of this one trusts it by FLOE_TRUSTED_ARCHIVES=${header.key}.`,
    );
  if (!verifyText(header.key, getSignedEnd(hashText(line), end), end.signature))
    throw rejectArchive("The archive is damaged or was changed: its first and last lines are not what was signed.");
}

/** Refuse a second copy of an organization on one server: both would charge the same customers (MOV-06). */
async function checkSource(tx: Tx, source: string, organization_id: string): Promise<void> {
  if (source !== organization_id && (await findOrganization(tx, source)))
    throw rejectArchive(
      "The organization of the archive is on this server. Delete it first: both would charge its customers.",
    );
}

async function begin(
  tx: Tx,
  ctx: Ctx,
  header: ArchiveHeader,
  { header: line, end }: Begin,
  archive_key: string,
): Promise<store.RestoreRow> {
  const organization_id = requireOrganization(ctx);
  const seller = await lockOrganization(tx, organization_id);
  if (!seller) throw notFound();
  const there = await store.lockRestore(tx, organization_id);
  if (there?.id === header.id) return there;
  if (there)
    throw rejectArchive("Another archive is or was restored into this organization. Make a new one for this archive.");
  if (seller.sandbox !== header.organization.sandbox)
    throw rejectArchive(
      `The archive is of a ${header.organization.sandbox ? "sandbox" : "live organization"}, and this is a ${seller.sandbox ? "sandbox" : "live organization"}.`,
    );
  await checkSource(tx, header.organization.id, organization_id);
  const kinds = await listKinds(tx);
  const kindFault = findKindFault(header, kinds);
  if (kindFault !== undefined) throw rejectArchive(kindFault);
  const filled = await store.findFilledKind(
    tx,
    organization_id,
    kinds.map(({ kind }) => kind),
  );
  if (filled !== undefined)
    throw rejectArchive(`The organization is not empty: it has ${filled}. Make a new organization for the archive.`);
  const now = getServerClock(ctx.clock).now();
  const row = await store.insertRestore(tx, {
    id: header.id,
    organization_id,
    created_at: now,
    source_organization_id: header.organization.id,
    taken_at: new Date(header.taken_at),
    signer: header.key,
    archive_key: seal(ctx.config.secret, "archive-key", header.id, archive_key),
    header: line,
    parts: end.parts,
    rows_total: end.rows,
    files_left_out: end.files_left_out,
  });
  if (!row) throw rejectArchive("This organization is being restored on this server already, or was.");
  await updateOrganization(tx, organization_id, { held_at: now });
  return row;
}

/** Refuse a part that is not as it was signed, at its place in this archive. */
function checkPart(row: store.RestoreRow, part: Part): void {
  const lines = part.text.split("\n");
  const isWhole = lines.pop() === "" && lines.length === part.rows && hashText(part.text) === part.sha256;
  if (!isWhole || !verifyText(row.signer, getSignedPart(row.id, part), part.signature))
    throw rejectArchive(`Part ${part.index} (${part.kind}) is damaged or was changed: it is not what was signed.`);
}

async function addPart(tx: Tx, ctx: Ctx, part: Part): Promise<store.RestoreRow> {
  const organization_id = requireOrganization(ctx);
  const row = await store.lockRestore(tx, organization_id);
  if (!row) throw notFound();
  // It was restored before, and its answer was lost.
  if (part.index < row.next_part) return row;
  if (part.index > row.next_part) throw rejectArchive(`Part ${row.next_part} is next.`);
  const lines = part.text.split("\n").slice(0, -1);
  const header = ArchiveHeader.parse(JSON.parse(row.header));
  const kind = header.kinds.find((one) => one.kind === part.kind);
  if (part.kind === settingsKind) {
    const columns = kind?.columns.filter((name) => settingColumns.includes(name)) ?? [];
    await applySettings(tx, organization_id, lines[0] ?? "{}", columns);
  } else if (part.kind !== bytesKind) {
    if (!kind || row.archive_key === null) throw rejectArchive(`The archive names no kind ${part.kind}.`);
    const archive_key = unseal(ctx.config.secrets, "archive-key", row.id, row.archive_key);
    const { source_organization_id } = row;
    const target = { organization_id, source_organization_id, archive_key, config: ctx.config };
    await insertPart(tx, { kind: kind.kind, columns: kind.columns, lines }, target);
  }
  return store.updateRestore(tx, row, { next_part: row.next_part + 1, rows: row.rows + part.rows });
}

/** Write the bytes of a file, whose row is there already. Written twice, they are the same. */
async function writeFile(ctx: Ctx, { organization_id }: store.RestoreRow, text: string): Promise<void> {
  const { id, base64 } = JSON.parse(text) as { id: string; base64: string };
  const file = await store.findStoredFile(ctx.db, { organization_id, id });
  if (!file) throw rejectArchive(`The archive has bytes of a file that it has no row of: ${id}.`);
  await ctx.storage.write(file, Buffer.from(base64, "base64"));
}

/**
 * End a restoration whose last part is stored. Customers who were erased at this server since the export are erased again; killed in
 * between, it is ended by the same request.
 */
async function finishRestore(ctx: Ctx, row: store.RestoreRow): Promise<store.RestoreRow> {
  if (row.next_part < row.parts || row.finished_at !== null) return row;
  const erased = await listLogged(ctx, row.source_organization_id);
  for (let first = 0; first < erased.length; first += erasedAtOnce)
    await transact(ctx, (tx) => applyErasures(tx, ctx, row.organization_id, erased.slice(first, first + erasedAtOnce)));
  return transact(ctx, async (tx) => {
    const locked = await store.lockRestore(tx, row.organization_id);
    if (!locked || locked.finished_at !== null) return locked ?? row;
    return store.updateRestore(tx, locked, { finished_at: getServerClock(ctx.clock).now(), archive_key: null });
  });
}

const describeRefusal = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { constraint_name, constraint, code } = cause as Record<string, unknown>;
  return String(constraint_name ?? constraint ?? code ?? "a value is wrong");
};
