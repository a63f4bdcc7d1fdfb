/** What the operator sees of a server, and says about it: `floe admin status` and `floe admin settle-restore`. */
import { resolve } from "node:path";
import { clearLeftOver } from "../operations/restore/detection.ts";
import { readStatus, type ServerStatus } from "../operations/status/service.ts";
import { systemClock } from "../platform/clock.ts";
import { readSettings } from "../platform/config.ts";
import type { Database } from "../platform/context.ts";
import { type Commands, openCall } from "./control.ts";
import { openOperated } from "./operator.ts";

type Given = Record<string, string | undefined>;
/** As JSON carries it: times are texts. */
export type StatusAnswer = Serialized<ServerStatus>;
export type Serialized<T> = T extends Date
  ? string
  : T extends (infer I)[]
    ? Serialized<I>[]
    : T extends object
      ? { [K in keyof T]: Serialized<T[K]> }
      : T;

const work = {
  status: async (db: Database): Promise<unknown> => readStatus(db, systemClock.now()),
  "settle-restore": async (db: Database): Promise<unknown> => {
    await clearLeftOver(db);
    return null;
  },
};

/** The same by the server that holds a data folder. */
export const listStatusCommands = (db: Database): Commands => ({
  status: () => work.status(db),
  "settle-restore": () => work["settle-restore"](db),
});

/** Run it on the database of the settings: by the server that holds the data folder, or beside a server on PostgreSQL. */
async function runStatusWork(given: Given, name: keyof typeof work): Promise<unknown> {
  const settings = readSettings(given);
  const call = settings.DATABASE_URL ? undefined : await openCall(resolve(settings.FLOE_DATA_DIR), name, {}, undefined);
  if (call) {
    const answer = await call.read();
    await call.close();
    return answer;
  }
  const { database, close } = await openOperated(given);
  try {
    return JSON.parse(JSON.stringify(await work[name](database.db)));
  } finally {
    await close();
  }
}

/** Read how the server stands. */
export const readServerStatus = (given: Given): Promise<StatusAnswer> =>
  runStatusWork(given, "status") as Promise<StatusAnswer>;

/** What reconcile left was settled by hand. */
export async function settleLeftOver(given: Given): Promise<void> {
  await runStatusWork(given, "settle-restore");
}
