/**
 * What a simulation is run in: a seeded chance, servers on one PostgreSQL whose statements are let through one at a time, so
 * that the seed decides how they come between each other, and which can be cut off at any of them; sellers' own servers that
 * fail to take what they are sent; and a card processor whose answers get lost.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import crypto from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import type { Deps } from "../../server/platform/context.ts";
import type { DueQuery } from "../../server/platform/db/due.ts";
import type { Worker } from "../../server/platform/jobs/workers.ts";
import type { Intent, Processor, ProcessorEvent } from "../../server/platform/processors/processor.ts";
import { type Floe, start, type TestClock } from "./floe.ts";
import { newId } from "./ids.ts";

export type Chance = ReturnType<typeof openChance>;

/** Numbers that look random and are the same for the same seed. */
export function openChance(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** A whole number below this one. */
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    happens: (share: number): boolean => next() < share,
    pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
    /** One of the names, each as likely as its weight. */
    weigh<K extends string>(weights: Record<K, number>): K {
      const all = Object.entries(weights) as [K, number][];
      let rest = next() * all.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of all) {
        rest -= weight;
        if (rest < 0) return name;
      }
      throw new Error("There is nothing to choose from.");
    },
  };
}

/** While a simulation runs, what the server itself leaves to chance is the seed's as well. Answers how to end that. */
export function seedServer(chance: Chance): () => void {
  const { randomInt } = crypto;
  const seeded = (least: number, most?: number) =>
    most === undefined ? chance.below(least) : least + chance.below(most - least);
  Object.assign(crypto, { randomInt: seeded });
  syncBuiltinESMExports();
  return () => {
    Object.assign(crypto, { randomInt });
    syncBuiltinESMExports();
  };
}

/** Something that goes on at a server: a request, or what is due. */
type Task = { server: Mortal; parked: number; sent: number; lines: number; isOver: boolean; isCut: boolean };
/** What is sent over one connection, of which the database has the first at a time. */
type Line = { sent: number };
type Entry = { task: Task; go(): void };
type Query = Parameters<postgres.Sql["unsafe"]>;
type Pending = Promise<unknown> & { values(): Promise<unknown> };
type Transaction = { unsafe(...query: Query): Pending; savepoint(work: Work): Promise<unknown> };
type Work = (tx: Transaction) => Promise<unknown>;
type Client = { unsafe(...query: Query): Pending; begin(work: Work): Promise<unknown> };

export type Mortal = {
  name: string;
  floe: Floe;
  isDead: boolean;
  /** After so many statements it ends; null where it does not. */
  left: number | null;
  /** Whether it ends with the answer to its last statement, instead of before asking it. */
  hears: boolean;
};

/** Whether something of it still goes on, be it what nobody waits for. */
const isOpen = ({ parked, sent, isOver, isCut }: Task): boolean => !isCut && (!isOver || parked + sent > 0);
const never = new Promise<never>(() => undefined);
/** What the server does by itself every few seconds of real time. */
const byItself = /^(update "apikey" set "lastRequest"|insert into "request_log"|delete from "request_log")/;
const lookMs = 3;
/** Looks in a row at which nothing had moved; on a busy machine each of them takes longer, as all else does. */
const blockedAfter = 1;
const idleAfter = 330;
/** Far longer than anything takes: what has not moved since waits for what does not come. */
const stuckAfterMs = 120_000;

