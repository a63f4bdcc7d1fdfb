import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { sql } from "drizzle-orm";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startMailServer } from "../support/mail-server.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";
import { sellOrder } from "../support/rows.ts";
import { startWorker } from "../support/working-process.ts";

/** The process that mails buyers is killed on a real PostgreSQL: no mail is lost, and one that was handed over may come twice. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const databaseUrl = () => String(floe.deps.config.DATABASE_URL);
const longAgo = sql`now() - interval '1 day'`;
/** An order whose buyer is to be told now, by the clock of the worker, and no mail yet. */
async function sellUntold(): Promise<void> {
  const id = await sellOrder(floe, seller);
  await floe.runJobs();
  await floe.deps.db.execute(sql`delete from mails`);
  await floe.deps.db.execute(
    sql`insert into order_confirmations select organization_id, id, ${longAgo} from orders where id = ${id}`,
  );
}
const count = async (what: ReturnType<typeof sql>) =>
  Number(((await floe.deps.db.execute(what)) as unknown as { n: number }[])[0]?.n);
const sentOnce = () =>
  eventually(
    async () => (await count(sql`select count(*) as n from mails where sent_at is not null`)) === 1 || undefined,
    "a mail to be sent",
  );
const waiting = () => count(sql`select count(*) as n from order_confirmations`);
const written = () => count(sql`select count(*) as n from mails`);

test("killed while the mail of an order is written, it is written and sent once", async () => {
  const server = await startMailServer();
  await sellUntold();
  expect(await waiting()).toBe(1);
  let first: Awaited<ReturnType<typeof startWorker>> | undefined;
  await floe.deps.db.transaction(async (tx) => {
    await tx.execute(sql`lock table mails in share row exclusive mode`);
    first = await startWorker(databaseUrl(), server.url);
    await awaitLock(String(floe.deps.config.DATABASE_URL));
    await first.kill();
  });
  expect([await waiting(), await written(), server.received.length]).toEqual([1, 0, 0]);
  const second = await startWorker(databaseUrl(), server.url);
  await sentOnce();
  await second.kill();
  expect([await waiting(), await written(), server.received.length]).toEqual([0, 1, 1]);
  await server.close();
});

test("killed between handing a mail over and noting it, it is sent again under the same id, and then no more", async () => {
  const ids: string[] = [];
  // The first mail is taken whole, and not acknowledged.
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH", "STARTTLS"],
    logger: false,
    onData(stream, _session, done) {
      void text(stream).then((mail) => {
        ids.push(/^Message-ID: (.*)$/im.exec(mail)?.[1]?.trim() ?? "none");
        if (ids.length > 1) done();
      });
    },
  });
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  await sellUntold();
  const first = await startWorker(databaseUrl(), url);
  await eventually(async () => ids.length === 1 || undefined, "a mail to be handed over");
  await first.kill();
  expect([await waiting(), await written()]).toEqual([0, 1]);
  // By the time at which a sender that says nothing is given up.
  await floe.deps.db.execute(sql`update mails set next_attempt_at = ${longAgo} where next_attempt_at is not null`);
  const second = await startWorker(databaseUrl(), url);
  await sentOnce();
  await second.kill();
  expect(ids).toEqual([ids[0], ids[0]]);
  expect(ids[0]).not.toBe("none");
  await new Promise<void>((closed) => server.close(() => closed()));
});
