/** `floe login`: sign in by a code that is confirmed in a browser, on this machine or another (RFC 8628). */
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import { getKeychainPlace, putIntoKeychain, removeFromKeychain } from "../accounts/keychain.ts";
import { promptChoice, wait } from "../ask.ts";
import { findSettingsFolder } from "../cache-folder.ts";
import { type Context, listOwnOrganizations, type Organization, pickOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import { makeContext } from "../make-context.ts";
import { client_id } from "../oauth-client.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { type Credential, readKept, readPending } from "../settings.ts";
import { completeCommand } from "../suggestions.ts";
import { removeControls } from "../ui/theme.ts";

const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const slowDownSeconds = 5;
const intervalSecondsMax = 30;

type Code = {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete?: string;
  expires_in: number;
  interval?: number;
  /** Demanded in the browser by a hardened server, which shows it nowhere else. */
  confirmation_number?: string;
};
type Token = { access_token: string; expires_in?: number; scope?: string };
type LoginOptions = {
  browser: boolean;
  wait?: boolean;
  start?: boolean;
  finish?: boolean;
  withToken?: boolean;
  scopes?: string;
  keychain?: boolean;
};
type User = NonNullable<Credential["user"]>;
type Session = { user?: User } | null;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("login")
    .description("Sign in: prints a code, opens the browser, and waits until the code is confirmed there.")
    .option("--no-browser", "do not open a browser")
    .option("--wait", "wait for the code to be confirmed elsewhere, also where no terminal is")
    .option("--start", "print the code and where to confirm it, and do not wait; --finish goes on")
    .option("--finish", "wait for what --start began")
    .option("--with-token", "read an API key or a session token from standard input, and keep it in the profile")
    .option("--scopes <a,b>", "only these scopes of the API: products:read,orders:read (default: all that you may do)")
    .option("--keychain", "keep the sign-in in the keychain of this system, or fail")
    .option("--no-keychain", "keep it in a file that only this user can read")
    .addHelpText(
      "after",
      "\nExamples:\n  floe login\n  floe login --server https://floe.example.com --org acme\n  floe login --scopes products:read,orders:read\n  floe login --start --json user_code,verification_uri_complete   # a program shows it to a person\n  floe login --finish\n  floe login --with-token < key.txt",
    );
  command.action((options: LoginOptions) => login(contextOf(command), options));
}

async function login(context: Context, options: LoginOptions): Promise<void> {
  const ways = [options.start, options.finish, options.withToken].filter(Boolean);
  if (ways.length > 1) throw new Fault("usage", "--start, --finish and --with-token exclude each other");
  if (options.withToken) return saveToken(context, options.keychain);
  if (options.finish) return finish(context, getPending(context), options.keychain);
  const isAwaited = context.interactive || options.wait || options.start || !options.browser;
  if (!isAwaited)
    throw new Fault("usage", "nobody is there to confirm a code in a browser", {
      hint: "Run: `floe login --start`, then `floe login --finish`; or wait for it with `floe login --wait`; or set FLOE_API_KEY.",
    });
  const code = await requestCode(context, options.scopes);
  if (options.start) return leave(context, code);
  printCode(context, code);
  // First the text, then the browser: where none can be opened, the text is all there is.
  const page = getPage(code);
  if (options.browser && context.interactive && /^https?:\/\//.test(page)) {
    await context.io
      .openBrowser(page)
      .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
  }
  return finish(context, code, options.keychain);
}

async function requestCode(context: Context, scopes: string | undefined): Promise<Code> {
  const scope = (scopes ?? "")
    .split(/[\s,]+/)
    .join(" ")
    .trim();
  if (scopes !== undefined && scope === "")
    throw new Fault("usage", "--scopes names no scope", { hint: "For all that you may do, leave it out." });
  const body = { client_id, ...(scope && { scope }) };
  return (await context.call({ method: "POST", path: "/api/auth/device/code", body, auth: false })) as Code;
}

const getPage = (code: Code): string => code.verification_uri_complete ?? code.verification_uri;

function printCode(context: Context, code: Code): void {
  const paint = context.paint.err();
  context.tell(
    `Open   ${paint.linkTo(paint.link(removeControls(getPage(code))), getPage(code))}\nCode   ${paint.strong(removeControls(formatCode(code.user_code)))}\n`,
  );
  if (code.confirmation_number)
    context.tell(`Enter ${paint.strong(removeControls(code.confirmation_number))} in the browser. There is one try.\n`);
}