/** Lets statements of all servers through, one at a time; which one, the seed says. */
export function openSchedule(chance: Chance, databaseUrl: string) {
  const context = new AsyncLocalStorage<Task>();
  const control = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const waiting: Entry[] = [];
  let tasks: Task[] = [];
  let statements = 0;
  /** Servers that were cut off, and whose transactions are still to be undone. */
  const dying = new Set<Mortal>();
  let stirred = Promise.withResolvers<void>();
  const stir = () => {
    stirred.resolve();
    stirred = Promise.withResolvers<void>();
  };

  /** From now on nothing of what a server does is heard of. */
  function cut(server: Mortal): void {
    server.isDead = true;
    dying.add(server);
    for (const task of tasks) if (task.server === server) task.isCut = true;
    for (let at = waiting.length - 1; at >= 0; at -= 1) if (waiting[at]?.task.server === server) waiting.splice(at, 1);
  }

  /** Wait until it is this statement's turn; answers how to say that it was answered. */
  async function pass(server: Mortal, line: Line = { sent: 0 }): Promise<() => boolean> {
    if (server.isDead) return never;
    const task = context.getStore();
    if (!task || !tasks.includes(task)) return () => server.isDead;
    task.parked += 1;
    stir();
    await new Promise<void>((go) => void waiting.push({ task, go }));
    task.parked -= 1;
    task.sent += 1;
    if (line.sent === 0) task.lines += 1;
    line.sent += 1;
    return () => {
      task.sent -= 1;
      line.sent -= 1;
      if (line.sent === 0) task.lines -= 1;
      if (server.left !== null && server.left <= 0 && server.hears && !server.isDead) cut(server);
      stir();
      return server.isDead;
    };
  }
  const through =
    (server: Mortal, unsafe: Transaction["unsafe"], line?: Line): Transaction["unsafe"] =>
    (...query) => {
      let asArrays = false;
      const ask = async () => {
        const run = () => (asArrays ? unsafe(...query).values() : unsafe(...query));
        if (byItself.test(query[0])) return server.isDead ? never : run();
        const answered = await pass(server, line);
        const outcome = await Promise.allSettled([run()]);
        if (answered()) return never;
        if (outcome[0].status === "rejected") throw outcome[0].reason;
        return outcome[0].value;
      };
      const result = Promise.resolve().then(ask);
      return Object.assign(result, {
        values() {
          asArrays = true;
          return result;
        },
      });
    };
  const within = (server: Mortal, { unsafe, savepoint }: Transaction, line: Line): Transaction => ({
    unsafe: through(server, unsafe, line),
    savepoint: (work) => savepoint((inner) => work(within(server, inner, line))),
  });

  /** Have all statements of a server pass here. */
  function hold(server: Mortal, client: Client): void {
    const { unsafe, begin } = client;
    Object.assign(client, {
      unsafe: through(server, unsafe),
      async begin(work: Work) {
        let answered = await pass(server);
        const outcome = await Promise.allSettled([
          begin(async (tx) => {
            if (answered()) return never;
            const made = await work(within(server, tx, { sent: 0 }));
            // The commit is a step of its own: what was done may be lost before it, and be done though nobody hears of it.
            answered = await pass(server);
            return made;
          }),
        ]);
        if (outcome[0].status === "fulfilled") return answered() ? never : outcome[0].value;
        if (server.isDead) return never;
        throw outcome[0].reason;
      },
    });
  }

  /** At how many connections something is asked. */
  const countLines = (): number => tasks.reduce((sum, task) => sum + (isOpen(task) ? task.lines : 0), 0);

  /** How many statements wait for others to end their transactions; one whose wait is over is none, also before it goes on. */
  async function countBlocked(): Promise<number> {
    const [row] = await control`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name like 'simulated_%' and cardinality(pg_blocking_pids(pid)) > 0`;
    return Number(row?.count);
  }

  /** What the connections of all servers are at, for whoever reads of a schedule that is stuck. */
  async function describeConnections(): Promise<string[]> {
    const rows = await control<{ text: string }[]>`
      select concat_ws(' ', application_name, pid, state, wait_event_type, wait_event,
        'behind ' || nullif(pg_blocking_pids(pid), '{}')::text, '| ' || left(query, 160)) as text
      from pg_stat_activity where datname = current_database() and application_name like 'simulated_%' order by pid`;
    return rows.map(({ text }) => text);
  }

  /** Wait until nothing goes on but what waits: for its turn, or for a lock that another has. */
  async function settle(): Promise<void> {
    const since = performance.now();
    for (let looks = 0; ; ) {
      await turn();
      if (dying.size > 0) return;
      const open = tasks.filter(isOpen);
      if (open.every(({ parked, sent }) => parked > 0 && sent === 0)) return;
      // What waits for what another is at in the same process, as events of use do, asks nothing of the database meanwhile.
      if (looks >= (open.every(({ parked, sent }) => parked + sent > 0) ? blockedAfter : idleAfter)) {
        const lines = countLines();
        if ((await countBlocked()) === lines && open.some(({ parked }) => parked > 0)) {
          await turn();
          if (lines === countLines()) return;
        }
      }
      if (performance.now() - since > stuckAfterMs) {
        const states = open.map(({ server, parked, sent }) => `${server.name}: ${parked} wait, ${sent} are asked`);
        const connections = await describeConnections();
        throw new Error(
          `Nothing moves any more. Of what goes on, statements at ${states.join("; ")}.\n${connections.join("\n")}`,
        );
      }
      const timer = new AbortController();
      const look = sleep(lookMs, null, { signal: timer.signal }).catch(() => null);
      await Promise.race([stirred.promise, look]);
      looks += 1;
      timer.abort();
    }
  }

  /** End a server as a killed process ends: its transactions are undone, and nothing that it did not send is sent. */
  async function end(server: Mortal): Promise<void> {
    dying.delete(server);
    await control`select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = ${`simulated_${server.name}`}`;
    rmSync(String(server.floe.deps.config.FLOE_FILES_DIR), { recursive: true, force: true });
  }

  return {
    hold,
    count: () => statements,
    /** Do these at the same time, as the seed has them come between each other. Answers what each came to; null where its server ended. */
    async together<T>(works: readonly { server: Mortal; work: () => Promise<T> }[]): Promise<(T | null)[]> {
      const results: (T | null)[] = works.map(() => null);
      const faults: unknown[] = [];
      tasks = works.map(({ server, work }, index) => {
        const task: Task = { server, parked: 0, sent: 0, lines: 0, isOver: false, isCut: false };
        void context.run(task, async () => {
          try {
            results[index] = await work();
          } catch (error) {
            faults.push(error);
          }
          task.isOver = true;
          stir();
        });
        return task;
      });
      for (;;) {
        await settle();
        for (const server of dying) await end(server);
        if (!tasks.some(isOpen)) break;
        waiting.sort((one, other) => tasks.indexOf(one.task) - tasks.indexOf(other.task));
        const [entry] = waiting.splice(chance.below(waiting.length), 1);
        if (!entry) continue;
        const { server } = entry.task;
        statements += 1;
        if (server.left !== null) server.left -= 1;
        if (server.left === 0 && !server.hears) cut(server);
        else entry.go();
      }
      if (faults.length > 0) throw faults[0];
      return results;
    },
    close: () => control.end(),
  };
}
export type Schedule = ReturnType<typeof openSchedule>;

