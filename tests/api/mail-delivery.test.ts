import { eq } from "drizzle-orm";
import { afterEach, describe, expect, test } from "vitest";
import { readStatus } from "../../server/operations/status/service.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import {
  listMails,
  type Mail,
  mailCleanup,
  queueMail,
  warnOfUnsentMail,
} from "../../server/platform/mail-transport/mail.ts";
import { type Floe, start } from "../support/floe.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

const letter: Mail = { to: "buyer@example.com", subject: "Your order", paragraphs: ["Thank you."] };
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function mailServer(options: Parameters<typeof startMailServer>[0] = {}): Promise<MailServer> {
  const server = await startMailServer(options);
  open.push(server);
  return server;
}
async function floeWith(
  settings: Record<string, string>,
  more: { databaseUrl?: string; worker?: boolean } = {},
): Promise<Floe> {
  const floe = await start({ settings, ...more });
  open.push(floe);
  return floe;
}
const queue = (floe: Floe, mail: Mail = letter): Promise<void> =>
  transact(floe.deps, (tx) => queueMail(tx, floe.deps, mail));
const rowOf = async ({ deps }: Floe) => (await deps.db.select().from(mails))[0];

describe("a mail server", () => {
  test("gets a mail once, and its words are not kept afterwards", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    await queue(floe);
    await floe.runJobs();
    await floe.runJobs();
    expect(server.received.map(({ subject }) => subject)).toEqual(["Your order"]);
    expect(await rowOf(floe)).toMatchObject({ letter: "", next_attempt_at: null, sent_at: floe.clock.now() });
  });

  test("ORD-33: is told where an answer goes, and of a test in the subject", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    const brand = {
      name: "Frost",
      logo_url: null,
      accent_color: null,
      reply_to: "help@frost.example",
      test: null,
    };
    const speech = { language: "en", fallback: "", sent_by: "", test: "A test." };
    await queue(floe, { ...letter, brand, speech });
    await floe.runJobs();
    expect(server.received[0]).toMatchObject({
      subject: "[TEST] Your order",
      replyTo: [{ address: "help@frost.example" }],
    });
  });

  test("that says 4xx gets it later, under the same Message-ID, after longer and longer pauses", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    server.refuse(450);
    await queue(floe);
    await floe.runJobs();
    expect(server.tried()).toBe(1);
    for (const [seconds, tries] of [
      [1, 1],
      [1, 2],
      [3, 2],
      [1, 3],
    ]) {
      floe.clock.advance((seconds ?? 0) * 1000);
      await floe.runJobs();
      expect(server.tried()).toBe(tries);
    }
    const before = await rowOf(floe);
    expect(before).toMatchObject({ sent_at: null, attempts: 3 });
    server.refuse(undefined);
    floe.clock.advance(60_000);
    await floe.runJobs();
    expect(server.received.map(({ messageId }) => messageId)).toEqual([`<${before?.id}@localhost>`]);
    expect((await rowOf(floe))?.sent_at).toBeInstanceOf(Date);
  });

  test("that is down gets it when it is up again", async () => {
    const gone = await startMailServer();
    await gone.close();
    const floe = await floeWith({ SMTP_URL: gone.url });
    await queue(floe);
    await floe.runJobs();
    expect(await rowOf(floe)).toMatchObject({ sent_at: null, attempts: 1 });
    expect(floe.logged.join("\n")).toContain("A mail was not taken; it is tried again.");
    const server = await mailServer();
    floe.deps.config.SMTP_URL = server.url;
    floe.clock.advance(60_000);
    await floe.runJobs();
    expect(server.received).toHaveLength(1);
  });

  test("that says 5xx of a receiver is not asked again", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    server.refuse(550);
    await queue(floe);
    for (let hours = 0; hours < 3; hours += 1) {
      await floe.runJobs();
      floe.clock.advance(60 * 60 * 1000);
    }
    expect(server.tried()).toBe(1);
    expect(await rowOf(floe)).toMatchObject({ sent_at: null, next_attempt_at: null, letter: "" });
    expect(floe.logged.join("\n")).toContain("A mail was refused; it is not tried again.");
    // What the mail server said is kept and shown to the operator.
    const { mails } = await readStatus(floe.deps.db, floe.clock.now());
    expect(mails.refused).toEqual([expect.objectContaining({ refusal: expect.stringContaining("550") })]);
  });

  test("that refuses our password is asked again: that is a fault of the settings", async () => {
    const server = await mailServer({ user: { name: "floe", password: "right" }, hideSTARTTLS: true });
    const floe = await floeWith({ SMTP_URL: server.url.replace("//", "//floe:wrong@") });
    await queue(floe);
    await floe.runJobs();
    expect((await rowOf(floe))?.next_attempt_at).toBeInstanceOf(Date);
    floe.deps.config.SMTP_URL = server.url.replace("//", "//floe:right@");
    floe.clock.advance(60_000);
    await floe.runJobs();
    expect(server.received.map(({ user }) => user)).toEqual(["floe"]);
  });

  test("gets no mail whose link has died on the way, and its words are dropped", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    server.refuse(450);
    await queue(floe, { ...letter, valid_hours: 1 });
    await floe.runJobs();
    server.refuse(undefined);
    floe.clock.advance(60 * 60 * 1000);
    await floe.runJobs();
    expect(server.received).toEqual([]);
    expect(await runWorkers(floe.deps, mailCleanup)).toBe(1);
    expect(await rowOf(floe)).toMatchObject({ sent_at: null, next_attempt_at: null, letter: "" });
  });

  test("gets one copy when two workers take the mail at once", async () => {
    const server = await mailServer();
    const floe = await floeWith({ SMTP_URL: server.url });
    await queue(floe);
    const { sendMail } = await import("../../server/platform/mail-transport/mail.ts");
    const mail_id = (await rowOf(floe))?.id ?? "";
    await Promise.all(Array.from({ length: 5 }, () => sendMail(floe.deps, mail_id)));
    expect(server.received).toHaveLength(1);
  });
});

