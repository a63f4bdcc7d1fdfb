/** `floe files upload`: send files in parts, each again when it fails, and say how far it is. */
import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { basename, extname } from "node:path";
import { type Command, Option } from "commander";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { callOperation } from "../client.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { send, UnreachableError } from "../http.ts";
import { pause } from "../pause.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { showProgress } from "../ui/progress.ts";

type Options = { service: string; name?: string; mimeType?: string; fileVersion?: string };
type Part = { number: number; chunk_start: number; chunk_end: number; checksum_sha256_base64: string };
type Target = Part & { url: string; headers: Record<string, string> };
type Begun = { id: string; upload: { id: string; path: string; parts: Target[] } };

const services = ["downloadable", "product_media", "organization_avatar"];
const partBytes = 8 * 1024 * 1024;
/** Parts under way at once: one alone waits for its answer most of the time. */
const lanes = 3;
/** A server that is started anew, or a line that is gone for a while, is waited for: a minute in all. */
const triesMax = 10;
const waitMaxMs = 15_000;
/** A part over a slow line, and the server reading a whole file once, take longer than a request usually may. */
const partTimeoutMs = 5 * 60_000;
const completeTimeoutMs = 15 * 60_000;

const types: Record<string, string> = {
  ".pdf": "application/pdf",
  ".epub": "application/epub+zip",
  ".zip": "application/zip",
  ".gz": "application/gzip",
  ".json": "application/json",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
  ".mp3": "audio/mpeg",
  ".wav": "audio/wav",
  ".flac": "audio/flac",
  ".mp4": "video/mp4",
  ".mov": "video/quicktime",
  ".webm": "video/webm",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
};

export function add(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("upload")
    .description("Upload files")
    .argument("<file...>", "the files")
    .addOption(new Option("--service <what>", "what they are for").choices(services).default(services[0]))
    .option("--name <text>", "name that buyers see (the file's own)")
    .option("--mime-type <type>", "what kind of file it is (by the end of its name)")
    .option("--file-version <text>", "your own name for this version of it");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe files upload book.pdf book.epub\n  floe files upload cover.png --service product_media --json id",
  );
  command.action((paths: string[], options: Options) => uploadAll(contextOf(command), paths, options));
}

async function uploadAll(context: Context, paths: string[], options: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, context.manifest.fields("files", "update"));
  if (options.name !== undefined && paths.length > 1)
    throw new Fault("usage", "--name names one file, and several were given");
  const made: unknown[] = [];
  try {
    for (const path of paths) made.push(await uploadOne(context, path, options));
  } finally {
    // What is there is said, whatever becomes of the rest.
    // However many there are, it is a list: a script is not to ask how many it gave.
    if (made.length > 0) showList(context, made, ["name:name", "service", "size_readable", "id:id"], asked);
  }
}

/** Send a file, and answer it as the server has it. */
export async function uploadOne(context: Context, path: string, options: Options): Promise<{ id: string }> {
  const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
    throw new Fault("usage", `cannot read ${path} (${error.code})`);
  });
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Fault("usage", `${path} is not a file`);
    if (status.size === 0) throw new Fault("usage", `${path} is empty`);
    const shown = showProgress(context, basename(path), status.size);
    try {
      return await sendFile(context, { file, path, size: status.size, shown }, options);
    } finally {
      shown.end();
    }
  } finally {
    await file.close();
  }
}

type Source = { file: FileHandle; path: string; size: number; shown: ReturnType<typeof showProgress> };