/** A card processor that is the test one, but whose answers get lost, and whose charges come to light late. */
export function openFarProcessor(chance: Chance) {
  /** Charges that nobody hears of until then. */
  const hidden = new Map<string, { until: Date; intent: Intent }>();
  const isHidden = (payment_id: string): boolean => hidden.has(payment_id);
  let trouble = 0;
  let isNextLate = false;
  const say = (far: Processor, now: () => Date): Partial<Processor> => {
    const charge = async (work: () => Promise<Intent>): Promise<Intent> => {
      const isLate = isNextLate;
      isNextLate = false;
      if (!isLate && !chance.happens(trouble)) return work();
      const kind = isLate ? "late" : chance.weigh({ away: 1, lost: 2, late: 1 });
      if (kind === "away") throw new Error("The processor was away.");
      const intent = await work();
      if (kind === "late" && intent.status === "succeeded")
        hidden.set(intent.payment_id, {
          until: new Date(now().getTime() + (1 + chance.below(72)) * 3_600_000),
          intent,
        });
      throw new Error("The answer was lost.");
    };
    return {
      confirm: (one) => charge(() => far.confirm(one)),
      chargeSaved: (one) => charge(() => far.chargeSaved(one)),
      retrieve: async (attempt) => (isHidden(attempt.payment_id) ? null : far.retrieve(attempt)),
      cancel: async (attempt) => (isHidden(attempt.payment_id) ? null : far.cancel(attempt)),
      async refund(request) {
        // A shop makes few refunds, so their answers are lost more often.
        if (!chance.happens(Math.min(0.5, 10 * trouble))) return far.refund(request);
        if (chance.happens(0.5)) await far.refund(request);
        throw new Error("The answer was lost.");
      },
      async saveMethod(setup) {
        if (!chance.happens(trouble)) return far.saveMethod(setup);
        if (chance.happens(0.5)) await far.saveMethod(setup);
        throw new Error("The answer was lost.");
      },
    };
  };
  return {
    wrap: (far: Processor, now: () => Date): Processor => ({ ...far, ...say(far, now) }),
    trouble(share: number) {
      trouble = share;
    },
    /** Have nobody hear of the next charge for a while. */
    hideNext() {
      isNextLate = true;
    },
    isHidden,
    hidden: () => hidden.size,
    /** When the next charge comes to light. */
    next: (): Date | null => [...hidden.values()].map(({ until }) => until).sort((a, b) => +a - +b)[0] ?? null,
    /** Charges come to light: the processor tells of each. */
    async surface(deps: Deps, now: Date): Promise<number> {
      let told = 0;
      for (const [payment_id, { until, intent }] of hidden) {
        if (until > now) continue;
        hidden.delete(payment_id);
        told += 1;
        const { organization_id, processor_id } = intent;
        const event: ProcessorEvent = {
          id: `evt_${newId()}`,
          account: deps.processor.account,
          kind: "payment",
          organization_id,
          payment_id,
          processor_id,
        };
        await recordProcessorEvent(deps, event);
      }
      return told;
    },
  };
}
export type FarProcessor = ReturnType<typeof openFarProcessor>;

