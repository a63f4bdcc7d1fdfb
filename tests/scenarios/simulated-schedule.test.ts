/** The schedule of the simulator goes on whatever waits for whatever: what it takes for a standstill is one. */
import { expect, test } from "vitest";
import { standardLimits } from "../../server/platform/db/database.ts";
import { openPool } from "../../server/platform/db/pool.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { type Mortal, openChance, openSchedule } from "../support/simulated-world.ts";

type Statements = { unsafe(text: string): Promise<unknown> };
type Client = Statements & {
  begin(work: (tx: Statements) => Promise<unknown>): Promise<unknown>;
  end(): Promise<void>;
};

test("of what a transaction asks at once, one statement waits for a lock, and the others for it", async () => {
  const url = new URL(await createPostgresDatabase());
  const open = (name: string): { client: Client; server: Mortal } => {
    url.searchParams.set("application_name", `simulated_${name}`);
    const client = openPool(url.href, { ...standardLimits, connections: 2 }) as unknown as Client;
    return { client, server: { name, isDead: false, left: null, hears: false } as Mortal };
  };
  const [one, other] = [open("one"), open("other")];
  await one.client.unsafe("create table things as select 1 as id");
  const lock = "select id from things for update";
  let waits = 0;
  for (let seed = 1; seed <= 8; seed += 1) {
    const schedule = openSchedule(openChance(seed), url.href);
    // Each seed has clients of its own, as a schedule holds them for good.
    const [first, second] = [open(`first_${seed}`), open(`second_${seed}`)];
    for (const { server, client } of [first, second]) schedule.hold(server, client as never);
    const order: string[] = [];
    const done = await schedule.together([
      {
        server: first.server,
        work: () =>
          first.client.begin(async (tx) => {
            await tx.unsafe(lock);
            for (let count = 0; count < 4; count += 1) await tx.unsafe("select 1");
            order.push("first");
          }),
      },
      {
        server: second.server,
        work: () =>
          second.client.begin(async (tx) => {
            const asked = [tx.unsafe(lock), tx.unsafe("select 2"), tx.unsafe("select 3")];
            await Promise.all(asked);
            order.push("second");
          }),
      },
    ]);
    expect(done).toHaveLength(2);
    expect(order.toSorted()).toEqual(["first", "second"]);
    if (order[0] === "first") waits += 1;
    for (const { client } of [first, second]) await client.end();
    await schedule.close();
  }
  // Else none of them waited for the lock.
  expect(waits).toBeGreaterThan(0);
  for (const { client } of [one, other]) await client.end();
});
