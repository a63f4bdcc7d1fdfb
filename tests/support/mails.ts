/** The mails that a floe has written, for tests that follow their links. */
import { desc, eq } from "drizzle-orm";
import { mails } from "../../server/platform/db/tables.ts";
import { openMail } from "../../server/platform/mail-transport/mail.ts";
import { eventually } from "./eventually.ts";
import type { Floe } from "./floe.ts";

const mark = "[TEST] ";

/** The mails to an address, as they were written, the newest first. The mark of a test is told apart from the subject. */
export async function mailsTo({ deps }: Pick<Floe, "deps">, address: string) {
  const rows = await deps.db.select().from(mails).where(eq(mails.to, address)).orderBy(desc(mails.id));
  const opened = rows.map((row) => (row.letter === "" ? { ...row, text: "", html: "" } : openMail(deps.config, row)));
  return (await Promise.all(opened)).flatMap((mail) => {
    if (mail === null) return [];
    const is_test = mail.subject.startsWith(mark);
    return [{ ...mail, is_test, subject: is_test ? mail.subject.slice(mark.length) : mail.subject }];
  });
}

/** The newest link that was mailed to an address: in a mail of this subject, or containing this text. */
export const linkTo = (floe: Pick<Floe, "deps">, address: string, wanted: RegExp | string): Promise<string> =>
  eventually(async () => {
    const sent = await mailsTo(floe, address);
    const about = typeof wanted === "string" ? sent : sent.filter(({ subject }) => wanted.test(subject));
    const links = about.flatMap(({ text }) => text.match(/https?:\/\/\S+/g) ?? []);
    return typeof wanted === "string" ? links.find((link) => link.includes(wanted)) : links[0];
  }, `a mail to ${address} with ${wanted}`);
