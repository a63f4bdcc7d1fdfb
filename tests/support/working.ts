/**
 * The worker of a server in a process of its own, which answers no requests: `node working.ts DATABASE_URL FOLDER [SMTP_URL]`. It says when it
 * is ready, works once it reads a line, and ends with whoever started it. Its clock is the system's; sellers have their own.
 */
import "../../shared/walls.ts";
import { createInterface } from "node:readline";
import { openDeps } from "../../server/app/deps.ts";
import { startWorker } from "../../server/app/worker.ts";
import { completeConfig, readSettings } from "../../server/platform/config.ts";
import { openPostgres } from "../../server/platform/db/database.ts";

const [DATABASE_URL = "", FLOE_FILES_DIR = "", SMTP_URL] = process.argv.slice(2);
const FLOE_SECRET = "a secret for tests, long enough to be one";
const config = completeConfig(
  readSettings({ DATABASE_URL, FLOE_FILES_DIR, FLOE_SECRET, ...(SMTP_URL ? { SMTP_URL } : {}) }, {}),
);
const { db } = await openPostgres(DATABASE_URL);
const silent = () => undefined;
const say = (fields: object, text?: string) => {
  const { err } = fields as { err?: Error };
  if (err) process.stdout.write(`${text} ${err.message ?? ""} ${(err.cause as Error | undefined)?.message ?? ""}\n`);
};
const deps = await openDeps(db, config, { info: silent, warn: say, error: say });
const input = createInterface({ input: process.stdin });
input.once("line", () => void startWorker(deps));
input.once("close", () => process.exit());
process.stdout.write("ready\n");
