import { z } from "zod";
import { byId, ids, instant, page, paging, type Resource, seller } from "../contract.ts";
import { organizationOf, unlessNull } from "./fields.ts";

const file = {
  id: z.uuid(),
  organization_id: z.uuid(),
  name: z.string(),
  path: z.string(),
  mime_type: z.string(),
  size: z.int(),
  storage_version: z.string().nullable(),
  checksum_etag: z.string().nullable(),
  checksum_sha256_base64: z.string().nullable(),
  checksum_sha256_hex: z.string().nullable(),
  last_modified_at: instant.nullable(),
  version: z.string().nullable(),
  is_uploaded: z.boolean(),
  created_at: instant,
  size_readable: z.string(),
};

/** What a file is for. */
export const fileServices = ["downloadable", "product_media", "organization_avatar"] as const;
export type FileService = (typeof fileServices)[number];

/** The largest file of each kind, in bytes (PRD-30). */
export const fileBytesMax = {
  downloadable: 10 * 1024 ** 3,
  product_media: 10 * 1024 ** 2,
  organization_avatar: 1024 ** 2,
} as const satisfies Record<FileService, number>;

const sha256 = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, "A SHA-256 in base64 has 44 characters.");

/** A stretch of a file that is sent by itself: from `chunk_start` up to, not including, `chunk_end`. */
const UploadPart = z.object({
  number: z.int().min(1).max(10_000),
  chunk_start: z.int().min(0),
  chunk_end: z.int().min(1),
  checksum_sha256_base64: sha256.nullish(),
});
export type UploadPart = z.output<typeof UploadPart>;

/** A file that buyers download. */
export const DownloadableFile = z.object({
  ...file,
  service: z.literal("downloadable"),
  flagged_malicious_at: instant.nullable(),
});

/** A picture of a product. */
export const ProductMedia = z.object({ ...file, service: z.literal("product_media"), public_url: z.string() });
export type ProductMedia = z.output<typeof ProductMedia>;

const OrganizationAvatar = z.object({ ...file, service: z.literal("organization_avatar"), public_url: z.string() });

/** A file as it is answered; only what everybody may see has a public address. */
export const File = z.discriminatedUnion("service", [DownloadableFile, ProductMedia, OrganizationAvatar]);
export type File = z.output<typeof File>;

/** A file that is about to be sent, and where each part of it goes. */
export const FileUpload = z.object({
  ...file,
  service: z.enum(fileServices),
  version: z.string().nullable(),
  upload: z.object({
    id: z.string(),
    path: z.string(),
    parts: z.array(
      z.object({
        number: z.int(),
        chunk_start: z.int(),
        chunk_end: z.int(),
        checksum_sha256_base64: z.string().nullable(),
        url: z.string(),
        expires_at: instant,
        headers: z.record(z.string(), z.string()),
      }),
    ),
  }),
});

const name = z
  .string()
  .min(1)
  .max(255)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name must not have.
  .regex(/^[^\u0000-\u001f\u007f]+$/, "A file name has no control characters.")
  .describe("Name of the file, as buyers see it.");
const version = z.string().max(255).nullish().describe("Your own name for this version of it.");
const picture = z.string().regex(/^image\/(jpeg|png|gif|webp|svg\+xml)$/, "Only JPEG, PNG, GIF, WebP and SVG images.");
const anyType = z
  .string()
  .max(255)
  .regex(/^[\w.+-]+\/[\w.+-]+(; ?[\w.+-]+=[\w.+-]+)*$/, "A MIME type is written as application/pdf.");

const defineCreate = <S extends FileService>(service: S, mime_type: z.ZodString) =>
  z
    .object({
      service: z.literal(service).describe("What it is for."),
      name,
      mime_type: mime_type.describe("What kind of file it is."),
      size: z.int().min(1).max(fileBytesMax[service]).describe("Its size in bytes."),
      checksum_sha256_base64: sha256.nullish().describe("SHA-256 of the whole file; checked when it is complete."),
      upload: z
        .object({ parts: z.array(UploadPart).min(1).max(10_000) })
        .describe("The parts it will be sent in: without gaps, from the first byte to the last."),
      version,
      organization_id: organizationOf,
    })
    .superRefine(({ size, upload: { parts } }, issues) => {
      let at = 0;
      for (const [index, part] of parts.entries()) {
        const reportFault = (field: string, message: string) =>
          issues.addIssue({ code: "custom", path: ["upload", "parts", index, field], message });
        if (part.number !== index + 1) reportFault("number", "Parts are numbered from 1, in order.");
        if (part.chunk_start !== at) reportFault("chunk_start", `This part must begin at ${at}.`);
        if (part.chunk_end <= part.chunk_start) reportFault("chunk_end", "A part must not be empty.");
        at = part.chunk_end;
      }
      if (at !== size && parts.length > 0)
        issues.addIssue({ code: "custom", path: ["upload", "parts"], message: `The parts must end at ${size}.` });
    });
export const FileCreate = z.discriminatedUnion("service", [
  defineCreate("downloadable", anyType),
  defineCreate("product_media", picture),
  defineCreate("organization_avatar", picture),
]);

export const files = {
  list: {
    method: "GET",
    path: "/v1/files/",
    summary: "List files",
    access: seller("files:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      ids: ids.describe("Only these files."),
    }),
    response: page(File),
  },
  create: {
    method: "POST",
    path: "/v1/files/",
    summary: "Begin to upload a file",
    access: seller("files:write"),
    body: FileCreate,
    response: FileUpload,
    status: 201,
    external: true,
  },
  uploaded: {
    method: "POST",
    path: "/v1/files/:id/uploaded",
    summary: "Complete the upload of a file",
    access: seller("files:write"),
    params: byId,
    body: z.object({
      id: z.string().describe("The id of the upload, as it was answered when it was begun."),
      path: z.string().describe("The path of the upload, as it was answered when it was begun."),
      parts: z
        .array(
          z.object({
            number: z.int(),
            checksum_etag: z.string(),
            checksum_sha256_base64: sha256.nullish(),
          }),
        )
        .max(10_000)
        .describe("Every part, with the ETag that was answered to it."),
    }),
    response: File,
    errors: ["ResourceNotFound"],
    audit: "file.uploaded",
    external: true,
  },
  update: {
    method: "PATCH",
    path: "/v1/files/:id",
    summary: "Rename a file, or name its version",
    access: seller("files:write"),
    params: byId,
    body: z.object({ name: unlessNull(name), version: unlessNull(version) }),
    response: File,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/files/:id",
    summary: "Delete a file",
    access: seller("files:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this file? Its bytes are removed, and products and benefits no longer have it.",
  },
} as const satisfies Resource;
