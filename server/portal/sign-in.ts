import { randomBytes } from "node:crypto";
import { ApiError, invalid, notPermitted } from "../../shared/errors.ts";
import { getMessages } from "../../shared/messages/index.ts";
import { type CustomerRow, checkUnique, isSameEmail } from "../customers/customers/rules.ts";
import { updateCustomer, verifyEmail } from "../customers/customers/service.ts";
import { findCustomerByEmail, findOthers, lockCustomer } from "../customers/customers/store.ts";
import { findMember, findMembersByEmail } from "../customers/members/store.ts";
import { type PortalLink, parsePortalLink } from "../customers/sessions/portal-link.ts";
import { openSession } from "../customers/sessions/service.ts";
import { serializeOrganization } from "../identity/organizations/rules.ts";
import { findClockOf, findOrganization } from "../identity/organizations/store.ts";
import { getSpeech } from "../messaging/email/rules.ts";
import { getServerClock } from "../platform/clock.ts";
import type { Ctx, Deps, Tx } from "../platform/context.ts";
import { hashToken, hashWithEach } from "../platform/crypto/secrets.ts";
import type { RowKey } from "../platform/db/rows.ts";
import { joinTransaction, transact } from "../platform/db/unit-of-work.ts";
import { createId, createToken } from "../platform/ids.ts";
import { queueMail } from "../platform/mail-transport/mail.ts";
import { createEndedError, findAsker, findSellerOf, getAsker } from "./access.ts";
import { countGuess, countRequest } from "./code-limits.ts";
import { codeLength, drawCode, readCode } from "./rules.ts";
import * as store from "./store.ts";

/** The name of the worker that mails codes, with which it is woken. */
export const codeMailWorkerName = "portal.mail_codes";

const minuteMs = 60 * 1000;
const codeMinutes = 10;
const linkHours = 24;
/** The maximum number of valid codes of a customer, so that requests by others cannot flood the customer's inbox. */
const codesMax = 5;

type CodeRequest = { email: string; organization_id: string; request_id?: string | undefined };
type CodeGuess = { [field in keyof CodeRequest]?: string | undefined } & { code: string };

const hashRequest = (secret: string, request_id: string): string => hashToken(secret, `portal request ${request_id}`);

/** Record a request for a code. The response is the same for known and unknown addresses (CUP-08). */
export async function requestCode(ctx: Ctx, { request_id, ...body }: CodeRequest): Promise<void> {
  await countRequest(ctx, body);
  const request_hash = request_id === undefined ? null : hashRequest(ctx.config.secret, request_id);
  const seller = await findClockOf(ctx, body.organization_id);
  const now = getServerClock(ctx.clock).now();
  const expires_at = new Date(now.getTime() + codeMinutes * minuteMs);
  await transact(seller, async (tx) => {
    await store.insertCodeRequest(tx, {
      id: createId(now),
      ...body,
      request_hash,
      now: seller.clock.now(),
      expires_at,
    });
    ctx.jobs.wake(tx, codeMailWorkerName);
  });
}

function createCode(): string {
  for (;;) {
    const code = drawCode(randomBytes(2 * codeLength));
    if (code !== undefined) return code;
  }
}

/**
 * Find the customer and the team members that an address may sign in as; a member of the customer's own team is listed once.
 */
async function findDoors(tx: Tx, organization_id: string, email: string) {
  const customer = await findCustomerByEmail(tx, organization_id, email);
  const people = await findMembersByEmail(tx, organization_id, email, codesMax);
  const doors = [
    ...(customer ? [{ customer, member: null }] : []),
    ...people.flatMap(({ member, team }) => (team.id === customer?.id ? [] : [{ customer: team, member }])),
  ];
  // A fixed order, because each customer is locked.
  return doors.toSorted((a, b) => a.customer.id.localeCompare(b.customer.id));
}

/**
 * Mail a code for each customer and member that the requested address may sign in as. For an unknown address, the request is
 * deleted.
 */
