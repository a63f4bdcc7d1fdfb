import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or, sql } from "drizzle-orm";
import { isLoopbackUrl } from "../../../shared/loopback.ts";
import { getServerClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Deps, Tx } from "../context.ts";
import { seal, tryUnseal } from "../crypto/secrets.ts";
import { assertOutsideTransaction } from "../db/open-transaction.ts";
import { addRows } from "../db/rows.ts";
import { mails } from "../db/tables.ts";
import { createId } from "../ids.ts";
import { createCleanupWorker, type Worker } from "../jobs/workers.ts";
import { redactError } from "../loggable.ts";
import { acceptsTestPayments } from "../processors/processor.ts";
import { mailsSent } from "../telemetry/metrics.ts";
import { getTrace } from "../telemetry/trace.ts";
import { describeRefusedAddress } from "./bounce-rules.ts";
import { bounceCleanup, findHardBounce, recordBounces } from "./bounces.ts";
import type { EmailContent } from "./email-layout.ts";

/**
 * A mail with its recipient. `valid_hours` is set if its link expires, `organization_id` for mail of a seller, and
 * `customer_id` for mail to a customer. `is_requested` says that the recipient has just asked for it. `at` is the time at which a sandbox writes it, if that is not the clock's.
 */
export type Mail = EmailContent & {
  to: string;
  valid_hours?: number;
  organization_id?: string;
  customer_id?: string;
  is_requested?: boolean;
  at?: Date;
};

const inboxSize = 50;
const hourMs = 60 * 60 * 1000;
/** After this time a claimed mail counts as lost, and is sent again under the same Message-ID. */
const leaseMs = 2 * 60 * 1000;
const attemptsMax = 100;
const longestPauseMs = hourMs;
const keptMs = 30 * 24 * hourMs;
const connectMs = 10_000;
const silenceMs = 30_000;

/** Whether mail is shown on the page /mail, which only a developer at this machine can open. */
const hasInbox = ({ SMTP_URL, development }: Config): boolean => !SMTP_URL && development;

/** The seller's brand, with the words that say so where the server sells as a test. */
const markBrand = ({ brand, speech }: EmailContent, isTest: boolean): Pick<EmailContent, "brand"> =>
  brand ? { brand: { ...brand, test: isTest ? (speech?.test ?? null) : null } } : {};

/**
 * Queue mails in the transaction of the change. They are sent once a mail server is configured, by the server's clock. Mails
 * of a sandbox are kept and shown, with the sandbox's own time.
 */
export async function queueMail(tx: Tx, deps: Deps, ...letters: readonly Mail[]): Promise<void> {
  const { clock, config, jobs } = deps;
  if (letters.length === 0) return;
  const request_id = getTrace()?.request_id ?? null;
  const isTest = acceptsTestPayments(deps);
  const rows = letters.map(
    ({ to, valid_hours, organization_id, customer_id, is_requested = false, at, ...content }) => {
      const letter = { ...content, ...markBrand(content, isTest) };
      const sandbox = deps.sandbox ? (organization_id ?? null) : null;
      const now = sandbox === null ? getServerClock(clock).now() : (at ?? clock.now());
      const subject = joinLines(letter.brand?.test ? `[TEST] ${letter.subject}` : letter.subject);
      const id = createId(now);
      return {
        id,
        organization_id: sandbox,
        customer_id: customer_id ?? null,
        seller_id: organization_id ?? null,
        request_id,
        to,
        subject,
        is_requested,
        letter: seal(config.secret, "mail", id, JSON.stringify({ ...letter, subject })),
        created_at: now,
        expires_at: valid_hours === undefined ? null : new Date(now.getTime() + valid_hours * hourMs),
        next_attempt_at: hasInbox(config) || sandbox !== null ? null : now,
      };
    },
  );
  await addRows(tx, mails, rows);
  jobs.wake(tx, mailWorker.name);
}

/** Delete the mails to a customer, including pending ones. */
export async function deleteMailsTo(tx: Tx, customer_id: string): Promise<void> {
  await tx.delete(mails).where(eq(mails.customer_id, customer_id));
}

/** Replace line ends and other non-printing characters by spaces, so that a subject cannot inject headers. */
const joinLines = (text: string): string => text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();

/**
 * Unseal and render a mail. Returns null if its content has been deleted, or was sealed with a secret that the server no
 * longer has.
 */
export async function openMail<M extends { id: string; letter: string }>(
  { secrets, url }: Config,
  { letter, ...mail }: M,
): Promise<
  (Omit<M, "letter"> & { text: string; html: string; sender: string | null; reply_to: string | null }) | null
> {
  const said = letter === "" ? null : tryUnseal(secrets, "mail", mail.id, letter);
  if (said === null) return null;
  // Loaded with the first mail, so that the server starts faster.
  const { renderLetter } = await import("./email-layout.ts");
  const content = JSON.parse(said) as EmailContent;
  const { brand, speech } = content;
  const sender = brand ? joinLines(`${brand.name} ${speech?.via ?? "via"}`) : null;
  return { ...mail, ...renderLetter(content, url), sender, reply_to: brand?.reply_to ?? null };
}

/** The values of a finished mail. The content is deleted, because many mails contain a sign-in link. */
const over = { next_attempt_at: null, letter: "" };

