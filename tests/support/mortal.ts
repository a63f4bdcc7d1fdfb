/**
 * Servers that end in the middle of their work. One in a process of its own is really killed; that takes seconds to start,
 * so most are cut off in this process: their connections to the database end, and nothing that they do from then on
 * reaches the database or another machine.
 */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import postgres from "postgres";
import { expect } from "vitest";
import type { Deps } from "../../server/platform/context.ts";
import { type Floe, type FloeOptions, start } from "./floe.ts";
import { newId } from "./ids.ts";
import type { Die } from "./mortal-steps.ts";
import { spawnProgram } from "./programs.ts";

type Query = Parameters<postgres.Sql["unsafe"]>;
type Transaction = { unsafe(...query: Query): unknown; savepoint(work: Work): Promise<unknown> };
type Work = (tx: Transaction) => Promise<unknown>;
type Client = { unsafe(...query: Query): unknown; begin(work: Work): Promise<unknown> };

const never = new Promise<never>(() => undefined);
const unanswered = Object.assign(never, { values: () => never });

/** From the death on nobody who asks this client hears of it again. */
function silence(client: Client, isDead: () => boolean): void {
  const within = (tx: Transaction): Transaction => ({
    unsafe: (...query) => (isDead() ? unanswered : tx.unsafe(...query)),
    savepoint: (work) => (isDead() ? never : tx.savepoint((inner) => work(within(inner)))),
  });
  const { unsafe, begin } = client;
  Object.assign(client, {
    unsafe: (...query: Query) => (isDead() ? unanswered : unsafe(...query)),
    begin: (work: Work) => (isDead() ? never : begin((tx) => work(within(tx)))),
  });
}

/** A way to another server of this machine that can be cut off. */
async function openWay(url: string) {
  const open = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(Number(new URL(url).port), "127.0.0.1");
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(one.on("error", () => undefined).on("close", () => other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** A server in this process that can be cut off from everything, by `stepsOf` its parts or by `die`. */
export async function startMortal(
  { databaseUrl, settings = {}, ...options }: Omit<FloeOptions, "replace"> & { databaseUrl: string },
  stepsOf: (die: Die) => (deps: Deps) => Partial<Deps> = () => () => ({}),
) {
  const ended = Promise.withResolvers<void>();
  let isDead = false;
  const name = `mortal_${newId()}`;
  const url = new URL(databaseUrl);
  url.searchParams.set("application_name", name);
  const stripe = settings.STRIPE_API_URL ? await openWay(settings.STRIPE_API_URL) : undefined;

  /** As PostgreSQL learns of a process that is gone. */
  async function endConnections(): Promise<void> {
    const sql = postgres(databaseUrl, { max: 1 });
    await sql`select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = ${name}`;
    await sql.end();
    rmSync(String(floe.deps.config.FLOE_FILES_DIR), { recursive: true, force: true });
  }
  const die = (): never => {
    if (!isDead) {
      isDead = true;
      stripe?.cut();
      ended.resolve(endConnections());
    }
    throw new Error("The server was cut off.");
  };
  const floe: Floe = await start({
    ...options,
    settings: { ...settings, ...(stripe ? { STRIPE_API_URL: stripe.url } : {}) },
    databaseUrl: url.href,
    replace(deps) {
      silence((deps.db as unknown as { $client: Client }).$client, () => isDead);
      return stepsOf(die)(deps);
    },
  });
  return {
    request: floe.request,
    deps: floe.deps,
    die: (): void => {
      expect(die).toThrow("cut off");
    },
    /** When the database has forgotten it. */
    ended: ended.promise,
  };
}

/** A server in a process of its own, killed at this step; `url` is where it listens. */
export async function spawnMortal(databaseUrl: string, step: string, ...more: string[]) {
  const child = await spawnProgram("mortal-process", [databaseUrl, step, ...more]);
  const exit = once(child, "exit");
  return {
    async url(): Promise<string> {
      const [line] = (await Promise.race([once(child.stdout, "data"), exit.then(() => [""])])) as [unknown];
      expect(String(line)).toMatch(/^http/);
      return String(line).trim();
    },
    async killed(): Promise<void> {
      expect((await exit)[1]).toBe("SIGKILL");
    },
  };
}
