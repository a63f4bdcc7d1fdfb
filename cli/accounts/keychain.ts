/** Sign-ins in the keychain of the system: `credentials.json` has the name of an entry in place of the token. */
import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { Io } from "../io.ts";
import type { Keyring } from "./keyring.ts";

const service = "floe";
const prefix = "keychain:";
/** A keychain may show a dialog to a person; where nobody sits, it answers at once or not at all. */
const [askedMs, aloneMs] = [60_000, 3000];
/** The kernel's own keyring forgets with the next start of the machine, so it is no place for a sign-in. */
const options = { linux: { store: "secret-service" } } as const;

export const isInKeychain = (token: string): boolean => token.startsWith(prefix);

type Place = Pick<Io, "loadKeyring"> & { isWatched: boolean };
export const getKeychainPlace = (context: Context): Place => ({
  loadKeyring: () => context.io.loadKeyring(),
  isWatched: context.interactive,
});

/** Ask the keychain, within the time that it may take. */
async function callKeychain<T>(
  { loadKeyring, isWatched }: Place,
  account: string,
  work: (entry: InstanceType<Keyring["AsyncEntry"]>, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { AsyncEntry } = await loadKeyring();
  const limit = AbortSignal.timeout(isWatched ? askedMs : aloneMs);
  const late = new Promise<never>((_, reject) => {
    limit.addEventListener("abort", () => reject(new Error("it did not answer in time")), { once: true });
  });
  late.catch(() => undefined);
  return Promise.race([late, work(new AsyncEntry(service, account, options), limit)]);
}

/** Put a token into the keychain, and answer what stands for it; undefined where there is none that keeps it. */
export async function putIntoKeychain(place: Place, token: string): Promise<string | undefined> {
  const account = randomUUID();
  try {
    await callKeychain(place, account, (entry, signal) => entry.setPassword(token, signal));
    const kept = await callKeychain(place, account, (entry, signal) => entry.getPassword(signal));
    return kept === token ? prefix + account : undefined;
  } catch {
    // No package for this machine, no service, or a person who says no: the caller says where the sign-in is kept then.
    return undefined;
  }
}

const described = new WeakMap<Context, Map<string, Promise<string>>>();

/** The token that is meant: itself, or what the keychain has for it. Asked once for each run. */
export async function loadToken(context: Context, token: string): Promise<string> {
  if (!isInKeychain(token)) return token;
  const known = described.get(context) ?? new Map<string, Promise<string>>();
  described.set(context, known);
  const found = known.get(token) ?? readToken(context, token.slice(prefix.length));
  known.set(token, found);
  return found;
}

async function readToken(context: Context, account: string): Promise<string> {
  const why = await callKeychain(getKeychainPlace(context), account, (entry, signal) => entry.getPassword(signal)).then(
    (token) => ({ token }),
    (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
  );
  if ("token" in why && why.token) return why.token;
  const reason = "error" in why ? why.error : "it is not there";
  throw new Fault("signed_out", `the keychain does not give the sign-in: ${reason}`, {
    name: "keychain",
    hint: "Unlock the keychain, or run: `floe login --no-keychain`",
  });
}

/** Take a token out of the keychain. One that cannot be reached keeps it; the session has ended anyhow. */
export async function removeFromKeychain(place: Place, token: string): Promise<void> {
  if (!isInKeychain(token)) return;
  const account = token.slice(prefix.length);
  await callKeychain(place, account, (entry, signal) => entry.deletePassword(signal)).catch(() => false);
}
