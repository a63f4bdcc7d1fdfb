import { splitRoute } from "../shared/request.ts";
import * as routes from "../shared/routes.ts";
import { isUuid } from "../shared/uuid.ts";
import { describeMissingToken } from "./ci/job.ts";
import { Fault } from "./fault.ts";
import type { Io } from "./io.ts";
import type { Manifest } from "./manifest.ts";
import {
  type Credential,
  describeMissingProfile,
  type Globals,
  readCredential,
  readProfileNames,
  type Settings,
} from "./settings.ts";
import type { Paint } from "./ui/theme.ts";

/** One call. `path` as the contract writes it, with `:name` for parameters. */
export type CommandCall = {
  method: string;
  path: string;
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
  /** False where the operation is about the person, not an organization. */
  organization?: boolean;
  /** False where nobody needs to be signed in. */
  auth?: boolean;
  /** This token, whatever the settings say. */
  token?: string;
  idempotencyKey?: string;
  /** The tag that a reading answered: the change is refused where the thing has changed since. */
  ifMatch?: string | undefined;
  /** Gets the tag of what was read. */
  onTag?(tag: string): void;
  /** What is sent says itself what was done before, so it may be sent again without a key. */
  isRepeatSafe?: boolean;
  /** Who calls asks again itself: one attempt, and what came of it is told at once. */
  isTriedOnce?: boolean;
  /** The command can be told to repeat it: it has --idempotency-key. */
  repeatable?: boolean;
};

/** What a command gets: streams, settings, the server, and how to answer. Everything in it is made when it is first used. */
export type Context = {
  readonly io: Io;
  readonly version: string;
  readonly manifest: Manifest;
  readonly globals: Globals;
  readonly interactive: boolean;
  /** True when a person is there, and the terminal can be drawn on; where it cannot, questions are lines. */
  readonly canDraw: boolean;
  /** True when an agent runs the command line: nobody is asked anything, and answers are JSON for it. */
  readonly agent: boolean;
  /** True when stdout carries JSON: asked for, or because no person reads it. */
  readonly json: boolean;
  settings(): Settings;
  call(made: CommandCall): Promise<unknown>;
  /** The time, in ms: of a sandbox whose clock was moved, as its last answer said. */
  now(): number;
  /** The id of the organization to name in requests; undefined where the API key says it. */
  organization(): Promise<string | undefined>;
  /** Data, to stdout. */
  print(text: string): void;
  /** The same, of a command that ends with it: more than the terminal shows at once is leafed through. */
  page(text: string): void;
  /** Talk, to stderr; nothing with `--quiet`. */
  say(text: string): void;
  /** What a person needs to go on, to stderr, also with `--quiet`. */
  tell(text: string): void;
  debug(text: string): void;
  /** Colors for stdout, and for stderr. */
  paint: { out(): Paint; err(): Paint };
};

/** One organization as `GET /api/auth/organization/list` answers it. */
export type Organization = { id: string; name: string; slug: string };

/** That nobody is signed in; where the profile that was named is not there, that is what is wrong. */
export function requireSignIn(context: Context, why?: string): Fault {
  const { profile, server } = context.settings();
  const { env } = context.io;
  const isNamed = context.globals.profile !== undefined || Boolean(env.FLOE_PROFILE);
  if (isNamed && !readProfileNames(env).includes(profile)) return describeMissingProfile(env, profile);
  return new Fault("signed_out", why ?? `you are not signed in at ${server}`, {
    name: "signed_out",
    hint: describeMissingToken(env) ?? `Run: \`floe login\`${why === undefined ? "   (or set FLOE_API_KEY)" : ""}`,
  });
}

/** Whether there is a sign-in or a key; settings that cannot be read are told by the command that needs them. */
export function hasSignIn(context: Context): boolean {
  try {
    const { apiKey, credential, job } = context.settings();
    return (apiKey ?? credential ?? job) !== undefined;
  } catch {
    return false;
  }
}

