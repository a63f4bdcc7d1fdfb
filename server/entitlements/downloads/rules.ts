import { z } from "zod";
import type { BenefitInput } from "../../../shared/api/benefits.ts";
import { type FileRow, serializeFile } from "../../catalog/files/rules.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import type { downloadables } from "./tables.ts";

export type DownloadableRow = typeof downloadables.$inferSelect;
export type Downloadable = { row: DownloadableRow; file: FileRow };
export type DownloadTerms = BenefitInput["downloadables"];

/** The files of a benefit that are not put away, each once, in their order (BEN-20). */
export const listActiveFiles = ({ files, archived }: DownloadTerms): string[] =>
  [...new Set(files)].filter((id) => archived[id] !== true);

const DownloadLink = z.object({
  kind: z.literal("download"),
  organization_id: z.string(),
  id: z.string(),
  until: z.number(),
});
export type Link = z.output<typeof DownloadLink>;

/** The token of an address at which a file can be fetched for an hour, by whoever has it (BEN-22). */
export const sealLink = (secret: string, { organization_id, id }: DownloadableRow, until: Date): string =>
  seal(
    secret,
    "download-link",
    "",
    JSON.stringify({ kind: "download", organization_id, id, until: until.getTime() } satisfies Link),
  );

/** A sealed text is no shorter than what a nonce, a tag and a link come to. */
const tokenForm = /^[A-Za-z0-9_-]{60,600}$/;

/** What a token stands for; how it is not one, else. */
export function openLink(secrets: readonly string[], token: string): Link | "malformed" | "unknown" {
  if (!tokenForm.test(token)) return "malformed";
  const text = tryUnseal(secrets, "download-link", "", token);
  if (text === null) return "unknown";
  const read = DownloadLink.safeParse(JSON.parse(text));
  return read.success ? read.data : "unknown";
}

/** A file that a customer may download, as they are answered: with where it can be fetched until when. */
export function serializeDownloadable(
  { row, file }: Downloadable,
  { url, secret, media_url }: { url: string; secret: string; media_url: string },
  expires_at: Date,
) {
  const address = `${url}/v1/customer-portal/downloadables/${sealLink(secret, row, expires_at)}`;
  const download = { url: address, expires_at, headers: {} as Record<string, string> };
  const shown = serializeFile(file, media_url);
  if (shown.service !== "downloadable") throw new Error(`The file ${file.id} is not one that buyers download.`);
  return { id: row.id, benefit_id: row.benefit_id, file: { ...shown, download } };
}