export type Taken = { type: string; timestamp: string; data: Record<string, unknown> };

/** A seller's own server that keeps what it has taken, by the id of the event; in bad times it takes nothing, or says nothing. */
export async function openReceiver(chance: Chance) {
  const taken = new Map<string, Taken>();
  const repeated = { count: 0 };
  let trouble = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const id = String(request.headers["webhook-id"]);
      const isBad = chance.happens(trouble);
      const kind = isBad ? chance.weigh({ refused: 2, silent: 1 }) : "taken";
      if (kind !== "refused") {
        const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Taken;
        if (taken.has(id)) {
          repeated.count += 1;
          if (JSON.stringify(taken.get(id)) !== JSON.stringify(body))
            throw new Error(`${id} was sent twice with other words.`);
        }
        taken.set(id, body);
      }
      if (kind === "silent") request.socket.destroy();
      else response.writeHead(kind === "taken" ? 200 : 500).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    taken,
    repeated,
    trouble(share: number) {
      trouble = share;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
export type SimulatedReceiver = Awaited<ReturnType<typeof openReceiver>>;

let servers = 0;
/** A server of the simulation. */
export async function openServer(
  databaseUrl: string,
  schedule: Schedule,
  far: FarProcessor,
  time: Date,
): Promise<Mortal> {
  servers += 1;
  const name = `${process.pid}_${servers}`;
  const url = new URL(databaseUrl);
  url.searchParams.set("application_name", `simulated_${name}`);
  const mortal = { name, isDead: false, left: null, hears: false } as unknown as Mortal;
  let clock: TestClock | undefined;
  const floe = await start({
    // Notifications are sent by the real clock, beside the story.
    settings: { FLOE_NOTIFY: "off" },
    databaseUrl: url.href,
    replace(deps) {
      clock = deps.clock as TestClock;
      clock.time = time;
      schedule.hold(mortal, (deps.db as unknown as { $client: Client }).$client);
      return {
        // Its receivers are on this machine.
        config: { ...deps.config, development: true },
        processor: far.wrap(deps.processor, () => deps.clock.now()),
      };
    },
  });
  floe.clock.time = time;
  return Object.assign(mortal, { floe });
}

/**
 * A sweep that does one piece at a time: what comes between its statements is for the seed to say. So is which row comes first
 * of those that fall due at the same instant, which is the database's to choose otherwise.
 */
export function doSingly<S extends Worker>(sweep: S): S {
  if (!("due" in sweep)) return sweep;
  const { due } = sweep;
  const inOrder = (one: DueQuery): DueQuery => {
    const first = one.order ?? one.at;
    return { ...one, order: first ? sql`${first}, ${one.id}` : one.id };
  };
  return {
    ...sweep,
    concurrency: 1,
    maxPerTenant: 1,
    due: typeof due === "function" ? (deps: Deps) => inOrder(due(deps)) : inOrder(due),
  };
}
