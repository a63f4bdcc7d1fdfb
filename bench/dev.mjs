/**
 * After how long a changed line is seen under `npm run dev`: of the server, of the pages and of the command line, in a copy of
 * this repository. Above five seconds the exit code is 1.
 *
 *   node bench/dev.mjs          needs Node 24, as it reads TypeScript
 */
import { changes, measureChange, startDevLoop, stopDevLoop } from "../tests/support/dev-loop.ts";

const seenMaxMs = 5000;

const began = performance.now();
const loop = await startDevLoop();
console.log(`ready     ${((performance.now() - began) / 1000).toFixed(1)} s`);
try {
  for (const name of Object.keys(changes)) {
    const ms = await measureChange(loop, name);
    console.log(`${name.padEnd(9)} ${(ms / 1000).toFixed(1)} s  (at most ${seenMaxMs / 1000})`);
    if (ms > seenMaxMs) process.exitCode = 1;
  }
} finally {
  await stopDevLoop(loop);
}
