import type { files } from "../../../shared/api/files.ts";
import type { Service } from "../../../shared/contract.ts";
import { fault, invalid, notFound } from "../../../shared/errors.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import { imagePixelsMax, isTooLarge } from "../../platform/images.ts";
import { checkCompletion, type FileRow, getPath, serializeFile, serializeUpload } from "./rules.ts";
import * as store from "./store.ts";

/** The files of the API. */
export const fileService: Service<typeof files, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listFiles(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((row) => serializeFile(row, ctx.config.media_url)),
      total,
      query,
    );
  },
  async create(ctx, { body }) {
    const organization_id = requireOrganization(ctx);
    const { upload, organization_id: _, version = null, checksum_sha256_base64 = null, ...given } = body;
    const id = createId(ctx.clock.now());
    // Written before the storage is asked, so that nothing begins there that the sweep does not know of.
    const row = await transact(ctx, (tx) =>
      store.insertFile(tx, {
        ...given,
        id,
        organization_id,
        version,
        checksum_sha256_base64,
        path: getPath(given.service, organization_id, id, given.name),
        upload_parts: upload.parts,
        created_at: ctx.clock.now(),
      }),
    );
    const upload_id = await ctx.storage.begin(row, upload.parts);
    await store.updateFile(ctx.db, row, { upload_id });
    const targets = await ctx.storage.targets(row, upload_id, upload.parts);
    return { ...serializeUpload(row, upload_id, upload.parts, targets), service: given.service };
  },
  async uploaded(ctx, { params, body }) {
    const organization_id = requireOrganization(ctx);
    const row = await store.findFile(ctx.db, organization_id, params.id);
    if (!row) throw notFound();
    const faults = checkCompletion(row, body);
    if (faults.length > 0) throw invalid(...faults);
    if (row.is_uploaded || row.upload_id === null) return serializeFile(row, ctx.config.media_url);
    const made = await ctx.storage.complete(row, {
      upload_id: row.upload_id,
      parts: row.upload_parts ?? [],
      sent: body.parts,
      checksum_sha256_base64: row.checksum_sha256_base64,
    });
    if ("refused" in made) {
      const index = body.parts.findIndex(({ number }) => number === made.part);
      throw invalid(fault(index < 0 ? ["parts"] : ["parts", index], made.refused));
    }
    if (row.service !== "downloadable" && isTooLarge(await readBytes(ctx, row)))
      throw invalid(fault(["parts"], `An image has at most ${imagePixelsMax / 1e6} megapixels.`));
    const complete = await transact(ctx, async (tx) => {
      const locked = await store.lockFile(tx, organization_id, row.id);
      if (!locked || locked.is_uploaded) return locked;
      return store.updateFile(tx, row, {
        is_uploaded: true,
        upload_parts: null,
        last_modified_at: ctx.clock.now(),
        checksum_etag: made.etag,
        storage_version: made.version,
        ...(made.sha256 && {
          checksum_sha256_base64: made.sha256.toString("base64"),
          checksum_sha256_hex: made.sha256.toString("hex"),
        }),
      });
    });
    if (complete) return serializeFile(complete, ctx.config.media_url);
    // Deleted meanwhile, and perhaps swept already.
    await ctx.storage.remove(row.path, row.upload_id);
    throw notFound();
  },
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockFile(tx, requireOrganization(ctx), params.id);
      if (!row) throw notFound();
      const { name = row.name, version = row.version } = body;
      const same = name === row.name && version === row.version;
      const changed = same ? row : await store.updateFile(tx, row, { name, version, modified_at: ctx.clock.now() });
      return serializeFile(changed, ctx.config.media_url);
    }),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockFile(tx, requireOrganization(ctx), params.id);
      if (!row) throw notFound();
      // The sweep removes the bytes.
      await store.updateFile(tx, row, { deleted_at: ctx.clock.now() });
    }),
};

/** The bytes of a file that is small enough to be held in memory. */
export async function readBytes({ storage }: Pick<Deps, "storage">, { path }: Pick<FileRow, "path">): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of (await storage.read(path)) ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Keep a file that the server itself made. It is written down before its bytes are, so that none stay that nobody knows of: it
 * counts when it is finished, and is swept away like an upload that was given up when it never is.
 */
export async function storeFile(
  deps: Deps,
  { organization_id, name, mime_type }: Pick<FileRow, "organization_id" | "name" | "mime_type">,
  bytes: Uint8Array,
): Promise<FileRow> {
  const created_at = deps.clock.now();
  const id = createId(created_at);
  const path = getPath("document", organization_id, id, name);
  const given = { organization_id, name, mime_type, size: bytes.length, service: "document" as const };
  const row = await transact(deps, (tx) => store.insertFile(tx, { ...given, id, path, created_at }));
  await deps.storage.write(row, bytes);
  return row;
}

/** Have a file that was kept count, in the transaction of what it was made for. */
export const finishFile = (tx: Tx, row: FileRow, now: Date): Promise<FileRow> =>
  store.updateFile(tx, row, { is_uploaded: true, last_modified_at: now });

/** Let go of a file that was kept; the sweep removes its bytes. */
export const deleteStoredFile = (tx: Tx, key: RowKey, now: Date): Promise<FileRow> =>
  store.updateFile(tx, key, { deleted_at: now });

/** An address at which a file that was kept can be fetched for an hour. */
export async function linkFile(
  { db, storage }: Deps,
  key: RowKey,
): Promise<{ url: string; expires_at: Date } | undefined> {
  const row = await store.findDocument(db, key);
  return row && storage.download(row);
}