/** Keep what has begun for `--finish`, and say how to go on. What redeems the code is shown to nobody. */
async function leave(context: Context, code: Code): Promise<void> {
  const { profile, server } = context.settings();
  const ends = new Date(Date.now() + code.expires_in * 1000).toISOString();
  const { writePending } = await import("../settings-write.ts");
  writePending(context.io.env, { profile, server, ends, code });
  if (!context.json) {
    printCode(context, code);
    return context.say("Once it is confirmed: `floe login --finish`\n");
  }
  const { device_code: _, ...shown } = code;
  const next = completeCommand("floe login --finish", context.globals);
  showOne(
    context,
    { server, profile, ...shown, expires_at: ends, next },
    checkAskedFields(context.globals.json, undefined),
  );
}

function getPending(context: Context): Code {
  const { profile, server } = context.settings();
  const pending = readPending(context.io.env);
  if (pending.profile !== profile || pending.server !== server || !pending.code || !pending.ends)
    throw new Fault("usage", `no sign-in was begun at ${server}`, { hint: "Run: `floe login --start`" });
  return { ...(pending.code as Code), expires_in: (Date.parse(pending.ends) - Date.now()) / 1000 };
}

/** Wait until the code is confirmed, and keep the sign-in. */
async function finish(context: Context, code: Code, keychain: boolean | undefined): Promise<void> {
  const token = await wait(context, "Waiting for the code to be confirmed", () => poll(context, code));
  const user = await getUser(context, token.access_token);
  const credential = {
    token: token.access_token,
    ...(user && { user }),
    ...(token.expires_in && { expires_at: new Date(Date.now() + token.expires_in * 1000).toISOString() }),
  };
  await saveCredential(context, credential, keychain);
  reportDone(context, user?.email ? ` as ${user.email}` : "");
  if (token.scope) context.say(`Limited to: ${removeControls(token.scope.split(" ").join(", "))}.\n`);
  if (context.io.env.FLOE_API_KEY) context.say("FLOE_API_KEY is set and is used before this sign-in.\n");
  await settle(context, user);
}

const reportDone = (context: Context, who: string): void =>
  context.say(`${context.paint.err().good("✓ Signed in")} at ${context.settings().server}${removeControls(who)}.\n`);

/** Keep a token that was made elsewhere: that of a session, or an API key. */
async function saveToken(context: Context, keychain: boolean | undefined): Promise<void> {
  const token = (await textOf(context.io.stdin)).trim();
  if (token === "") throw new Fault("usage", "there is no token in standard input");
  const user = await getUser(context, token).catch((error: unknown) => {
    if (error instanceof Fault && error.kind === "signed_out") return undefined;
    throw error;
  });
  if (!user) await checkKey(context, token);
  await saveCredential(context, user ? { token, user } : { token, is_key: true }, keychain);
  reportDone(context, user?.email ? ` as ${user.email}` : " with an API key");
  if (user) await settle(context, user);
}

/** A key that is good for something is a key, also where it may not say whose it is. */
async function checkKey(context: Context, token: string): Promise<void> {
  await request(context, routes.organizations.list, {}, { organization: false, token }).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.kind !== "not_permitted") throw error;
  });
}

async function getUser(context: Context, token: string): Promise<User | undefined> {
  const call = { method: "GET", path: "/api/auth/get-session", organization: false, token };
  const { user } = ((await context.call(call)) as Session) ?? {};
  if (!user) return undefined;
  const { id, email, name } = user;
  return { ...(id && { id }), ...(email && { email }), ...(name && { name }) };
}

/** Whether the keychain is wanted: by the flag, or by FLOE_KEYCHAIN; undefined where it is used if there is one. */
function readWish({ FLOE_KEYCHAIN: setting }: Context["io"]["env"], flag: boolean | undefined): boolean | undefined {
  if (flag !== undefined) return flag;
  if (setting === undefined || setting === "" || setting === "auto") return undefined;
  if (setting === "on" || setting === "off") return setting === "on";
  throw new Fault("usage", `FLOE_KEYCHAIN is on, off or auto, and not "${setting}"`);
}

