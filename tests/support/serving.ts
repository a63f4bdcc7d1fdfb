/** A floe with its worker in a process of its own: `node serving.ts DATABASE_URL [SETTINGS]`. Says where it is, and what it logs. */
import { start } from "./floe.ts";

const [databaseUrl = "", settings = "{}"] = process.argv.slice(2);
const floe = await start({ databaseUrl, listen: true, worker: true, settings: JSON.parse(settings) });
const seller = await floe.seller();
process.stdout.write(`${JSON.stringify({ url: floe.url, key: seller.key, session: seller.session })}\n`);
