import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or, sql } from "drizzle-orm";
import { getServerClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deps, Tx } from "../context.ts";
import { seal, tryUnseal } from "../crypto/secrets.ts";
import { addRows } from "../db/rows.ts";
import { mails } from "../db/tables.ts";
import { createId } from "../ids.ts";
import { createCleanupWorker, type Worker } from "../jobs/workers.ts";
import { redactError } from "../loggable.ts";
import type { EmailContent } from "./email-layout.ts";

/**
 * A letter and whom it goes to; one whose link dies says how soon, one in the name of a seller of which, and one to a customer to
 * which. `at`: when a sandbox
 * writes it, where that is another time than the clock's.
 */
export type Mail = EmailContent & {
  to: string;
  valid_hours?: number;
  organization_id?: string;
  customer_id?: string;
  at?: Date;
};

const inboxSize = 50;
const hourMs = 60 * 60 * 1000;
/** A sender that has not reported by then is lost, and the mail is sent again under the same Message-ID. */
const leaseMs = 2 * 60 * 1000;
const attemptsMax = 100;
const longestPauseMs = hourMs;
const keptMs = 30 * 24 * hourMs;
const connectMs = 10_000;
const silenceMs = 30_000;
const loopback = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Where a person at this machine reads mail on the page /mail, and nobody else can. */
const hasInbox = ({ SMTP_URL, development }: Config): boolean => !SMTP_URL && development;

/**
 * Write mails with the change that they tell of; they are sent as soon as there is a mail server, by the server's clock. What
 * a sandbox writes is kept and shown, with the sandbox's own time.
 */
export async function queueMail(tx: Tx, deps: Deps, ...letters: readonly Mail[]): Promise<void> {
  const { clock, config, jobs } = deps;
  if (letters.length === 0) return;
  const rows = letters.map(({ to, valid_hours, organization_id, customer_id, at, ...letter }) => {
    const sandbox = deps.sandbox ? (organization_id ?? null) : null;
    const now = sandbox === null ? getServerClock(clock).now() : (at ?? clock.now());
    const subject = oneLine(letter.subject);
    const id = createId(now);
    return {
      id,
      organization_id: sandbox,
      customer_id: customer_id ?? null,
      to,
      subject,
      letter: seal(config.secret, "mail", id, JSON.stringify({ ...letter, subject })),
      created_at: now,
      expires_at: valid_hours === undefined ? null : new Date(now.getTime() + valid_hours * hourMs),
      next_attempt_at: hasInbox(config) || sandbox !== null ? null : now,
    };
  });
  await addRows(tx, mails, rows);
  jobs.wake(tx, mailWorker.name);
}

/** Forget the mails to a customer, those that wait to be sent among them. */
export async function deleteMailsTo(tx: Tx, customer_id: string): Promise<void> {
  await tx.delete(mails).where(eq(mails.customer_id, customer_id));
}

/** A text without line ends and other signs that do not print, so that nothing but a subject stands in a subject. */
const oneLine = (text: string): string => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();

/**
 * A mail as it is read; null where its words were sealed with a secret of the server's that is gone, or are not kept any more.
 */
export async function openMail<M extends { id: string; letter: string }>(
  { secrets, url }: Config,
  { letter, ...mail }: M,
): Promise<(Omit<M, "letter"> & { text: string; html: string }) | null> {
  const said = letter === "" ? null : tryUnseal(secrets, "mail", mail.id, letter);
  if (said === null) return null;
  // Loaded with the first mail: a server that starts has none to show.
  const { renderLetter } = await import("./email-layout.ts");
  return { ...mail, ...renderLetter(JSON.parse(said) as EmailContent, url) };
}

/** What is over needs no words; those of many mails hold a link that lets in whoever reads it. */
const over = { next_attempt_at: null, letter: "" };

/**
 * Send one mail, once, if it is due and nobody else is at it. While the mail server does not take it, it is tried again,
 * at last every hour. A crash after sending and before the note of it sends it again under the same Message-ID.
 */
