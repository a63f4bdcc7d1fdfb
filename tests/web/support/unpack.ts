/** Unpacks Chromium into this process's folder for temporary files: `TMPDIR=… node unpack.ts`. */
import chromium from "@sparticuz/chromium";

await chromium.executablePath();