export async function sendCode(deps: Deps, key: RowKey): Promise<void> {
  await transact(deps, async (tx) => {
    const asked = await store.lockAsked(tx, key);
    if (!asked) return;
    const now = getServerClock(deps.clock).now();
    const seller = await findOrganization(tx, key.organization_id);
    if (!seller || asked.expires_at <= now) return store.deleteCode(tx, key);
    // Requests of one customer are processed one after the other, so that the limit of valid codes holds.
    let isFilled = false;
    for (const { customer, member } of await findDoors(tx, key.organization_id, asked.email)) {
      const member_id = member?.id ?? null;
      // The stored address, not the one typed into the request.
      const to = member?.email ?? customer.email;
      if (!to || !(await lockCustomer(tx, key.organization_id, customer))) continue;
      if ((await store.countCodes(tx, customer, "sign_in", now, member_id)) >= codesMax) continue;
      const code = createCode();
      const filled = { customer_id: customer.id, member_id, email: to, code_hash: hashToken(deps.config.secret, code) };
      if (!isFilled) await store.fillCode(tx, key, filled);
      else await store.insertCode(tx, { ...asked, ...filled, id: createId(now), due_at: null });
      isFilled = true;
      const { language, letter } = getSpeech(customer, seller);
      const messages = getMessages(language).portalEmail;
      const of_team = member ? [messages.code_team(customer.name ?? customer.email ?? seller.name)] : [];
      await queueMail(tx, deps, {
        ...letter,
        to,
        organization_id: key.organization_id,
        customer_id: customer.id,
        is_requested: true,
        valid_hours: codeMinutes / 60,
        subject: messages.code_subject(seller.name),
        paragraphs: [messages.code(code), ...of_team, messages.code_minutes(codeMinutes)],
        note: messages.code_unasked,
      });
    }
    if (!isFilled) await store.deleteCode(tx, key);
  });
}

const rejectCode = () =>
  new ApiError("CustomerSessionCodeInvalidOrExpired", "This code is wrong, was used already, or has expired.");

/** Claim a code or link, once. If two people have the same code by chance, neither gets in. */
async function consumeCode(tx: Tx, { config, clock }: Ctx, purpose: store.CodeRow["purpose"], secret: string) {
  const taken = await store.claimCodes(tx, purpose, hashWithEach(config.secrets, secret), getServerClock(clock).now());
  return taken.length === 1 ? taken[0] : undefined;
}

/** Create a session from a mailed code (CUP-10, CUP-11). */
export async function authenticate(ctx: Ctx, guess: CodeGuess): Promise<{ token: string }> {
  const { secrets } = ctx.config;
  const { request_id, email = null, organization_id = null } = guess;
  const target = {
    request_hashes: request_id === undefined ? null : secrets.map((secret) => hashRequest(secret, request_id)),
    email,
    organization_id,
  };
  const takeBack = await countGuess(ctx, guess);
  const hashes = hashWithEach(secrets, readCode(guess.code));
  const opened = await transact(ctx, async (tx) => {
    const taken = await store.claimGuessedCode(tx, target, hashes, getServerClock(ctx.clock).now());
    if (!taken?.customer_id) return undefined;
    const customer = await lockCustomer(tx, taken.organization_id, { id: taken.customer_id });
    if (!customer || customer.deleted_at !== null) return undefined;
    if (taken.member_id !== null) {
      const member = await findMember(tx, customer, { id: taken.member_id });
      if (!member || !isSameEmail(member.email, taken.email)) return undefined;
      return openSession(ctx, tx, customer, { member_id: member.id });
    }
    // The customer's address may have changed since the code was mailed.
    if (!isSameEmail(customer.email, taken.email)) return undefined;
    const seller = await findClockOf(joinTransaction(ctx, tx), taken.organization_id);
    await verifyEmail(tx, seller, customer);
    return openSession(ctx, tx, customer);
  });
  if (!opened) throw rejectCode();
  await takeBack();
  return { token: opened.token };
}

/** Whether the customer's address is unchanged since the link was mailed. */
const isLinkCurrent = ({ email, email_version }: CustomerRow, link: PortalLink): boolean =>
  isSameEmail(email, link.email) && email_version === link.email_version;

/** Whether a link was not used before; it is used from now on. The caller has locked the customer. */
async function claimLink(tx: Tx, { config, clock }: Ctx, link: NonNullable<ReturnType<typeof parsePortalLink>>) {
  const now = getServerClock(clock).now();
  const { organization_id, customer_id, email, expires_at, content } = link;
  if ((await store.findCodes(tx, "used_link", hashWithEach(config.secrets, content), now)).length > 0) return false;
  await store.insertCode(tx, {
    id: createId(now),
    organization_id,
    created_at: now,
    purpose: "used_link",
    email,
    customer_id,
    code_hash: hashToken(config.secret, content),
    expires_at,
  });
  return true;
}

/**
 * Create a session from a mailed link, once (CUP-28). The link becomes invalid when the customer's address changes, even if the
 * first address is restored later. Mails are forwarded, so opening a link does not verify the address.
 */
