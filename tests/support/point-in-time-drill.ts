/** The drill of point-in-time recovery, by PostgreSQL's own programs: a base backup, the archived log, and a moment to go back to. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { checkRestore, reconcileRestored } from "../../server/app/operator-restore.ts";
import {
  type Closing,
  checkBooks,
  countOrders,
  type Drill,
  drillSecret,
  ImpossibleHere,
  openShop,
  prepareSeller,
  promise,
  sell,
  serve,
  stop,
} from "./drill-shop.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";

const programsFolder = "/usr/lib/postgresql";
const needed = ["initdb", "postgres", "pg_basebackup"];

type Programs = { folder: string; user: { uid: number; gid: number } | undefined };

/** The folder of the newest PostgreSQL of the machine. */
function findFolder(): string | undefined {
  const versions = existsSync(programsFolder) ? readdirSync(programsFolder).sort((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(programsFolder, version, "bin"))
    .find((one) => needed.every((program) => existsSync(join(one, program))));
}
export const hasPostgres = (): boolean => findFolder() !== undefined;

/** The programs, and the user as whom PostgreSQL runs where root starts it. */
function findPrograms(): Programs {
  const folder = findFolder();
  if (folder === undefined) throw new ImpossibleHere(`it needs PostgreSQL's programs in ${programsFolder}`);
  if (process.getuid?.() !== 0) return { folder, user: undefined };
  try {
    const read = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8", stdio: "pipe" }));
    return { folder, user: { uid: read("-u"), gid: read("-g") } };
  } catch {
    throw new ImpossibleHere("root cannot start PostgreSQL, and there is no user postgres");
  }
}

/** Give a file to the user as whom PostgreSQL runs. */
function own({ user }: Programs, path: string): void {
  if (user) chownSync(path, user.uid, user.gid);
}

function run({ folder, user }: Programs, program: string, args: string[]): void {
  execFileSync(join(folder, program), args, { stdio: "pipe", ...user });
}

/** Start PostgreSQL on a folder. Returns its process, and the address of a database once it answers. */
async function startCluster({ folder, user }: Programs, files: string, closing: Closing, settings: string[]) {
  const port = await freePort();
  const given = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${files}`, ...settings];
  const args = ["-D", files, ...given.flatMap((one) => ["-c", one])];
  const child: ChildProcess = spawn(join(folder, "postgres"), args, { stdio: ["ignore", "ignore", "pipe"], ...user });
  const lines: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => lines.push(text));
  closing.push(() => child.kill("SIGKILL"));
  const url = `postgres://floe@127.0.0.1:${port}/postgres`;
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`PostgreSQL ended:\n${lines.join("")}`);
    // A server that still recovers takes no writes.
    return (await query(url, "select not pg_is_in_recovery() as done"))?.done === true ? true : undefined;
  }, "PostgreSQL");
  return { child, url, port };
}

async function query(url: string, text: string): Promise<postgres.Row | undefined> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    return (await sql.unsafe(text))[0];
  } catch {
    return undefined;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

export const pointInTime: Drill = {
  about: "the database's disk is lost; the base backup and the archived log lead to a moment between two sales",
  async run(say, closing) {
    const programs = findPrograms();
    const place = mkdtempSync(join(tmpdir(), "floe-drill-"));
    closing.push(() => rmSync(place, { recursive: true, force: true }));
    chmodSync(place, 0o755);
    const [files, archive, base] = ["files", "archive", "base"].map((name) => join(place, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [files, archive, base]) {
      mkdirSync(folder, { mode: 0o700 });
      own(programs, folder);
    }
    run(programs, "initdb", ["-D", files, "-U", "floe", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]);
    const archiving = ["archive_mode=on", `archive_command=test ! -f ${archive}/%f && cp %p ${archive}/%f`];
    const { child, url, port } = await startCluster(programs, files, closing, ["wal_level=replica", ...archiving]);

    const shop = await openShop({ databaseUrl: url });
    closing.push(() => shop.close());
    const seller = await prepareSeller(url);
    const server = await serve(shop.env);
    closing.push(() => server.child.kill("SIGKILL"));
    await sell(server, seller);
    say(`$ pg_basebackup --pgdata ${base} --checkpoint fast`);
    const connection = ["--host", "127.0.0.1", "--port", String(port), "--username", "floe"];
    run(programs, "pg_basebackup", [...connection, "--pgdata", base, "--checkpoint", "fast"]);
    await sell(server, seller);
    const kept = await countOrders(server, seller);
    await sleep(1000);
    const target = new Date(String((await query(url, "select clock_timestamp() as at"))?.at));
    await sleep(1000);
    await sell(server, seller);
    promise("three sales were charged", shop.countCharges() === 3, say);
    const segment = String((await query(url, "select pg_walfile_name(pg_switch_wal()) as name"))?.name);
    await eventually(async () => (existsSync(join(archive, segment)) ? true : undefined), "the archived log");
    await stop(server);
    child.kill("SIGKILL");
    await once(child, "exit");
    rmSync(files, { recursive: true });
    say("The disk of the database is lost.");

    // PostgreSQL takes no time with a T or a Z here.
    const targetText = target.toISOString().replace("T", " ").replace("Z", "+00");
    say(`  recovery_target_time = '${targetText}'`);
    const recovery = [
      `restore_command = 'cp ${archive}/%f %p'`,
      `recovery_target_time = '${targetText}'`,
      "recovery_target_action = 'promote'",
    ];
    appendFileSync(join(base, "postgresql.auto.conf"), `${recovery.join("\n")}\n`);
    const signal = join(base, "recovery.signal");
    appendFileSync(signal, "");
    own(programs, signal);
    const recovered = await startCluster(programs, base, closing, []);
    const given = { ...shop.env, DATABASE_URL: recovered.url, FLOE_SECRET: drillSecret };
    const orders = await query(recovered.url, "select count(*)::int as count from orders");
    promise(`the orders of that moment are there: ${kept}`, kept === 2 && orders?.count === kept, say);
    say("$ floe admin restore-check");
    const { unknown } = await checkRestore({ given, since: null });
    promise("the sale of after that moment is known by the processor alone", unknown !== undefined, say);
    const paused = await serve({ ...shop.env, DATABASE_URL: recovered.url }, { isReady: false });
    promise("the server is in maintenance: a sale is refused", (await sell(paused, seller)).status === 503, say);
    await stop(paused);
    say(`$ floe admin reconcile --since ${target.toISOString()} --apply --unknown refund`);
    const isSettled = await reconcileRestored({
      ...{ given, since: target, isApplied: true, unknown: "refund", report: () => undefined },
    });
    promise("one command settles it", isSettled && shop.standIn.refunds.size === 1, say);
    const again = await serve({ ...shop.env, DATABASE_URL: recovered.url });
    closing.push(() => again.child.kill("SIGKILL"));
    promise("the server sells again", (await sell(again, seller)).status === 200, say);
    promise("nothing was charged twice", shop.countCharges() === 4, say);
    await stop(again);
    await checkBooks({ DATABASE_URL: recovered.url }, say);
  },
};
