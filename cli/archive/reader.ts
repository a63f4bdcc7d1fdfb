/** Reads an archive line by line, and compares each part with its checksum. It keeps one part in memory. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ArchiveEnd, ArchivePart, lineLengthMax } from "../../shared/archive.ts";

/** The file is no whole archive, at this line. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

export type ArchiveRecord =
  | { kind: "header"; line: string }
  | { kind: "part"; part: ArchivePart; text: string }
  | { kind: "end"; end: ArchiveEnd };

/** Takes the text of an archive in pieces, and answers the records that are complete. */
export function createArchiveReader() {
  let rest = "";
  let number = 0;
  let isEnded = false;
  let rows = 0;
  let parts = 0;
  let current: { part: ArchivePart; lines: string[] } | undefined;

  const parseLine = (line: string): { part?: unknown; end?: unknown } => {
    try {
      return JSON.parse(line) as object;
    } catch {
      throw new ArchiveError(number, "is not JSON");
    }
  };
  const finishPart = ({ part, lines }: { part: ArchivePart; lines: string[] }): ArchiveRecord => {
    const text = `${lines.join("\n")}\n`;
    if (createHash("sha256").update(text, "utf8").digest("hex") !== part.sha256)
      throw new ArchiveError(number, `part ${part.index} (${part.kind}) has another checksum: the file is damaged`);
    parts += 1;
    rows += part.rows;
    return { kind: "part", part, text };
  };
  function readLine(line: string): ArchiveRecord | undefined {
    number += 1;
    if (number === 1) return { kind: "header", line };
    if (current) {
      current.lines.push(line);
      if (current.lines.length < current.part.rows) return undefined;
      const finished = current;
      current = undefined;
      return finishPart(finished);
    }
    if (isEnded) throw new ArchiveError(number, "comes after the end of the archive");
    const record = parseLine(line);
    const part = ArchivePart.safeParse(record.part);
    if (part.success) {
      if (part.data.index !== parts) throw new ArchiveError(number, `is part ${part.data.index}, and ${parts} is next`);
      current = { part: part.data, lines: [] };
      return undefined;
    }
    const end = ArchiveEnd.safeParse(record.end);
    if (!end.success) throw new ArchiveError(number, "is neither a part nor the end of an archive");
    if (end.data.parts !== parts || end.data.rows !== rows)
      throw new ArchiveError(number, `names ${end.data.parts} parts, and there are ${parts}: some are missing`);
    isEnded = true;
    return { kind: "end", end: end.data };
  }
  return {
    push(text: string): ArchiveRecord[] {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > lineLengthMax) throw new ArchiveError(number + 1, "is too long for an archive");
      return lines.map(readLine).filter((record) => record !== undefined);
    },
    finish(): void {
      if (rest !== "" || !isEnded) throw new ArchiveError(number, "the archive ends too early: it is not whole");
    },
  };
}

const gzipMagic = Buffer.from([0x1f, 0x8b]);

async function isCompressed(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(gzipMagic.length), 0, gzipMagic.length, 0);
    return buffer.equals(gzipMagic);
  } finally {
    // Also where it is a folder, which can be opened and not read.
    await file.close();
  }
}

/** The records of a file, compressed or not. */
export async function* readArchiveFile(path: string): AsyncGenerator<ArchiveRecord> {
  const isGzip = await isCompressed(path);
  const source = createReadStream(path);
  const stream: Readable = isGzip ? source.pipe(createGunzip()) : source;
  source.on("error", (error) => stream.destroy(error));
  stream.setEncoding("utf8");
  const reader = createArchiveReader();
  try {
    for await (const text of stream) yield* reader.push(text as string);
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code.startsWith("Z_")) throw new ArchiveError(0, `the compressed file is damaged (${code})`);
    throw error;
  } finally {
    source.destroy();
    stream.destroy();
  }
  reader.finish();
}