export async function sendMail(deps: Deps, mail_id: string): Promise<void> {
  const { clock, config, db, log } = deps;
  if (!config.SMTP_URL) return;
  const began = clock.now();
  const leased_until = new Date(began.getTime() + leaseMs);
  const [mail] = await db
    .update(mails)
    .set({ next_attempt_at: leased_until })
    .where(and(eq(mails.id, mail_id), isDue(began)))
    .returning();
  if (!mail) return;
  const note = (values: Partial<typeof mails.$inferInsert>) =>
    db
      .update(mails)
      .set(values)
      .where(and(eq(mails.id, mail_id), eq(mails.next_attempt_at, leased_until)));
  const opened = await openMail(config, mail);
  if (!opened) {
    await note(over);
    log.warn({ mail_id }, "A mail was sealed with a FLOE_SECRET that is gone; it is not sent.");
    return;
  }
  try {
    await hand(config, config.SMTP_URL, opened);
  } catch (error) {
    const attempts = mail.attempts + 1;
    const given_up = isRefused(error) || attempts >= attemptsMax;
    const pause_ms = Math.min(1000 * 2 ** attempts, longestPauseMs);
    await note(
      given_up ? { ...over, attempts } : { attempts, next_attempt_at: new Date(clock.now().getTime() + pause_ms) },
    );
    const said = given_up ? "A mail was refused; it is not tried again." : "A mail was not taken; it is tried again.";
    log.warn({ error: redactError(error), mail_id, attempts }, said);
    return;
  }
  await note({ ...over, sent_at: clock.now() });
}

/** Hand a mail to the mail server. */
async function hand(
  config: Config,
  url: string,
  mail: Pick<typeof mails.$inferSelect, "id" | "to" | "subject"> & { text: string; html: string },
): Promise<void> {
  const { createTransport } = await import("nodemailer");
  const { hostname, username } = new URL(url);
  const transport = createTransport({
    url,
    // A password goes through a network only encrypted; ?requireTLS=false in the address says otherwise.
    requireTLS: username !== "" && !loopback.has(hostname),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
  });
  try {
    const { id, to, subject, text, html } = mail;
    await transport.sendMail({
      from: config.MAIL_FROM,
      // As an address, not a list of them that would be taken apart.
      to: { name: "", address: to },
      subject,
      text,
      html,
      messageId: `<${id}@${new URL(config.url).hostname}>`,
      // Answering machines leave it alone.
      headers: { "Auto-Submitted": "auto-generated" },
    });
  } finally {
    transport.close();
  }
}

/** Whether the mail server has said that it will never take this mail. A fault of the settings is not the mail's. */
function isRefused(error: unknown): boolean {
  const { code, responseCode = 0 } = error as { code?: string; responseCode?: number };
  return (code === "EENVELOPE" || code === "EMESSAGE") && responseCode >= 500;
}

const isDue = (now: Date) =>
  and(lte(mails.next_attempt_at, now), or(isNull(mails.expires_at), gt(mails.expires_at, now)));

/** Mails whose time has come, while there is a mail server. */
export const mailWorker: Worker = {
  name: "mails.send",
  pollIntervalMs: 1000,
  due: ({ config, clock }) => ({
    table: mails,
    id: mails.id,
    at: mails.next_attempt_at,
    where: config.SMTP_URL ? isDue(clock.now()) : sql`false`,
  }),
  concurrency: 10,
  run: (deps, [{ id }]) => sendMail(deps, id),
};

const cleaningEveryMs = 10 * 60 * 1000;

/** The words of mails that came too late to be sent are dropped, and old mails that nobody waits for are forgotten. */
export const mailCleanup: readonly Worker[] = [
  {
    name: "mails.expire",
    pollIntervalMs: cleaningEveryMs,
    due: { table: mails, id: mails.id, at: mails.expires_at, where: sql`${mails.next_attempt_at} is not null` },
    batchSize: 500,
    async run({ db }, rows) {
      const ids = rows.map(({ id }) => id);
      await db
        .update(mails)
        .set(over)
        .where(and(inArray(mails.id, ids), isNotNull(mails.next_attempt_at)));
    },
  },
  createCleanupWorker("mails.forget", cleaningEveryMs, mails, (now) =>
    and(
      lt(mails.created_at, new Date(now.getTime() - keptMs)),
      isNull(mails.next_attempt_at),
      isNull(mails.organization_id),
    ),
  ),
];

/** Say at the start that mail stays here, where nobody would notice otherwise. */
export async function warnOfUnsentMail({ config, db, log }: Pick<Deps, "config" | "db" | "log">): Promise<void> {
  if (config.SMTP_URL || hasInbox(config)) return;
  const waiting = await db.$count(mails, isNotNull(mails.next_attempt_at));
  log.warn({ waiting }, "SMTP_URL is not set: mail is kept, and sent once it is set.");
}

/** The newest mails that can still be read, for the development inbox. */
export async function listMails({ db, config }: Pick<Deps, "db" | "config">) {
  const rows = await db
    .select({
      id: mails.id,
      to: mails.to,
      subject: mails.subject,
      letter: mails.letter,
      created_at: mails.created_at,
    })
    .from(mails)
    .where(ne(mails.letter, ""))
    .orderBy(desc(mails.created_at), desc(mails.id))
    .limit(inboxSize);
  return (await Promise.all(rows.map((row) => openMail(config, row)))).filter((mail) => mail !== null);
}