export async function openLink(ctx: Ctx, linkToken: string): Promise<{ token: string }> {
  const link = parsePortalLink(ctx.config, linkToken, getServerClock(ctx.clock).now());
  const opened =
    link &&
    (await transact(ctx, async (tx) => {
      const customer = await lockCustomer(tx, link.organization_id, { id: link.customer_id });
      if (!customer || customer.deleted_at !== null || !isLinkCurrent(customer, link)) return undefined;
      if (!(await claimLink(tx, ctx, link))) return undefined;
      return openSession(ctx, tx, customer);
    }));
  if (!opened)
    throw new ApiError(
      "CustomerSessionCodeInvalidOrExpired",
      "This link was used already, has expired or is no longer valid. Sign in with a code.",
    );
  return { token: opened.token };
}

/** Send a confirmation link to a new address, if the seller lets customers change theirs (CUP-15). */
export async function requestEmailUpdate(ctx: Ctx, email: string): Promise<void> {
  const seller = await findSellerOf(ctx);
  const { member } = getAsker(ctx);
  if (member && member.role !== "owner") throw notPermitted("Only the owner changes the address of a team.");
  if (!serializeOrganization(seller).customer_portal_settings.customer.allow_email_change)
    throw notPermitted("This seller changes addresses only on request.");
  const token = createToken("polar_cev_");
  await transact(ctx, async (tx) => {
    const customer = await findAsker(ctx, tx);
    const others = await findOthers(tx, customer.organization_id, { email, id: customer.id });
    const faults = checkUnique({ email }, others);
    if (faults.length > 0) throw invalid(...faults);
    const now = getServerClock(ctx.clock).now();
    if ((await store.countCodes(tx, customer, "email", now, member?.id ?? null)) >= codesMax)
      throw new ApiError("TooManyRequests", "Links were sent already. Look for them in your mail.");
    await store.insertCode(tx, {
      id: createId(now),
      organization_id: customer.organization_id,
      created_at: ctx.clock.now(),
      purpose: "email",
      email,
      customer_id: customer.id,
      member_id: member?.id ?? null,
      code_hash: hashToken(ctx.config.secret, token),
      expires_at: new Date(now.getTime() + linkHours * 60 * minuteMs),
    });
    const { language, letter } = getSpeech(customer, seller);
    const messages = getMessages(language).portalEmail;
    const url = `${ctx.config.url}/${encodeURIComponent(seller.slug)}/portal/email?${new URLSearchParams({ token })}`;
    await queueMail(tx, ctx, {
      ...letter,
      to: email,
      organization_id: customer.organization_id,
      customer_id: customer.id,
      is_requested: true,
      valid_hours: linkHours,
      subject: messages.email_subject(seller.name),
      paragraphs: [messages.email(seller.name)],
      action: { label: messages.email_action, url },
      note: messages.email_hours(linkHours),
    });
  });
}

const rejectLink = () =>
  new ApiError("CustomerEmailUpdateInvalidOrExpired", "This link is wrong, was used already, or has expired.");

/** Throw unless the link to a new address is valid. */
export async function checkEmailUpdate({ db, config, clock }: Ctx, token: string): Promise<void> {
  const now = getServerClock(clock).now();
  if ((await store.findCodes(db, "email", hashWithEach(config.secrets, token), now)).length !== 1) throw rejectLink();
}

/** Change the address to the one that the link was sent to: opening the link proves access to its inbox. */
export async function verifyEmailUpdate(ctx: Ctx, token: string): Promise<{ token: string }> {
  const opened = await transact(ctx, async (tx) => {
    const taken = await consumeCode(tx, ctx, "email", token);
    const { organization_id, customer_id: id, email, member_id = null } = taken ?? {};
    if (!organization_id || !id || !email) return undefined;
    const customer = await lockCustomer(tx, organization_id, { id });
    if (!customer || customer.deleted_at !== null) return undefined;
    // Who asked for the link may have left the team, or have handed it over.
    const member = member_id === null ? undefined : await findMember(tx, customer, { id: member_id });
    if (member_id !== null && member?.role !== "owner") return undefined;
    const inner = await findClockOf(joinTransaction(ctx, tx), organization_id);
    await updateCustomer({ ...inner, actor: { ...ctx.actor, organization_id } }, { id }, { email });
    const changed = await lockCustomer(tx, organization_id, { id });
    if (!changed) throw createEndedError();
    await verifyEmail(tx, inner, changed);
    return openSession(ctx, tx, changed, { member_id });
  });
  if (!opened) throw rejectLink();
  return { token: opened.token };
}
