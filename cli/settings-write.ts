/** Writing settings: apart from reading them, because only a few commands do it and `conf` takes time to load. */
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { findSettingsFolder } from "./cache-folder.ts";
import { Fault } from "./fault.ts";
import {
  type Config,
  type Credential,
  type Credentials,
  type PendingSignIn,
  type Profile,
  readSettingsFile,
} from "./settings.ts";

type Env = Record<string, string | undefined>;

/** The folder, closed to other users. One that was made by somebody else, on purpose more open, is closed too: it holds tokens. */
function ownFolder(env: Env): string {
  const folder = findSettingsFolder(env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32" && (statSync(folder).mode & 0o077) !== 0) chmodSync(folder, 0o700);
  return folder;
}

/** What the settings are, and the store that changes them. */
async function createSettingsStore(env: Env) {
  const cwd = ownFolder(env);
  const config = readSettingsFile(env, "config.json") as Config;
  const { default: Conf } = await import("conf");
  const store = new Conf<Required<Config>>({
    cwd,
    configName: "config",
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
  });
  return { config, store };
}

/** Change one profile, and make it the one in use where none is. */
export async function writeProfile(env: Env, name: string, change: Profile): Promise<void> {
  const { config, store } = await createSettingsStore(env);
  store.set("profiles", { ...config.profiles, [name]: { ...config.profiles?.[name], ...change } });
  if (!config.profile) store.set("profile", name);
}

/** Use a profile where none is named. */
export async function selectProfile(env: Env, name: string): Promise<void> {
  const { store } = await createSettingsStore(env);
  store.set("profile", name);
}

/** Forget a profile with its sign-ins. */
export async function deleteProfile(env: Env, name: string): Promise<void> {
  await runLocked(env, "credentials.json", () => {
    const { [name]: _, ...credentials } = readSettingsFile(env, "credentials.json") as Credentials;
    writePrivate(env, "credentials.json", credentials);
  });
  const { config, store } = await createSettingsStore(env);
  const { [name]: __, ...profiles } = config.profiles ?? {};
  store.set("profiles", profiles);
  if (config.profile === name) store.delete("profile");
}

/** Write a file that nobody else can read: a new one, put in place at once. */
export function writePrivate(env: Env, name: string, value: object): void {
  const path = join(ownFolder(env), name);
  const fresh = `${path}.${process.pid}.new`;
  try {
    writeFileSync(fresh, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flag: "wx", flush: true });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

const [lockTries, lockMs, lockStaleMs] = [100, 50, 10_000];

/** Do work while no other process does the same, so that of two sign-ins at once none is lost. */
async function runLocked<T>(env: Env, name: string, work: () => T): Promise<T> {
  const path = join(ownFolder(env), `${name}.lock`);
  let isHeld = false;
  for (let tries = 0; tries < lockTries && !isHeld; tries++) {
    try {
      writeFileSync(path, String(process.pid), { mode: 0o600, flag: "wx" });
      isHeld = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      // A process that was killed leaves its lock behind.
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > lockStaleMs) rmSync(path, { force: true });
      else await setTimeout(lockMs);
    }
  }
  if (!isHeld) throw new Fault("conflict", `another floe changes ${name}`, { hint: `If none runs, remove ${path}.` });
  try {
    return work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** Keep or forget (`undefined`) the credential of one profile on one server. */
export const writeCredential = (
  env: Env,
  profile: string,
  server: string,
  credential: Credential | undefined,
): Promise<void> =>
  runLocked(env, "credentials.json", () => {
    const all = readSettingsFile(env, "credentials.json") as Credentials;
    const { [server]: _, ...others } = all[profile] ?? {};
    writePrivate(env, "credentials.json", {
      ...all,
      [profile]: credential ? { ...others, [server]: credential } : others,
    });
  });

/** Change a file of the settings by what is in it now, so that of two changes at once none is lost. */
export const changePrivate = <T extends object>(env: Env, name: string, change: (before: T) => T): Promise<void> =>
  runLocked(env, name, () => writePrivate(env, name, change(readSettingsFile(env, name) as T)));

/** Keep or forget the sign-in that has begun. */
export function writePending(env: Env, pending: PendingSignIn | undefined): void {
  if (pending) writePrivate(env, "pending.json", pending);
  else rmSync(join(findSettingsFolder(env), "pending.json"), { force: true });
}
