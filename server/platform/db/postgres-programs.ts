/** PostgreSQL's own programs, `pg_dump` and `pg_restore`, where they are on the PATH. */
import { spawn } from "node:child_process";
import { sql } from "drizzle-orm";
import { buildEnvironment } from "../config.ts";
import { DatabaseError } from "./migrate.ts";
import type { Database } from "./transaction.ts";

/** So much of what a program says is shown. */
const saidMax = 2000;

/** The address of a database as PostgreSQL's programs read it. The password is not among the arguments, which others can read. */
function describeConnection(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const ssl = searchParams.get("sslmode") ?? searchParams.get("ssl");
  const given = {
    PGHOST: searchParams.get("host") ?? decodeURIComponent(hostname.replace(/^\[|\]$/g, "")),
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGSSLMODE: ssl === "true" ? "require" : ssl,
    PGSSLROOTCERT: searchParams.get("sslrootcert"),
  };
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null && entry[1] !== ""),
  );
}

async function findServerVersion(db: Database): Promise<string> {
  const [row] = await db
    .select({ version: sql<string>`current_setting('server_version_num')` })
    .from(sql`(select) as one`);
  return (row?.version ?? "").slice(0, -4);
}

type Run = { db: Database; url: string; signal?: AbortSignal | undefined };

async function runProgram(program: "pg_dump" | "pg_restore", args: string[], { db, url, signal }: Run): Promise<void> {
  const connection = describeConnection(url);
  const version = await findServerVersion(db);
  const install = `Install the client programs of PostgreSQL ${version} or newer (Debian and Ubuntu: postgresql-client-${version}), and run the command again.`;
  const said = await new Promise<string | null>((resolve, reject) => {
    const child = spawn(program, args, {
      env: buildEnvironment(connection),
      stdio: ["ignore", "ignore", "pipe"],
      ...(signal && { signal }),
    });
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-saidMax);
    });
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ENOENT" ? new DatabaseError(`${program} is not on the PATH. ${install}`) : error),
    );
    child.once("close", (code) => resolve(code === 0 ? null : text.trim() || `it ended with ${code}`));
  });
  if (said === null) return;
  if (/server version mismatch|unsupported version/.test(said))
    throw new DatabaseError(`${program} on the PATH is older than the server. ${install}`);
  throw new DatabaseError(`${program} failed: ${said}`);
}

/** Write a database into a file, as it stands at one moment. The server goes on. */
export const exportDatabase = (run: Run, file: string): Promise<void> =>
  runProgram(
    "pg_dump",
    ["--format=custom", "--no-owner", "--no-acl", "--lock-wait-timeout=60s", `--file=${file}`],
    run,
  );

/** Fill an empty database from such a file, in one transaction: all of it, or nothing. */
export const restoreDatabase = (run: Run, file: string): Promise<void> =>
  runProgram(
    "pg_restore",
    [
      ...["--exit-on-error", "--single-transaction", "--no-owner", "--no-acl", "--no-comments"],
      `--dbname=${decodeURIComponent(new URL(run.url).pathname.slice(1))}`,
      file,
    ],
    run,
  );

/** Whether a database has tables, views or types of anyone. */
export async function isEmptyDatabase(db: Database): Promise<boolean> {
  const [row] = await db
    .select({
      count: sql<number>`(select count(*)::int from pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where nspname !~ '^pg_' and nspname <> 'information_schema' and relkind in ('r', 'p', 'v', 'm', 'S', 'f'))`,
    })
    .from(sql`(select) as one`);
  return row?.count === 0;
}
