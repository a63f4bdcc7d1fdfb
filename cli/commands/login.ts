/** `floe login`: sign in by a code that is confirmed in a browser, on this machine or another (RFC 8628). */
import type { Command } from "commander";
import { askChoice, wait } from "../ask.ts";
import { type Context, type Organization, organizationsOf, pickOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import { makeContext } from "../make-context.ts";
import { pause } from "../pause.ts";
import type { Credential } from "../settings.ts";
import { plain } from "../ui/theme.ts";

const client_id = "floe-cli";
const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
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
type LoginOptions = { browser: boolean; scopes?: string };
type Session = { user?: { id?: string; email?: string; name?: string } } | null;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("login")
    .description("Sign in: prints a code, opens the browser, and waits until the code is confirmed there.")
    .option("--no-browser", "do not open a browser")
    .option("--scopes <a,b>", "only these scopes of the API: products:read,orders:read (default: all that you may do)")
    .addHelpText(
      "after",
      "\nExamples:\n  floe login\n  floe login --server https://floe.example.com --org acme\n  floe login --no-browser\n  floe login --scopes products:read,orders:read",
    );
  command.action((options: LoginOptions) => login(contextOf(command), options));
}

async function login(context: Context, { browser, scopes }: LoginOptions): Promise<void> {
  const { server, profile } = context.settings();
  const scope = (scopes ?? "")
    .split(/[\s,]+/)
    .join(" ")
    .trim();
  if (scopes !== undefined && scope === "")
    throw new Fault("usage", "--scopes names no scope", { hint: "For all that you may do, leave it out." });
  const code = (await context.call({
    method: "POST",
    path: "/api/auth/device/code",
    body: { client_id, ...(scope && { scope }) },
    auth: false,
  })) as Code;
  const paint = context.paint.err();
  const page = code.verification_uri_complete ?? code.verification_uri;
  context.say(`Open   ${paint.link(plain(page))}\nCode   ${paint.strong(plain(spoken(code.user_code)))}\n`);
  if (code.confirmation_number)
    context.say(`Enter ${paint.strong(plain(code.confirmation_number))} in the browser. There is one try.\n`);
  // First the text, then the browser: where none can be opened, the text is all there is.
  if (browser && context.interactive && /^https?:\/\//.test(page)) {
    await context.io
      .openBrowser(page)
      .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
  }
  const token = await wait(context, "Waiting for the code to be confirmed", () => poll(context, code));
  const session = (await context.call({
    method: "GET",
    path: "/api/auth/get-session",
    organization: false,
    token: token.access_token,
  })) as Session;
  const { user } = session ?? {};
  const credential: Credential = {
    token: token.access_token,
    ...(user && {
      user: {
        ...(user.id && { id: user.id }),
        ...(user.email && { email: user.email }),
        ...(user.name && { name: user.name }),
      },
    }),
    ...(token.expires_in && { expires_at: new Date(Date.now() + token.expires_in * 1000).toISOString() }),
  };
  const { writeCredential, writeProfile } = await import("../settings-write.ts");
  writeCredential(context.io.env, profile, server, credential);
  await writeProfile(context.io.env, profile, { server });
  context.say(`${paint.good("Signed in")} at ${server}${user?.email ? ` as ${plain(user.email)}` : ""}.\n`);
  if (token.scope) context.say(`Limited to: ${plain(token.scope.split(" ").join(", "))}.\n`);
  if (context.settings().apiKey) context.say("FLOE_API_KEY is set and is used before this sign-in.\n");
  const fresh = makeContext(context.io, context.manifest, context.version, context.globals);
  const chosen = await chooseOrganization(fresh);
  await writeProfile(context.io.env, profile, { server, ...(chosen ? { organization: chosen } : {}) });
  if (chosen) context.say(`Organization: ${plain(chosen.name)} (${chosen.slug}).\n`);
  if (context.globals.json !== undefined)
    context.print(
      `${JSON.stringify({ server, profile, user: user ?? null, organization: chosen ?? null }, null, 2)}\n`,
    );
}

/** The code as the page in the browser shows it. */
const spoken = (user_code: string): string => user_code.replace(/^(.{4})(.{4})$/, "$1-$2");

const expired = (): Fault =>
  new Fault("signed_out", "the code has expired before it was confirmed", {
    name: "expired_token",
    hint: "Run floe login again.",
  });

/** Ask until the code is confirmed, denied or expired. */
async function poll(context: Context, code: Code): Promise<Token> {
  let seconds = code.interval ?? 5;
  const ends = Date.now() + code.expires_in * 1000;
  while (Date.now() < ends) {
    await pause(seconds * 1000, context.io.signal);
    try {
      const body = { grant_type, device_code: code.device_code, client_id };
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
      } else if (name === "expired_token") throw expired();
      else throw error;
    }
  }
  throw expired();
}

/** The only organization, the one that was named, or the one that the person picks. */
async function chooseOrganization(context: Context): Promise<Organization | undefined> {
  const all = await organizationsOf(context);
  const { org } = context.settings();
  const short = ({ id, name, slug }: Organization): Organization => ({ id, name, slug });
  if (org !== undefined) return short(pickOrganization(all, org));
  const [only, ...others] = all;
  if (!only) {
    context.say("You have no organization yet. Make one: floe orgs create NAME\n");
    return undefined;
  }
  if (others.length === 0) return short(only);
  if (context.interactive) {
    const choices = all.map((one) => ({ value: one.slug, label: `${plain(one.name)} (${one.slug})` }));
    const slug = await askChoice(context, "Which organization?", choices).catch((error: unknown) => {
      // The sign-in is done; who does not want to choose now can do it later.
      if (error instanceof Fault && error.kind === "cancelled") return undefined;
      throw error;
    });
    if (slug !== undefined) return short(pickOrganization(all, slug));
  }
  context.say(
    `You are in several organizations: ${all.map((one) => one.slug).join(", ")}. Choose one: floe orgs use SLUG\n`,
  );
  return undefined;
}
