import { serveJobs } from "../../server/platform/jobs/limited-process.ts";

/** A program of a limited process that does what it is told. */
serveJobs(async (input: string) => {
  if (input === "throw") throw new Error("thrown");
  if (input === "exit") process.exit(3);
  if (input === "hang") for (;;);
  if (input === "secret") return String(process.env.FLOE_SECRET);
  const held: Buffer[] = [];
  while (input === "fill" && held.length < 100) held.push(Buffer.alloc(4 * 1024 ** 2, held.length));
  return `${input} by ${process.pid}`;
});
