/** The mails that a floe has written, for tests that follow their links. */
import { desc, eq } from "drizzle-orm";
import { mails } from "../../server/lib/tables.ts";
import { eventually } from "./eventually.ts";
import type { Floe } from "./floe.ts";

/** The newest link that was mailed to an address: in a mail of this subject, or containing this text. */
export const linkTo = ({ deps }: Pick<Floe, "deps">, address: string, wanted: RegExp | string): Promise<string> =>
  eventually(async () => {
    const sent = await deps.db.select().from(mails).where(eq(mails.to, address)).orderBy(desc(mails.id));
    const about = typeof wanted === "string" ? sent : sent.filter(({ subject }) => wanted.test(subject));
    const links = about.flatMap(({ text }) => text.match(/https?:\/\/\S+/g) ?? []);
    return typeof wanted === "string" ? links.find((link) => link.includes(wanted)) : links[0];
  }, `a mail to ${address} with ${wanted}`);
