import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { floe as command, folder, whileWorking } from "../cli/support.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { readPdf } from "../support/invoices.ts";
import { spawnProgram } from "../support/programs.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";
import { sellOrder } from "../support/rows.ts";

/** A server is killed while it prints the invoices that `floe orders invoices` waits for. */

const sold = 4;
const printedBefore = 2;
const lock = 811;

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ listen: true });
  seller = await floe.seller();
  for (let left = sold; left > 0; left -= 1) await sellOrder(floe, seller);
});
afterAll(() => floe?.close());

type Printed = { id: string; digest: string | null; file_id: string; printed_at: unknown };
const printed = async () =>
  (await floe.deps.db.execute(
    sql`select id, digest, file_id, printed_at from invoices where kind = 'invoice' and file_id is not null order by number`,
  )) as unknown as Printed[];

test("killed half-way the command says that the server is away, and given again it saves each invoice once", async () => {
  const { DATABASE_URL = "", FLOE_FILES_DIR } = floe.deps.config;
  // The printing stops where the third file is written down, for as long as this lock is held.
  const holder = postgres(DATABASE_URL, { max: 1, onnotice: () => undefined });
  // A sequence counts what is under way as well, where several are printed at once.
  await holder.unsafe(`
    create sequence printed_for_test;
    create function wait_for_test() returns trigger language plpgsql as $$
      begin
        if nextval('printed_for_test') > ${printedBefore}
          then perform pg_advisory_xact_lock(${lock}); end if;
        return new;
      end $$;
    create trigger wait_for_test before insert on files for each row execute function wait_for_test();`);
  await holder`select pg_advisory_lock(${lock})`;

  const server = await spawnProgram("serving", [DATABASE_URL, JSON.stringify({ FLOE_FILES_DIR })]);
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(String(line)) as { url: string };
  const place = join(folder(), "invoices");
  const give = (FLOE_SERVER: string) =>
    command(["orders", "invoices", "-o", place], { env: { FLOE_SERVER, FLOE_API_KEY: seller.key } });
  const first = give(url);
  await awaitLock(DATABASE_URL);
  await expect.poll(async () => (await printed()).length).toBe(printedBefore);
  const before = await printed();
  server.kill("SIGKILL");
  await once(server, "exit");
  const { code, out, err } = await first;
  expect([code, out]).toEqual([9, ""]);
  expect(err).toContain("nothing answers at");
  expect([before.length, readdirSync(place)]).toEqual([printedBefore, []]);
  await holder.end();

  // What was under way is due again.
  floe.clock.advance(10 * 60_000);
  const again = await whileWorking(floe, give(floe.url));
  expect([again.code, again.out]).toEqual([0, ""]);
  expect(again.err).toContain(`Saved ${sold} invoices in ${place}\n`);
  const after = await printed();
  expect(after).toHaveLength(sold);
  // What was printed is the same file still, and of each invoice there is one.
  for (const one of before) expect(after).toContainEqual(one);
  const kept = await floe.deps.db.execute(sql`select id from files where is_uploaded and deleted_at is null`);
  expect((kept as unknown as { id: string }[]).map(({ id }) => id).toSorted()).toEqual(
    after.map(({ file_id }) => file_id).toSorted(),
  );
  const saved = readdirSync(place);
  expect(saved).toHaveLength(sold);
  for (const name of saved) expect((await readPdf(readFileSync(join(place, name)))).pages).toBe(1);
});
