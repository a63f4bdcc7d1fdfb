import { text } from "node:stream/consumers";
import type { Deps } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { erasures } from "./service.ts";
import * as store from "./store.ts";

/**
 * Who was erased, by id alone, kept where files are: an old backup of the database that is put back does not know it. A line is
 * an organization and a customer.
 */
const path = "erasures/log.txt";

async function readLog({ storage }: Pick<Deps, "storage">): Promise<Set<string>> {
  const bytes = await storage.read(path);
  return new Set(bytes ? (await text(bytes)).split("\n").filter((line) => line !== "") : []);
}

const getLine = ({ organization_id, id }: RowKey): string => `${organization_id} ${id}`;

/**
 * Write down everybody who was erased. Nothing is ever taken out, and it is looked at again afterwards: of two servers that write
 * at once, the later one has what the other wrote.
 */
export async function writeLog(deps: Pick<Deps, "db" | "storage">): Promise<void> {
  for (;;) {
    const known = await readLog(deps);
    const lines = (await store.listErased(deps.db)).map(getLine);
    if (lines.every((line) => known.has(line))) return;
    for (const line of lines) known.add(line);
    const bytes = Buffer.from(`${[...known].join("\n")}\n`);
    await deps.storage.write({ path, name: "log.txt", mime_type: "text/plain", size: bytes.byteLength }, bytes);
  }
}

/** The customers of an organization whom the log names. */
export async function listLogged(deps: Pick<Deps, "storage">, organization_id: string): Promise<string[]> {
  const prefix = `${organization_id} `;
  return [...(await readLog(deps))].flatMap((line) => (line.startsWith(prefix) ? [line.slice(prefix.length)] : []));
}

const replayedTogether = 500;

/** Erase anew whom the log names and the database can read: it was put back from before they were erased. Answers how many. */
export async function replayLog(deps: Deps): Promise<number> {
  const keys = [...(await readLog(deps))].map((line): RowKey => {
    const [organization_id = "", id = ""] = line.split(" ");
    return { organization_id, id };
  });
  let count = 0;
  for (let first = 0; first < keys.length; first += replayedTogether)
    count += await transact(deps, async (tx) => {
      const created_at = deps.clock.now();
      const readable = await store.findReadable(tx, keys.slice(first, first + replayedTogether));
      for (const key of readable)
        await store.insertErasure(tx, { ...key, created_at, stage: "customer", due_at: created_at });
      if (readable.length > 0) deps.jobs.wake(tx, erasures);
      return readable.length;
    });
  return count;
}
