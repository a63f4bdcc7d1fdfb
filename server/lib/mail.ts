import { desc, eq, isNull, sql } from "drizzle-orm";
import { createTransport } from "nodemailer";
import type { Database, Deps, Tx } from "./context.ts";
import { newId } from "./ids.ts";
import { mails } from "./tables.ts";

export type Mail = { to: string; subject: string; text: string; html: string };

const inbox_size = 50;

/** Write a mail with the change that it tells of; a job sends it. */
export async function queueMail(tx: Tx, deps: Deps, mail: Mail): Promise<void> {
  const id = newId();
  await tx.insert(mails).values({ id, ...mail, created_at: deps.clock.now() });
  await deps.jobs.send(tx, "mails.send", { mail_id: id });
}

/**
 * Send one mail, once. Without a mail server an embedded floe leaves it in the inbox; the job's retries carry it over an
 * outage. A crash after sending and before the note of it sends it again under the same Message-ID.
 */
export async function sendMail(deps: Deps, { mail_id }: { mail_id: string }): Promise<void> {
  const { SMTP_URL, MAIL_FROM } = deps.config;
  if (!SMTP_URL) return;
  const [mail] = await deps.db.select().from(mails).where(eq(mails.id, mail_id));
  if (!mail || mail.sent_at) return;
  const transport = createTransport(SMTP_URL);
  try {
    const { to, subject, text, html } = mail;
    await transport.sendMail({ from: MAIL_FROM, to, subject, text, html, messageId: `<${mail.id}@floe>` });
  } finally {
    transport.close();
  }
  await deps.db
    .update(mails)
    .set({ sent_at: deps.clock.now() })
    .where(sql`${eq(mails.id, mail_id)} and ${isNull(mails.sent_at)}`);
}

/** The newest mails, for the development inbox. */
export const listMails = (db: Database) =>
  db
    .select({
      id: mails.id,
      to: mails.to,
      subject: mails.subject,
      text: mails.text,
      html: mails.html,
      created_at: mails.created_at,
    })
    .from(mails)
    .orderBy(desc(mails.created_at), desc(mails.id))
    .limit(inbox_size);
