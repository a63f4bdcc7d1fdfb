import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isLoopbackUrl } from "../shared/loopback.ts";
import { findSettingsFolder } from "./cache-folder.ts";
import { findJob, type Job } from "./ci/job.ts";
import { Fault } from "./fault.ts";
import { findFolderProfile } from "./folder-profile.ts";

/** The organization a profile works for. */
type Chosen = { id: string; slug: string; name: string };
/** One named set of defaults. */
export type Profile = { server?: string; organization?: Chosen };
/** `config.json`: nothing in it is secret. */
export type Config = { profile?: string; profiles?: Record<string, Profile> };
/** What a sign-in left behind. It belongs to one server and is never sent to another. */
export type Credential = {
  token: string;
  user?: { id?: string; email?: string; name?: string };
  expires_at?: string;
  /** It is an API key, which speaks for an organization and not for a person. */
  is_key?: true;
};
/** A sign-in that was begun, and is not confirmed yet. */
export type PendingSignIn = { profile: string; server: string; ends: string; code: object };
/** `credentials.json`: profile → server → credential. */
export type Credentials = Record<string, Record<string, Credential>>;

/** The flags that every command takes. */
export type Globals = {
  server?: string;
  org?: string;
  profile?: string;
  /** The role of the organization that requests are limited to. */
  as?: string;
  apiKeyFile?: string;
  json?: string | true;
  jq?: string;
  template?: string;
  pager?: false;
  color?: string;
  timeout?: number;
  quiet?: boolean;
  debug?: boolean;
  agent?: string;
};

type Env = Record<string, string | undefined>;

/** A file of the settings folder; an empty object where there is none. */
export function readSettingsFile(env: Env, name: string): object {
  const path = join(findSettingsFolder(env), name);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw new Fault("error", `cannot read ${path}: ${code ?? String(error)}`, { hint: "Check who owns the file." });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Told below: a broken file must not be taken for an empty one, and then overwritten.
  }
  throw new Fault("error", `${path} is not JSON`, { hint: "Repair or remove it." });
}

/** Check the address of a server; a token must not travel in clear text to another machine. */
function parseServer(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Fault("usage", `"${text}" is not an address of a server`, {
      hint: "For example: --server https://floe.example.com",
    });
  }
  if (url.protocol === "http:" && !isLoopbackUrl(url)) {
    throw new Fault("usage", `${text} is not encrypted; http is only for this machine`, { hint: "Use https." });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Fault("usage", `"${text}" must begin with https:// (or http:// on this machine)`);
  }
  if (url.username || url.password) throw new Fault("usage", "the address of a server carries no user or password");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** What is in force for this run: flag over environment over profile over default. */
export type Settings = {
  profile: string;
  server: string;
  /** From an API key; the organization goes with it. */
  apiKey?: string;
  /** From a sign-in. */
  credential?: Credential;
  /** The CI job that gets a key for its own token, where there is neither of them. */
  job?: Job;
  /** As given by `--org` or `FLOE_ORG`: an id or a slug. */
  org?: string;
  /** The organization of the profile, where the server is the profile's. */
  organization?: Chosen;
  timeoutMs: number;
  /** What was given twice and differs: said once on stderr. */
  notes: string[];
};

function readKeyFile(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw new Fault("usage", `cannot read --api-key-file ${path}: ${(error as NodeJS.ErrnoException).code ?? ""}`);
  }
}

/** The profiles that there are: those with defaults of their own, and those that signed in. */
export const readProfileNames = (env: Env): string[] => [
  ...new Set([
    ...Object.keys((readSettingsFile(env, "config.json") as Config).profiles ?? {}),
    ...Object.keys(readSettingsFile(env, "credentials.json")),
  ]),
];

/** That a profile was named which there is not. */
export function describeMissingProfile(env: Env, profile: string): Fault {
  const known = readProfileNames(env);
  return new Fault("usage", `there is no profile "${profile}"`, {
    hint: `${known.length > 0 ? `There are: ${known.join(", ")}. ` : ""}Make it: \`floe login --profile ${profile}\``,
  });
}

/** What a sign-in of this profile at this server left behind. */
export const readKept = (env: Env, profile: string, server: string): Credential | undefined =>
  (readSettingsFile(env, "credentials.json") as Credentials)[profile]?.[server];

/** The same, of a person. */
export function readCredential(env: Env, profile: string, server: string): Credential | undefined {
  const kept = readKept(env, profile, server);
  return kept?.is_key ? undefined : kept;
}

/** The sign-in that `floe login --start` began. */
export const readPending = (env: Env): Partial<PendingSignIn> => readSettingsFile(env, "pending.json");

/**
 * The profile of the current folder. A key that is given says by itself where it belongs: a file in a cloned repository must
 * not choose the server that it is sent to.
 */
function readFolderProfile(env: Env, globals: Globals, notes: string[], usual = "default"): string | undefined {
  if (env.FLOE_API_KEY || globals.apiKeyFile !== undefined) return undefined;
  const pinned = findFolderProfile(env);
  if (!pinned) return undefined;
  if (!readProfileNames(env).includes(pinned.profile)) {
    const { message, parts } = describeMissingProfile(env, pinned.profile);
    throw new Fault("usage", `${message}, which ${pinned.path} names`, parts);
  }
  if (pinned.profile !== usual) notes.push(`the profile is ${pinned.profile}, as ${pinned.path} says`);
  return pinned.profile;
}

/** Work out the settings from flags, environment and profile. */
export function readSettings(env: Env, globals: Globals): Settings {
  const notes: string[] = [];
  const choose = (flag: string, given: string | undefined, variable: string): string | undefined => {
    const fromEnv = env[variable] || undefined;
    if (given !== undefined && fromEnv !== undefined && given !== fromEnv)
      notes.push(`${flag} is used, not ${variable}, which differs`);
    return given ?? fromEnv;
  };
  const config = readSettingsFile(env, "config.json") as Config;
  const profile =
    choose("--profile", globals.profile, "FLOE_PROFILE") ??
    readFolderProfile(env, globals, notes, config.profile) ??
    config.profile ??
    "default";
  const saved = config.profiles?.[profile] ?? {};
  const server = parseServer(
    choose("--server", globals.server, "FLOE_SERVER") ?? saved.server ?? "http://localhost:4455",
  );
  const fromFile = globals.apiKeyFile === undefined ? undefined : readKeyFile(globals.apiKeyFile);
  if (fromFile === "") throw new Fault("usage", `--api-key-file ${globals.apiKeyFile} is empty`);
  const kept = readKept(env, profile, server);
  const apiKey = choose("--api-key-file", fromFile, "FLOE_API_KEY") ?? (kept?.is_key && kept.token);
  const org = choose("--org", globals.org, "FLOE_ORG");
  const credential = apiKey ? undefined : kept;
  const job = apiKey || credential ? undefined : findJob(env);
  const atHome = saved.organization && parseServer(saved.server ?? "http://localhost:4455") === server;
  return {
    profile,
    server,
    ...(apiKey && { apiKey }),
    ...(credential && { credential }),
    ...(job && { job }),
    ...(org && { org }),
    ...(atHome && { organization: saved.organization }),
    timeoutMs: (globals.timeout ?? 30) * 1000,
    notes,
  };
}
