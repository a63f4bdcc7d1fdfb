import { eq, sql } from "drizzle-orm";
import type { FastifyRequest } from "fastify";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAccountWork } from "../../server/identity/accounts/work.ts";
import { anonymous, type Ctx, type Database, type Tx } from "../../server/platform/context.ts";
import { addRowsAtEnd } from "../../server/platform/db/rows.ts";
import { auditLog, events, idempotencyKeys, mails } from "../../server/platform/db/tables.ts";
import { joinTransaction, runAfterCommit, runAtEnd, transact } from "../../server/platform/db/unit-of-work.ts";
import { record } from "../../server/platform/events/audit.ts";
import { emit } from "../../server/platform/events/events.ts";
import { runWithEntry } from "../../server/platform/http/audit.ts";
import { type IdempotentAnswer, respondOnce } from "../../server/platform/http/idempotency.ts";
import { readProfile } from "../../server/platform/http/profiles.ts";
import { api } from "../../shared/api/index.ts";
import type { Product } from "../../shared/api/products.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
let ctx: Ctx;
let product: Product;
beforeAll(async () => {
  floe = await start({ embedded: true });
  seller = await floe.seller();
  product = await seller.client.products.create({ body: { name: "Book", prices: [{ amount_type: "free" }] } });
  const actor = {
    ...anonymous,
    kind: "key",
    organization_id: seller.organization_id,
    scopes: new Set<never>(),
  } as const;
  ctx = { ...floe.deps, actor, client: readProfile({}) as never, ip: "127.0.0.1", isForwarded: false, extraWrites: [] };
  await floe.deps.db.execute(sql`create table statements (at text)`);
  await floe.deps.db.execute(sql`create function count_statement() returns trigger language plpgsql as $$
    begin insert into statements values (tg_table_name); return null; end $$`);
  for (const table of ["events", "audit_log"])
    await floe.deps.db.execute(
      sql.raw(`create trigger counted before insert on ${table} for each statement execute function count_statement()`),
    );
});
afterAll(() => floe.close());
beforeEach(async () => {
  await floe.runJobs();
  for (const table of ["statements", "events", "mails", "idempotency_keys"])
    await floe.deps.db.execute(sql.raw(`delete from ${table}`));
});

const happen = (tx: Tx, name: string, organization_id = seller.organization_id): Promise<void> =>
  emit(tx, ctx, organization_id, "product.created", { ...product, organization_id, name });
const note = (tx: Tx, action: string) =>
  record(tx, ctx, {
    action,
    actor: ctx.actor,
    subject: null,
    organization_id: seller.organization_id,
    ip_address: null,
    user_agent: null,
  });
const told = async () =>
  (await floe.deps.db.select().from(events).orderBy(events.seq)).map(({ data }) => (data as { name: string }).name);
const entries = async (action: string) =>
  floe.deps.db.select().from(auditLog).where(eq(auditLog.action, action)).orderBy(auditLog.id);
const statements = async (db: Database = floe.deps.db) => {
  const rows = await db.select({ at: sql<string>`at` }).from(sql`statements`);
  return rows.map(({ at }) => at);
};

