/** Writing to a pipe or a file at once. Making a stream of a descriptor costs a seventh of the start-up time of Node. */
import { writeSync } from "node:fs";

const pauseMs = 5;

/** Write all of a text, or of bytes, to a descriptor; a reader that has left ends the program quietly. */
export function writeAll(descriptor: number, text: string | Uint8Array): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // The reader of a pipe (`| head`) may leave early; that is no error of ours.
      if (code === "EPIPE") process.exit(0);
      if (code !== "EAGAIN") throw error;
      // The other end made the pipe non-blocking and has not read yet.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}
