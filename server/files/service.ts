import type { files } from "../../shared/api/files.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, organizationOf, organizationsOf } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { checkCompletion, fileOut, pathOf, uploadOut } from "./rules.ts";
import * as store from "./store.ts";

/** The files of the API. */
export const fileService: Service<typeof files, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listFiles(ctx.db, organizationsOf(ctx), query);
    return pageOf(
      items.map((row) => fileOut(row, ctx.config.media_url)),
      total,
      query,
    );
  },
  async create(ctx, { body }) {
    const organization_id = organizationOf(ctx);
    const { upload, organization_id: _, version = null, checksum_sha256_base64 = null, ...given } = body;
    const id = newId(ctx.clock.now());
    // Written before the storage is asked, so that nothing begins there that the sweep does not know of.
    const row = await transact(ctx, (tx) =>
      store.insertFile(tx, {
        ...given,
        id,
        organization_id,
        version,
        checksum_sha256_base64,
        path: pathOf(given.service, organization_id, id, given.name),
        upload_parts: upload.parts,
        created_at: ctx.clock.now(),
      }),
    );
    const upload_id = await ctx.storage.begin(row, upload.parts);
    await store.updateFile(ctx.db, row, { upload_id });
    return uploadOut(row, upload_id, upload.parts, await ctx.storage.targets(row, upload_id, upload.parts));
  },
  async uploaded(ctx, { params, body }) {
    const organization_id = organizationOf(ctx);
    const row = await store.findFile(ctx.db, organization_id, params.id);
    if (!row) throw notFound();
    const faults = checkCompletion(row, body);
    if (faults.length > 0) throw invalid(...faults);
    if (row.is_uploaded || row.upload_id === null) return fileOut(row, ctx.config.media_url);
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
    if (complete) return fileOut(complete, ctx.config.media_url);
    // Deleted meanwhile, and perhaps swept already.
    await ctx.storage.remove(row.path, row.upload_id);
    throw notFound();
  },
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockFile(tx, organizationOf(ctx), params.id);
      if (!row) throw notFound();
      const { name = row.name, version = row.version } = body;
      const same = name === row.name && version === row.version;
      const changed = same ? row : await store.updateFile(tx, row, { name, version, modified_at: ctx.clock.now() });
      return fileOut(changed, ctx.config.media_url);
    }),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockFile(tx, organizationOf(ctx), params.id);
      if (!row) throw notFound();
      // The sweep removes the bytes.
      await store.updateFile(tx, row, { deleted_at: ctx.clock.now() });
    }),
};