/** The sign-in of a person: what concerns accounts is not open to an API key, also where one is set. */
export function findPersonInUse(context: Context): Credential {
  const { profile, server, apiKey, job } = context.settings();
  const credential = readCredential(context.io.env, profile, server);
  if (credential) return credential;
  const why =
    (apiKey ?? job)
      ? "an API key cannot do this: it belongs to an organization, not to a person"
      : `you are not signed in at ${server}`;
  throw requireSignIn(context, why);
}

/** The organizations of the person who is signed in. */
export async function listOwnOrganizations(context: Context): Promise<Organization[]> {
  const { token } = findPersonInUse(context);
  const answer = await context.call({ method: "GET", path: "/api/auth/organization/list", organization: false, token });
  return Array.isArray(answer) ? (answer as Organization[]) : [];
}

/** Find the organization that a person named by id or slug. */
export function pickOrganization(all: Organization[], named: string): Organization {
  const found = all.find((one) => one.id === named || one.slug === named);
  if (found) return found;
  const yours = all.map((one) => one.slug).join(", ");
  throw new Fault("not_found", `you are in no organization "${named}"`, {
    hint: yours ? `Yours: ${yours}` : "Make one: `floe orgs create NAME`",
  });
}

/** What to do where an API key and `--org` name two organizations. */
export const otherKey = "Leave --org (FLOE_ORG) out, or use a key of that organization.";

/** That nothing says which organization is meant. */
const reportNoneChosen = (): Fault =>
  new Fault("usage", "no organization is chosen", { hint: "Run: `floe orgs use SLUG`   (or give --org SLUG)" });

/** The id of the organization that flags, environment and profile say, for the person who is signed in. */
export async function findOrganizationOfPerson(context: Context): Promise<string> {
  const { org, organization } = context.settings();
  if (org === undefined) {
    if (organization) return organization.id;
    throw reportNoneChosen();
  }
  if (isUuid(org)) return org;
  if (organization?.slug === org) return organization.id;
  return pickOrganization(await listOwnOrganizations(context), org).id;
}

/** The id of the organization to name in requests; undefined where an API key says it. A key of another one is refused. */
export async function findOrganization(context: Context): Promise<string | undefined> {
  const { apiKey, job, org, organization } = context.settings();
  // The key of a job is of the organization that the job named to get it.
  if (job) return undefined;
  if (!apiKey) return findOrganizationOfPerson(context);
  // The server holds an id against the key; a slug must become one first.
  if (org === undefined || isUuid(org)) return org;
  if (organization?.slug === org) return organization.id;
  const all = await listOrganizationsOfKey(context).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.kind !== "not_permitted") throw error;
    const why = `whether this API key is good for "${org}" cannot be told: it may not read organizations`;
    throw new Fault("usage", why, { hint: "Leave --org (FLOE_ORG) out, as the key says which, or give the id there." });
  });
  const found = all.find(({ slug }) => slug === org);
  if (found) return found.id;
  const own = all.map(({ slug }) => slug).join(", ") || "no organization";
  throw new Fault("usage", `this API key is good for ${own}, and not for "${org}"`, { hint: otherKey });
}

/** The id of the organization in use, also where only an API key says it. */
export async function findCurrentOrganization(context: Context): Promise<string> {
  const known = await context.organization();
  if (known !== undefined) return known;
  const all = await listOrganizationsOfKey(context);
  const [only, ...others] = all;
  if (only && others.length === 0) return only.id;
  throw new Fault(
    "usage",
    only ? "this API key is good for several organizations" : "this API key has no organization",
    {
      hint: only
        ? `Say which: --org ${all.map(({ slug }) => slug).join(" or --org ")}`
        : "Make another: `floe api-keys create`",
    },
  );
}

/** The organizations that an API key is good for: its own, or all those of the person whose key it is. */
export async function listOrganizationsOfKey(context: Context): Promise<Organization[]> {
  const call = { ...splitRoute(routes.organizations.list), query: { limit: 100 }, organization: false };
  return ((await context.call(call)) as { items?: Organization[] }).items ?? [];
}
