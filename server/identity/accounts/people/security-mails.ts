import { and, eq, gt, inArray } from "drizzle-orm";
import { readBrowserName } from "../../../../shared/browsers.ts";
import type { Deps, Tx } from "../../../platform/context.ts";
import { hashToken, hashWithEach } from "../../../platform/crypto/secrets.ts";
import type { AuditEntry } from "../../../platform/events/audit.ts";
import { createId, createToken } from "../../../platform/ids.ts";
import { queueMail } from "../../../platform/mail-transport/mail.ts";
import { writeSecurityMail } from "../mails.ts";
import { account, user, verification } from "../tables.ts";

const linkMs = 7 * 24 * 60 * 60 * 1000;
/** Mails of this kind to one person; an hour with more has told them enough. */
const mailsMax = 20;
const windowMs = 60 * 60 * 1000;

const choosePassword = "Then choose a new password: somebody knows yours, or was signed in as you.";
const askOperator = "Your account has another address now: also write to whoever runs this server.";
const deleteKey = "Keys go on working: delete the one that you did not make.";
const reviewOrganizations =
  "Ask for a new password where you sign in. Organizations of the account keep their members and keys: remove those that are not yours.";
const unlinkService = "The service stays linked: unlink it, and choose a new password.";

/** Entries of the audit log that their person gets a mail of. */
const notices: Readonly<Record<string, { subject: string; advice: string; skipsFirst?: true }>> = {
  "user.password_changed": { subject: "Your password was changed", advice: choosePassword },
  "user.password_reset": { subject: "Your password was changed", advice: choosePassword },
  "user.password_set": { subject: "Your account was given a password", advice: choosePassword, skipsFirst: true },
  "user.email_changed": { subject: "The address of your account was changed", advice: askOperator },
  "user.access_revoked": {
    subject: "Your address was confirmed, and earlier access to the account has ended",
    advice: reviewOrganizations,
  },
  "user.new_browser": { subject: "Your account was signed in to from a new browser", advice: choosePassword },
  "account.linked": {
    subject: "A service was linked to your account",
    advice: unlinkService,
    skipsFirst: true,
  },
  "api_key.created": { subject: "An API key was made in your name", advice: deleteKey },
  "ci_rule.created": {
    subject: "Jobs of a repository were given keys in your name",
    advice: "CI rules go on working: delete the one that you did not make.",
  },
  "api_key.rotated": { subject: "An API key was renewed in your name", advice: deleteKey },
};

/** What the row of such a link says: whose sessions it ends. It is not among what a new password ends. */
const subjectPrefix = "sessions-of:";
const getIdentifier = (hash: string): string => `end-sessions:${hash}`;

/** Whose account an entry is about. */
function getPerson({ action, actor, details, subject }: AuditEntry): string | null {
  if (action.startsWith("user.")) return subject?.id ?? null;
  const userId = details?.userId;
  return typeof userId === "string" ? userId : actor.user_id;
}

/** When, from where and with what something was done. Where an administrator sat is not told. */
function describeCircumstances({ actor, ip_address, user_agent }: AuditEntry, person: string, now: Date): string {
  const moment = `${now.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  if (actor.impersonated_by || (actor.user_id !== null && actor.user_id !== person))
    return `An administrator of this server did it, on ${moment}.`;
  const name = readBrowserName(user_agent);
  // A program says what it likes of itself: a mail has no room for its sentences and addresses.
  const browser = /^[A-Za-z][A-Za-z -]{0,39}$/.test(name) ? name : "an unknown program";
  return `It was done on ${moment}${ip_address === null ? "" : `, from ${ip_address}`}, with ${browser}.`;
}

/**
 * Write a mail to the person whose account an entry of the audit log is about, where it is one that people are told of, in the
 * transaction that makes the change. `address`: the one that the account had before.
 */
export async function sendSecurityMail(tx: Tx, deps: Deps, entry: AuditEntry, address?: unknown): Promise<void> {
  const notice = Object.hasOwn(notices, entry.action) ? notices[entry.action] : undefined;
  const person = notice && getPerson(entry);
  if (!notice || !person) return;
  const [found] = await tx
    .select({ email: user.email, isAnonymous: user.isAnonymous })
    .from(user)
    .where(eq(user.id, person));
  if (!found || found.isAnonymous) return;
  // With its first way to sign in the account was only just made.
  if (notice.skipsFirst && (await tx.$count(account, eq(account.userId, person))) < 2) return;
  const now = deps.clock.now();
  const value = subjectPrefix + person;
  const isRecent = gt(verification.createdAt, new Date(now.getTime() - windowMs));
  if ((await tx.$count(verification, and(eq(verification.value, value), isRecent))) >= mailsMax) return;
  const token = createToken("");
  await tx.insert(verification).values({
    id: createId(now),
    identifier: getIdentifier(hashToken(deps.config.secret, token)),
    value,
    expiresAt: new Date(now.getTime() + linkMs),
    createdAt: now,
    updatedAt: now,
  });
  const mail = writeSecurityMail({
    to: typeof address === "string" ? address : found.email,
    subject: notice.subject,
    circumstances: describeCircumstances(entry, person, now),
    url: `${deps.config.url}/end-sessions#token=${token}`,
    advice: notice.advice,
  });
  await queueMail(tx, deps, mail);
}

/** Use up the link of a security mail: the person whose sessions it ends; null of one that is none, or is over. */
export async function redeemSecurityLink(tx: Tx, { clock, config }: Deps, token: string): Promise<string | null> {
  const identifiers = hashWithEach(config.secrets, token).map(getIdentifier);
  const [used] = await tx
    .delete(verification)
    .where(and(inArray(verification.identifier, identifiers), gt(verification.expiresAt, clock.now())))
    .returning({ value: verification.value });
  const person = used?.value.slice(subjectPrefix.length);
  const isThere = person !== undefined && (await tx.$count(user, eq(user.id, person))) > 0;
  return isThere ? person : null;
}
