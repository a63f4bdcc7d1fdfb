import { open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { drawText } from "../../platform/ids.ts";

const chunkBytes = 64 * 1024;

/**
 * Text that is written as fast as its source gives it, and read as fast as its receiver takes it: what is between stands in a file
 * without a name. So a slow receiver holds neither memory nor the snapshot of the database.
 */
export async function* streamSpooled(
  produce: (write: (text: string) => Promise<void>) => Promise<void>,
): AsyncGenerator<string> {
  const path = join(tmpdir(), `floe-export-${drawText(24)}`);
  const file = await open(path, "wx+", 0o600);
  // Without its name, the file goes with the process, also with one that is killed.
  await unlink(path).catch(() => undefined);
  let [written, isDone, isLeft] = [0, false, false];
  let failure: unknown;
  let progress = Promise.withResolvers<void>();
  const notifyProgress = () => {
    progress.resolve();
    progress = Promise.withResolvers<void>();
  };
  const writing = produce(async (text) => {
    if (isLeft) throw new Error("The receiver of the file has gone.");
    const { bytesWritten } = await file.write(Buffer.from(text, "utf8"), 0, undefined, written);
    written += bytesWritten;
    notifyProgress();
  })
    .catch((error: unknown) => {
      failure = error;
    })
    .then(() => {
      isDone = true;
      notifyProgress();
    });
  try {
    const decoder = new StringDecoder("utf8");
    const buffer = Buffer.alloc(chunkBytes);
    for (let at = 0; ; ) {
      const changed = progress.promise;
      if (at < written) {
        const { bytesRead } = await file.read(buffer, 0, Math.min(chunkBytes, written - at), at);
        at += bytesRead;
        yield decoder.write(buffer.subarray(0, bytesRead));
      } else if (failure !== undefined) throw failure;
      else if (isDone) return;
      else await changed;
    }
  } finally {
    isLeft = true;
    await writing;
    await file.close();
    // Where a file with a reader cannot be unlinked, its name goes now.
    await unlink(path).catch(() => undefined);
  }
}
