import { setTimeout as pause } from "node:timers/promises";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { accountBase, findCall } from "./calls.ts";

const nameLengthMax = 60;

/** A name that somebody chose, short enough not to become a message of its own. */
function formatSenderName(name: string): string {
  const plain = name.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  const signs = [...plain];
  return signs.length <= nameLengthMax ? plain : `${signs.slice(0, nameLengthMax).join("")}…`;
}

/** Proves an address: after sign-up, after a change of address, and whenever it is asked for. */
export const writeVerificationMail = (to: string, url: string): Mail => ({
  to,
  subject: "Confirm your e-mail address",
  paragraphs: ["Please confirm that this address is yours. The link works for one hour."],
  action: { label: "Confirm this address", url },
  note: "If you do not know of an account with this address, do nothing.",
  valid_hours: 1,
});

/** `url` comes without a page to return to when none was asked for; a link must lead somewhere. */
export function writeResetMail(to: string, url: string): Mail {
  const link = new URL(url);
  if (!link.searchParams.get("callbackURL")) link.searchParams.set("callbackURL", "/reset-password");
  return {
    to,
    subject: "Choose a new password",
    paragraphs: ["Someone asked to reset the password of your account. The link works once, for one hour."],
    action: { label: "Choose a new password", url: link.href },
    note: "If you did not ask for this, do nothing: your password stays as it is.",
    valid_hours: 1,
  };
}

export const writeInvitationMail = (to: string, organization: string, inviter: string, url: string): Mail => ({
  to,
  subject: `Join ${formatSenderName(organization)}`,
  paragraphs: [
    `${formatSenderName(inviter)} invites you to ${formatSenderName(organization)}. The invitation stands for two days.`,
  ],
  action: { label: "See the invitation", url },
  note: "If you do not know them, do nothing.",
  valid_hours: 48,
});

/** The first step of a change of address, sent to the one that still holds. */
export const writeChangeMail = (to: string, newEmail: string, url: string): Mail => ({
  to,
  subject: "Change your e-mail address",
  paragraphs: [
    `Someone asked to change the address of your account to ${newEmail}. The link works for one hour.`,
    "Once you have agreed, the new address gets a mail too, to be confirmed.",
  ],
  action: { label: "Change it", url },
  note: "If this was not you, do nothing, and choose a new password: somebody was signed in as you.",
  valid_hours: 1,
});

export const writeDeletionMail = (to: string, url: string): Mail => ({
  to,
  subject: "Delete your account",
  paragraphs: ["Someone asked to delete your account. This cannot be undone. The link works for one day."],
  action: { label: "Delete my account", url },
  note: "If you did not ask for this, do nothing: your account stays.",
  valid_hours: 24,
});

type SecurityNotice = {
  to: string;
  subject: string;
  /** When, from where and with what it was done. */
  circumstances: string;
  url: string;
  /** What the end of the sessions leaves to be done. */
  advice: string;
};

/** Tells of a change of what lets a person in, and lets them end all sessions. */
export const writeSecurityMail = ({ to, subject, circumstances, url, advice }: SecurityNotice): Mail => ({
  to,
  subject,
  paragraphs: [`${subject}. ${circumstances}`, "If this was you, there is nothing to do."],
  action: { label: "This was not me: end all sessions", url },
  note: `The link works once, for seven days. It signs you out everywhere. ${advice}`,
});

/** Asking for a mail to somebody's address takes this long at least, so that its time does not tell whether there is one. */
const evenMs = 500;

/** Answers in even time where a mail is written for those who are known, and nothing for others. */
export const respondInConstantTime =
  (handle: (request: Request) => Promise<Response>) =>
  async (request: Request): Promise<Response> => {
    if (!findCall(new URL(request.url).pathname.slice(accountBase.length)).even) return handle(request);
    const [response] = await Promise.all([handle(request), pause(evenMs)]);
    return response;
  };
