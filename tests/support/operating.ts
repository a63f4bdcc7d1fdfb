/** A backup or a restore in a process of its own, to be killed: `node operating.ts backup|restore FOLDER DATA_FOLDER`. */
import { createBackup, restoreBackup } from "../../server/app/main.ts";

const [what, folder = "", FLOE_DATA_DIR = ""] = process.argv.slice(2);
const run = { folder, given: { FLOE_DATA_DIR }, say: () => undefined, signal: undefined };
await (what === "backup" ? createBackup({ ...run, hasSecret: true }) : restoreBackup(run));