/**
 * Send one mail if it is due and no other sender has claimed it. A failed mail is retried with backoff, up to one hour
 * apart. After a crash between sending and recording, it is sent again under the same Message-ID.
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
  const bounce = mail.is_requested ? undefined : await findHardBounce(db, mail.to);
  if (bounce) {
    await note({ ...over, refusal: `not sent, because the address took no mail before: ${bounce.reason}` });
    mailsSent.add({ outcome: "suppressed" });
    return;
  }
  const opened = await openMail(config, mail);
  if (!opened) {
    await note(over);
    log.warn({ mail_id }, "A mail was sealed with a FLOE_SECRET that is gone; it is not sent.");
    return;
  }
  try {
    await deliverMail(config, config.SMTP_URL, opened);
  } catch (error) {
    const attempts = mail.attempts + 1;
    const given_up = isRefused(error) || attempts >= attemptsMax;
    const pause_ms = Math.min(1000 * 2 ** attempts, longestPauseMs);
    const last_answer = describeRefusal(error);
    await note(
      given_up
        ? { ...over, attempts, last_answer, refusal: last_answer }
        : { attempts, last_answer, next_attempt_at: new Date(clock.now().getTime() + pause_ms) },
    );
    if (isRefused(error)) {
      const bounce = {
        address: mail.to,
        reason: last_answer,
        ...describeRefusedAddress(getResponseCode(error), last_answer),
      };
      await recordBounces(db, [bounce], "smtp", clock.now());
    }
    const said = given_up ? "A mail was refused; it is not tried again." : "A mail was not taken; it is tried again.";
    log.warn({ error: redactError(error), mail_id, attempts }, said);
    mailsSent.add({ outcome: given_up ? "refused" : "failed" });
    return;
  }
  mailsSent.add({ outcome: "sent" });
  await note({ ...over, sent_at: clock.now() });
}

/**
 * Send a test message at once, and return why the mail server did not take it. Without a mail server nothing is sent. The
 * message is not queued: the caller waits for the answer of the mail server.
 */
export async function sendTestMail({ config, clock }: Deps, to: string): Promise<string | null> {
  if (!config.SMTP_URL)
    return hasInbox(config) ? `SMTP_URL is not set: mails are shown at ${config.url}/mail.` : "SMTP_URL is not set.";
  const { renderLetter } = await import("./email-layout.ts");
  const content: EmailContent = {
    subject: "Test message from floe",
    paragraphs: [`This server (${config.url}) can send mail. You asked for this message with floe doctor --mail.`],
  };
  try {
    const mail = { id: createId(clock.now()), to, subject: content.subject, ...renderLetter(content, config.url) };
    await deliverMail(config, config.SMTP_URL, mail);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Send a mail to the mail server. */
async function deliverMail(
  config: Config,
  url: string,
  mail: Pick<typeof mails.$inferSelect, "id" | "to" | "subject"> & {
    text: string;
    html: string;
    sender?: string | null;
    reply_to?: string | null;
  },
): Promise<void> {
  assertOutsideTransaction("the mail server");
  const { createTransport } = await import("nodemailer");
  const { default: parseAddresses } = await import("nodemailer/lib/addressparser");
  const address = new URL(url);
  const transport = createTransport({
    url,
    // A password is sent only over TLS; `?requireTLS=false` in the address disables this.
    requireTLS: address.username !== "" && !isLoopbackUrl(address),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
  });
  try {
    const { id, to, subject, text, html, sender, reply_to } = mail;
    const [own] = parseAddresses(config.MAIL_FROM, { flatten: true });
    // The address stays the server's own, which alone it may send from; the name says for whom it sends.
    const named = sender && own && { name: `${sender} ${own.name || getDomain(own.address)}`, address: own.address };
    await transport.sendMail({
      from: named || config.MAIL_FROM,
      // An object, because a string would be parsed as a list of addresses.
      to: { name: "", address: to },
      ...(reply_to ? { replyTo: { name: "", address: reply_to } } : {}),
      subject,
      text,
      html,
      messageId: `<${id}@${new URL(config.url).hostname}>`,
      // Auto-responders do not answer such mail.
      headers: { "Auto-Submitted": "auto-generated" },
    });
  } finally {
    transport.close();
  }
}

/** The domain of an address. */
const getDomain = (address: string): string => address.slice(address.lastIndexOf("@") + 1);

/** What an operator is shown of a refusal may be long. */
const refusalMax = 300;
function describeRefusal(error: unknown): string {
  const { response } = error as { response?: string };
  return joinLines(response ?? (error instanceof Error ? error.message : String(error))).slice(0, refusalMax);
}

/** Whether the mail server permanently rejected this mail. Errors of the configuration do not count. */
function isRefused(error: unknown): boolean {
  const { code } = error as { code?: string };
  return (code === "EENVELOPE" || code === "EMESSAGE") && getResponseCode(error) >= 500;
}
const getResponseCode = (error: unknown): number => (error as { responseCode?: number }).responseCode ?? 0;

const isDue = (now: Date) =>
  and(lte(mails.next_attempt_at, now), or(isNull(mails.expires_at), gt(mails.expires_at, now)));

/** Sends due mails, if a mail server is configured. */
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

/** Deletes the content of mails that expired unsent, and old mails that are not pending. */
export const mailCleanup: readonly Worker[] = [
  bounceCleanup,
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

/** Warn at the start that mail is not sent, if no mail server is configured and no inbox shows it. */
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
