import type { Mail } from "../lib/mail.ts";

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const plain = (text: string): string => text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? sign);

/** A mail that asks for one click: what it is about, the link, and what to do when it was not asked for. */
function linkMail(to: string, subject: string, about: string, action: string, url: string, otherwise: string): Mail {
  const text = `${about}\n\n${action}: ${url}\n\n${otherwise}\n`;
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${plain(subject)}</title>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#16202b;background:#f4f6f8">
<div style="max-width:480px;margin:0 auto;padding:24px;background:#fff;border-radius:12px">
<h1 style="margin:0 0 16px;font-size:20px">${plain(subject)}</h1>
<p>${plain(about)}</p>
<p><a href="${plain(url)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#0b5c7a;color:#fff;text-decoration:none">${plain(action)}</a></p>
<p style="color:#4a5866;font-size:14px">${plain(otherwise)}</p>
</div></body></html>`;
  return { to, subject, text, html };
}

const ignore = "If you did not ask for this, do nothing.";

export const verificationMail = (to: string, url: string): Mail =>
  linkMail(
    to,
    "Confirm your e-mail address",
    "Please confirm that this address is yours. The link works for one hour.",
    "Confirm",
    url,
    ignore,
  );

export const resetMail = (to: string, url: string): Mail =>
  linkMail(
    to,
    "Choose a new password",
    "Someone asked to reset the password of your account. The link works for one hour.",
    "Choose a password",
    url,
    ignore,
  );

export const invitationMail = (to: string, organization: string, inviter: string, url: string): Mail =>
  linkMail(
    to,
    `Join ${organization}`,
    `${inviter} invites you to ${organization}.`,
    "Accept the invitation",
    url,
    ignore,
  );

export const changeMail = (to: string, newEmail: string, url: string): Mail =>
  linkMail(
    to,
    "Change your e-mail address",
    `Someone asked to change the address of your account to ${newEmail}. The link works for one hour.`,
    "Change it",
    url,
    ignore,
  );

export const deletionMail = (to: string, url: string): Mail =>
  linkMail(
    to,
    "Delete your account",
    "Someone asked to delete your account. This cannot be undone. The link works for one day.",
    "Delete my account",
    url,
    ignore,
  );
