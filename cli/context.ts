import { type Call, call } from "./client.ts";
import { Fault } from "./fault.ts";
import { type Io, isInteractive } from "./io.ts";
import type { Manifest } from "./manifest.ts";
import { type Credential, type Globals, readCredential, readSettings, type Settings } from "./settings.ts";
import { type Paint, painter } from "./ui/theme.ts";

/** What a command gets: streams, settings, the server, and how to answer. Everything in it is made when it is first used. */
export type Context = {
  readonly io: Io;
  readonly version: string;
  readonly manifest: Manifest;
  readonly globals: Globals;
  readonly interactive: boolean;
  /** True when stdout carries JSON: asked for, or because no person reads it. */
  readonly json: boolean;
  settings(): Settings;
  call(made: Call): Promise<unknown>;
  /** The id of the organization to name in requests; undefined where the API key says it. */
  organization(): Promise<string | undefined>;
  /** Data, to stdout. */
  print(text: string): void;
  /** Talk, to stderr. */
  say(text: string): void;
  debug(text: string): void;
  /** Colours for stdout, and for stderr. */
  paint: { out(): Paint; err(): Paint };
};

/** One organization as `GET /api/auth/organization/list` answers it. */
export type Organization = { id: string; name: string; slug: string };

/** The sign-in of a person: what concerns accounts is not open to an API key, also where one is set. */
export function personOf(context: Context): Credential {
  const { profile, server, apiKey } = context.settings();
  const credential = readCredential(context.io.env, profile, server);
  if (credential) return credential;
  const why = apiKey ? "an API key cannot do this: it belongs to an organization, not to a person" : `you are not signed in at ${server}`;
  throw new Fault("signed_out", why, { name: "signed_out", hint: "Run: floe login" });
}

/** The organizations of the person who is signed in. */
export async function organizationsOf(context: Context): Promise<Organization[]> {
  const { token } = personOf(context);
  const answer = await context.call({ method: "GET", path: "/api/auth/organization/list", organization: false, token });
  return Array.isArray(answer) ? (answer as Organization[]) : [];
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Find the organization that a person named by id or slug. */
export function pickOrganization(all: Organization[], named: string): Organization {
  const found = all.find((one) => one.id === named || one.slug === named);
  if (found) return found;
  const yours = all.map((one) => one.slug).join(", ");
  throw new Fault("not_found", `you are in no organization "${named}"`, { hint: yours ? `Yours: ${yours}` : "Make one: floe orgs create NAME" });
}

async function findOrganization(context: Context): Promise<string | undefined> {
  const { apiKey, org, organization } = context.settings();
  if (apiKey) return org && uuid.test(org) ? org : undefined;
  if (org === undefined) {
    if (organization) return organization.id;
    throw new Fault("usage", "no organization is chosen", { hint: "Run: floe orgs use SLUG   (or give --org SLUG)" });
  }
  if (uuid.test(org)) return org;
  if (organization?.slug === org) return organization.id;
  return pickOrganization(await organizationsOf(context), org).id;
}

/** The context of one run. */
export function makeContext(io: Io, manifest: Manifest, version: string, globals: Globals): Context {
  let settings: Settings | undefined;
  let organization: Promise<string | undefined> | undefined;
  const context: Context = {
    io,
    version,
    manifest,
    globals,
    get interactive() {
      return isInteractive(io);
    },
    json: globals.json !== undefined || !io.stdout.isTTY,
    settings() {
      if (!settings) {
        settings = readSettings(io.env, globals);
        for (const note of settings.notes) context.say(`${note}\n`);
      }
      return settings;
    },
    call: async (made) => (await call(context, made)).body,
    organization: () => (organization ??= findOrganization(context)),
    print: (text) => void io.stdout.write(text),
    say: (text) => void io.stderr.write(text),
    debug: (text) => {
      if (globals.debug || io.env["FLOE_DEBUG"]) context.say(`${text}\n`);
    },
    paint: { out: () => painter(io.env, globals.color, io.stdout), err: () => painter(io.env, globals.color, io.stderr) },
  };
  return context;
}