describe("a transaction", () => {
  test("writes its events and entries at its end, each kind in one statement, in the order of noting", async () => {
    const action = `noted.${newId()}`;
    await transact(ctx, async (tx) => {
      for (const name of ["a", "b", "c"]) await happen(tx, name);
      await note(tx, action);
      await note(tx, action);
      expect(await statements(tx)).toEqual([]);
    });
    expect(await told()).toEqual(["a", "b", "c"]);
    expect(await entries(action)).toHaveLength(2);
    expect((await statements()).sort()).toEqual(["audit_log", "events"]);
  });

  test("wakes the sweep that waits for it when it is committed, not before, and not when it is undone", async () => {
    let looks = 0;
    const off = ctx.jobs.onWake("events.dispatch", () => {
      looks += 1;
    });
    await transact(ctx, async (tx) => {
      for (const name of ["a", "b"]) await happen(tx, name);
      expect(looks).toBe(0);
    });
    expect(looks).toBeGreaterThan(0);
    looks = 0;
    const undone = transact(ctx, async (tx) => {
      await happen(tx, "undone");
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(looks).toBe(0);
    off();
  });

  test("writes nothing, and does nothing afterwards, when it is undone or its end cannot be written", async () => {
    const action = `undone.${newId()}`;
    const after: string[] = [];
    const work = async (tx: Tx) => {
      await tx.insert(mails).values(mailOf("undone"));
      await happen(tx, "undone");
      await note(tx, action);
      runAfterCommit(tx, () => void after.push("done"));
    };
    await expect(
      transact(ctx, async (tx) => {
        await work(tx);
        throw new Error("undone");
      }),
    ).rejects.toThrow("undone");
    await expect(
      transact(ctx, async (tx) => {
        await work(tx);
        runAtEnd(tx, () => Promise.reject(new Error("no end")));
      }),
    ).rejects.toThrow("no end");
    expect([await told(), await entries(action), await floe.deps.db.$count(mails), after]).toEqual([[], [], 0, []]);
  });

  test("keeps of its savepoints what held, however deep, and forgets what was undone", async () => {
    const after: string[] = [];
    const work = async (tx: Tx, name: string) => {
      await happen(tx, name);
      runAfterCommit(tx, () => void after.push(name));
    };
    await transact(ctx, async (tx) => {
      await work(tx, "first");
      const inner = joinTransaction(ctx, tx);
      await transact(inner, async (savepoint) => {
        await work(savepoint, "held");
        await transact(joinTransaction(inner, savepoint), (deeper) => work(deeper, "held deeper"));
      });
      const undone = transact(inner, async (savepoint) => {
        await transact(joinTransaction(inner, savepoint), (deeper) => work(deeper, "held in what is undone"));
        await work(savepoint, "undone");
        throw new Error("undone");
      });
      await expect(undone).rejects.toThrow("undone");
      await work(tx, "last");
      expect(after).toEqual([]);
    });
    const kept = ["first", "held", "held deeper", "last"];
    expect([await told(), after]).toEqual([kept, kept]);
    expect(await statements()).toEqual(["events"]);
  });

  test("adds rows at its end, with events and without, and of savepoints those of the ones that held", async () => {
    const add = (tx: Tx, action: string) =>
      addRowsAtEnd(tx, auditLog, [
        { id: newId(), organization_id: seller.organization_id, actor_kind: "key", action, created_at: new Date() },
      ]);
    const listAdded = async (tx: Database) => {
      const rows = await tx.select({ action: auditLog.action }).from(auditLog);
      return rows.flatMap(({ action }) => (action.startsWith("added.") ? [action] : [])).sort();
    };
    await transact(ctx, async (tx) => {
      add(tx, "added.alone");
      expect(await listAdded(tx)).toEqual([]);
    });
    await transact(ctx, async (tx) => {
      await happen(tx, "with rows");
      await transact({ ...ctx, db: tx }, async (inner) => add(inner, "added.held"));
      const undone = transact({ ...ctx, db: tx }, async (inner) => {
        add(inner, "added.undone");
        throw new Error("undone");
      });
      await expect(undone).rejects.toThrow("undone");
    });
    expect(await listAdded(floe.deps.db)).toEqual(["added.alone", "added.held"]);
    expect(await told()).toEqual(["with rows"]);
  });

  test("stands when what follows it fails; that is in the log, and the rest is done", async () => {
    const after: string[] = [];
    const answer = await transact(ctx, async (tx) => {
      await happen(tx, "stands");
      runAfterCommit(tx, () => Promise.reject(new Error("the follow-up broke")));
      runAfterCommit(tx, () => void after.push("done"));
      return "made";
    });
    expect([answer, after, await told()]).toEqual(["made", ["done"], ["stands"]]);
    expect(floe.logged.at(-1)).toMatch(/^error .*the follow-up broke/);
  });
});

const mailOf = (subject: string) => ({
  id: newId(),
  to: "nobody@example.com",
  subject,
  letter: "",
  created_at: floe.clock.now(),
});
const made = (name: string) => ({ id: name });
const failure = new Error("The operation failed.");

/** One change, in a transaction of its own; `fails` undoes it. */
const change = (ctx: Ctx, name: string, fails = false) =>
  transact(ctx, async (tx) => {
    await tx.insert(mails).values(mailOf(name));
    if (fails) throw failure;
    return made(name);
  });
const orNot = (work: Promise<unknown>) => work.catch((error: unknown) => expect(error).toBe(failure));

type Shape = {
  work(ctx: Ctx): Promise<unknown>;
  /** The changes that stand, without a key or with one for which somebody outside is asked; then in the key's transaction. */
  stand: string[];
  standKeyed?: string[];
  /** Whose id the one entry has; null: there is none. */
  entry: string | null;
  entryKeyed?: string | null;
  fails?: true;
  /** What was answered already when it failed, where somebody outside is asked: a repetition gets that. */
  early?: string;
};
/** What an operation may do with transactions. */
const shapes: Record<string, Shape> = {
  "one transaction": { work: (ctx) => change(ctx, "a"), stand: ["a"], entry: "a" },
  "none: the change is made elsewhere": { work: async () => made("elsewhere"), stand: [], entry: "elsewhere" },
  "two transactions": {
    work: async (ctx) => [await change(ctx, "a"), await change(ctx, "b")][1],
    stand: ["a", "b"],
    entry: "a",
  },
  "one that fails and is tried again": {
    async work(ctx) {
      await orNot(change(ctx, "a", true));
      return change(ctx, "b");
    },
    stand: ["b"],
    entry: "b",
  },
  "one that holds and one that fails": {
    async work(ctx) {
      const first = await change(ctx, "a");
      await orNot(change(ctx, "b", true));
      return first;
    },
    stand: ["a"],
    entry: "a",
  },
  "one that holds, and then it fails": {
    work: async (ctx) => [await change(ctx, "a"), await change(ctx, "b", true)],
    stand: ["a"],
    standKeyed: [],
    entry: "a",
    entryKeyed: null,
    fails: true,
    early: "a",
  },
  "it fails": { work: (ctx) => change(ctx, "a", true), stand: [], entry: null, fails: true },
  "others in one": {
    work: (ctx) =>
      transact(ctx, async (tx) => {
        for (const name of ["a", "b"]) await change(joinTransaction(ctx, tx), name);
        return made("whole");
      }),
    stand: ["a", "b"],
    entry: "whole",
  },
  "others in one, one of them undone": {
    work: (ctx) =>
      transact(ctx, async (tx) => {
        await orNot(change(joinTransaction(ctx, tx), "a", true));
        await change(joinTransaction(ctx, tx), "b");
        return made("whole");
      }),
    stand: ["b"],
    entry: "whole",
  },
  "one whose inner one held, undone and tried again": {
    async work(ctx) {
      await orNot(
        transact(ctx, async (tx) => {
          await change(joinTransaction(ctx, tx), "a");
          throw failure;
        }),
      );
      return change(ctx, "b");
    },
    stand: ["b"],
    entry: "b",
  },
  "one within which the context was handed on whole": {
    work: (ctx) =>
      transact(ctx, async (tx) => {
        await change({ ...ctx, db: tx }, "a");
        return made("whole");
      }),
    stand: ["a"],
    entry: "a",
  },
  "one that fails at its very end, and is tried again": {
    async work(ctx) {
      const refused = { ...ctx, extraWrites: [...ctx.extraWrites, () => Promise.reject(failure)] };
      await orNot(change(refused, "a"));
      return change(ctx, "b");
    },
    stand: ["b"],
    entry: "b",
  },
  "one within which the context was handed on whole, undone and tried again": {
    async work(ctx) {
      await orNot(
        transact(ctx, async (tx) => {
          await change({ ...ctx, db: tx }, "a");
          throw failure;
        }),
      );
      return change(ctx, "b");
    },
    stand: ["b"],
    entry: "b",
  },
};
type Keying = "without a key" | "with a key" | "with a key, somebody outside being asked";
const keyings: Keying[] = ["without a key", "with a key", "with a key, somebody outside being asked"];
const answerOf = (result: unknown): IdempotentAnswer | undefined =>
  typeof result === "object" && result !== null && "id" in result ? { status: 201, body: result } : undefined;

describe("an operation's entry and the answer to its key are written with its change, once", () => {
  const named = { resource: "products", key: "create", op: api.products.create };
  const request = { headers: {} } as FastifyRequest;
  const cases = Object.entries(shapes).flatMap(([name, shape]) => keyings.map((keying) => ({ name, keying, shape })));

  test.each(cases)("$name, $keying", async ({ keying, shape }) => {
    let runs = 0;
    const operation = (ctx: Ctx) =>
      runWithEntry(ctx, request, named, {}, async (inner) => {
        runs += 1;
        return shape.work(inner);
      });
    const keyed = { subject: seller.organization_id, key: newId(), request: "POST /v1/products/" };
    const run = async (): Promise<unknown> => {
      if (keying === "without a key") return operation(ctx);
      const outside = keying === "with a key" ? undefined : answerOf;
      return respondOnce(ctx, keyed, outside, async (inner) => answerOf(await operation(inner)) as IdempotentAnswer);
    };
    const before = (await entries("product.created")).length;
    const first = await run().catch((error: unknown) => error);
    expect(first === failure).toBe(shape.fails === true);
    const inOne = keying === "with a key";
    const stand = inOne ? (shape.standKeyed ?? shape.stand) : shape.stand;
    const entry = inOne && shape.entryKeyed !== undefined ? shape.entryKeyed : shape.entry;
    const changes = async () => (await floe.deps.db.select().from(mails)).map(({ subject }) => subject).sort();
    expect(await changes()).toEqual(stand);
    const written = (await entries("product.created")).slice(before);
    expect(written.map(({ subject_id }) => subject_id)).toEqual(entry === null ? [] : [entry]);
    if (keying === "without a key") return;
    // Asked again: what was done is answered, what failed is done anew.
    const again = await run().catch((error: unknown) => error);
    const early = inOne || shape.early === undefined ? undefined : { ...answerOf(made(shape.early)), replayed: true };
    expect(again).toEqual(early ?? (shape.fails ? failure : { ...(first as object), replayed: true }));
    expect(runs).toBe(shape.fails && !early ? 2 : 1);
    if (!shape.fails || early) expect((await entries("product.created")).length).toBe(before + written.length);
  });
});

describe("a change that cannot be committed", () => {
  test.each(["with a key", "with a key, somebody outside being asked"] as const)(
    "leaves neither change nor answer, %s; one that is leaves both",
    async (keying) => {
      const keyed = { subject: seller.organization_id, key: newId(), request: "POST /v1/x" };
      const outside = keying === "with a key" ? undefined : answerOf;
      const full = new Error("The disk is full.");
      const operation = (inner: Ctx, end: () => Promise<void>) =>
        transact(inner, async (tx) => {
          await tx.insert(mails).values(mailOf("a"));
          runAtEnd(tx, end);
          return made("a");
        });
      const run = (end: () => Promise<void>) =>
        respondOnce(ctx, keyed, outside, async (inner) => answerOf(await operation(inner, end)) as IdempotentAnswer);
      await expect(run(() => Promise.reject(full))).rejects.toBe(full);
      expect([await floe.deps.db.$count(mails), await floe.deps.db.$count(idempotencyKeys)]).toEqual([0, 0]);
      await run(() => Promise.resolve());
      const [kept] = await floe.deps.db.select().from(idempotencyKeys);
      expect([await floe.deps.db.$count(mails), kept?.status]).toEqual([1, 201]);
    },
  );
});

describe("the account side's work", () => {
  const open = () => ({}) as never;

  test("goes to the transaction that is open, and what was begun in it and not waited for no longer does", async () => {
    const work = createAccountWork(floe.deps);
    const late = Promise.withResolvers<void>();
    let whereLate: Promise<Database> | undefined;
    const first = await work.transaction(open, async (_, tx) => {
      expect(work.here()).toBe(tx);
      await work.transaction(open, async (_, same) => expect(same).toBe(tx));
      whereLate = late.promise.then(() => work.here());
      return "made";
    });
    late.resolve();
    expect([first, await whereLate, work.here()]).toEqual(["made", floe.deps.db, floe.deps.db]);
  });

  test("is undone by what was noted, although the error came to nothing, and fails the request that was answered well", async () => {
    const work = createAccountWork(floe.deps);
    const swallow = () =>
      work.transaction(open, async (_, tx) => {
        await tx.insert(mails).values(mailOf("swallowed"));
        work.note(failure);
      });
    await expect(swallow()).rejects.toBe(failure);
    const handle = work.answering(async () => {
      await swallow().catch(() => undefined);
      return new Response("all is well");
    });
    await expect(handle(new Request("http://127.0.0.1/"))).rejects.toBe(failure);
    const refuse = work.answering(async () => {
      work.note(failure);
      return new Response("no", { status: 400 });
    });
    expect((await refuse(new Request("http://127.0.0.1/"))).status).toBe(400);
    expect(await floe.deps.db.$count(mails)).toBe(0);
  });
});