describe("the way to the mail server", () => {
  const user = { name: "floe@example.com", password: "p@ss/word" };
  const credentials = "floe%40example.com:p%40ss%2Fword@";

  test("is encrypted by STARTTLS before the password is said", async () => {
    const server = await mailServer({ user });
    const floe = await floeWith({
      SMTP_URL: `${server.url.replace("//", `//${credentials}`)}?requireTLS=true&tls.rejectUnauthorized=false`,
    });
    await queue(floe);
    await floe.runJobs();
    expect(server.signIns).toEqual([{ name: "floe@example.com", secure: true }]);
    expect(server.received.map(({ secure }) => secure)).toEqual([true]);
  });

  test("that cannot be encrypted gets no password, over a network or when asked so", async () => {
    const server = await mailServer({ user, hideSTARTTLS: true, disabledCommands: ["STARTTLS"] });
    const plain = server.url.replace("//", `//${credentials}`);
    // 127.1 is this machine too, but not one of the names by which nothing leaves it.
    for (const SMTP_URL of [`${plain}?requireTLS=true`, plain.replace("127.0.0.1", "127.1")]) {
      const floe = await floeWith({ SMTP_URL });
      await queue(floe);
      await floe.runJobs();
      expect(floe.logged.join("\n")).toContain("STARTTLS");
    }
    expect(server.signIns).toEqual([]);
    expect(server.received).toEqual([]);
  });

  test("with a certificate that nobody vouches for is not taken", async () => {
    const server = await mailServer({ user });
    const floe = await floeWith({ SMTP_URL: `${server.url.replace("//", `//${credentials}`)}?requireTLS=true` });
    await queue(floe);
    await floe.runJobs();
    expect(server.signIns).toEqual([]);
    expect((await rowOf(floe))?.sent_at).toBeNull();
  });

  test("may be encrypted from the start", async () => {
    const server = await mailServer({ user, secure: true });
    const floe = await floeWith({
      SMTP_URL: `${server.url.replace("smtp://", `smtps://${credentials}`)}?tls.rejectUnauthorized=false`,
    });
    await queue(floe);
    await floe.runJobs();
    expect(server.signIns).toEqual([{ name: "floe@example.com", secure: true }]);
  });
});

describe("without a mail server", () => {
  test("an embedded floe keeps mail in the inbox, and sends it never", async () => {
    const floe = await floeWith({});
    await queue(floe);
    await floe.runJobs();
    await warnOfUnsentMail(floe.deps);
    expect(await listMails(floe.deps)).toMatchObject([{ to: letter.to, subject: letter.subject }]);
    expect(floe.logged.join("\n")).not.toContain("SMTP_URL");
    const server = await mailServer();
    floe.deps.config.SMTP_URL = server.url;
    floe.clock.advance(60_000);
    await floe.runJobs();
    expect(server.received).toEqual([]);
  });

  test("a floe that others reach has no inbox: it says so, and keeps mail until there is a mail server", async () => {
    const floe = await floeWith({ HOST: "0.0.0.0" });
    await queue(floe);
    await queue(floe, { ...letter, subject: "Your link", valid_hours: 1 });
    await floe.runJobs();
    await warnOfUnsentMail(floe.deps);
    expect(floe.logged.join("\n")).toContain(
      'warn SMTP_URL is not set: mail is kept, and sent once it is set. {"waiting":2}',
    );
    const server = await mailServer();
    floe.deps.config.SMTP_URL = server.url;
    floe.clock.advance(2 * 60 * 60 * 1000);
    await floe.runJobs();
    expect(server.received.map(({ subject }) => subject)).toEqual(["Your order"]);
  });

  test("a mail of a change that did not happen is not written", async () => {
    const floe = await floeWith({});
    const undone = transact(floe.deps, async (tx) => {
      await queueMail(tx, floe.deps, letter);
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await floe.deps.db.$count(mails)).toBe(0);
  });
});

describe("on PostgreSQL", () => {
  test("a server without SMTP_URL warns at its start and keeps mail; the next one, with it, sends it once", async () => {
    const databaseUrl = await createPostgresDatabase();
    const first = await start({ databaseUrl, worker: true });
    expect(first.logged.join("\n")).toContain("SMTP_URL is not set");
    const { email } = await first.seller("early");
    // One to confirm the address, one about the API key.
    expect(await first.deps.db.$count(mails, eq(mails.to, email))).toBe(2);
    await first.close();
    const server = await mailServer();
    const settings = { SMTP_URL: server.url };
    const servers = [
      await start({ databaseUrl, settings, worker: true }),
      await start({ databaseUrl, settings, worker: true }),
    ];
    await expect.poll(() => server.received.length).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(server.received.map(({ recipients }) => recipients)).toEqual([[email], [email]]);
    for (const one of servers) await one.close();
  });
});