/** Put the token into the keychain, and answer what is written in its place; or the token itself. Where it is kept is said. */
async function storeToken(context: Context, token: string, flag: boolean | undefined): Promise<string> {
  const wish = readWish(context.io.env, flag);
  const name = wish === false ? undefined : await putIntoKeychain(getKeychainPlace(context), token);
  if (name !== undefined) {
    context.say("The sign-in is kept in the keychain of this system.\n");
    return name;
  }
  if (wish)
    throw new Fault("error", "the keychain of this system does not keep the sign-in", {
      hint: "Unlock it, or run: `floe login --no-keychain`",
    });
  const why = wish === false ? "" : "This system has no keychain that answers. ";
  context.say(
    `${why}The sign-in is kept in ${join(findSettingsFolder(context.io.env), "credentials.json")}, for this user alone.\n`,
  );
  return token;
}

async function saveCredential(context: Context, credential: Credential, keychain: boolean | undefined): Promise<void> {
  const { server, profile } = context.settings();
  const { env } = context.io;
  const { writeCredential, writePending, writeProfile } = await import("../settings-write.ts");
  const before = readKept(env, profile, server);
  const token = await storeToken(context, credential.token, keychain);
  await writeCredential(env, profile, server, { ...credential, token });
  if (before) await removeFromKeychain(getKeychainPlace(context), before.token);
  writePending(env, undefined);
  await writeProfile(env, profile, { server });
}

/** Choose the organization of the profile, and say what is in force now. */
async function settle(context: Context, user: User | undefined): Promise<void> {
  const { server, profile } = context.settings();
  const fresh = makeContext(context.io, context.manifest, context.version, context.globals);
  const chosen = await chooseOrganization(fresh);
  const { writeProfile } = await import("../settings-write.ts");
  await writeProfile(context.io.env, profile, { server, ...(chosen ? { organization: chosen } : {}) });
  if (chosen) context.say(`Organization: ${removeControls(chosen.name)} (${chosen.slug}).\n`);
  if (context.globals.json !== undefined)
    context.print(
      `${JSON.stringify({ server, profile, user: user ?? null, organization: chosen ?? null }, null, 2)}\n`,
    );
}

/** The code as the page in the browser shows it. */
const formatCode = (user_code: string): string => user_code.replace(/^(.{4})(.{4})$/, "$1-$2");

const buildExpiredFault = (): Fault =>
  new Fault("signed_out", "the code has expired before it was confirmed", {
    name: "expired_token",
    hint: "Run again: `floe login`",
  });

/** Ask until the code is confirmed, denied or expired. */
async function poll(context: Context, code: Code): Promise<Token> {
  let seconds = code.interval ?? 5;
  const ends = Date.now() + code.expires_in * 1000;
  while (Date.now() < ends) {
    await pause(seconds * 1000, context.io.signal);
    try {
      const body = { grant_type: grantType, device_code: code.device_code, client_id };
      return (await context.call({ method: "POST", path: "/api/auth/device/token", body, auth: false })) as Token;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { name } = error.parts;
      if (name === "authorization_pending") continue;
      if (name === "slow_down") {
        seconds += slowDownSeconds;
        context.debug(`The server asks to wait ${seconds} s between questions.`);
      } else if (error.kind === "unreachable" || error.kind === "rate_limited") {
        // A network that comes and goes is no reason to make the person start again.
        seconds = Math.min(seconds * 2, intervalSecondsMax);
      } else if (name === "access_denied") {
        throw new Fault("not_permitted", "the sign-in was denied in the browser", { name });
      } else if (name === "expired_token") throw buildExpiredFault();
      else throw error;
    }
  }
  throw buildExpiredFault();
}

/** The only organization, the one that was named, or the one that the person picks. */
async function chooseOrganization(context: Context): Promise<Organization | undefined> {
  const all = await listOwnOrganizations(context);
  const { org } = context.settings();
  const pickFields = ({ id, name, slug }: Organization): Organization => ({ id, name, slug });
  if (org !== undefined) return pickFields(pickOrganization(all, org));
  const [only, ...others] = all;
  if (!only) {
    context.say("You have no organization yet. Make one: `floe orgs create NAME`\n");
    return undefined;
  }
  if (others.length === 0) return pickFields(only);
  if (context.interactive) {
    const choices = all.map((one) => ({ value: one.slug, label: `${removeControls(one.name)} (${one.slug})` }));
    const slug = await promptChoice(context, "Which organization?", choices).catch((error: unknown) => {
      // The sign-in is done; who does not want to choose now can do it later.
      if (error instanceof Fault && error.kind === "cancelled") return undefined;
      throw error;
    });
    if (slug !== undefined) return pickFields(pickOrganization(all, slug));
  }
  context.say(
    `You are in several organizations: ${all.map((one) => one.slug).join(", ")}. Choose one: floe orgs use SLUG\n`,
  );
  return undefined;
}