async function sendFile(context: Context, source: Source, options: Options): Promise<{ id: string }> {
  const { file, path, size, shown } = source;
  // Reading takes long only where there is much; in a pipe the lines are of what is sent.
  const reads = size > partBytes && context.io.stderr.isTTY;
  if (reads) shown.start("reading");
  const { parts, checksum } = await hashKey(source, (bytes) => reads && shown.add(bytes));
  const begun = (await context.call({
    ...splitRoute(routes.files.create),
    body: {
      service: options.service,
      name: options.name ?? basename(path),
      mime_type: options.mimeType ?? types[extname(path).toLowerCase()] ?? "application/octet-stream",
      size,
      checksum_sha256_base64: checksum,
      ...(options.fileVersion !== undefined && { version: options.fileVersion }),
      upload: { parts },
    },
  })) as Begun;
  shown.start("");
  const etags = new Map<number, string>();
  const waiting = [...begun.upload.parts];
  const uploadParts = async (): Promise<void> => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      etags.set(part.number, await sendPart(context, file, part));
      shown.add(part.chunk_end - part.chunk_start);
    }
  };
  await Promise.all(Array.from({ length: lanes }, uploadParts)).catch((error: unknown) => {
    // The other lanes take no more.
    waiting.length = 0;
    throw error;
  });
  shown.start("the server checks", size);
  const settings = { ...context.settings(), timeoutMs: Math.max(context.settings().timeoutMs, completeTimeoutMs) };
  const complete = {
    ...splitRoute(routes.files.uploaded),
    params: { id: begun.id },
    body: {
      id: begun.upload.id,
      path: begun.upload.path,
      parts: parts.map(({ number, checksum_sha256_base64 }) => ({
        number,
        checksum_etag: etags.get(number),
        checksum_sha256_base64,
      })),
    },
  };
  return (await callOperation({ ...context, settings: () => settings }, complete)).body as { id: string };
}

/** Read the file once for its checksum and those of its parts. */
async function hashKey(
  { file, path, size }: Source,
  onRead: (bytes: number) => void,
): Promise<{ parts: Part[]; checksum: string }> {
  const whole = createHash("sha256");
  const parts: Part[] = [];
  for (let start = 0; start < size; start += partBytes) {
    const bytes = await readStretch(file, path, start, Math.min(start + partBytes, size));
    whole.update(bytes);
    onRead(bytes.length);
    parts.push({
      number: parts.length + 1,
      chunk_start: start,
      chunk_end: start + bytes.length,
      checksum_sha256_base64: createHash("sha256").update(bytes).digest("base64"),
    });
  }
  return { parts, checksum: whole.digest("base64") };
}

async function readStretch(file: FileHandle, path: string, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(end - start);
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
    if (bytesRead === 0) throw new Fault("error", `${path} became shorter while it was sent`);
    filled += bytesRead;
  }
  return bytes;
}

/** Send one part until it arrives; answers its ETag. */
async function sendPart(context: Context, file: FileHandle, part: Target): Promise<string> {
  const body = await readStretch(file, "the file", part.chunk_start, part.chunk_end);
  const url = new URL(part.url);
  for (let attempt = 1; ; attempt++) {
    const answer = await send({
      method: "PUT",
      url,
      headers: part.headers,
      body,
      timeoutMs: Math.max(context.settings().timeoutMs, partTimeoutMs),
      env: context.io.env,
      signal: context.io.signal,
    }).catch((error: unknown) => {
      if (error instanceof UnreachableError) return error;
      throw error;
    });
    const lost = answer instanceof UnreachableError;
    context.debug(`PUT part ${part.number} of ${url.origin} → ${lost ? answer.code : answer.status}`);
    if (!lost && answer.status === 200 && answer.headers.etag) return answer.headers.etag;
    const again = lost || answer.status >= 500 || answer.status === 429 || answer.status === 408;
    if (!again || attempt >= triesMax || context.io.signal.aborted) {
      if (lost) throw answer;
      throw new Fault(again ? "unreachable" : "error", `part ${part.number} was refused (${answer.status})`, {
        status: answer.status,
        ...(!again && { hint: "Was the file changed while it was sent? Upload it again." }),
      });
    }
    // Half of the wait is chance, so that the lanes do not come back together.
    const wait = Math.min(250 * 2 ** (attempt - 1), waitMaxMs);
    await pause(wait * (0.5 + Math.random() / 2), context.io.signal);
  }
}
